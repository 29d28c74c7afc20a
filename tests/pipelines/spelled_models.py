"""Models whose logits are a function of the ids, so that tests say where entities and answers are."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

import numba_nlp as nlp
from numba_nlp.models import ModelOutput, save_model
from tools.record_pipelines.span_models import write_checkpoint

__all__ = ["LABELS", "LettersModel", "spelled_checkpoint"]

LABELS = ("O", "B-PER", "I-PER")


class LettersModel:
    """Stands for a model: each id has logits of its own, for labels, or for start and end.

    Parameters
    ----------
    chosen : dict of int to int
        Id -> number of the logit that is high; of all other ids it is the first label, or none.
    labels : tuple of str or None
        None: logits of starts and ends.
    limit : int or None
        Positions.
    """

    family, device, dtype, config = "letters", torch.device("cpu"), torch.float32, {}
    cpu_threads = 1

    def __init__(self, chosen: dict[int, int], labels: tuple[str, ...] | None, limit: int | None = None) -> None:
        self.chosen = chosen
        self.labels = labels
        self.head = "question_answering" if labels is None else "token_classification"
        self.settings = SimpleNamespace(positions=limit)
        self.widths: list[int] = []

    def __call__(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> ModelOutput:
        ids = torch.as_tensor(input_ids)
        self.widths.append(ids.shape[1])
        logits = torch.zeros(*ids.shape, 2 if self.labels is None else len(self.labels))
        if self.labels is not None:
            logits[..., 0] = 3.0
        for token, place in self.chosen.items():
            logits[ids == token] = 0.0
            logits[..., place][ids == token] = 9.0
        # padding is not to be looked at
        logits[torch.as_tensor(attention_mask) == 0] = 99.0
        if self.labels is not None:
            return ModelOutput(logits=logits)
        return ModelOutput(start_logits=logits[..., 0].contiguous(), end_logits=logits[..., 1].contiguous())


def spelled_checkpoint(folder: Path, head: str, words: tuple[str, str], **options: Any) -> nlp.Tokenizer:
    """A BERT folder where one word has the logit 1 and another the logit 2 (answers: start and end), wherever it is.

    Nothing flows between tokens: attention and feed-forward layers give zeros, positions are zeros. What an id is alone
    decides, and all others have the logit 0 (answers: none).
    """
    write_checkpoint("bert", head, folder, labels=LABELS, **options)
    tokenizer = nlp.load_tokenizer(folder)
    model = nlp.load_model(folder)
    first, second = (tokenizer.token_to_id(word) for word in words)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name and name.endswith("weight"):
                parameter.fill_(1.0)
            else:
                parameter.zero_()
        embedded = model.encoder.embeddings.tokens.weight
        embedded[:, 0] = 1.0
        for place, token in enumerate((first, second), 1):
            embedded[token] = 0.0
            embedded[token, place] = 1.0
        is_answer = head == "question_answering"
        for place in (1, 2) if is_answer else (0, 1, 2):
            model.classifier.weight[place - is_answer, place] = 4.0
    save_model(model, folder)
    return tokenizer
