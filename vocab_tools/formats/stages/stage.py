"""An object inside a ``tokenizer.json`` that knows where it stands, for messages that name their place."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError

__all__ = ["Stage"]


class Stage:
    """An object inside the JSON that knows where it stands.

    Parameters
    ----------
    file : object
        For messages.
    path : str
        Path inside the JSON, as ``pre_tokenizer.pretokenizers[0]``.
    value : object
        The parsed JSON value.
    """

    def __init__(self, file: object, path: str, value: Any) -> None:
        self.file = file
        self.path = path
        self.value = value

    def below(self, key: str | int) -> Stage:
        """The value at ``key``, which must be there."""
        inside = f"{self.path}[{key}]" if isinstance(key, int) else f"{self.path}.{key}" if self.path else key
        return Stage(self.file, inside, self.value[key])

    def each(self) -> list[Stage]:
        """The elements of an array."""
        self.expect(list, "an array")
        return [self.below(number) for number in range(len(self.value))]

    def expect(self, kind: type, what: str) -> Any:
        """The value, which must be exactly of type ``kind``."""
        if type(self.value) is not kind:
            raise SourceFormatError(f"{self}: expected {what}, got {self.shown}")
        return self.value

    def need(self, key: str) -> Stage:
        """The value at ``key``; a missing key is an error."""
        self.expect(dict, "an object")
        if key not in self.value:
            raise SourceFormatError(f"{self}: the field {key!r} is missing")
        return self.below(key)

    def option(self, key: str, default: bool | None = None) -> bool:
        """A boolean option; without a default it must be there, as the reference demands."""
        if default is not None and key not in self.value:
            return default
        chosen: bool = self.need(key).expect(bool, "true or false")
        return chosen

    def only(self, *known: str) -> None:
        """Refuse fields that are not known: they may change what the tokenizer does."""
        for key in self.expect(dict, "an object"):
            if key not in known:
                self.below(key).refuse("this field is not known to this version")

    def refuse(self, reason: str, way_out: str = "") -> NoReturn:
        """Raise the refusal of this value."""
        hint = way_out or "use a tokenizer without it, or the tokenizers library for this file"
        raise UnsupportedFeatureError(f"{self} = {self.shown}: {reason}; {hint}")

    @property
    def kind(self) -> str:
        """The ``type`` of a stage."""
        name: str = self.need("type").expect(str, "the name of a stage")
        return name

    @property
    def shown(self) -> str:
        """The value as JSON, cut where it is long."""
        text = json.dumps(self.value, ensure_ascii=False)
        return text if len(text) <= 120 else f"{text[:117]}..."

    def __str__(self) -> str:
        return f"{self.file}: {self.path or 'the file'}"
