"""JSON as the files of vocabularies have it: UTF-8, and numbers that keep their bits in the reader of tokenizers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from numba_nlp.errors import ConversionError
from vocab_tools.formats.serde_numbers import read_float

__all__ = ["json_bytes", "tokenizer_bytes", "written_float"]

#: A power of ten up to this one is a double without rounding, so a spelling with it rounds once more only.
_LARGEST_EXACT_POWER = 22


def written_float(value: float) -> str:
    """Spell a number so that Python's parser reads exactly this double, and serde_json too where it can.

    serde_json rounds twice where the digits do not fit into 53 bits (:mod:`vocab_tools.formats.serde_numbers`), so
    the shortest spelling is not always read as the number that it was made from. Others with more digits are tried.
    A few numbers have none that serde_json reads exactly; those it reads one unit of the last bit off, which changes
    no bit of a float32.

    Raises
    ------
    ConversionError
        The number is none.

    Examples
    --------
    >>> written_float(-2.5), float(written_float(-3.9131507873535156)), read_float(written_float(-3.9131507873535156))
    ('-2.5', -3.9131507873535156, -3.9131507873535156)
    """
    if not math.isfinite(value):
        raise ConversionError(f"the score {value!r} is no number that JSON can hold")
    shortest = repr(float(value))
    for text in _spellings(value, shortest):
        if float(text) == value and read_float(text) == value:
            return text
    return shortest


def _spellings(value: float, shortest: str) -> Iterator[str]:
    yield shortest
    sign, size = ("-", -value) if value < 0 else ("", value)
    if not size:
        return
    numerator, denominator = size.as_integer_ratio()
    for digits in range(16, 21):
        power = digits - 1 - math.floor(math.log10(size))
        if not 0 < power <= _LARGEST_EXACT_POWER:
            continue
        nearest = numerator * 10**power // denominator
        # these are doubles themselves, so that serde_json rounds in the division only
        step = 1 << max(0, nearest.bit_length() - 53)
        lower = nearest - nearest % step
        for number in (lower, lower + step, lower - step):
            if number < 1 << 64:
                whole, fraction = divmod(number, 10**power)
                yield f"{sign}{whole}.{fraction:0{power}d}"


def json_bytes(value: Any) -> bytes:
    """A JSON file on one line.

    Raises
    ------
    ConversionError
        Text with half of a character, which UTF-8 cannot hold.
    """
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ConversionError(f"a piece holds half of a character (a lone surrogate): {error.object!r:.80}") from error


def tokenizer_bytes(document: Mapping[str, Any]) -> bytes:
    """A ``tokenizer.json``; scores of a Unigram model keep their bits.

    Raises
    ------
    ConversionError
        As :func:`json_bytes` and :func:`written_float`.
    """
    vocab = document["model"]["vocab"]
    if not isinstance(vocab, list):
        return json_bytes(document)
    # in its place, since json has no way to say how a number is spelled
    mark = "\ue000 vocab \ue000"
    frame = json_bytes({**document, "model": {**document["model"], "vocab": mark}})
    listed = b",".join(b"[%s,%s]" % (json_bytes(piece), written_float(score).encode()) for piece, score in vocab)
    return frame.replace(json_bytes(mark), b"[%s]" % listed, 1)
