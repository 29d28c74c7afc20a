"""New models with random weights, and checkpoint folders of what became of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from operator import index
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from numba_nlp._atomic import atomic_writer
from numba_nlp.models.blank import give_memory, without_memory
from numba_nlp.models.families import class_of, family_of, head_of, label_names
from numba_nlp.models.model import Model
from numba_nlp.models.settings import ConfigReader, raise_problems
from numba_nlp.models.weights import TensorMap

__all__ = ["create_model", "save_model"]

_PLACE = "the given config"


def create_model(config: Any, *, head: str | None = None, seed: int = 0) -> Model:
    """Make a model with random weights, to be trained.

    Parameters
    ----------
    config : mapping
        What a config.json of transformers holds: ``model_type``, sizes, and ``architectures`` unless ``head`` is given.
        Or a configuration of transformers (what has ``to_dict``).
    head : str, optional
        As of :func:`numba_nlp.load_model`.
    seed : int, default 0
        Of the weights. Matrices are drawn from a normal distribution with the deviation ``initializer_range`` of the
        config (0.02 by default), biases are 0 and weights of normalisations 1, as for BERT and GPT-2.

    Returns
    -------
    Model
        In float32 on the CPU, in training mode; its parameters collect gradients. There is no dropout.

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        Values of the config are malformed or not supported; all of them are listed.
    TypeError
        The config is no mapping, or the seed no whole number.
    ValueError
        The seed has more than 64 bits.

    Examples
    --------
    >>> from numba_nlp.models import create_model
    >>> model = create_model({"model_type": "bert", "vocab_size": 100, "num_hidden_layers": 2}, head="masked_lm")
    >>> model([[1, 2, 3]]).logits.shape
    torch.Size([1, 3, 100])
    """
    if hasattr(config, "to_dict"):
        config = config.to_dict()
    if not isinstance(config, Mapping):
        raise TypeError(
            f"`config` must be a mapping, as config.json holds it, or a configuration of transformers, got "
            f"{type(config).__name__}"
        )
    try:
        number = index(seed)
    except TypeError:
        raise TypeError(f"seed= must be a whole number, got {seed!r}") from None
    if not 0 <= number < 2**64:
        raise ValueError(f"seed= must be from 0 to 2**64 - 1, got {seed!r}")
    reader = ConfigReader(config, _PLACE)
    family = family_of(config, _PLACE)
    head = head_of(family, config, _PLACE, head)
    settings = family.read_settings(reader)
    reader.everywhere()
    labels = reader.labels()[1]
    deviation = reader.number("initializer_range", 0.02)
    raise_problems(_PLACE, reader.malformed, reader.unsupported)
    with without_memory():
        model = family.build(settings, head)
    give_memory(model, torch.device("cpu"))
    generator = torch.Generator().manual_seed(number)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, deviation, generator=generator)
            else:
                parameter.fill_(1.0 if name.endswith("weight") else 0.0)
    model.fill_tables()
    model.family, model.config = family.name, dict(config)
    model.labels = label_names(labels, head, settings.labels)
    if not model.config.get("architectures"):
        model.config["architectures"] = [class_of(family, config, head)]
    return model.train()


def save_model(model: Model, folder: str | os.PathLike[str]) -> None:
    """Write a checkpoint folder that :func:`numba_nlp.load_model` and transformers read.

    Parameters
    ----------
    model : Model
        From :func:`create_model` or :func:`numba_nlp.load_model`.
    folder : path-like
        Made if it is not there; ``config.json``, ``model.safetensors`` and, where the model has one,
        ``generation_config.json`` are written into it, each whole or not at all. ``architectures`` names the class that
        holds what the model does, ``BertForMaskedLM`` of a masked language model that came from
        ``BertForPreTraining``. No tokenizer is written.

    Raises
    ------
    OSError
        The folder cannot be written.
    """
    family = family_of(model.config, _PLACE)
    to = TensorMap()
    model.name_tensors(to)
    tensors = {
        place.names[0]: (place.destination.t() if place.transposed else place.destination).detach().cpu().clone()
        for place in to.places
    }
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    config = {
        **model.config,
        "architectures": [class_of(family, model.config, model.head)],
        "dtype": str(model.dtype).removeprefix("torch."),
    }
    _write_json(path / "config.json", config)
    if model.generation_config is not None:
        _write_json(path / "generation_config.json", model.generation_config)
    contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
    with atomic_writer(path / "model.safetensors") as stream:
        # transformers asks which library's tensors these are
        stream.write(save(contiguous, metadata={"format": "pt"}))


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    with atomic_writer(path) as stream:
        stream.write((json.dumps(value, indent=2, sort_keys=True) + "\n").encode())
