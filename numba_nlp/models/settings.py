"""Values of config.json, each checked as it is read; what is wrong with them is collected and raised at once."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from numba_nlp.models.layers.activations import ACTIVATIONS

__all__ = ["DEFAULT_LABELS", "ConfigReader", "raise_problems", "shown"]

_MISSING: Any = object()
#: Labels of a classifier whose config.json says nothing of them (transformers' default).
DEFAULT_LABELS = 2
#: No size of a model is larger; products of two of them are sizes of tensors, which 63 bits must hold.
_LARGEST = 1 << 26
_MOST_LAYERS = 1000
#: Characters of a value in an error.
_LONGEST_SHOWN = 200
#: Numbers in a table that is computed, 128 MiB; NLLB of 3.3 billion parameters has a sixteenth.
_LARGEST_TABLE = 1 << 25


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
        if value is not _MISSING and not self._is_whole(name, value, least, most):
            value = default
        return least if value is _MISSING else int(value)

    def _is_whole(self, name: str, value: Any, least: int, most: int) -> bool:
        """Whether a value is a whole number in a range; noted where it is not."""
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return True
        self.malformed.append(f"`{name}` must be a whole number from {least} to {most}, got {shown(value)}")
        return False

    def also(self, **names: str) -> None:
        """Other names under which transformers takes values: ``other="name"``; called before they are read."""
        for other, name in names.items():
            if other not in self.config:
                continue
            value = self.config[other]
            if name in self.config and self.config[name] != value:
                self.malformed.append(
                    f"`{other}` {shown(value)} and `{name}` {shown(self.config[name])} are two names of one value"
                )
            self.config = {**self.config, name: value}

    def layers(self, name: str, default: int = _MISSING) -> int:
        """A number of layers: as :meth:`whole`, but not so many that making them would not end."""
        return self.whole(name, default, most=_MOST_LAYERS)

    def optional_whole(self, name: str, default: int | None = None, *, least: int = 0) -> int | None:
        """A whole number, or null."""
        value = self._value(name, default)
        return value if value is not None and self._is_whole(name, value, least, _LARGEST) else None

    def number(self, name: str, default: float = _MISSING) -> float:
        """A finite number."""
        value = self._value(name, default)
        if value is _MISSING:
            return 1.0
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max:
            return float(value)
        self.malformed.append(f"`{name}` must be a finite number, got {shown(value)}")
        return 1.0 if default is _MISSING else float(default)

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false."""
        value = self._value(name, default)
        if not isinstance(value, bool):
            self.malformed.append(f"`{name}` must be true or false, got {shown(value)}")
            return default
        return value

    def activation(self, name: str, default: str) -> str:
        """Name of an activation function of ``layers.activations``."""
        return self.choice(name, default, tuple(ACTIVATIONS))

    def choice(self, name: str, default: str, supported: Sequence[str]) -> str:
        """A string that must be one of those supported."""
        value = self._value(name, default)
        if not isinstance(value, str):
            self.malformed.append(f"`{name}` must be a string, got {shown(value)}")
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
        others = f"supported: {', '.join(map(repr, supported))}" if supported else "leave it out"
        self.unsupported.append(f"`{name}` {shown(value)} is not supported; {others}")

    def share(self, name: str, whole: int, divisor: str, parts: int) -> int:
        """The quotient of two values that were read before, such as the width of a head; noted where there is a rest.

        Parameters
        ----------
        name, divisor : str
            Of the values.
        whole, parts : int
            What was read of them; either may be a default.

        Returns
        -------
        int
            At least 1.
        """
        if whole % parts:
            self.malformed.append(f"`{name}` {whole} is no multiple of `{divisor}` {parts}")
        return max(whole // parts, 1)

    def limit_table(self, name: str, rows: int, width: int) -> None:
        """Note that a table of positions, which is computed and in no file, would be far larger than that of any model.

        Parameters
        ----------
        name : str
            Of the value that says how many rows there are.
        rows, width : int
            Of the table.
        """
        if rows * width > _LARGEST_TABLE:
            self.malformed.append(
                f"`{name}` {rows} makes a table of positions of {rows} x {width} numbers; the most are {_LARGEST_TABLE}"
            )

    def labels(self, default: int = DEFAULT_LABELS) -> tuple[int, tuple[str, ...] | None]:
        """Number of labels of a classifier, and their names if there are any (``id2label``, ``num_labels``)."""
        names = self.config.get("id2label")
        if names is None:
            return self.whole("num_labels", default), None
        if isinstance(names, dict):  # a config that is no file has whole numbers
            names = {str(key): name for key, name in names.items()}
        count = len(names) if isinstance(names, dict) else 0
        if not count or set(names) != {str(i) for i in range(count)}:
            self.malformed.append(f"`id2label` must map '0', '1', ... to names, got {shown(names)}")
            return default, None
        if not all(isinstance(name, str) for name in names.values()):
            self.malformed.append(f"`id2label` must hold strings, got {shown(names)}")
            return default, None
        # Where the two differ, transformers counts by `num_labels` and gives up the names.
        given = self.whole("num_labels", count)
        return given, tuple(names[str(i)] for i in range(count)) if given == count else None

    def everywhere(self) -> None:
        """Note what would change the computation of any family."""
        self.only("pruned_heads", None, {})
        self.only("quantization_config", None)
        self.only("add_cross_attention", False, None)


def shown(value: Any) -> str:
    """A value as errors show it, cut where it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python refuses to write out whole numbers of thousands of digits
        return "what is too large to be shown"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]} ..."


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
