"""Which tensor of a checkpoint goes where in a model, and the loader that puts it there.

A model says it in ``name_tensors``, which reads like a list. The loader runs this list twice: over the model without
memory (device "meta") to check names, shapes and kinds before anything is allocated, and over the allocated model to
copy. Each tensor is copied from the mapped file into its place, one at a time, and converted on the way, so that there
never is a second copy of the model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import nn

from numba_nlp.models.layers.heads import OutputLayer
from numba_nlp.models.weight_files import WeightFiles

__all__ = ["Loader", "TensorMap"]

_KINDS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
#: Names of the parameters of normalisations in checkpoints that were made from TensorFlow's.
_OLD_NAMES = (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias"))


@dataclass
class _Place:
    """Where a tensor goes: ``names[0]``, or the first of the others that is there."""

    names: tuple[str, ...]
    destination: torch.Tensor
    transposed: bool
    same: tuple[str, ...]
    computed: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor in the file."""
        shape = tuple(self.destination.shape)
        return shape[::-1] if self.transposed else shape


@dataclass
class TensorMap:
    """Collects which tensor of a checkpoint goes where.

    Attributes
    ----------
    places : list
        Destinations with the names of their tensors.
    """

    places: list[_Place] = field(default_factory=list)
    _outputs: list[tuple[OutputLayer, str, str]] = field(default_factory=list)
    _optional: list[tuple[nn.Module, str, str]] = field(default_factory=list)
    _ignored: list[str] = field(default_factory=list)

    def tensor(
        self,
        name: str,
        destination: torch.Tensor,
        *,
        transposed: bool = False,
        instead: tuple[str, ...] = (),
        same: tuple[str, ...] = (),
        computed: bool = False,
    ) -> None:
        """One tensor.

        Parameters
        ----------
        name : str
            In the checkpoint.
        destination : Tensor
            A parameter, a buffer, or a view of one.
        transposed : bool
            The file holds it transposed.
        instead : tuple of str
            Names that are taken where ``name`` is absent; what else is there of them is not read.
        same : tuple of str
            Other names of the same tensor, also taken where ``name`` is absent: if there, they must hold the same.
        computed : bool
            ``fill_tables`` computes it, so that it may be absent.
        """
        self.places.append(_Place((name, *instead, *same), destination, transposed, same, computed))

    def linear(self, layer: nn.Linear, name: str, *, transposed: bool = False) -> None:
        """Weight, and bias where the layer has one; ``transposed``: the weight is stored input by output (Conv1D)."""
        self.tensor(f"{name}.weight", layer.weight, transposed=transposed)
        if layer.bias is not None:
            self.tensor(f"{name}.bias", layer.bias)

    def stacked(self, layer: nn.Linear, *names: str, transposed: bool = False) -> None:
        """Linear layers of the checkpoint that are one here: each takes an equal share of the rows."""
        rows = layer.weight.shape[0] // len(names)
        for i, name in enumerate(names):
            part = slice(i * rows, (i + 1) * rows)
            self.tensor(f"{name}.weight", layer.weight[part], transposed=transposed)
            if layer.bias is not None:
                self.tensor(f"{name}.bias", layer.bias[part])

    def norm(self, layer: nn.Module, name: str) -> None:
        """Weight, and bias where the normalisation has one."""
        self.tensor(f"{name}.weight", layer.weight)
        if getattr(layer, "bias", None) is not None:
            self.tensor(f"{name}.bias", layer.bias)

    def embedding(self, layer: nn.Embedding, name: str, *, same: tuple[str, ...] = ()) -> None:
        """Matrix of an embedding; ``same``: other names of its layer, as of shared embeddings."""
        self.tensor(f"{name}.weight", layer.weight, same=tuple(f"{each}.weight" for each in same))

    def output(self, layer: OutputLayer, name: str, embedding: str) -> None:
        """Matrix of an output layer, named without ``.weight`` as the embedding that it may be tied to.

        A tied layer whose checkpoint holds another matrix than the embedding's is untied, as transformers does it; a
        checkpoint that holds the matrix under the output's name only gives it to the embedding too.
        """
        if layer.weight is None:
            self._outputs.append((layer, f"{name}.weight", f"{embedding}.weight"))
        else:
            self.tensor(f"{name}.weight", layer.weight)

    def optional(self, owner: nn.Module, attribute: str, name: str) -> None:
        """A part that is None where the checkpoint has no tensor ``name`` or ``name.*``; its tensors are listed too."""
        if getattr(owner, attribute) is not None:
            self._optional.append((owner, attribute, name))

    def ignored(self, *patterns: str) -> None:
        """Names that may be in the checkpoint and are not read; ``*`` stands for anything."""
        self._ignored.extend(patterns)


