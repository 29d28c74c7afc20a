"""Generation by transformers, by CTranslate2 and by this project: one call each, tokens as arrays.

CTranslate2 differs in what it searches for: ends of rows and the division by the length are its own, Marian's padding
is no token for it (transformers keeps its share of the probability), and it draws other random numbers. Where no row
ends before the last step, and nothing is drawn, its tokens in float32 are those of transformers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .generation_models import GenerationCase

__all__ = ["LIBRARIES", "Call", "exact", "make_call", "read_inputs"]

Call = Callable[[], np.ndarray]

#: Libraries, with the kind of weights that they compute with.
LIBRARIES = (
    "transformers",
    "ctranslate2 float32",
    "ctranslate2 int8",
    "numba_nlp float32",
    "numba_nlp float16",
    "numba_nlp int8",
)


def exact(library: str, case: GenerationCase) -> bool:
    """Whether the tokens have to be those of transformers, or tied with them."""
    return library.endswith("float32") and not case.sampled


def make_call(library: str, case: GenerationCase, folder: Path, threads: int) -> Call:
    """What generates and gives the new tokens of all rows, int64 ``[rows, new_tokens]``.

    Parameters
    ----------
    library : str
        One of `LIBRARIES`.
    case : GenerationCase
    folder : Path
        Of the checkpoint; what is made from it is put beside, in a folder of its own.
    threads : int

    Raises
    ------
    NotImplementedError
        The library, or its kind of weights, is not there.
    """
    name, _, kind = library.partition(" ")
    for package in ("torch", "transformers", name):
        if find_spec(package) is None:
            raise NotImplementedError(f"{package} is not installed")
    import torch

    torch.set_num_threads(threads)
    if name == "ctranslate2":
        return _ctranslate2(case, folder, kind, threads)
    return _transformers(case, folder) if name == "transformers" else _ours(case, folder, kind)


def _settings(folder: Path) -> dict[str, Any]:
    """Of the checkpoint."""
    found: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return found


def read_inputs(case: GenerationCase, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Ids and mask of what is read."""
    settings = _settings(folder)
    return case.ids(settings["vocab_size"], settings["eos_token_id"])


def _tensors(case: GenerationCase, folder: Path) -> tuple[Any, Any]:
    import torch

    ids, mask = read_inputs(case, folder)
    return torch.from_numpy(ids), torch.from_numpy(mask)


def _transformers(case: GenerationCase, folder: Path) -> Call:
    import transformers

    model = getattr(transformers, case.architecture).from_pretrained(folder).eval()
    ids, mask = _tensors(case, folder)
    options = case.options
    if case.decoder_only:
        options["pad_token_id"] = model.config.eos_token_id

    def call() -> np.ndarray:
        rows = model.generate(ids, attention_mask=mask, **options)
        return rows[:, -case.new_tokens :].numpy()

    return call


@lru_cache(maxsize=1)
def _loaded(folder: Path) -> Any:
    """Our model of a checkpoint: it keeps what it packs, for each kind of weights."""
    import numba_nlp as nlp

    return nlp.load_model(folder)


def _ours(case: GenerationCase, folder: Path, kind: str) -> Call:

    options = {**case.options, "weights": kind}
    model = _loaded(folder)
    ids, mask = _tensors(case, folder)

    def call() -> np.ndarray:
        return model.generate(ids, mask, seed=0, **options).sequences[:, -case.new_tokens :].numpy()

    return call


class _Names:
    """In place of a tokenizer: the name of each token is its number, but for Marian's padding."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._names = [str(token) for token in range(settings["vocab_size"])]
        if settings["model_type"] == "marian":
            self._names[settings["pad_token_id"]] = "<pad>"
        self.bos_token, self.eos_token = (self._names[settings.get(f"{end}_token_id") or 0] for end in ("bos", "eos"))
        self.pad_token = self._names[settings.get("pad_token_id") or 0]
        self.unk_token = self._names[3]

    def get_vocab(self) -> dict[str, int]:
        return {name: token for token, name in enumerate(self._names)}

    def convert_ids_to_tokens(self, token: int) -> str:
        return self._names[token]


def _converted(folder: Path) -> Path:
    """The checkpoint in CTranslate2's format, made once; weights are put into int8 when it is loaded."""
    from ctranslate2.converters import TransformersConverter

    target = folder / "ctranslate2"
    if not target.exists():

        class Converter(TransformersConverter):
            def load_tokenizer(self, *_: Any, **__: Any) -> _Names:
                return _Names(_settings(folder))

        Converter(str(folder)).convert(str(target))
    return target


def _ctranslate2(case: GenerationCase, folder: Path, kind: str, threads: int) -> Call:
    import ctranslate2

    ids, mask = read_inputs(case, folder)
    texts = [[str(token) for token in row[real.astype(bool)]] for row, real in zip(ids, mask, strict=True)]
    options: dict[str, Any] = {"beam_size": case.beams, "num_hypotheses": case.returned}
    if case.sampled:
        options["sampling_topk"] = 50
    loader = ctranslate2.Generator if case.decoder_only else ctranslate2.Translator
    model = loader(str(_converted(folder)), "cpu", compute_type=kind, inter_threads=1, intra_threads=threads)
    if case.decoder_only:

        def generate() -> list[list[list[str]]]:
            results = model.generate_batch(
                texts,
                min_length=case.new_tokens,
                max_length=case.new_tokens,
                include_prompt_in_result=False,
                **options,
            )
            return [result.sequences for result in results]

    else:

        def generate() -> list[list[list[str]]]:
            results = model.translate_batch(
                texts, min_decoding_length=case.new_tokens, max_decoding_length=case.new_tokens, **options
            )
            return [result.hypotheses for result in results]

    def call() -> np.ndarray:
        return np.array([[int(token) for token in row] for rows in generate() for row in rows])

    return call
