"""Translation by Marian, T5, mBART, mBART-50, M2M100 and NLLB."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _hub
from numba_nlp._arguments import shown, string, strings
from numba_nlp.errors import RowError
from numba_nlp.generation.config import GenerationConfig
from numba_nlp.kernels.segment.layout import FIRST_TEXT
from numba_nlp.pipelines.generation_call import Call
from numba_nlp.pipelines.languages import described_codes, language_codes, marian_codes
from numba_nlp.pipelines.text_to_text import TextToText, TextToTextOptions
from numba_nlp.pipelines.translation_direction import (
    Direction,
    code_direction,
    marian_direction,
    named_language,
    named_pair,
    t5_direction,
    translation_values,
)
from numba_nlp.tokenizer import Tokenizer

__all__ = ["Translate", "TranslateOptions"]

_CODE = re.compile(r">>([^<]*)<< ?")
#: Says the languages of a Marian model.
_SETTINGS = "tokenizer_config.json"
#: Names of transformers' pipeline.
_ALIASES = {"src_lang": "source_language", "tgt_lang": "target_language"}


@dataclass(frozen=True)
class TranslateOptions(TextToTextOptions):
    """What translation takes; beside these, the options of generation.

    Attributes
    ----------
    source_language, target_language : str or None
        A code of ISO 639-1 or 639-3, an English name, or a code as the model has it (``src_lang``, ``tgt_lang`` are
        other names of them). Which of the two a model needs depends on its family.
    pair : tuple of str or None
        The two languages of a Marian model that has no others; by default as the checkpoint's files say, if they do.
        Others are refused then.

    Raises
    ------
    ValueError, TypeError
        One has a value that it cannot have.
    """

    source_language: str | None = None
    target_language: str | None = None
    pair: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("source_language", "target_language"):
            if getattr(self, name) is not None and not string(name, getattr(self, name)).strip():
                raise ValueError(f"`{name}` is empty")
        if self.pair is not None:
            pair = strings("pair", self.pair)
            if len(pair) != 2:
                raise ValueError(f"`pair` must be two languages, got {shown(pair)}")
            object.__setattr__(self, "pair", pair)


@dataclass(frozen=True)
class _TranslateCall(Call):
    direction: Direction = field(default_factory=Direction)


class Translate(TextToText):
    """The translation of a text; see :class:`Pipeline` and :class:`TranslateOptions`.

    ``pipe(text)`` is a ``str``, or a list of them with `num_return_sequences`; :meth:`Pipeline.arrays` gives
    :class:`WrittenTexts`.
    """

    task = "translate"
    option_type: ClassVar[Any] = TranslateOptions

    def __init__(self, model: Any, tokenizer: Tokenizer, **options: Any) -> None:
        self._codes = marian_codes(tokenizer) if model.family == "marian" else language_codes(tokenizer)
        super().__init__(model, tokenizer, **options)

    @classmethod
    def read_folder(cls, model: Any, source: Any, hub: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
        """The pair of a Marian model, from its tokenizer's settings or the name that its config keeps."""
        if model.family != "marian" or "pair" in options:
            return {}
        file = _hub.find_folder(source, hub, wanted=(_SETTINGS,)) / _SETTINGS
        said = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        pair = tuple(said.get(f"{side}_lang") for side in ("source", "target"))
        found = pair if all(isinstance(one, str) and one for one in pair) else named_pair(model.config)
        return {} if found is None else {"pair": found}

    def take_options(self, defaults: Any, options: dict[str, Any]) -> Any:
        """Options of a call; the languages by either name."""
        for alias, name in _ALIASES.items():
            if alias in options:
                if name in options:
                    raise TypeError(f"`{alias}` and `{name}` are one option; leave one of them out")
                options = {name if key == alias else key: value for key, value in options.items()}
        return super().take_options(defaults, options)

    def check_defaults(self) -> None:
        """Refuse options that no call could have; languages that are missing may come with a call."""
        if self.options.source_language is not None and self.options.target_language is not None:
            super().check_defaults()
        else:
            self.settle(self.options, {})

    def open_call(self, options: Any) -> Call:
        """Settle what a call asks for, the languages too."""
        call = super().open_call(options)
        direction = self._direction(options, call)
        given = options.generation
        changed = {name: token for name, token in direction.options.items() if given.get(name) is None}
        return _TranslateCall(options, call.config.replace(**changed), call.values, call.counts, direction)

    def task_values(self, options: Any) -> dict[str, Any]:
        """What config.json says of the translation between these languages."""
        params = self.model.config.get("task_specific_params")
        source, target = options.source_language, options.target_language
        if options.prefix is not None and source is None and target is None:
            return {}  # whoever gives the prefix says the languages by it
        return translation_values(params, source, target)[1]

    def _direction(self, options: TranslateOptions, call: Call) -> Direction:
        family, source, target = self.model.family, options.source_language, options.target_language
        if options.pair is not None and family != "marian":
            raise ValueError(
                f"`pair` {options.pair!r} is for Marian models of one pair of languages; give `source_language` and "
                "`target_language`"
            )
        for name, given in (("source_language", source), ("target_language", target)):
            if given is not None and not (self._codes and (family != "marian" or name == "target_language")):
                named_language(name, given)  # nothing tells the model, yet it has to be a language
        if family == "t5":
            return Direction() if options.prefix is not None else t5_direction(source, target, call.values)
        if family == "marian":
            return marian_direction(source, target, self._codes, options.pair)
        if family in ("mbart", "m2m_100"):
            # the first mBART has the source's code behind the text, and begins to write with the target's
            first = family == "mbart" and self._language_place() == self.tokenizer.input_settings.single.parts.size - 1
            own = GenerationConfig.from_model(self.model, options.generation)
            return code_direction(
                source,
                target,
                self._codes,
                default_target=own.decoder_start_token_id if first else own.forced_bos_token_id,
                begins_with_target=first,
            )
        return Direction()

    def _language_place(self) -> int:
        """Where the template has the token of the source's language; -1 where it has none."""
        parts = self.tokenizer.input_settings.single.parts
        found = np.flatnonzero(np.isin(parts, list(self._codes.values())))
        return int(found[0]) if found.size else -1

    def template(self, call: Call) -> NDArray[np.int64]:
        """The template with the source's language."""
        assert isinstance(call, _TranslateCall)
        parts, place = super().template(call), self._language_place()
        if call.direction.source_id < 0:
            return parts
        if place < 0:
            raise ValueError(
                "the template of the tokenizer has no token of a language, which this model reads beside the text; "
                "load the tokenizer from the checkpoint's folder"
            )
        changed = parts.copy()
        changed[place] = call.direction.source_id
        assert parts[place] != FIRST_TEXT
        return changed

    def prefix_and_start(self, text: str, number: int, call: Call) -> tuple[str, int]:
        """The prefix; of Marian with several targets, the code that the text begins with."""
        assert isinstance(call, _TranslateCall)
        direction, options = call.direction, call.options
        found = _CODE.match(text) if self._codes and self.model.family == "marian" else None
        if direction.codes:
            if found is None or found[1] not in direction.codes:
                said = (
                    "does not begin with one" if found is None else f"begins with {found[0].strip()!r}, which is none"
                )
                raise RowError(
                    f"row {number}: the model has several targets, each with a code, and the text {said}; give "
                    f"`target_language`, or begin with one of {described_codes([f'>>{c}<<' for c in direction.codes])}",
                    number,
                )
            return f">>{found[1]}<< {options.prefix or ''}", found.end()
        if found is not None:
            raise RowError(
                f"row {number}: the text begins with {found[0].strip()!r}, and `target_language` "
                f"{options.target_language!r} is given too; leave one of them out",
                number,
            )
        if direction.prefix is not None:
            return direction.prefix + (options.prefix or ""), 0
        return self.prefix_of(options, call.values), 0
