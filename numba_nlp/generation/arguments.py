"""What a call of generation is given beside ids: its config and callables, checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numba_nlp.generation.config import GenerationConfig
from numba_nlp.generation.option_checks import CHECKS, NEUTRAL_UNSUPPORTED
from numba_nlp.generation.option_names import CALL_KEYWORDS, PASSED_OVER, unknown_options
from numba_nlp.generation.remarks import remark_idle
from numba_nlp.models.inputs import without_unread

__all__ = [
    "check_prefix_function",
    "check_streamer",
    "refuse_silent_model",
    "settle_config",
    "settle_score_config",
    "take_processors",
]


def refuse_silent_model(model: Any) -> None:
    """Refuse a model that does not generate.

    Raises
    ------
    ValueError
        It is such.
    """
    if getattr(model, "output", None) is None or not hasattr(model, "step"):
        family, head = getattr(model, "family", "") or type(model).__name__, getattr(model, "head", None)
        raise ValueError(
            f"a {family} with the head {head!r} does not generate; load a decoder with head='language_model', or an "
            "encoder-decoder with head='conditional_generation'"
        )


def settle_config(
    model: Any,
    config: GenerationConfig | None,
    options: Mapping[str, Any],
    keywords: Iterable[str] = CALL_KEYWORDS,
) -> GenerationConfig:
    """The config of a call.

    Parameters
    ----------
    model : Model
    config : GenerationConfig or None
        By default that of the checkpoint.
    options : mapping
        Keywords of the call that are none of ``generate`` itself; what tokenizers give beside ids is left out, and so
        are keys of transformers that change no token.
    keywords : iterable of str
        The call's own.

    Raises
    ------
    ValueError
        The model does not generate, reads types of tokens that are given, or an option has a wrong value.
    TypeError
        The config is of another kind, or there is no such option.
    UnsupportedFeatureError
        An option of transformers is not supported.
    """
    refuse_silent_model(model)
    options = _without_others(model, options)
    unknown = [name for name in options if name not in CHECKS and name not in NEUTRAL_UNSUPPORTED]
    if unknown:
        raise unknown_options(unknown, [*keywords, *CHECKS])
    if config is None:
        config = GenerationConfig.from_model(model, options)
    else:
        _refuse_other_config(config)
        config = config.for_model(model)
    settled = config.replace(**options)
    remark_idle(settled, options)
    _refuse_ends_beyond(model, settled, options)
    return settled


def _refuse_ends_beyond(model: Any, settled: GenerationConfig, options: Mapping[str, Any]) -> None:
    """Refuse end tokens that the model cannot write, where a call asks for them.

    Those of the checkpoint are left alone: files of a family say the same for smaller vocabularies, and rows just never
    end by them. The padding may be any id: it stands behind the end of rows and is not read.
    """
    settings = model.settings
    vocabulary = settings.decoder_vocabulary if hasattr(model, "encode_source") else settings.vocabulary
    beyond = [token for token in settled.eos_ids if token >= vocabulary]
    if beyond and settled.eos_token_id != GenerationConfig().for_model(model).eos_token_id:
        raise ValueError(
            f"`eos_token_id` holds {beyond[0]}, the model has tokens from 0 to {vocabulary - 1}; with None only "
            "lengths and stop sequences end rows"
        )


def settle_score_config(
    model: Any, config: GenerationConfig | None, others: Mapping[str, Any], keywords: Iterable[str]
) -> GenerationConfig:
    """The special tokens of a call of ``score``, which no option changes.

    Parameters
    ----------
    model : Model
    config : GenerationConfig or None
        By default that of the checkpoint.
    others : mapping
        Keywords of the call that are none of ``score`` itself.
    keywords : iterable of str
        These.

    Raises
    ------
    ValueError, TypeError
        As for :func:`settle_config`.
    """
    refuse_silent_model(model)
    others = _without_others(model, others)
    if others:
        raise unknown_options(others, keywords)
    config = GenerationConfig() if config is None else config
    _refuse_other_config(config)
    tokens = config.for_model(model)
    return GenerationConfig(
        pad_token_id=tokens.pad_token_id,
        bos_token_id=tokens.bos_token_id,
        eos_token_id=tokens.eos_token_id,
        decoder_start_token_id=tokens.decoder_start_token_id,
        max_new_tokens=1,
    )


def _without_others(model: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords without what tokenizers give beside ids, and what changes no token."""
    left = {name: value for name, value in without_unread(options).items() if name not in PASSED_OVER}
    if left.pop("token_type_ids", None) is not None and not hasattr(model, "encode_source"):
        raise ValueError(
            f"`token_type_ids`: {model.family} reads types of tokens, and nothing says which the new ones have; leave "
            "them out: tok(texts, return_token_type_ids=False)"
        )
    return left


def _refuse_other_config(config: Any) -> None:
    if isinstance(config, GenerationConfig):
        return
    way = "config" if isinstance(config, Mapping) else "config.to_dict()"
    advice = f": GenerationConfig.from_dict({way})" if isinstance(config, Mapping) or hasattr(config, "to_dict") else ""
    kind = type(config)
    raise TypeError(
        f"`config` must be a numba_nlp.generation.GenerationConfig, got {kind.__module__}.{kind.__qualname__}; make "
        f"one of it{advice}"
    )


def take_processors(processors: Any) -> tuple[Any, ...]:
    """Processors of a call; None are none.

    Raises
    ------
    TypeError
        They are no callables in a list, or those of transformers, which are called in another way.
    """
    if processors is None:
        return ()
    if callable(processors) and not isinstance(processors, Iterable):
        raise TypeError("`processors` is one callable; pass a list with it")
    if isinstance(processors, (str, bytes, Mapping)) or not isinstance(processors, Iterable):
        raise TypeError(f"`processors` must be a list of callables, got {type(processors).__name__}")
    taken = tuple(processors)
    for processor in taken:
        if any(base.__name__ == "LogitsProcessor" for base in type(processor).__mro__):
            raise TypeError(
                f"`processors` holds a {type(processor).__name__} of transformers, which is called with tensors "
                "(input_ids, scores) and gives new scores; a processor here is called with arrays (values, tokens) of "
                "one row and changes `values` in place"
            )
        if not callable(processor):
            raise TypeError(f"`processors` must be a list of callables, it holds {processor!r}")
    return taken


def check_prefix_function(function: Any) -> None:
    """Refuse what cannot be called in place of a prefix function.

    Raises
    ------
    TypeError
        It cannot.
    """
    if function is not None and not callable(function):
        raise TypeError(
            f"`prefix_allowed_tokens_fn` must be a function (prompt, tokens) -> ids, got {type(function).__name__}"
        )


def check_streamer(streamer: Any) -> None:
    """Refuse what is no streamer.

    Raises
    ------
    TypeError
        It is none.
    """
    if streamer is None:
        return
    if isinstance(streamer, type):
        raise TypeError(f"`streamer` is the class {streamer.__name__}; make one of it, as {streamer.__name__}(...)")
    lacking = [name for name in ("put", "end") if not callable(getattr(streamer, name, None))]
    if lacking:
        raise TypeError(
            f"`streamer` must have methods `put(tokens)` and `end()`, {type(streamer).__name__} has no "
            + " and no ".join(f"`{name}`" for name in lacking)
        )
