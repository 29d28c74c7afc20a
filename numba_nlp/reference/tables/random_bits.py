"""Twin of ``kernels/tables/random_bits.py`` in Python's integers."""

from __future__ import annotations

_MODULUS = 2**64
_STEP = 0x9E3779B97F4A7C15


def mix_bits(bits: int) -> int:
    """Scatter 64 bits as SplitMix64 does."""
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 % _MODULUS
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB % _MODULUS
    return bits ^ bits >> 31


def random_bits(seed: int, stream: int, counter: int) -> int:
    """64 random bits of a place."""
    start = mix_bits((mix_bits((seed + _STEP) % _MODULUS) + (stream + 1) * _STEP) % _MODULUS)
    return mix_bits((start + (counter + 1) * _STEP) % _MODULUS)


def random_fraction(seed: int, stream: int, counter: int) -> float:
    """Random number in [0, 1)."""
    return (random_bits(seed, stream, counter) >> 11) / 2**53
