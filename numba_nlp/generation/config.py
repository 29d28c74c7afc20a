"""Options of a generation, under transformers' names and with its defaults."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from numba_nlp.generation.option_checks import CHECKS, NEUTRAL_UNSUPPORTED
from numba_nlp.generation.option_names import PASSED_OVER, unknown_options

__all__ = ["GenerationConfig"]

#: What transformers' classes of config.json say of special tokens where a file says nothing.
_FAMILY_TOKENS: dict[str, dict[str, int]] = {
    "bart": {
        "pad_token_id": 1,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
        "forced_eos_token_id": 2,
    },
    "gpt2": {"bos_token_id": 50256, "eos_token_id": 50256},
    "m2m_100": {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2},
    "marian": {
        "pad_token_id": 58100,
        "eos_token_id": 0,
        "decoder_start_token_id": 58100,
        "forced_eos_token_id": 0,
    },
    "mbart": {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "forced_eos_token_id": 2},
    "pegasus": {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": 1},
    "t5": {"pad_token_id": 0, "eos_token_id": 1},
    "xlnet": {"pad_token_id": 5, "bos_token_id": 1, "eos_token_id": 2},
}

#: Options that a model completes.
_SPECIAL = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")


@dataclass(frozen=True)
class GenerationConfig:
    """Options of a generation; names and defaults are those of transformers.

    Attributes
    ----------
    max_length : int or None
        Longest row, prompt included (of an encoder-decoder: what the decoder reads at first). None: 20 tokens more than
        the prompt.
    max_new_tokens : int or None
        Most tokens after the prompt; counts more than `max_length`.
    min_length : int
        No token that ends a row comes before it is as long, prompt included.
    min_new_tokens : int or None
        The same without the prompt; counts more than `min_length`.
    early_stopping : bool or "never"
        When a beam search ends: True, as soon as there are `num_beams` finished rows; False, when the best row that
        goes on scores worse, by its present length, than all of them; "never", when it cannot become better.
    do_sample : bool
        Draw tokens by their probability instead of taking the most probable.
    num_beams, num_beam_groups : int
        Rows that a search follows; and groups of them that are kept apart by `diversity_penalty`.
    diversity_penalty : float
        Taken from the score of a token for each time that an earlier group chose it in the same step.
    num_return_sequences : int
        Rows given back for each prompt.
    temperature, top_k, top_p, min_p, typical_p
        Of sampling. ``top_k=0`` and the others at 1 (`min_p`: None) switch them off.
    repetition_penalty : float
        Divides the score of tokens that are in the row already (multiplies, if it is negative).
    length_penalty : float
        Scores of finished rows are divided by their number of new tokens to this power.
    no_repeat_ngram_size, encoder_no_repeat_ngram_size : int
        No sequence of so many tokens occurs twice, or occurs in the source; 0: off.
    bad_words_ids : tuple of tuple of int or None
        Sequences of tokens that never occur.
    renormalize_logits : bool
        Make the scores log-probabilities again after all rules.
    suppress_tokens, begin_suppress_tokens : tuple of int or None
        Tokens that never occur, or not as the first.
    forced_bos_token_id : int or None
        First token after one that begins the row.
    forced_eos_token_id : int, tuple of int or None
        Last token of a row that becomes as long as it may.
    stop_sequences : tuple of tuple of int or None
        Sequences of tokens that end a row, kept in it.
    stop_strings : tuple of str or None
        Texts that end a row, at the token that completes one; they need a tokenizer, see :func:`generate`.
    pad_token_id, bos_token_id, decoder_start_token_id : int or None
        Special tokens.
    eos_token_id : int, tuple of int or None
        Tokens that end a row.

    Raises
    ------
    ValueError
        A value is not one that its option can have, or two options contradict each other.
    """

    max_length: int | None = None
    max_new_tokens: int | None = None
    min_length: int = 0
    min_new_tokens: int | None = None
    early_stopping: bool | str = False
    do_sample: bool = False
    num_beams: int = 1
    num_beam_groups: int = 1
    diversity_penalty: float = 0.0
    num_return_sequences: int = 1
    temperature: float = 1.0
    top_k: int = 50
    top_p: float = 1.0
    min_p: float | None = None
    typical_p: float = 1.0
    repetition_penalty: float = 1.0
    length_penalty: float = 1.0
    no_repeat_ngram_size: int = 0
    encoder_no_repeat_ngram_size: int = 0
    bad_words_ids: tuple[tuple[int, ...], ...] | None = None
    renormalize_logits: bool = False
    suppress_tokens: tuple[int, ...] | None = None
    begin_suppress_tokens: tuple[int, ...] | None = None
    forced_bos_token_id: int | None = None
    forced_eos_token_id: int | tuple[int, ...] | None = None
    stop_sequences: tuple[tuple[int, ...], ...] | None = None
    stop_strings: tuple[str, ...] | None = None
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | tuple[int, ...] | None = None
    decoder_start_token_id: int | None = None

    def __post_init__(self) -> None:
        for name, check in CHECKS.items():
            object.__setattr__(self, name, check(getattr(self, name)))
        self._check_together()

    def _check_together(self) -> None:
        beams, groups, returned = self.num_beams, self.num_beam_groups, self.num_return_sequences
        if returned > 1 and beams == 1 and not self.do_sample:
            raise ValueError(
                f"`num_return_sequences` {returned}: the most probable tokens make one row; set `do_sample=True`, or "
                f"`num_beams` to at least {returned}"
            )
        if 1 < beams < returned:
            raise ValueError(
                f"`num_return_sequences` {returned} is more than `num_beams` {beams}: so many rows are not found"
            )
        if beams % groups:
            raise ValueError(f"`num_beams` {beams} is no multiple of `num_beam_groups` {groups}")
        if groups > 1 and self.do_sample:
            raise ValueError(f"`num_beam_groups` {groups}: groups of beams are searched, set `do_sample=False`")
        if groups > 1 and self.diversity_penalty == 0.0:
            raise ValueError(
                f"`num_beam_groups` {groups}: without a `diversity_penalty` above 0 all groups are the same"
            )
        if groups == 1 and self.diversity_penalty != 0.0:
            raise ValueError(
                f"`diversity_penalty` {self.diversity_penalty} is between groups of beams; set `num_beam_groups` to at "
                "least 2"
            )
        if self.do_sample and self.temperature * min(self.repetition_penalty, 1.0) < 1e-30:
            # logits are divided by both
            raise ValueError(
                f"`temperature` {self.temperature} times `repetition_penalty` {self.repetition_penalty} must be at "
                "least 1e-30; raise one of them"
            )
        suppressed = set(self.suppress_tokens or ())
        for name in ("forced_bos_token_id", "forced_eos_token_id"):
            value = getattr(self, name)
            forced = set() if value is None else {value} if isinstance(value, int) else set(value)
            if forced and forced <= suppressed:
                raise ValueError(
                    f"`{name}` {value!r} is suppressed by `suppress_tokens`, so no token would be left; take it out of "
                    "one of them"
                )

    def replace(self, **options: Any) -> GenerationConfig:
        """Another config with some options changed.

        Parameters
        ----------
        **options
            By their names. Keys of transformers that change the tokens and are not supported may be given with the
            value that switches them off; those that change no token are passed over.

        Raises
        ------
        TypeError
            There is no such option.
        UnsupportedFeatureError
            The option is not supported.
        ValueError
            As of the class.
        """
        refuse_unsupported(options, "generate", "leave it out to generate without it")
        passed_over = PASSED_OVER | NEUTRAL_UNSUPPORTED.keys()
        options = {name: value for name, value in options.items() if name not in passed_over}
        unknown = [name for name in options if name not in CHECKS]
        if unknown:
            raise unknown_options(unknown, CHECKS)
        return dataclasses.replace(self, **options)

    def for_model(self, model: Any) -> GenerationConfig:
        """The same options with the special tokens of a model where none are given, as transformers completes them.

        Parameters
        ----------
        model : Model
        """
        if all(getattr(self, name) is not None for name in _SPECIAL):
            return self
        own = GenerationConfig.from_model(model, {name: off[-1] for name, off in NEUTRAL_UNSUPPORTED.items()})
        return dataclasses.replace(
            self, **{name: getattr(own, name) for name in _SPECIAL if getattr(self, name) is None}
        )

    @classmethod
    def from_model(cls, model: Any, options: Mapping[str, Any] | None = None) -> GenerationConfig:
        """Options that a checkpoint comes with.

        Parameters
        ----------
        model : Model
            Of ``load_model``. Its generation_config.json is read; without one, keys in its config.json, where old
            checkpoints have them, and special tokens as transformers takes them for the family.
        options : mapping, optional
            As of :meth:`from_dict`.

        Raises
        ------
        UnsupportedFeatureError
            A key of the file changes the tokens, and is not supported.
        SourceFormatError
            A key has a value that it cannot have.
        """
        if model.generation_config is not None:
            return cls.from_dict(model.generation_config, options, place="generation_config.json")
        config = dict(model.config)
        if config.get("force_bos_token_to_be_generated") and config.get("forced_bos_token_id") is None:
            config["forced_bos_token_id"] = config.get("bos_token_id")
        tokens = {name: value for name, value in _FAMILY_TOKENS.get(model.family, {}).items() if name not in config}
        return cls.from_dict({**tokens, **config}, options, place="config.json")

    @classmethod
    def from_dict(
        cls,
        values: Mapping[str, Any],
        options: Mapping[str, Any] | None = None,
        *,
        place: str = "generation config",
    ) -> GenerationConfig:
        """Options from what a file holds; keys that are none of generation's are passed over, and so is None.

        Parameters
        ----------
        values : mapping
            Keys of transformers.
        options : mapping, optional
            Keywords of a call: keys that are not supported and that these switch off count as if they were not there.
        place : str
            How errors call it.

        Raises
        ------
        UnsupportedFeatureError
            A key changes the tokens, and is not supported.
        SourceFormatError
            A key has a value that it cannot have.
        """
        switched_off = {name for name, value in (options or {}).items() if value in NEUTRAL_UNSUPPORTED.get(name, ())}
        values = {name: value for name, value in values.items() if name not in switched_off}
        refuse_unsupported(
            values, place, "take it out of the file, or switch it off by a keyword of the call, `{name}={neutral!r}`"
        )
        options = {name: values[name] for name in CHECKS if values.get(name) is not None}
        # transformers has left groups out and passes over their keys; a penalty alone never did anything
        if options.get("num_beam_groups", 1) == 1:
            options.pop("diversity_penalty", None)
        try:
            return cls(**options)
        except ValueError as error:
            raise SourceFormatError(f"{place}: {error}") from error

    @property
    def eos_ids(self) -> tuple[int, ...]:
        """Tokens that end a row."""
        return _as_ids(self.eos_token_id)

    @property
    def forced_eos_ids(self) -> tuple[int, ...]:
        """Tokens of which the last token of a row that becomes as long as it may is one."""
        return _as_ids(self.forced_eos_token_id)


def _as_ids(value: int | tuple[int, ...] | None) -> tuple[int, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, int) else value


def refuse_unsupported(values: Mapping[str, Any], place: str, way_out: str) -> None:
    """Refuse keys that would change the tokens and are not supported.

    Raises
    ------
    UnsupportedFeatureError
        There are such keys with another value than the one that changes nothing.
    """
    found = {
        name: values[name]
        for name, neutral in NEUTRAL_UNSUPPORTED.items()
        if name in values and values[name] not in neutral
    }
    if found:
        first = next(iter(found))
        way_out = way_out.format(name=first, neutral=NEUTRAL_UNSUPPORTED[first][-1])
        listed = ", ".join(f"`{name}` {value!r}" for name, value in found.items())
        raise UnsupportedFeatureError(f"{place}: {listed} is not supported and would change the tokens; {way_out}")
