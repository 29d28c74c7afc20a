"""Twin of ``kernels/generation/counter_random.py`` in Python's integers."""

from __future__ import annotations

from numba_nlp.reference.tables.random_bits import mix_bits

_WORD = 2**32
_MODULUS = 2**64
_FACTORS = 0xD2511F53, 0xCD9E8D57
_STEPS = 0x9E3779B9, 0xBB67AE85
_FACTOR = 0x9E3779B97F4A7C15


def philox(counter_low, counter_high, key):
    """Ten rounds on four words, with a key of two words that grows in each."""
    words = [counter_low % _WORD, counter_low // _WORD, counter_high % _WORD, counter_high // _WORD]
    keys = [key % _WORD, key // _WORD]
    for _ in range(10):
        left, right = _FACTORS[0] * words[0], _FACTORS[1] * words[2]
        words = [
            right // _WORD ^ words[1] ^ keys[0],
            right % _WORD,
            left // _WORD ^ words[3] ^ keys[1],
            left % _WORD,
        ]
        keys = [(part + step) % _WORD for part, step in zip(keys, _STEPS, strict=True)]
    return words[0] + words[1] * _WORD, words[2] + words[3] * _WORD


def uniform(seed, row_key, step, lane):
    """Random number in (0, 1)."""
    bits, _ = philox(row_key, step * _WORD + lane, seed)
    return (bits // 2**12 + 0.5) / 2**52


def row_keys(ids, mask, copies, keys):
    """A number for each row, by its prompt."""
    prompts = [[int(i) for i, kept in zip(*row, strict=True) if kept] for row in zip(ids, mask, strict=True)]
    for number, prompt in enumerate(prompts):
        state = 0
        for token in prompt:
            state = mix_bits((state ^ (token + 1)) * _FACTOR % _MODULUS)
        same = prompts[:number].count(prompt)
        for copy in range(copies):
            keys[number * copies + copy] = mix_bits((mix_bits((state + same) % _MODULUS) + copy) % _MODULUS)
