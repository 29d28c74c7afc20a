"""Rank files that are recognised by their sha256: a ``.tiktoken`` file has neither its pattern nor special tokens.

Digests, patterns and special tokens are those that tiktoken itself states (``tiktoken_ext.openai_public``).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["KNOWN_ENCODINGS", "KnownEncoding"]


class KnownEncoding(NamedTuple):
    """What belongs to a known rank file.

    Attributes
    ----------
    name : str
    pattern : str
        Name of the scanner.
    special_tokens : Mapping of str to int
    """

    name: str
    pattern: str
    special_tokens: Mapping[str, int]


def _known(name: str, pattern: str, **special_tokens: int) -> KnownEncoding:
    contents = {f"<|{key}|>": number for key, number in special_tokens.items()}
    return KnownEncoding(name, pattern, MappingProxyType(contents))


#: By sha256 (hex) of the file.
KNOWN_ENCODINGS: Mapping[str, KnownEncoding] = MappingProxyType(
    {
        "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": _known(
            "r50k_base", "gpt2", endoftext=50256
        ),
        "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": _known(
            "p50k_base", "gpt2", endoftext=50256
        ),
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": _known(
            "cl100k_base",
            "cl100k",
            endoftext=100257,
            fim_prefix=100258,
            fim_middle=100259,
            fim_suffix=100260,
            endofprompt=100276,
        ),
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": _known(
            "o200k_base", "o200k", endoftext=199999, endofprompt=200018
        ),
    }
)
