"""Tiny models of transformers with random weights, saved by it: what our models are compared with."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers (Python 3.11 or later)")

import numba_nlp as nlp  # noqa: E402

# models this small lose by threads, and lose much where several processes share the cores
torch.set_num_threads(1)

#: What float32 may differ by: sums are taken in another order.
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def make_reference(architecture: str, *, seed: int = 0, **settings: Any) -> Any:
    """A model of transformers with random weights, large enough that every part shows in the result.

    Parameters
    ----------
    architecture : str
        Name of the class.
    seed : int
        Of the weights.
    **settings
        Of its configuration; attention is "eager" unless ``attn_implementation`` says otherwise.
    """
    kind = getattr(transformers, architecture)
    settings.setdefault("attn_implementation", "eager")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = kind(kind.config_class(**settings)).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if not parameter.requires_grad:  # tables of sines, which are not saved
                    continue
                # biases start as zeros and norms as ones, which would hide that they are mixed up
                parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


def save(model: Any, folder: Path, **options: Any) -> Path:
    """Save a model of transformers as its users do."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder, **options)
    return folder


def pair(
    architecture: str, folder: Path, *, head: str | None = None, seed: int = 0, **settings: Any
) -> tuple[Any, Any]:
    """A model of transformers, and ours, loaded from what it saved."""
    reference = make_reference(architecture, seed=seed, **settings)
    return reference, nlp.load_model(save(reference, folder), head=head)


def draw_ids(rows: int, width: int, vocabulary: int, *, seed: int = 1, least: int = 3) -> Any:
    """Random ids ``int64[rows, width]`` of at least ``least``, so that none is a special one by chance."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(least, vocabulary, (rows, width), generator=generator)


def pad(ids: Any, lengths: list[int], *, side: str, padding: int = 0) -> tuple[Any, Any]:
    """Rows cut to lengths and padded to their width again; the ids and the mask."""
    width = ids.shape[1]
    mask = torch.zeros_like(ids)
    padded = torch.full_like(ids, padding)
    for row, length in enumerate(lengths):
        where = slice(0, length) if side == "right" else slice(width - length, width)
        mask[row, where] = 1
        padded[row, where] = ids[row, :length]
    return padded, mask


@functools.cache
def reference_fields() -> tuple[str, ...]:
    """Fields of our output that transformers has too."""
    from dataclasses import fields

    from numba_nlp.models import ModelOutput

    return tuple(field.name for field in fields(ModelOutput))


def assert_same(ours: Any, theirs: Any, *, only: Any = None, **tolerance: Any) -> None:
    """Every field that transformers gives is there and the same; ``only``: which tokens count."""
    compared = 0
    for name in reference_fields():
        expected = theirs.get(name)
        got = getattr(ours, name)
        if expected == ():  # cross-attention of a model without any
            expected = None
        assert (expected is None) == (got is None), name
        if expected is None:
            continue
        several = isinstance(expected, tuple)
        assert not several or len(expected) == len(got), name
        for one, other in zip(got if several else (got,), expected if several else (expected,), strict=True):
            assert one.shape == other.shape, name
            if only is not None and one.shape[:2] == only.shape:
                one, other = one[only], other[only]  # noqa: PLW2901
            elif only is not None and one.dim() == 4:  # attention: rows of padding mean nothing
                rows = only[:, None, :, None].expand_as(one)
                one, other = one[rows], other[rows]  # noqa: PLW2901
            torch.testing.assert_close(
                one, other, **{**CLOSE, **tolerance}, msg=lambda text, name=name: f"{name}: {text}"
            )
            compared += 1
    assert compared


def assert_rows_alone(call: Callable[..., Any], ids: Any, lengths: list[int], *, side: str, padding: int = 0) -> None:
    """A padded batch gives each row what the row alone gives (fields by token: where there are tokens)."""
    padded, mask = pad(ids, lengths, side=side, padding=padding)
    together = call(padded, mask)
    for row, length in enumerate(lengths):
        alone = call(ids[row : row + 1, :length], None)
        where = mask[row].bool()
        for name, expected in alone.to_dict().items():
            if isinstance(expected, tuple):
                continue
            got = getattr(together, name)[row]
            if got.dim() and got.shape[0] == where.shape[0] and expected.shape[1] == length:
                got = got[where]
            torch.testing.assert_close(got, expected[0], **CLOSE, msg=lambda text, name=name: f"{name}: {text}")
