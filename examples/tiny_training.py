"""Training of tiny models on made-up sentences, for the examples: a few seconds, no download.

Each example makes sentences whose answers it knows, trains a vocabulary and a model of two layers (a BERT, where it
reads) on some of them, writes a checkpoint folder as transformers has it, and asks the pipeline about others. Models
know nothing but these sentences; how they are made, saved and asked is the same for large ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

import numba_nlp as nlp
from numba_nlp.models import create_model, save_model
from vocab_tools.training import train_wordpiece

__all__ = ["fit", "new_checkpoint", "next_token_loss", "texts_of", "train", "train_folder"]

#: Sizes of the encoders.
SIZES = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "max_position_embeddings": 64,
    "initializer_range": 0.2,  # larger than for large models: so small ones learn sooner
}
#: What gives texts (and, for pairs, second texts) and their targets.
Batch = Callable[[np.random.Generator], tuple[tuple[Sequence[str], ...], Any]]
#: What gives the loss of the model's output, from the output, the inputs and the targets.
Loss = Callable[[Any, Any, Any], torch.Tensor]


def new_checkpoint(folder: Path, texts: Iterable[str], head: str, labels: Sequence[str] = ()) -> tuple[Any, Any]:
    """A tokenizer and a model with random weights; the vocabulary, all words of the texts, is written already.

    Parameters
    ----------
    folder : Path
    texts : iterable of str
        Those that the vocabulary is trained on.
    head : str
        As of ``create_model``.
    labels : sequence of str
        Names of what a classifier tells apart.

    Returns
    -------
    Tokenizer, Model
    """
    folder.mkdir(parents=True, exist_ok=True)
    # larger than it can become: pairs merge until each word is one token
    train_wordpiece(list(texts), vocab_size=10_000).write_vocab_txt(folder / "vocab.txt")
    vocabulary = nlp.load_tokenizer(folder / "vocab.txt")
    config: dict[str, Any] = {"model_type": "bert", "vocab_size": vocabulary.vocab_size, **SIZES}
    if labels:
        config["id2label"] = {str(number): label for number, label in enumerate(labels)}
        config["label2id"] = {label: number for number, label in enumerate(labels)}
    return vocabulary, create_model(config, head=head)


def train(
    model: Any,
    tokenizer: Any,
    batch: Batch,
    loss_of: Loss,
    steps: int,
    *,
    rate: float = 1e-3,
    seed: int = 0,
    **inputs: Any,
) -> float:
    """Train on texts and their targets; gives the last loss.

    Parameters
    ----------
    model, tokenizer
        From :func:`new_checkpoint`.
    batch, loss_of : callable
    steps : int
    rate : float
    seed : int
        Of the sentences.
    **inputs
        What else the tokenizer is asked for, such as ``return_word_ids=True``.
    """

    def step(random: np.random.Generator) -> torch.Tensor:
        texts, targets = batch(random)
        encoded = tokenizer(*texts, padding=True, return_tensors="pt", **inputs)
        return loss_of(model(**encoded), encoded, targets)

    return fit(model, step, steps, rate=rate, seed=seed)


def fit(
    model: Any, loss: Callable[[np.random.Generator], torch.Tensor], steps: int, *, rate: float = 1e-3, seed: int = 0
) -> float:
    """Steps of AdamW, the rate rising in ten of them, then falling to zero; gives the last loss."""
    random = np.random.default_rng(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / 10, 1 - step / steps))
    for _ in range(steps):
        found = loss(random)
        optimizer.zero_grad()
        found.backward()
        optimizer.step()
        schedule.step()
    return float(found.detach())


def next_token_loss(logits: torch.Tensor, tokens: torch.Tensor, are_real: torch.Tensor) -> torch.Tensor:
    """How badly each token is predicted from those before it, padding aside.

    Parameters
    ----------
    logits : float32[rows, tokens - 1, vocabulary]
        Behind each token but the last.
    tokens : int64[rows, tokens]
    are_real : bool[rows, tokens]
        False: padding.
    """
    targets = torch.where(are_real, tokens, -100)[:, 1:]  # cross_entropy passes over -100
    return torch.nn.functional.cross_entropy(logits.transpose(1, 2), targets)


def texts_of(batch: Batch) -> list[str]:
    """Sentences of some batches, for the vocabulary."""
    random = np.random.default_rng(1)
    return [text for _ in range(20) for column in batch(random)[0] for text in column]


def train_folder(
    folder: Path, batch: Batch, loss_of: Loss, steps: int, *, head: str, labels: Sequence[str] = (), **inputs: Any
) -> Path:
    """The whole way: a vocabulary of what ``batch`` gives, a model that is trained on it, and their folder."""
    tokenizer, model = new_checkpoint(folder, texts_of(batch), head, labels)
    train(model, tokenizer, batch, loss_of, steps, **inputs)
    save_model(model, folder)
    return folder
