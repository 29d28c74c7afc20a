"""The vocabulary of multilingual cased BERT, read from the file of words that the package ``blingfire`` ships.

``bert_multi_cased.i2w`` holds, little-endian: 24 words of four bytes, the number of entries, that many offsets and one
more, then the entries one after the other. An entry behind a space starts a word; others continue one.
"""

from __future__ import annotations

import importlib.util
from itertools import pairwise
from pathlib import Path

import numpy as np

__all__ = ["read_words", "words_file"]

_HEADER_WORDS = 24


def words_file() -> Path:
    """Path of the file.

    Raises
    ------
    FileNotFoundError
        The package is not installed, or has no such file.
    """
    found = importlib.util.find_spec("blingfire")
    path = Path(found.origin).parent / "bert_multi_cased.i2w" if found is not None and found.origin else None
    if path is None or not path.exists():
        raise FileNotFoundError("no bert_multi_cased.i2w: pip install blingfire")
    return path


def read_words(path: Path) -> list[str]:
    """Entries by id, written as in ``vocab.txt``."""
    content = path.read_bytes()
    n = int(np.frombuffer(content, "<u4", 1, 4 * _HEADER_WORDS)[0])
    first = _HEADER_WORDS + 1
    offsets = np.frombuffer(content, "<u4", n + 1, 4 * first).tolist()
    start = 4 * (first + n + 1)
    parts = [content[start + a : start + b].decode() for a, b in pairwise(offsets)]
    return [part[1:] if part.startswith(" ") else f"##{part}" for part in parts]
