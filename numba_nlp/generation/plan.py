"""What a call asks for, settled: prompts and sources as arrays, lengths as numbers, special tokens as ids."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from numba_nlp.generation.arguments import refuse_silent_model
from numba_nlp.generation.config import GenerationConfig
from numba_nlp.generation.prompts import Rows, guess_mask, padded_left, take_rows, with_start
from numba_nlp.generation.remarks import remark
from numba_nlp.kernels.generation.beam_memory import STOP_EARLY, STOP_NEVER, STOP_WORSE, BeamRules
from numba_nlp.kernels.generation.counter_random import row_keys
from numba_nlp.kernels.generation.rules import RowRules, make_rules

__all__ = ["Plan", "make_plan", "ragged_ids", "with_equals"]

#: No token is this.
_BETWEEN = -2

#: New tokens where nothing is said of lengths.
_DEFAULT_NEW_TOKENS = 20
#: Columns are counted in int32.
_MOST_COLUMNS = 2**31 - 1


@dataclass(frozen=True)
class Plan:
    """One generation.

    Attributes
    ----------
    config : GenerationConfig
    prompts : Rows
        What the rows begin with, padding at the left.
    source : Rows or None
        What the encoder reads; a decoder alone has none.
    vocabulary : int
        Tokens to choose from.
    max_length, min_length : int
        Columns, prompt included.
    per_prompt : int
        Rows of each prompt.
    padding : int
        What stands behind the end of a row.
    equal_before : ndarray or None
        int64 ``[prompts]``: how many equal prompts, or sources, were before each; None: those of this call.
    """

    config: GenerationConfig
    prompts: Rows
    source: Rows | None
    vocabulary: int
    max_length: int
    min_length: int
    per_prompt: int
    padding: int
    equal_before: np.ndarray | None = None

    @property
    def prompt_width(self) -> int:
        """Columns of the prompts."""
        return int(self.prompts.ids.shape[1])

    @property
    def said_length(self) -> str:
        """The option that says how long rows may become, for errors."""
        return _said_length(self.config)

    @property
    def new_tokens(self) -> int:
        """Most new tokens of a row."""
        return self.max_length - self.prompt_width

    def firsts(self) -> np.ndarray:
        """Columns of padding at the left of each prompt, int64."""
        mask = self.prompts.mask
        return np.zeros(self.prompts.ids.shape[0], np.int64) if mask is None else mask.argmax(1)

    def first_rows(self) -> np.ndarray:
        """Tokens of all rows, int32 ``[rows, max_length]``, of which the prompts are filled in."""
        prompts = self.prompts.ids
        rows = np.zeros((prompts.shape[0] * self.per_prompt, self.max_length), np.int32)
        rows[:, : prompts.shape[1]] = np.repeat(prompts, self.per_prompt, axis=0)
        return rows

    def keys(self, copies: int) -> np.ndarray:
        """Numbers that rows are drawn by: of their prompt, or source, and how many before it are equal.

        Parameters
        ----------
        copies : int
            Rows of a prompt.

        Returns
        -------
        ndarray
            uint64 ``[prompts * copies]``.
        """
        ids, mask = self._read()
        keys = np.zeros(ids.shape[0] * copies, np.uint64)
        if self.equal_before is None:
            row_keys(ids, mask, copies, keys)
            return keys
        # as if those before were here: each sort of prompt by itself, as often as its last one needs
        of_rows = keys.reshape(-1, copies)
        sorts: dict[bytes, list[int]] = {}
        for number in range(ids.shape[0]):
            sorts.setdefault(ids[number, mask[number] != 0].tobytes(), []).append(number)
        for numbers in sorts.values():
            before = self.equal_before[numbers]
            repeated = np.full(int(before.max()) + 1, numbers[0])
            of_sort = np.zeros(repeated.size * copies, np.uint64)
            row_keys(ids[repeated], mask[repeated], copies, of_sort)
            of_rows[numbers] = of_sort.reshape(-1, copies)[before]
        return keys

    def _read(self) -> tuple[np.ndarray, np.ndarray]:
        """What keys are made of: prompts, or sources and what the decoder has to begin with; int32 and uint8."""
        ids, mask = self.prompts.ids, self.prompts.mask_array()
        if self.source is not None:
            # the first token says nothing of a row; a number that no token has stands between the source and others
            mask = mask.copy()
            if mask.size:
                mask[np.arange(mask.shape[0]), mask.argmax(1)] = False
            some = mask.any(1, keepdims=True)
            ids = np.concatenate([self.source.ids, np.full(some.shape, _BETWEEN), ids], axis=1)
            mask = np.concatenate([self.source.mask_array(), some, mask], axis=1)
        return np.ascontiguousarray(ids, np.int32), mask.astype(np.uint8)

    def row_rules(self) -> RowRules:
        """What may follow in a row."""
        config, width = self.config, self.prompt_width
        one_forced = width == 1 and config.forced_bos_token_id is not None
        return make_rules(
            repetition_penalty=config.repetition_penalty,
            no_repeat_ngram_size=config.no_repeat_ngram_size,
            encoder_no_repeat_ngram_size=config.encoder_no_repeat_ngram_size,
            bad_words_ids=config.bad_words_ids or (),
            min_length=self.min_length,
            min_new_tokens=config.min_new_tokens or 0,
            prompt_width=width,
            eos_ids=config.eos_ids,
            forced_bos_id=-1 if config.forced_bos_token_id is None else config.forced_bos_token_id,
            forced_eos_ids=config.forced_eos_ids,
            max_length=self.max_length,
            suppressed_ids=config.suppress_tokens or (),
            begin_suppressed_ids=config.begin_suppress_tokens or (),
            begin_index=width + 1 if one_forced else width,
            renormalize=config.renormalize_logits,
            temperature=config.temperature,
            top_k=config.top_k,
            top_p=config.top_p,
            min_p=config.min_p or 0.0,
            typical_p=config.typical_p,
            min_tokens_to_keep=max(2, len(config.eos_ids) + 1) if config.num_beams > 1 else 1,
        )

    def source_ids(self) -> np.ndarray:
        """What the encoder read for each prompt, or the prompts, int32."""
        return np.ascontiguousarray((self.prompts if self.source is None else self.source).ids, np.int32)

    def beam_rules(self) -> BeamRules:
        """When rows and sentences end."""
        config = self.config
        stop_tokens, stop_offsets = ragged_ids(config.stop_sequences)
        stopping = {True: STOP_EARLY, False: STOP_WORSE, "never": STOP_NEVER}[config.early_stopping]
        ends = len(config.eos_ids) + len(config.stop_sequences or ())
        return BeamRules(
            candidates=max(2, 1 + ends) * (config.num_beams // config.num_beam_groups),
            prompt_width=self.prompt_width,
            max_length=self.max_length,
            length_penalty=config.length_penalty,
            early_stopping=stopping,
            eos_ids=np.array(config.eos_ids, np.int32),
            stop_tokens=stop_tokens,
            stop_offsets=stop_offsets,
        )


def with_equals(plan: Plan, equal_before: Any) -> Plan:
    """The same, with what a caller says of equal prompts in other calls.

    Parameters
    ----------
    plan : Plan
    equal_before : array-like
        As of :func:`numba_nlp.generation.generate`.

    Raises
    ------
    ValueError
        They are other numbers than of prompts, or negative.
    TypeError
        They are no whole numbers.
    """
    numbers = np.asarray(equal_before)
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"`equal_before` must be whole numbers, got {numbers.dtype}")
    prompts = plan.prompts.ids.shape[0]
    if numbers.shape != (prompts,) or (numbers.size and numbers.min() < 0):
        raise ValueError(
            f"`equal_before` must be {prompts} numbers from 0 on, one of each prompt, got {numbers.tolist()!r:.80}"
        )
    return replace(plan, equal_before=numbers.astype(np.int64))


def ragged_ids(rows: tuple[tuple[int, ...], ...] | None) -> tuple[np.ndarray, np.ndarray]:
    """Sequences of ids, one behind the other as int32, and where each begins and ends as int64."""
    rows = rows or ()
    offsets = np.zeros(len(rows) + 1, np.int64)
    offsets[1:] = np.cumsum([len(row) for row in rows])
    return np.array([token for row in rows for token in row], np.int32), offsets


def make_plan(
    model: Any,
    config: GenerationConfig,
    input_ids: Any,
    attention_mask: Any,
    decoder_input_ids: Any,
    decoder_attention_mask: Any,
) -> Plan:
    """Settle what a call asks for.

    Parameters
    ----------
    model : Model
        That generates.
    config : GenerationConfig
        Of the call.
    input_ids, attention_mask, decoder_input_ids, decoder_attention_mask
        As given.

    Raises
    ------
    ValueError
        The model does not generate, rows are malformed, or do not fit into the model.
    TypeError
        Ids are no whole numbers.
    """
    refuse_silent_model(model)
    padding = _padding(config)
    if hasattr(model, "encode_source"):
        vocabulary = model.settings.decoder_vocabulary
        if input_ids is None:
            raise ValueError("`input_ids` is missing: what the encoder reads")
        source = take_rows(
            input_ids,
            attention_mask,
            model.settings.vocabulary,
            padding if padding < model.settings.vocabulary else 0,
            side="right",
            name="input_ids",
            mask_name="attention_mask",
        )
        model.check_width(source.ids.shape[1], model.settings.positions)
        inner = padding if padding < vocabulary else 0
        prompts = _decoder_prompts(config, source, decoder_input_ids, decoder_attention_mask, vocabulary, inner)
    else:
        if decoder_input_ids is not None or decoder_attention_mask is not None:
            raise ValueError(f"{model.family} has no encoder: give the prompt as `input_ids`, not `decoder_input_ids`")
        vocabulary, source = model.settings.vocabulary, None
        prompts = _prompts(config, input_ids, attention_mask, vocabulary, padding)
    _check_ids(config, vocabulary)
    width = prompts.ids.shape[1]
    max_length = _max_length(config, width, getattr(model.settings, "positions", None))
    min_length = config.min_length if config.min_new_tokens is None else width + config.min_new_tokens
    if min_length > max_length and prompts.ids.shape[0]:
        least, off = ("min_length", 0) if config.min_new_tokens is None else ("min_new_tokens", None)
        remark(
            f"`{least}` {getattr(config, least)} is more than rows may have: prompts have {width} tokens, rows at most "
            f"{max_length}; they end there. Set `max_new_tokens` too, or switch it off with `{least}={off}`"
        )
    return Plan(
        config=config,
        prompts=prompts,
        source=source,
        vocabulary=vocabulary,
        max_length=max_length,
        min_length=min_length,
        per_prompt=max(config.num_beams, config.num_return_sequences),
        padding=padding,
    )


def _padding(config: GenerationConfig) -> int:
    """The padding token; a beam search of transformers 5 takes the first end token for it where it is 0."""
    ends = config.eos_ids
    if config.num_beams > 1 and config.num_beam_groups == 1 and ends and not config.pad_token_id:
        return ends[0]
    if config.pad_token_id is not None:
        return config.pad_token_id
    return ends[0] if ends else 0


def _prompts(config: GenerationConfig, ids: Any, mask: Any, vocabulary: int, padding: int) -> Rows:
    if ids is None:
        if config.bos_token_id is None:
            raise ValueError("`input_ids` is missing, and there is no `bos_token_id` to begin with")
        _refuse_beyond("bos_token_id", config.bos_token_id, vocabulary)
        ids, mask = [[config.bos_token_id]], None
    pad = config.pad_token_id if config.pad_token_id is not None else padding
    pad = pad if pad < vocabulary else 0  # it is masked, but must be a token of the model
    rows = take_rows(ids, mask, vocabulary, pad, side="left", name="input_ids", mask_name="attention_mask")
    if mask is None:
        rows = guess_mask(rows, config.pad_token_id, config.eos_ids)
    _refuse_empty(rows, "input_ids")
    return padded_left(rows, pad)


def _decoder_prompts(
    config: GenerationConfig, source: Rows, ids: Any, mask: Any, vocabulary: int, padding: int
) -> Rows:
    sentences = source.ids.shape[0]
    name = "bos_token_id" if config.decoder_start_token_id is None else "decoder_start_token_id"
    start = getattr(config, name)
    if start is not None:
        _refuse_beyond(name, start, vocabulary)
    if ids is None:
        if mask is not None:
            raise ValueError("`decoder_attention_mask` is given without `decoder_input_ids`")
        if start is None:
            raise ValueError(
                "neither `decoder_start_token_id` nor `bos_token_id` is known: say with which token the decoder "
                "begins, or give `decoder_input_ids`"
            )
        return Rows(np.full((sentences, 1), start, np.int64), None)
    rows = take_rows(
        ids, mask, vocabulary, padding, side="left", name="decoder_input_ids", mask_name="decoder_attention_mask"
    )
    if rows.ids.shape[0] != sentences:
        raise ValueError(
            f"`decoder_input_ids` must have as many rows as `input_ids`, {sentences}, got {rows.ids.shape[0]}"
        )
    _refuse_empty(rows, "decoder_input_ids")
    rows = padded_left(rows, padding)
    return with_start(rows, start) if start is not None and sentences else rows


def _refuse_empty(rows: Rows, name: str) -> None:
    empty = np.flatnonzero(rows.lengths() == 0)
    if empty.size:
        raise ValueError(f"row {empty[0]} of `{name}` has no token: give it one to begin with")


def _check_ids(config: GenerationConfig, vocabulary: int) -> None:
    named = [("forced_eos_token_id", token) for token in config.forced_eos_ids]
    if config.forced_bos_token_id is not None:
        named.append(("forced_bos_token_id", config.forced_bos_token_id))
    for name in ("suppress_tokens", "begin_suppress_tokens"):
        named += [(name, token) for token in getattr(config, name) or ()]
    for name in ("bad_words_ids", "stop_sequences"):
        named += [(name, token) for row in getattr(config, name) or () for token in row]
    for name, token in named:
        _refuse_beyond(name, token, vocabulary)


def _refuse_beyond(name: str, token: int, vocabulary: int) -> None:
    if token >= vocabulary:
        raise ValueError(f"`{name}` holds {token}, the model has tokens from 0 to {vocabulary - 1}")


def _said_length(config: GenerationConfig) -> str:
    if config.max_new_tokens is not None:
        return f"`max_new_tokens` {config.max_new_tokens}"
    if config.max_length is not None:
        return f"`max_length` {config.max_length}"
    return f"the default of {_DEFAULT_NEW_TOKENS} new tokens"


def _max_length(config: GenerationConfig, width: int, positions: int | None) -> int:
    said = _said_length(config)
    if config.max_new_tokens is not None:
        longest = width + config.max_new_tokens
    elif config.max_length is not None:
        longest = config.max_length
        if longest <= width:
            raise ValueError(
                f"{said} leaves no room for a new token behind prompts of {width} tokens; raise it, or say "
                "`max_new_tokens`, which does not count the prompt"
            )
    else:
        longest = width + _DEFAULT_NEW_TOKENS
        if positions is not None and width < positions:
            longest = min(longest, positions)
    # the last token of a row is not read any more
    if positions is not None and longest - 1 > positions:
        raise ValueError(
            f"prompts of {width} tokens and {said} need {longest - 1} positions, the model has {positions}; cut the "
            "prompts, or ask for fewer tokens"
        )
    if longest > _MOST_COLUMNS:
        raise ValueError(
            f"prompts of {width} tokens and {said} make rows of {longest} tokens, and the most is {_MOST_COLUMNS}; ask "
            "for fewer tokens"
        )
    return longest
