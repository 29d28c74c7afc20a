"""Plain twin of ``numba_nlp/kernels/tables/counter_random.py``."""

from __future__ import annotations

_ALL = 2**64 - 1
_GAMMA = 0x9E3779B97F4A7C15


def mix_bits(word: int) -> int:
    """Scramble a word of 64 bits."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _ALL
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _ALL
    return word ^ word >> 31


class Stream:
    """A stream of random numbers."""

    def __init__(self, seed: int, stream: int) -> None:
        self.key = mix_bits(mix_bits(seed + _GAMMA & _ALL) + stream & _ALL)
        self.drawn = 0

    def draw_uniform(self) -> float:
        """The next number, in [0, 1)."""
        self.drawn += 1
        return (mix_bits(self.key + self.drawn * _GAMMA & _ALL) >> 11) / 2**53


def start_stream(seed: int, stream: int) -> Stream:
    """Begin a stream of random numbers."""
    return Stream(seed, stream)


def draw_uniform(state: Stream) -> float:
    """The next number of a stream, in [0, 1)."""
    return state.draw_uniform()
