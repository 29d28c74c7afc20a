"""Decoders of tokenizers, one after the other over a list of tokens: what the decoders of families are tested against.

Each takes and gives the texts of the tokens; the decoded text is what the last one leaves, joined, or joined by spaces
where there is no decoder.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from numba_nlp.reference.segment.normalize_edits import spelled

__all__ = [
    "bpe_decoder",
    "byte_fallback",
    "byte_level",
    "decode_chain",
    "fuse",
    "metaspace",
    "replace",
    "strip",
    "word_piece",
]

_BYTE_OF = {chr(spelled(byte)): byte for byte in range(256)}
#: What ``WordPiece`` does with each token, in this order.
_CLEANUP = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)

Step = Callable[[list[str]], list[str]]


def decode_chain(steps: list[Step], tokens: list[str]) -> str:
    """Text of some tokens."""
    if not steps:
        return " ".join(tokens)
    for step in steps:
        tokens = step(tokens)
    return "".join(tokens)


def byte_level(tokens: list[str]) -> list[str]:
    """Read GPT-2's byte alphabet; a token with another character stands for itself."""
    content = b"".join(
        bytes(_BYTE_OF[character] for character in token) if set(token) <= _BYTE_OF.keys() else token.encode()
        for token in tokens
    )
    return [content.decode(errors="replace")]


def word_piece(prefix: str, cleanup: bool, tokens: list[str]) -> list[str]:
    """Put a space before every token but the first, or take ``prefix`` off; then clean each token up."""
    result: list[str] = []
    for place, token in enumerate(tokens):
        text = token
        if place > 0:
            text = token.removeprefix(prefix) if token.startswith(prefix) else f" {token}"
        for written, wanted in _CLEANUP if cleanup else ():
            text = text.replace(written, wanted)
        result.append(text)
    return result


def metaspace(replacement: str, keeps_first: bool, tokens: list[str]) -> list[str]:
    """Write ``replacement`` as a space; in the first token it is left out unless ``keeps_first``."""
    spaces = ["" if place == 0 and not keeps_first else " " for place in range(len(tokens))]
    return [token.replace(replacement, space) for token, space in zip(tokens, spaces, strict=True)]


def bpe_decoder(suffix: str, tokens: list[str]) -> list[str]:
    """Write ``suffix`` as a space, and in the last token as nothing."""
    return [token.replace(suffix, "" if place == len(tokens) - 1 else " ") for place, token in enumerate(tokens)]


def byte_fallback(tokens: list[str]) -> list[str]:
    """Join runs of tokens ``<0x..>`` to their UTF-8 text, or to one U+FFFD a token where that is none."""
    result: list[str] = []
    run: list[int] = []
    for token in [*tokens, None]:
        # a plus sign before one digit is what Rust's parser takes, too
        number = None if token is None else re.fullmatch(r"<0x([0-9a-fA-F]{2}|\+[0-9a-fA-F])>", token)
        if number:
            run.append(int(number[1], 16))
            continue
        if run:
            try:
                result.append(bytes(run).decode())
            except UnicodeDecodeError:
                result += ["\ufffd"] * len(run)
            run = []
        if token is not None:
            result.append(token)
    return result


def fuse(tokens: list[str]) -> list[str]:
    """Make all tokens one."""
    return ["".join(tokens)]


def strip(content: str, start: int, stop: int, tokens: list[str]) -> list[str]:
    """Take up to ``start`` of a character off the front of every token, and up to ``stop`` off its end."""
    result: list[str] = []
    for token in tokens:
        kept = token
        for _ in range(start):
            kept = kept.removeprefix(content)
        for _ in range(stop):
            kept = kept.removesuffix(content)
        result.append(kept)
    return result


def replace(pattern: str, content: str, tokens: list[str]) -> list[str]:
    """Replace a string in every token."""
    return [token.replace(pattern, content) for token in tokens]
