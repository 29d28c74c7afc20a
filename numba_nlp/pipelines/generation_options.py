"""Options of the tasks that generate: those of ``generate``, over what the checkpoint says of the task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from numba_nlp._arguments import choice, flag, whole
from numba_nlp.errors import SourceFormatError
from numba_nlp.generation.config import GenerationConfig, refuse_unsupported
from numba_nlp.generation.option_checks import CHECKS, NEUTRAL_UNSUPPORTED
from numba_nlp.generation.option_names import PASSED_OVER, unknown_options

__all__ = ["GenerationOptions", "merge_options", "settle_generation", "task_values"]

_Options = TypeVar("_Options", bound="GenerationOptions")
_ENGINES = ("auto", "numba", "torch", "device")
_WEIGHTS = ("auto", "float32", "float16", "bfloat16", "int8")
#: Names of transformers' pipelines for what has another name here.
_ALIASES = {"stop_sequence": "stop_strings", "generation_config": "config"}


@dataclass(frozen=True)
class GenerationOptions:
    """What tasks that generate take; beside these, all options of :class:`numba_nlp.generation.GenerationConfig`.

    Attributes
    ----------
    config : GenerationConfig or None
        In place of what the checkpoint says.
    seed : int or None
        Of sampling: a row's tokens depend on it, on the row, and on how many equal rows came before.
    engine, weights, processors
        As of :func:`numba_nlp.generation.generate`.
    prefix_allowed_tokens_fn : callable or None
        As there; the first argument is the number of the row in the call.
    clean_up_tokenization_spaces : bool or None
        Take spaces before punctuation and English endings out of the text; by default as the vocabulary says.
    generation : mapping
        Options of the config that were given, by their names.

    Raises
    ------
    ValueError, TypeError
        One has a value that it cannot have.
    """

    config: GenerationConfig | None = None
    seed: int | None = None
    engine: str = "auto"
    weights: str = "auto"
    processors: Sequence[Callable[..., Any]] | None = None
    prefix_allowed_tokens_fn: Callable[..., Any] | None = None
    clean_up_tokenization_spaces: bool | None = None
    generation: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.seed is not None:
            whole("seed", self.seed, 0, 2**64 - 1)
        choice("engine", self.engine, _ENGINES)
        choice("weights", self.weights, _WEIGHTS)
        if self.clean_up_tokenization_spaces is not None:
            flag("clean_up_tokenization_spaces", self.clean_up_tokenization_spaces)
        if self.processors is not None:
            object.__setattr__(self, "processors", tuple(self.processors))


def merge_options(defaults: _Options, options: Mapping[str, Any], task: str) -> _Options:
    """Options over others; those of a generation's config are gathered.

    Parameters
    ----------
    defaults : GenerationOptions
    options : mapping
        Keywords of a call.
    task : str
        For messages.

    Raises
    ------
    TypeError
        There is no such option, or one is given by two names.
    ValueError
        One has a value that it cannot have.
    """
    own = [one.name for one in fields(defaults) if one.name != "generation"]
    given: dict[str, Any] = {}
    for name, value in options.items():
        known = _ALIASES.get(name, name)
        if known in given or (known != name and known in options):
            raise TypeError(f"`{name}` and `{known}` are one option of task {task!r}; leave one of them out")
        if known == "streamer":
            raise TypeError("`streamer` is of generate; a pipeline gives text as it comes by its method stream")
        given[known] = value
    unknown = [
        name
        for name in given
        if name not in own and name not in CHECKS and name not in NEUTRAL_UNSUPPORTED and name not in PASSED_OVER
    ]
    if unknown:
        raise unknown_options(unknown, [*own, *CHECKS])
    mine = {name: value for name, value in given.items() if name in own}
    others = {name: value for name, value in given.items() if name not in own and name not in PASSED_OVER}
    return replace(defaults, **mine, generation={**defaults.generation, **others})


def task_values(model: Any, *names: str) -> dict[str, Any]:
    """What config.json says of a task (``task_specific_params``), under the first of some names that is there.

    Parameters
    ----------
    model : Model
    *names : str
        Of transformers, such as "summarization".

    Raises
    ------
    SourceFormatError
        It is no mapping.
    """
    params = model.config.get("task_specific_params")
    if params is None:
        return {}
    for name in names:
        values = params.get(name, {}) if isinstance(params, Mapping) else None
        if not isinstance(values, Mapping):
            raise SourceFormatError(
                f"config.json: `task_specific_params` of {name!r} must be a mapping, got {values!r:.80}"
            )
        if values:
            return dict(values)
    return {}


def settle_generation(
    model: Any, options: GenerationOptions, values: Mapping[str, Any], pad_id: int | None
) -> GenerationConfig:
    """The config of a call.

    Parameters
    ----------
    model : Model
    options : GenerationOptions
        Of the call.
    values : mapping
        Of the task, see :func:`task_values`; the config of the caller counts instead of them.
    pad_id : int or None
        Of the tokenizer, where the checkpoint has none.

    Raises
    ------
    ValueError, TypeError, UnsupportedFeatureError, SourceFormatError
        As of :func:`numba_nlp.generation.generate`.

    Warns
    -----
    UserWarning
        As there.
    """
    # they import torch, as the model did
    from numba_nlp.generation.arguments import settle_config
    from numba_nlp.generation.remarks import remark

    base = options.config
    if base is None:
        # what the call gives counts more than both files, so it also switches off what they have
        base = GenerationConfig.from_model(model, options.generation)
        place = "config.json: task_specific_params"
        switched_off = {
            name for name, given in options.generation.items() if given in NEUTRAL_UNSUPPORTED.get(name, ())
        }
        left = {name: value for name, value in values.items() if name not in switched_off}
        refuse_unsupported(left, place, "switch it off by a keyword of the call, `{name}={neutral!r}`")
        said = {name: value for name, value in left.items() if name in CHECKS and value is not None}
        try:
            base = base.replace(**said)
        except ValueError as error:
            raise SourceFormatError(f"{place}: {error}") from error
    own = [one.name for one in fields(options) if one.name != "generation"]
    settled = settle_config(model, base, options.generation, [*own])
    for least, most in (("min_new_tokens", "max_new_tokens"), ("min_length", "max_length")):
        low, high = getattr(settled, least), getattr(settled, most)
        if low is not None and high is not None and low > high:
            remark(f"`{least}` {low} is more than `{most}` {high}: texts end there; change one of them")
    if settled.pad_token_id is None and pad_id is not None:
        settled = settled.replace(pad_token_id=pad_id)
    return settled