class Loader:
    """Puts the tensors of a checkpoint into a model.

    Parameters
    ----------
    model : nn.Module
        Has ``prefix`` (the name of the model without head, which the names of a checkpoint may have or lack) and
        ``name_tensors``. On the device "meta".
    files : WeightFiles
        The checkpoint.
    ignore : tuple of str
        Patterns of surplus tensors that are no problem.

    Attributes
    ----------
    problems : list of str
        All that speaks against loading.
    missing : list of str
        Names of the tensors that are not in the checkpoint; one of the problems.
    """

    def __init__(self, model: Any, files: WeightFiles, ignore: tuple[str, ...] = ()) -> None:
        self._model = model
        self._files = files
        self._ignore = ignore
        self.problems = list(files.problems)
        to = TensorMap()
        model.name_tensors(to)
        self._names = self._match_names(to)
        self._drop_optional(to)
        self._settle_outputs(to)
        self._check(to)

    def load(self) -> None:
        """Copy all tensors into the model, which has memory by now."""
        to = TensorMap()
        self._model.name_tensors(to)
        self._add_tied_names(to)
        with torch.no_grad():
            for place in to.places:
                found = self._found(place)
                if found is None and place.computed:
                    continue
                tensor = self._read(found)
                place.destination.copy_(tensor.t() if place.transposed else tensor)

    def _match_names(self, to: TensorMap) -> dict[str, str]:
        """Name in ``name_tensors`` -> name in the file; notes what is surplus."""
        known = {name for place in to.places for name in place.names} | {name for _, name, _ in to._outputs}
        # what is ignored is a part of its own (another head, a buffer): one more tensor of a part of ours is not
        parts = {_part(name) for name in known}
        prefix = f"{self._model.prefix}."
        names: dict[str, str] = {}
        surplus = []
        for name in self._files.tensors:
            plain = name
            for old, new in _OLD_NAMES:
                plain = plain.replace(old, new)
            forms = (plain, prefix + plain, plain.removeprefix(prefix))
            ours = next((form for form in forms if form in known), None)
            if ours is None:
                if not any(fnmatchcase(name, pattern) for pattern in self._ignore) and not any(
                    fnmatchcase(form, pattern) and _part(form) not in parts for form in forms for pattern in to._ignored
                ):
                    surplus.append(name)
            elif ours in names:
                self.problems.append(f"{name!r} and {names[ours]!r} are the same tensor {ours!r}")
            else:
                names[ours] = name
        if surplus:
            self.problems.append(
                f"tensors without a place in the model: {_listed(surplus)} "
                "(ignore= takes patterns of what may be left out)"
            )
        return names

    def _drop_optional(self, to: TensorMap) -> None:
        for owner, attribute, part in to._optional:
            if not any(_is_in(name, part) for name in self._names):
                setattr(owner, attribute, None)
                to.places = [place for place in to.places if not _is_in(place.names[0], part)]

    def _settle_outputs(self, to: TensorMap) -> None:
        """Untie the output layers whose matrix is there and not that of the embedding."""
        for layer, name, embedding in to._outputs:
            if name not in self._names:
                continue
            info = self._files.tensors[self._names[name]]
            if info.shape != layer.shape or info.dtype not in _KINDS:
                if info.shape != layer.shape:
                    self.problems.append(self._shape_problem(name, layer.shape))
                if info.dtype not in _KINDS:
                    self.problems.append(self._dtype_problem(name))
                continue
            (place,) = (place for place in to.places if place.names[0] == embedding)
            found = self._found(place)  # under whichever of its names
            if found is not None and not self._equal(name, found):
                layer.untie(place.destination)
        self._add_tied_names(to)

    def _add_tied_names(self, to: TensorMap) -> None:
        """An embedding may be found under the name of the output layer that is tied to it."""
        for layer, name, embedding in to._outputs:
            if layer.weight is None:
                for place in to.places:
                    if place.names[0] == embedding:
                        place.names = (*place.names, name)

    def _check(self, to: TensorMap) -> None:
        missing = []
        for place in to.places:
            found = self._found(place)
            if found is None:
                if not place.computed:
                    missing.append(place.names[0])
                continue
            info = self._files.tensors[self._names[found]]
            if info.dtype not in _KINDS:
                self.problems.append(self._dtype_problem(found))
            if info.shape != place.shape:
                self.problems.append(self._shape_problem(found, place.shape))
            self.problems.extend(
                f"{self._names[name]!r} should hold the same as {self._names[found]!r} and does not"
                for name in place.same
                if name != found and name in self._names and not self._equal(name, found)
            )
        self.missing = missing
        if missing:
            self.problems.append(f"tensors that are missing: {_listed(missing)}")

    def _found(self, place: _Place) -> str | None:
        return next((name for name in place.names if name in self._names), None)

    def _read(self, name: str | None) -> torch.Tensor:
        assert name is not None, "a model is loaded that has problems"
        return self._files.read(self._names[name])

    def _equal(self, one: str, other: str) -> bool:
        """Whether two tensors of the file are the same, to the bit but for the dtype."""
        first, second = self._read(one), self._read(other)
        if first.shape != second.shape:
            return False
        # files of PyTorch hold tied tensors as two views of one
        same = first.data_ptr() == second.data_ptr() and first.stride() == second.stride()
        return same or torch.equal(first, second.to(first.dtype))

    def _dtype_problem(self, name: str) -> str:
        there = self._files.tensors[self._names[name]].dtype
        begin = f"{self._names[name]!r} holds {there}"
        if isinstance(there, torch.dtype) and not there.is_floating_point:
            return f"{begin}, not floating-point numbers"
        kinds = ", ".join(str(kind).removeprefix("torch.") for kind in _KINDS)
        return f"{begin}, which is not supported; supported: {kinds}"

    def _shape_problem(self, name: str, wanted: tuple[int, ...]) -> str:
        there = self._files.tensors[self._names[name]].shape
        return f"{self._names[name]!r} has the shape {list(there)}, config.json makes it {list(wanted)}"


def _part(name: str) -> str | None:
    """The module of a tensor, None for one of the whole model."""
    return name.rpartition(".")[0] or None


def _is_in(name: str, part: str) -> bool:
    return name == part or name.startswith(f"{part}.")


#: So many names of a kind are listed; a model of another family would give hundreds.
_LISTED = 20


def _listed(names: list[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(map(repr, names[:_LISTED])) + (f" and {more} more" if more > 0 else "")
