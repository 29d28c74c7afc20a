"""The alphabet in which GPT-2 style files write bytes: one printable character for each of the 256 bytes.

Bytes that are printable Latin-1 characters stand for themselves; the other 68 take the code points from U+0100 on, in
ascending order (as in the GPT-2 release of Radford et al., 2019).
"""

from __future__ import annotations

__all__ = ["BYTE_CHARACTERS", "bytes_of", "first_foreign_character", "written"]

_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))


def _characters() -> str:
    following = iter(range(0x100, 0x200))
    return "".join(chr(byte if byte in _PRINTABLE else next(following)) for byte in range(256))


#: Character of each byte: ``BYTE_CHARACTERS[byte]``.
BYTE_CHARACTERS = _characters()
_CHARACTER_SET = frozenset(BYTE_CHARACTERS)
#: To Latin-1; the characters below U+0100 that are no letters of the alphabet go where Latin-1 cannot follow.
_TO_LATIN = dict.fromkeys(range(256), 0xFFFF) | {ord(character): byte for byte, character in enumerate(BYTE_CHARACTERS)}
_FROM_LATIN = dict(enumerate(BYTE_CHARACTERS))


def bytes_of(text: str) -> bytes | None:
    """Bytes that ``text`` writes in the byte alphabet, or None when a character is none of it."""
    try:
        return text.translate(_TO_LATIN).encode("latin-1")
    except UnicodeEncodeError:
        return None


def written(piece: bytes) -> str:
    """Write bytes in the byte alphabet; the inverse of :func:`bytes_of`."""
    return piece.decode("latin-1").translate(_FROM_LATIN)


def first_foreign_character(text: str) -> str | None:
    """First character outside the byte alphabet, or None."""
    return next((character for character in text if character not in _CHARACTER_SET), None)
