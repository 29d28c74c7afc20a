"""Replies in a conversation, by models such as DialoGPT that read turns one behind the other, each with its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import whole
from numba_nlp.errors import RowError, UnsupportedFeatureError
from numba_nlp.pipelines.decoder_prompts import DecoderPipeline, PromptUnits, by_row, least_tokens
from numba_nlp.pipelines.generation_call import Call, Written
from numba_nlp.pipelines.generation_options import GenerationOptions
from numba_nlp.pipelines.rows import Inputs
from numba_nlp.pipelines.stopwatch import Stopwatch
from numba_nlp.pipelines.turns import Conversation, take_conversation, take_conversations

__all__ = ["Converse", "ConverseOptions", "Replies"]

#: New tokens where nothing is said of lengths, as of transformers' pipeline.
_DEFAULT_NEW_TOKENS = 256


@dataclass(frozen=True)
class ConverseOptions(GenerationOptions):
    """What conversations take; beside these, the options of generation.

    Attributes
    ----------
    min_length_for_response : int
        Tokens that there is room for in a reply at least: turns at the front are left out as far as that needs it.

    Raises
    ------
    ValueError, TypeError
        One has a value that it cannot have.
    """

    min_length_for_response: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("min_length_for_response", self.min_length_for_response, 1)


@dataclass(frozen=True)
class Replies:
    """Replies, as arrays.

    Attributes
    ----------
    conversations : tuple of Conversation
        With their replies.
    replies : tuple of str
    left_out : int64[rows]
        Turns at the front of the conversation that the model did not read.
    prompt_tokens : int64[rows]
        What it read.
    scores : float32[rows]
        As of :class:`numba_nlp.generation.GenerationOutput`.
    """

    conversations: tuple[Conversation, ...]
    replies: tuple[str, ...]
    left_out: NDArray[np.int64]
    prompt_tokens: NDArray[np.int64]
    scores: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.conversations)

    def to_list(self) -> list[Any]:
        """Each conversation with its reply."""
        return list(self.conversations)

    @classmethod
    def concatenate(cls, parts: Sequence[Replies]) -> Replies:
        """Rows of all parts."""
        return cls(
            conversations=tuple(one for part in parts for one in part.conversations),
            replies=tuple(reply for part in parts for reply in part.replies),
            left_out=np.concatenate([part.left_out for part in parts]),
            prompt_tokens=np.concatenate([part.prompt_tokens for part in parts]),
            scores=np.concatenate([part.scores for part in parts]),
        )


class Converse(DecoderPipeline):
    """The reply in a conversation; see :class:`Pipeline` and :class:`ConverseOptions`.

    A row is a :class:`Conversation`, a list of turns (``{"role": ..., "content": ...}``, or strings, of which the last
    one and every second one before it are the user's), or the user's first words. The result is a
    :class:`Conversation` with the reply; :meth:`Pipeline.arrays` gives :class:`Replies`.
    """

    task = "converse"
    option_type: ClassVar[Any] = ConverseOptions
    task_names = ("conversational",)

    def take_inputs(self, inputs: Any) -> Inputs:
        """Tell one conversation from many and from a stream."""
        return take_conversations(inputs)

    def check_row(self, row: Any, number: int, options: Call) -> Conversation:
        """A conversation that ends with the user."""
        return take_conversation(row, number)

    def open_call(self, options: Any) -> Call:
        """Settle what a call asks for."""
        call = super().open_call(options)
        if not call.config.eos_ids:
            raise UnsupportedFeatureError(
                "task 'converse' needs a model with a token that ends turns (`eos_token_id`), as DialoGPT has; this "
                f"{self.model.family} has none"
            )
        if call.config.num_return_sequences > 1:
            raise ValueError(
                f"`num_return_sequences` {call.config.num_return_sequences}: a conversation goes on with one reply"
            )
        return call

    def tokenize(self, rows: Sequence[Conversation], first: int, options: Call) -> PromptUnits:
        """The last turns that there is room for, each with its end."""
        end = options.config.eos_ids[0]
        counts = [len(row) for row in rows]
        encoded = self.tokenizer.encode_batch([turn.content for row in rows for turn in row])
        bounds = np.concatenate([[0], np.cumsum(counts)]).tolist()
        ids, rooms, left_out = [], [], []
        for number, (begin, stop) in enumerate(pairwise(bounds), first):
            turns = [np.append(encoded[place], end).astype(np.int32) for place in range(begin, stop)]
            cut = self._turns_left_out(turns, options, number)
            prompt = np.concatenate(turns[cut:])
            new = self._new_tokens(prompt.size, options)
            ids.append(prompt)
            rooms.append((new, min(new, least_tokens(options.config, prompt.size))))
            left_out.append(cut)
        return PromptUnits.make(ids, rooms, left_out, options, first)

    def _limit(self, call: Call) -> int:
        """Most tokens of a conversation and its reply."""
        config = call.config
        # the last token of a reply is not read
        limits = [] if self.positions is None else [self.positions + 1]
        if config.max_new_tokens is None and config.max_length is not None:
            limits.append(config.max_length)
        return min(limits, default=2**31)

    def _new_tokens(self, size: int, call: Call) -> int:
        config, room = call.config, self._limit(call) - size
        if config.max_new_tokens is not None:
            return min(room, config.max_new_tokens)
        return room if config.max_length is not None else min(room, _DEFAULT_NEW_TOKENS)

    def _turns_left_out(self, turns: Sequence[NDArray[np.int32]], call: Call, number: int) -> int:
        """How many turns at the front there is no room for."""
        room = call.options.min_length_for_response
        if call.config.max_new_tokens is not None:
            room = min(room, call.config.max_new_tokens)
        limit = self._limit(call) - room
        size = sum(turn.size for turn in turns)
        for cut, turn in enumerate(turns):
            if size <= limit:
                return cut
            size -= turn.size
        raise RowError(
            f"row {number}: the last turn has {turns[-1].size} tokens with its end, and there are {limit} "
            f"beside the {room} that a reply has room for (`min_length_for_response`); shorten it",
            number,
        )

    def assemble(
        self,
        rows: Sequence[Conversation],
        units: PromptUnits,
        batches: Sequence[NDArray[np.int64]],
        outputs: Sequence[Written],
        options: Call,
        watch: Stopwatch,
    ) -> Replies:
        """Add the replies."""
        found = by_row(units, batches, outputs)
        with watch("decode"):
            replies = self.texts_of([written.tokens[place] for written, place in found], options.options)
        cut = units.left_out.tolist()
        return Replies(
            conversations=tuple(
                row.add_reply(reply, left_out) for row, reply, left_out in zip(rows, replies, cut, strict=True)
            ),
            replies=tuple(replies),
            left_out=units.left_out,
            prompt_tokens=np.array([prompt.size for prompt in units.ids], np.int64),
            scores=np.array([written.scores[place] for written, place in found], np.float32),
        )
