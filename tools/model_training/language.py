"""Language models: windows of a text to train on, and the bits per byte of a text that was held out."""

from __future__ import annotations

import lzma
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from numba_nlp.tokenizer import Tokenizer

__all__ = ["Windows", "bits_per_byte", "sample", "token_stream", "xz_bits_per_byte"]


def token_stream(tokenizer: Tokenizer, texts: Iterable[str], between: int) -> NDArray[np.int64]:
    """Ids of texts one after the other, with the token ``between`` before, between and behind them."""
    parts = [np.array([between])]
    for text in texts:
        parts += [tokenizer.encode(text), np.array([between])]
    return np.concatenate(parts).astype(np.int64)


class Windows:
    """Batches of windows that begin anywhere in a stream of tokens.

    Parameters
    ----------
    stream : int64[n]
    width : int
        Tokens that a model reads at once.
    rows : int
        Of a batch.
    seed : int
    """

    def __init__(self, stream: NDArray[np.int64], width: int, rows: int, seed: int) -> None:
        if len(stream) <= width:
            raise ValueError(f"`stream` has {len(stream)} tokens, windows of {width} need more")
        self.stream = stream
        self.width = width
        self.rows = rows
        self.seed = seed

    def __getitem__(self, step: int) -> tuple[Tensor, Tensor]:
        """What a step reads and what comes after each token, ``int64[rows, width]`` both; the same at every call."""
        rng = np.random.default_rng([self.seed, step])
        starts = rng.integers(0, len(self.stream) - self.width, self.rows)
        windows = torch.from_numpy(self.stream[starts[:, None] + np.arange(self.width + 1)])
        return windows[:, :-1].contiguous(), windows[:, 1:].contiguous()


def bits_per_byte(model: Any, stream: NDArray[np.int64], n_bytes: int, *, rows: int = 16) -> float:
    """Bits that a language model needs for a text, by bytes of the text.

    Each token but the first is predicted once, from at least half of the model's positions before it where there are
    as many: windows overlap by half, and the second half of each counts.

    Parameters
    ----------
    model : Model
        With ``settings.positions``.
    stream : int64[n]
        The text's tokens, behind one to begin with.
    n_bytes : int
        Length of the text in UTF-8.
    rows : int
        Windows at once.
    """
    width = model.settings.positions
    stride = width // 2
    starts = range(0, max(1, len(stream) - 1 - (width - stride)), stride)
    nats = 0.0
    with torch.inference_mode():
        for first in range(0, len(starts), rows):
            # all windows but the last one are full; what it lacks is filled and not counted
            batch = np.zeros((min(rows, len(starts) - first), width + 1), np.int64)
            counts = np.zeros((len(batch), width), bool)
            for row, start in enumerate(starts[first : first + rows]):
                window = stream[start : start + width + 1]
                batch[row, : len(window)] = window
                counts[row, (width - stride if start else 0) : len(window) - 1] = True
            ids = torch.from_numpy(batch)
            logits = model(ids[:, :-1]).logits.float()
            losses = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
            nats += losses[torch.from_numpy(counts).flatten()].double().sum().item()
    return nats / math.log(2) / n_bytes


def xz_bits_per_byte(text: bytes) -> float:
    """Bits by byte of what ``xz -9`` makes of a text, headers included."""
    return 8 * len(lzma.compress(text, format=lzma.FORMAT_XZ, preset=9)) / len(text)


def sample(
    model: Any, prompt: NDArray[np.integer[Any]], tokens: int, *, temperature: float, top_k: int, seed: int
) -> list[int]:
    """Ids that a language model writes behind a prompt, each drawn from the ``top_k`` likeliest."""
    generator = torch.Generator().manual_seed(seed)
    cache = model.new_cache(rows=1, positions=len(prompt) + tokens)
    logits = model.prompt([list(map(int, prompt))], None, cache)
    written: list[int] = []
    step: Callable[..., Tensor] = model.step
    while True:
        likeliest = (logits[0].float() / temperature).topk(top_k)
        pick = torch.multinomial(likeliest.values.softmax(0), 1, generator=generator)
        written.append(int(likeliest.indices[pick]))
        if len(written) == tokens:
            return written
        logits = step(torch.tensor(written[-1:]), cache)
