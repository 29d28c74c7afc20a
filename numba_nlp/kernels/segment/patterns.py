"""Pre-tokenisation patterns that have a hand-written scanner: their codes and names."""

from __future__ import annotations

__all__ = ["CL100K", "DEEPSEEK_V3", "GPT2", "LLAMA3", "O200K", "PATTERN_CODES", "PATTERN_NAMES", "QWEN2", "TEKKEN"]

GPT2 = 0
CL100K = 1
O200K = 2
LLAMA3 = 3
QWEN2 = 4
TEKKEN = 5
DEEPSEEK_V3 = 6

#: Pattern code -> name, as stored in the metadata of a vocabulary.
PATTERN_NAMES: tuple[str, ...] = ("gpt2", "cl100k", "o200k", "llama3", "qwen2", "tekken", "deepseek_v3")
#: Name -> pattern code.
PATTERN_CODES: dict[str, int] = {name: code for code, name in enumerate(PATTERN_NAMES)}
