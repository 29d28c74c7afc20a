"""A model from a folder: settings, the module without memory, checks, memory, weights."""

from __future__ import annotations

from typing import Any

import torch

from numba_nlp.models.blank import give_memory, without_memory
from numba_nlp.models.families import family_of, head_of, label_names
from numba_nlp.models.folder import ModelFolder
from numba_nlp.models.head_checks import absent_head, other_head
from numba_nlp.models.model import Model
from numba_nlp.models.settings import ConfigReader, raise_problems
from numba_nlp.models.weight_files import WeightFiles
from numba_nlp.models.weights import Loader

__all__ = ["build_model"]

_DTYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}


def build_model(
    folder: ModelFolder,
    *,
    head: str | None,
    device: str | torch.device | None,
    dtype: str | torch.dtype | None,
    trainable: bool,
    ignore: tuple[str, ...] = (),
) -> Model:
    """Load a model; the arguments and errors are those of :func:`numba_nlp.load_model`."""
    place = _device(device)
    given_dtype = None if dtype is None or (isinstance(dtype, str) and dtype == "auto") else _dtype(dtype)
    config = folder.config()
    reader = ConfigReader(config, str(folder.path / "config.json"))
    family = family_of(config, reader.place)
    head = head_of(family, config, reader.place, head)
    settings = family.read_settings(reader)
    reader.everywhere()
    labels = reader.labels()[1]
    stored_dtype = _stored_dtype(reader)
    generation_config = folder.json_object("generation_config.json")
    if reader.malformed:
        raise_problems(reader.place, reader.malformed, reader.unsupported)

    with without_memory():
        model = family.build(settings, head)
    other = other_head(family, config, settings, model)
    files = WeightFiles(*folder.weight_files())
    model.cast(given_dtype or stored_dtype or files.first_float() or torch.float32)
    loader = Loader(model, files, ignore)
    absent = absent_head(family, config, settings, model, loader)
    problems = [problem for problem in (other, absent) if problem is not None]
    raise_problems(str(folder), [*problems, *loader.problems], reader.unsupported)

    give_memory(model, place)
    model.fill_tables()
    loader.load()
    model.family, model.config, model.generation_config = family.name, config, generation_config
    model.labels = label_names(labels, head, settings.labels)
    return model.eval().requires_grad_(trainable)


def _dtype(given: Any) -> torch.dtype:
    found = _DTYPES.get(given) if isinstance(given, str) else given
    if found not in _DTYPES.values():
        raise ValueError(
            f"dtype= must be one of {', '.join(map(repr, _DTYPES))} or torch's of that name, got {given!r}"
        )
    return found


def _stored_dtype(reader: ConfigReader) -> torch.dtype | None:
    """The kind of numbers that config.json names, which transformers takes before that of the weights."""
    for name in ("dtype", "torch_dtype"):
        if reader.config.get(name) not in (None, "auto"):
            return _DTYPES[reader.choice(name, "float32", tuple(_DTYPES))]
    return None


def _device(given: Any) -> torch.device:
    """A device by its name, None: the CPU.

    Raises
    ------
    ValueError
        There is no such name, or no such device.
    TypeError
        It is neither a name nor a device.
    """
    if given is None:
        return torch.device("cpu")
    if not isinstance(given, (str, int, torch.device)) or isinstance(given, bool):
        raise TypeError(f"device= must be a name such as 'cpu' or 'cuda:0', or torch's, got {type(given).__name__}")
    if given == -1:  # as pipelines of transformers call it
        return torch.device("cpu")
    try:
        device = torch.device(given)
    except RuntimeError as error:
        raise ValueError(f"device= must be a name such as 'cpu' or 'cuda:0', got {given!r}: {error}") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"device= {given!r}: this torch ({torch.__version__}) sees no CUDA device; leave it out, or pass 'cpu'"
        )
    return device
