"""The folder of a checkpoint: its settings, and which files hold its weights."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

from numba_nlp import _hub
from numba_nlp.errors import SourceFormatError

__all__ = ["ModelFolder", "find_model_folder"]

#: Files of weights, the first that is there is read: one file, or the index of several (transformers' order).
_WEIGHTS = (
    ("model.safetensors", "model.safetensors.index.json"),
    ("pytorch_model.bin", "pytorch_model.bin.index.json"),
)
_CONVERTED = "transformers 4 converts them with from_pretrained(folder, {}=True) and save_pretrained(folder)"
#: Files of weights that are not read: pattern, of what they are, what to do.
_OTHER_WEIGHTS = (
    ("tf_model*.h5", "of TensorFlow", _CONVERTED.format("from_tf")),
    ("flax_model*.msgpack", "of Flax", _CONVERTED.format("from_flax")),
    ("*.ckpt*", "of a training program", "convert them to model.safetensors with the program that wrote them"),
    ("*.onnx", "of ONNX", "get the folder from which they were exported"),
    ("*.gguf", "of llama.cpp", "get the folder from which they were converted"),
)
_FILE_ENDINGS = frozenset((".json", ".safetensors", ".bin", ".pt", ".pth", ".h5", ".msgpack", ".onnx", ".gguf"))
#: Settings are small; a larger file is something else.
_LARGEST_JSON = 100 << 20


def find_model_folder(source: str | PathLike[str], options: dict[str, Any]) -> ModelFolder:
    """The folder of a checkpoint, from the hub where it is a name.

    Parameters
    ----------
    source : path-like or str
        A folder, or the name of a checkpoint on the hub.
    options : dict
        Of ``_hub.HUB_OPTIONS``.

    Returns
    -------
    ModelFolder

    Raises
    ------
    FileNotFoundError
        There is no such folder, and no such checkpoint on the hub or in its cache.
    SourceFormatError
        The source is a file, or an option has no sense.
    """
    path = Path(source)
    if path.is_file():
        raise SourceFormatError(f"{source}: this is a file; a model is loaded from its folder, {str(path.parent)!r}")
    if not path.is_dir() and not _hub.is_hub_name(str(source), file_endings=_FILE_ENDINGS):
        raise FileNotFoundError(f"{source}: there is no such folder, and this cannot be the name of a checkpoint")
    inner = ("*/*",)
    folder = ModelFolder(_hub.find_folder(source, options, wanted=("*.json", "model*.safetensors"), not_wanted=inner))
    if not folder.has_weights() and not path.is_dir():
        folder = ModelFolder(
            _hub.find_folder(source, options, wanted=("*.json", "pytorch_model*.bin"), not_wanted=inner)
        )
    return folder


class ModelFolder:
    """A folder with a checkpoint.

    Parameters
    ----------
    path : Path
        The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def config(self) -> dict[str, Any]:
        """What ``config.json`` holds.

        Raises
        ------
        SourceFormatError
            It is missing, not JSON, or no object.
        """
        found = self.json_object("config.json")
        if found is None:
            self._refuse_adapter()
            raise SourceFormatError(f"{self.path}: the file 'config.json' is missing, so this is no checkpoint folder")
        return found

    def json_object(self, name: str) -> dict[str, Any] | None:
        """The object that a JSON file holds, None when there is no such file.

        Raises
        ------
        SourceFormatError
            The file is not JSON, or no object.
        """
        path = self.path / name
        if not path.is_file():
            return None
        if path.stat().st_size > _LARGEST_JSON:
            raise SourceFormatError(f"{path}: more than {_LARGEST_JSON >> 20} MiB is too large for a file of settings")
        try:
            value = json.loads(path.read_bytes())
        except (ValueError, RecursionError) as error:
            raise SourceFormatError(f"{path}: this is not JSON: {error}") from error
        if not isinstance(value, dict):
            raise SourceFormatError(f"{path}: expected an object, got {type(value).__name__}")
        return value

    def has_weights(self) -> bool:
        """Whether there is a file of weights, or an index of several."""
        return any((self.path / name).is_file() for names in _WEIGHTS for name in names)

    def weight_files(self) -> tuple[list[Path], dict[str, str] | None]:
        """Paths of the files that hold the weights, and which tensor is in which where an index says so.

        Raises
        ------
        SourceFormatError
            There is none, a file that the index names is missing or elsewhere, or the index is malformed.
        """
        for single, index in _WEIGHTS:
            if (self.path / single).is_file():
                return [self.path / single], None
            value = self.json_object(index)
            if value is not None:
                return self._indexed(index, value)
        self._refuse_adapter()
        wanted = ", ".join(name for names in _WEIGHTS for name in names)
        raise SourceFormatError(
            f"{self.path}: there are no weights that can be read; wanted: {wanted}{self._other_weights()}"
        )

    def _refuse_adapter(self) -> None:
        """Refuse a folder of peft, which holds a few matrices that belong to a model elsewhere."""
        adapter = self.json_object("adapter_config.json")
        if adapter is not None:
            base = adapter.get("base_model_name_or_path")
            raise SourceFormatError(
                f"{self.path}: this is an adapter of peft (adapter_config.json), not a whole model; merge it with its "
                f"base model{'' if base is None else f' {base!r}'} by merge_and_unload() of peft and "
                "save_pretrained(), and load the folder that this writes"
            )

    def _other_weights(self) -> str:
        """What the folder holds instead, and what to do with it."""
        for pattern, what, way in _OTHER_WEIGHTS:
            for path in sorted(self.path.glob(pattern)):
                return f"; {path.name!r} holds weights {what}, which are not read: {way}"
        return ""

    def _indexed(self, index: str, value: dict[str, Any]) -> tuple[list[Path], dict[str, str]]:
        files = value.get("weight_map")
        if not isinstance(files, dict) or not files or not all(isinstance(name, str) for name in files.values()):
            raise SourceFormatError(
                f"{self.path / index}: `weight_map` must map names of tensors to names of files, got {str(files)[:200]}"
            )
        names = sorted(set(files.values()))
        problems = []
        for name in names:
            if Path(name).name != name or "\\" in name or name in ("", ".", ".."):
                problems.append(f"{name!r} is no name of a file in this folder, and no other is read")
            elif not (self.path / name).is_file():
                problems.append(f"the file {name!r} is missing")
            elif not name.endswith((".safetensors", ".bin")):
                problems.append(f"{name!r} is no file of weights (.safetensors, .bin)")
        if problems:
            raise SourceFormatError(f"{self.path / index}: " + "; ".join(problems))
        return [self.path / name for name in names], files
