"""Values of config.json, each checked as it is read; what is wrong with them is collected and raised at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from numba_nlp.models.layers.activations import ACTIVATIONS

__all__ = ["DEFAULT_LABELS", "ConfigReader", "raise_problems"]

_MISSING: Any = object()
#: Labels of a classifier whose config.json says nothing of them (transformers' default).
DEFAULT_LABELS = 2
#: No size of a model is larger; products of two of them are sizes of tensors, which 63 bits must hold.
_LARGEST = 1 << 26
_MOST_LAYERS = 1000


class ConfigReader:
    """Reads values of a config.json.

    A value that is malformed or missing is noted and replaced by the default, so that reading goes on and one error
    can name all of them; so is a value that asks for what is not supported.

    Parameters
    ----------
    config : mapping
        The file as read.
    place : str
        How errors call it.

    Attributes
    ----------
    malformed : list of str
        What is wrong with values.
    unsupported : list of str
        Which values ask for computations that are not supported.
    """

    def __init__(self, config: Mapping[str, Any], place: str) -> None:
        self.config = config
        self.place = place
        self.malformed: list[str] = []
        self.unsupported: list[str] = []

    def _value(self, name: str, default: Any) -> Any:
        if name not in self.config:
            if default is _MISSING:
                self.malformed.append(f"`{name}` is missing")
            return default
        return self.config[name]

    def whole(self, name: str, default: int = _MISSING, *, least: int = 1, most: int = _LARGEST) -> int:
        """A whole number from ``least`` to ``most``; ``default`` where it is absent, required without one."""
        value = self._value(name, default)
        if value is not _MISSING and (
            isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most
        ):
            self.malformed.append(f"`{name}` must be a whole number from {least} to {most}, got {value!r}")
            value = default
        return least if value is _MISSING else int(value)

    def also(self, **names: str) -> None:
        """Other names under which transformers takes values: ``other="name"``; called before they are read."""
        for other, name in names.items():
            if other not in self.config:
                continue
            value = self.config[other]
            if name in self.config and self.config[name] != value:
                self.malformed.append(
                    f"`{other}` {value!r} and `{name}` {self.config[name]!r} are two names of one value"
                )
            self.config = {**self.config, name: value}

    def layers(self, name: str, default: int = _MISSING) -> int:
        """A number of layers: as :meth:`whole`, but not so many that making them would not end."""
        return self.whole(name, default, most=_MOST_LAYERS)

    def optional_whole(self, name: str, default: int | None = None, *, least: int = 0) -> int | None:
        """A whole number, or null."""
        return None if self._value(name, default) is None else self.whole(name, default, least=least)  # type: ignore[arg-type]

    def number(self, name: str, default: float = _MISSING) -> float:
        """A finite number."""
        value = self._value(name, default)
        if value is _MISSING:
            return 1.0
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            self.malformed.append(f"`{name}` must be a number, got {value!r}")
            return 1.0 if default is _MISSING else float(default)
        return float(value)

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false."""
        value = self._value(name, default)
        if not isinstance(value, bool):
            self.malformed.append(f"`{name}` must be true or false, got {value!r}")
            return default
        return value

    def activation(self, name: str, default: str) -> str:
        """Name of an activation function of ``layers.activations``."""
        return self.choice(name, default, tuple(ACTIVATIONS))

    def choice(self, name: str, default: str, supported: Sequence[str]) -> str:
        """A string that must be one of those supported."""
        value = self._value(name, default)
        if not isinstance(value, str):
            self.malformed.append(f"`{name}` must be a string, got {value!r}")
            return default
        if value not in supported:
            self._unsupported(name, value, supported)
            return default
        return value

    def only(self, name: str, *supported: Any) -> None:
        """Note a value that changes the computation, unless it is absent or one of those that are supported."""
        if name in self.config and not any(
            self.config[name] == value and isinstance(self.config[name], bool) == isinstance(value, bool)
            for value in supported
        ):
            self._unsupported(name, self.config[name], supported)

    def _unsupported(self, name: str, value: Any, supported: Sequence[Any]) -> None:
        self.unsupported.append(f"`{name}` {value!r} is not supported; supported: {', '.join(map(repr, supported))}")

    def divides(self, divisor: str, name: str) -> None:
        """Note that the value ``name`` is no multiple of the value ``divisor``; both were read before."""
        whole, part = self.config.get(name), self.config.get(divisor)
        if isinstance(whole, int) and isinstance(part, int) and part > 0 and whole % part:
            self.malformed.append(f"`{name}` {whole} is no multiple of `{divisor}` {part}")

    def labels(self, default: int = DEFAULT_LABELS) -> tuple[int, tuple[str, ...] | None]:
        """Number of labels of a classifier, and their names if there are any (``id2label``, ``num_labels``)."""
        names = self.config.get("id2label")
        if names is None:
            return self.whole("num_labels", default), None
        if isinstance(names, dict):  # a config that is no file has whole numbers
            names = {str(key): name for key, name in names.items()}
        count = len(names) if isinstance(names, dict) else 0
        if not count or set(names) != {str(i) for i in range(count)}:
            self.malformed.append(f"`id2label` must map '0', '1', ... to names, got {names!r}")
            return default, None
        if not all(isinstance(name, str) for name in names.values()):
            self.malformed.append(f"`id2label` must hold strings, got {names!r}")
            return default, None
        return count, tuple(names[str(i)] for i in range(count))

    def everywhere(self) -> None:
        """Note what would change the computation of any family."""
        self.only("pruned_heads", None, {})
        self.only("quantization_config", None)
        self.only("add_cross_attention", False, None)


def raise_problems(source: str, malformed: Sequence[str], unsupported: Sequence[str] = ()) -> None:
    """Raise one error that lists all problems of a checkpoint; nothing when there are none.

    Raises
    ------
    SourceFormatError
        Something is malformed.
    UnsupportedFeatureError
        All is well formed, but something is not supported.
    """
    problems = list(dict.fromkeys([*malformed, *unsupported]))
    if not problems:
        return
    kind = SourceFormatError if malformed else UnsupportedFeatureError
    raise kind(f"{source}: " + "; ".join(problems))
