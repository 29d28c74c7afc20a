"""What a command saw: rows, tokens, and what was not as it should be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from numba_nlp.corpora.reading.pieces import Batch
from numba_nlp.packing import PackedBlocks

__all__ = ["Tally"]

_MOST_SPECIALS = 10


class Tally:
    """Counts of rows; those of parts add up.

    Attributes
    ----------
    rows, tokens, text_bytes : int
    missing : int
        Rows that were missing.
    unreadable : int
        Those of them that could not be read at all.
    invalid : int
        Rows in which U+FFFD stands in place of what was no valid text.
    failed : int
        Rows for which a pipeline gave an error.
    blocks, unfilled : int
        Packed blocks, and files of them of which no block is full, so that all their ids were left out.
    specials : Counter
        How often special tokens stood in the text.
    """

    _NUMBERS = ("rows", "tokens", "text_bytes", "missing", "unreadable", "invalid", "failed", "blocks", "unfilled")

    def __init__(self) -> None:
        self.rows = self.tokens = self.text_bytes = 0
        self.missing = self.unreadable = self.invalid = self.failed = self.blocks = self.unfilled = 0
        self.specials: Counter[str] = Counter()

    def add_batch(self, batch: Batch) -> None:
        """Count the rows of a batch."""
        self.rows += len(batch.rows)
        self.text_bytes += batch.rows.nbytes
        self.missing += batch.n_missing
        self.unreadable += batch.n_unreadable
        self.invalid += batch.n_invalid

    def add_blocks(self, packed: PackedBlocks | None) -> None:
        """Count the blocks of a file; None: it is of another format."""
        if packed is None:
            return
        self.blocks += len(packed)
        about = packed.metadata
        self.unfilled += not len(packed) and about["remainder"] == "drop" and about["n_rows"] > 0

    def __iadd__(self, other: Tally) -> Tally:
        for name in self._NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.specials.update(other.specials)
        return self

    def to_json(self) -> dict[str, Any]:
        """What there is, as JSON has it; numbers that are 0 are left out but for rows and tokens."""
        numbers = {name: getattr(self, name) for name in self._NUMBERS}
        made: dict[str, Any] = {name: n for name, n in numbers.items() if n or name in ("rows", "tokens")}
        if self.specials:
            made["specials"] = dict(self.specials.most_common())
        return made

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Tally:
        """The inverse of :meth:`to_json`.

        Raises
        ------
        TypeError
            It is something else.
        """
        made = cls()
        for name, value in content.items():
            if name == "specials":
                made.specials.update({str(token): _number(count) for token, count in dict(value).items()})
            elif name in cls._NUMBERS:
                setattr(made, name, _number(value))
        return made

    def remarks(self, special: str | None = None, nulls: str | None = None) -> list[str]:
        """A line for each thing that was not as it should be.

        Parameters
        ----------
        special, nulls : str, optional
            What the command was told to do with special tokens and with missing rows.
        """
        lines = []
        if self.invalid:
            lines.append(f"{_rows(self.invalid)} no valid text: U+FFFD stands in place of what was not UTF-8")
        if self.missing:
            unreadable = f" ({self.unreadable:,} unreadable)" if self.unreadable else ""
            became = "taken as empty text" if nulls == "empty" else "kept missing"
            lines.append(f"{_rows(self.missing)} missing{unreadable}: {became}")
        if self.failed:
            lines.append(f"{_rows(self.failed)} not done: the errors stand in the output")
        if self.unfilled:
            one = self.unfilled == 1
            files = "1 file has no full block: its" if one else f"{self.unfilled:,} files have no full block: their"
            lines.append(f"{files} ids were all left out; take a smaller --block-size, or --remainder pad or keep")
        became = "given its id" if special == "match" else "taken as ordinary text"
        for token, count in self.specials.most_common(_MOST_SPECIALS):
            lines.append(f"special text {token!r} occurred {count:,} times, {became}")
        if len(self.specials) > _MOST_SPECIALS:
            rest = sum(self.specials.values()) - sum(n for _, n in self.specials.most_common(_MOST_SPECIALS))
            lines.append(f"{len(self.specials) - _MOST_SPECIALS} other special texts occurred {rest:,} times")
        return lines


def _rows(n: int) -> str:
    return "1 row was" if n == 1 else f"{n:,} rows were"


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r} is no count")
    return value
