"""Decimal numbers as the JSON reader behind tokenizers reads them: not always the nearest double.

The Rust crate serde_json, unless it is built with ``float_roundtrip`` (tokenizers' is not), takes the digits as one
integer of 64 bits, makes a double of it and multiplies or divides by a power of ten. With more than 53 bits of digits
that rounds twice, and a quarter of the scores of an XLNet ``tokenizer.json`` come out one bit off. Sums of scores
decide between segmentations that are otherwise equal, so exact ids need the same bits. Source: serde_json 1.0,
``de.rs`` (``parse_number`` to ``f64_from_parts``); checked against the scores that ``Tokenizer.to_str`` writes.
"""

from __future__ import annotations

import re

__all__ = ["read_float"]

_NUMBER = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
_MOST = (1 << 64) - 1
_LARGEST_POWER = 308


def read_float(text: str) -> float:
    """Read a number of JSON that has a fraction or an exponent.

    Parameters
    ----------
    text : str
        As JSON spells it.

    Returns
    -------
    float
        Infinity where serde_json reports a number out of range.

    Examples
    --------
    >>> read_float("-2.1267833709716797") == -2.1267833709716797
    True
    >>> read_float("-3.9131507873535156") == -3.9131507873535156
    False
    """
    match = _NUMBER.fullmatch(text)
    assert match is not None, "the parser of JSON passes numbers only"
    sign, whole, fraction, power = match.groups(default="")
    digits = int(whole + fraction)
    exponent = -len(fraction)
    if digits > _MOST:
        digits, exponent = _that_fit(whole, fraction)
    exponent += int(power or 0)
    value = float(digits)
    while value and exponent < -_LARGEST_POWER:
        value /= 1e308
        exponent += _LARGEST_POWER
    if value and exponent > _LARGEST_POWER:
        value = float("inf")
    elif value and exponent >= 0:
        value *= float(f"1e{exponent}")
    elif value:
        value /= float(f"1e{-exponent}")
    return -value if sign else value


def _that_fit(whole: str, fraction: str) -> tuple[int, int]:
    """The leading digits that 64 bits hold, and the power of ten to multiply them with; the others are dropped."""
    digits = 0
    for place, digit in enumerate(whole):
        if digits * 10 + int(digit) > _MOST:
            return digits, len(whole) - place
        digits = digits * 10 + int(digit)
    for place, digit in enumerate(fraction):
        if digits * 10 + int(digit) > _MOST:
            return digits, -place
        digits = digits * 10 + int(digit)
    raise AssertionError("all digits fit")
