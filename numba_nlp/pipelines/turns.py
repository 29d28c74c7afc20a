"""Conversations: turns of a user and of a model, by turns or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from numba_nlp._arguments import shown
from numba_nlp.errors import RowError
from numba_nlp.pipelines.rows import Inputs, check_text, is_missing, take_inputs

__all__ = ["Conversation", "Turn", "take_conversation", "take_conversations"]

_ROLES = ("user", "assistant")


class Turn(NamedTuple):
    """What one of the two says.

    Parameters
    ----------
    role : {"user", "assistant"}
    content : str
    """

    role: str
    content: str


@dataclass(frozen=True)
class Conversation:
    """A conversation, which is not changed: each addition makes another one.

    Attributes
    ----------
    turns : tuple of Turn
        A str is the user's first words.
    left_out : int
        How many turns at the front the model did not read for its last reply, since there was no room for them.

    Examples
    --------
    >>> from numba_nlp.pipelines import Conversation
    >>> talk = Conversation().add_user("Who's there?").add_reply("Nay, answer me.").add_user("Long live the king!")
    >>> talk.replies
    ('Nay, answer me.',)
    """

    turns: tuple[Turn, ...] = ()
    left_out: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.turns, str):
            object.__setattr__(self, "turns", (Turn("user", self.turns),))
            return
        if not all(isinstance(turn, Turn) for turn in self.turns):
            raise TypeError(f"`turns` must be Turns, or a str, the user's first words; got {shown(self.turns)}")
        object.__setattr__(self, "turns", tuple(self.turns))

    def add_user(self, text: str) -> Conversation:
        """The conversation with what the user says next."""
        return replace(self, turns=(*self.turns, Turn("user", text)))

    def add_reply(self, text: str, left_out: int = 0) -> Conversation:
        """The conversation with what the model says next, and how many turns it did not read."""
        return replace(self, turns=(*self.turns, Turn("assistant", text)), left_out=left_out)

    @property
    def replies(self) -> tuple[str, ...]:
        """What the model said."""
        return tuple(turn.content for turn in self.turns if turn.role == "assistant")

    @property
    def reply(self) -> str | None:
        """The last of them, or None."""
        return self.replies[-1] if self.replies else None

    def to_list(self) -> list[dict[str, str]]:
        """As transformers writes it, a mapping with "role" and "content" for each turn."""
        return [turn._asdict() for turn in self.turns]

    def __len__(self) -> int:
        return len(self.turns)

    def __iter__(self) -> Iterator[Turn]:
        return iter(self.turns)

    def __bool__(self) -> bool:
        return True


def take_conversations(inputs: Any) -> Inputs:
    """Tell one conversation from many and from a stream.

    A str, a Conversation, and a list that holds nothing but str, or nothing but mappings, is one conversation; so a
    column of texts is many conversations of one turn each.
    """
    if isinstance(inputs, (list, tuple)) and len(inputs):
        for kind in (str, Mapping, Turn):
            if all(isinstance(turn, kind) for turn in inputs):
                return Inputs([inputs], is_single=True)
    return take_inputs(inputs, (str, Conversation))


def take_conversation(row: Any, number: int) -> Conversation:
    """A conversation to which a reply is wanted.

    Parameters
    ----------
    row : Conversation, str, or sequence of turns
        Turns are str, the first and every second one of them the user's; mappings with "role" and "content"; or
        :class:`Turn`.
    number : int
        Of the row.

    Raises
    ------
    RowError, MissingRowError
        It is none, or it does not end with the user.
    """
    if isinstance(row, Conversation):
        given: Sequence[Any] = row.turns
    elif isinstance(row, (list, tuple)) and not isinstance(row, Turn):
        given = row
    elif isinstance(row, str) or is_missing(row):
        given = [check_text(row, number, "conversation", "leave the row out")]
    else:
        raise RowError(
            f"row {number}: a conversation is a Conversation, a list of turns, or a str, the user's first words; got "
            f"{type(row).__name__} {shown(row)}",
            number,
        )
    if len(given) == 2 and isinstance(given, tuple) and given[0] in _ROLES and isinstance(given[1], str):
        raise RowError(
            f"row {number}: {shown(given)} looks like one turn; as a turn it is Turn{shown(given)} or "
            "{'role': ..., 'content': ...}, and two turns of the word 'user' are a list",
            number,
        )
    if not given:
        raise RowError(f"row {number}: the conversation has no turn; begin with one of the user", number)
    # who spoke last is the user, so that strings count from the end
    turns = tuple(
        _take_turn(turn, number, place, "user" if (len(given) - place) % 2 else "assistant")
        for place, turn in enumerate(given)
    )
    if turns[-1].role != "user":
        raise RowError(
            f"row {number}: the conversation ends with a turn of the assistant; add what the user says to it", number
        )
    return Conversation(turns)


def _take_turn(turn: Any, number: int, place: int, role: str) -> Turn:
    what = f"turn {place} of the conversation"
    if isinstance(turn, (Mapping, Turn)):
        values = turn._asdict() if isinstance(turn, Turn) else dict(turn)
        if set(values) != {"role", "content"}:
            raise RowError(
                f"row {number}: {what} must have 'role' and 'content' and nothing else, got "
                f"{shown(sorted(map(str, values)))}",
                number,
            )
        role, turn = values["role"], values["content"]
        if role not in _ROLES:
            raise RowError(
                f"row {number}: the role of {what} must be 'user' or 'assistant', got {shown(role)}"
                + ("; these models know no instructions" if role == "system" else ""),
                number,
            )
    content = check_text(turn, number, what, "leave it out")
    if not content.strip():
        raise RowError(f"row {number}: {what} is empty; leave it out", number)
    return Turn(role, content)
