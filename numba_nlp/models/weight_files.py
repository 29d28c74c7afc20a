"""Files of weights: safetensors and PyTorch's, mapped, their tensors by name."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open

from numba_nlp.errors import SourceFormatError

__all__ = ["TensorInfo", "WeightFiles"]

_SAFETENSORS_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}

#: How files begin that Git LFS (specification, version 1) puts in place of large ones.
_POINTER = b"version https://git-lfs.github.com/spec/"
#: Pages of a file that are read count as memory of the process while they are mapped.
_MAPPED_BYTES = 64 << 20


class TensorInfo(NamedTuple):
    """What a file says of a tensor; the dtype is text where torch has no such dtype that we know."""

    shape: tuple[int, ...]
    dtype: torch.dtype | str


class WeightFiles:
    """The tensors of a checkpoint, by name; none is read before it is asked for.

    Parameters
    ----------
    paths : list of Path
        One or more files, each safetensors or PyTorch's (``.bin``: unpickled without arbitrary code, mapped where its
        format allows it).
    index : dict of str to str, optional
        Name of a tensor -> name of its file.

    Attributes
    ----------
    tensors : dict of str to TensorInfo
    problems : list of str
        What is wrong, short of a file that cannot be read.

    Raises
    ------
    SourceFormatError
        A file is damaged.
    """

    def __init__(self, paths: list[Path], index: dict[str, str] | None = None) -> None:
        self.tensors: dict[str, TensorInfo] = {}
        self.problems: list[str] = []
        self._sources: dict[str, Any] = {}
        for path in paths:
            _refuse_pointer(path)
            entries = _safetensors(path) if path.suffix == ".safetensors" else _pickled(path, self.problems)
            for name, info, source in entries:
                if name in self.tensors:
                    self.problems.append(f"the tensor {name!r} is in two files, one of them {path.name!r}")
                self.tensors[name] = info
                self._sources[name] = source
        absent = [name for name in index or () if name not in self.tensors]
        if absent:
            self.problems.append(f"the index names tensors that no file holds: {', '.join(map(repr, absent))}")

    def read(self, name: str) -> torch.Tensor:
        """A tensor, mapped from the file where that is possible; not to be changed."""
        source = self._sources[name]
        return source if isinstance(source, torch.Tensor) else source.read(name)

    def first_float(self) -> torch.dtype | None:
        """The dtype of the first tensor of floating-point numbers."""
        for info in self.tensors.values():
            if isinstance(info.dtype, torch.dtype) and info.dtype.is_floating_point:
                return info.dtype
        return None


def _refuse_pointer(path: Path) -> None:
    """Refuse what Git leaves in place of a large file that was not fetched.

    Raises
    ------
    SourceFormatError
        It is such a file.
    """
    with path.open("rb") as file:
        begin = file.read(len(_POINTER))
    if begin == _POINTER:
        raise SourceFormatError(
            f"{path}: this is a pointer of Git LFS, not the file itself; get it with `git lfs pull` in its folder"
        )


class _SafetensorsFile:
    """A mapped file that is mapped anew now and then, so that pages which were read can leave memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open()

    def _open(self) -> None:
        self._opened = safe_open(self._path, framework="pt", device="cpu")
        self._bytes_read = 0

    def tensors(self) -> Iterator[tuple[str, TensorInfo]]:
        for name in self._opened.keys():  # noqa: SIM118 - this is no dict
            part = self._opened.get_slice(name)
            dtype = part.get_dtype()
            yield name, TensorInfo(tuple(part.get_shape()), _SAFETENSORS_DTYPES.get(dtype, dtype))

    def read(self, name: str) -> torch.Tensor:
        if self._bytes_read > _MAPPED_BYTES:
            self._open()
        tensor = self._opened.get_tensor(name)
        self._bytes_read += tensor.nbytes
        return tensor


def _safetensors(path: Path) -> Iterator[tuple[str, TensorInfo, Any]]:
    try:
        file = _SafetensorsFile(path)
        for name, info in file.tensors():
            yield name, info, file
    except SafetensorError as error:
        raise SourceFormatError(f"{path}: this is no sound safetensors file: {error}") from error


def _pickled(path: Path, problems: list[str]) -> Iterator[tuple[str, TensorInfo, Any]]:
    try:
        values = torch.load(path, map_location="cpu", weights_only=True, mmap=_may_be_mapped(path))
    except MemoryError:
        raise
    except Exception as error:  # a damaged file makes torch raise nearly anything, OSError included
        raise SourceFormatError(
            f"{path}: this is no sound file of weights, or it holds more than tensors, which is not read: {error}"
        ) from error
    if isinstance(values, dict) and isinstance(values.get("state_dict"), dict):
        values = values["state_dict"]  # of a program that kept more beside it
    if not isinstance(values, dict):
        raise SourceFormatError(f"{path}: expected tensors by name, got {type(values).__name__}")
    for name, value in values.items():
        if isinstance(name, str) and _is_dense(value):
            yield name, TensorInfo(tuple(value.shape), value.dtype), value
        else:
            problems.append(f"{name!r} of {path.name!r} is no dense tensor but {_kind(value)}")


def _is_dense(value: Any) -> bool:
    """Whether something is a tensor whose numbers lie in memory, one after the other or in strides."""
    return (
        isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and value.device.type == "cpu"
        and not value.is_nested
        and not value.is_quantized
    )


def _kind(value: Any) -> str:
    """What something is that is no dense tensor."""
    name = type(value).__name__
    if not isinstance(value, torch.Tensor):
        return name
    if value.device.type == "meta":
        return f"a {name} without numbers (on the device 'meta')"
    kind = "nested" if value.is_nested else str(value.dtype if value.is_quantized else value.layout)
    return f"{name} ({kind.removeprefix('torch.')})"


def _may_be_mapped(path: Path) -> bool:
    """Whether torch can map a file.

    The format before PyTorch 1.6 is no archive. Of an archive whose entries some other program has compressed, torch
    would map the compressed bytes as numbers.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())
    except zipfile.BadZipFile:
        return False
