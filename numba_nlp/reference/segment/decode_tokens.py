"""Twin of ``kernels/segment/decode_tokens.py``: lists of tokens, step by step, as functions on them."""

from __future__ import annotations

from collections.abc import Sequence

from numba_nlp.reference.segment import decoders

__all__ = ["alphabet_byte", "byte_of_token", "decode_step", "gather_tokens", "is_utf8"]


def gather_tokens(pieces: Sequence[bytes], kinds: Sequence[int], ids: Sequence[int], skip_special: bool) -> list[bytes]:
    """Tokens of a row of ids; control tokens have kind 2."""
    return [pieces[number] for number in ids if not (skip_special and kinds[number] == 2)]


def byte_of_token(token: bytes) -> int:
    """The byte that a token stands for, or -1."""
    # what is no byte token stays as it is; one byte that is no text by itself becomes U+FFFD
    for byte in range(256):
        if token[:3] == b"<0x" and token[5:] == b">" and len(token) == 6:
            digits = token[3:5].decode(errors="replace")
            if digits.lower() in (f"{byte:02x}", f"+{byte:x}"):
                return byte
    return -1


def is_utf8(content: bytes) -> bool:
    """Whether bytes are UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def alphabet_byte(code_point: int) -> int:
    """The byte that a character of GPT-2's byte alphabet stands for, or -1."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in shown]
    alphabet = {byte: byte for byte in shown} | {0x100 + place: byte for place, byte in enumerate(hidden)}
    return alphabet.get(code_point, -1)


def decode_step(step: Sequence[int], strings: Sequence[str], tokens: list[str]) -> list[str]:
    """One step with the tokens of one row."""
    operation, first, second, third, fourth = step
    if operation == 0:
        last = len(tokens) - 1
        contents = [
            third if place == 0 and third != second else fourth if place == last else second
            for place in range(len(tokens))
        ]
        return [
            token.replace(strings[first], strings[content]) for token, content in zip(tokens, contents, strict=True)
        ]
    if operation == 1:
        return [
            token
            if place == 0
            else token.removeprefix(strings[first])
            if first >= 0 and token.startswith(strings[first])
            else strings[second] + token
            for place, token in enumerate(tokens)
        ]
    if operation == 2:
        return decoders.strip(strings[first], second, third, tokens)
    if operation == 3:
        return decoders.byte_fallback(tokens)
    return decoders.fuse(tokens) if operation == 4 else decoders.byte_level(tokens)
