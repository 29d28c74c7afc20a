"""Long texts as overlapping windows of tokens, laid out as inputs of a model when their batch is run.

Texts, their spans and their words are kept once, however many windows there are: a window is a range of tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._input_layout import NO_TEXTS, Layout, Texts, Windows, cut_texts, read_only
from numba_nlp._input_plan import Truncation
from numba_nlp._input_settings import InputSettings, Template
from numba_nlp.kernels.segment.layout import FIRST_TEXT, SECOND_TEXT
from numba_nlp.kernels.segment.truncate import ONLY_FIRST, ONLY_SECOND
from numba_nlp.pipelines.model_limits import position_limit, refuse_no_number
from numba_nlp.pipelines.offset_rows import offsets_of
from numba_nlp.text_rows import TextRows
from numba_nlp.tokenizer import Tokenizer

__all__ = ["LONGEST_UNLIMITED", "TokenWindows", "cut_windows", "encode_texts", "window_limit"]

#: Tokens of a window where neither model nor tokenizer have a limit: what XLNet and T5 were trained with.
LONGEST_UNLIMITED = 512


def window_limit(model: Any, tokenizer: Tokenizer) -> int:
    """Tokens in the longest window: what the model or the files of the tokenizer say, whichever is less."""
    limits = position_limit(model), tokenizer.input_settings.max_length
    return min((limit for limit in limits if limit is not None), default=LONGEST_UNLIMITED)


def encode_texts(tokenizer: Tokenizer, texts: Sequence[str], *, spans: bool, words: bool) -> Texts:
    """Tokens of texts without those of a template.

    Parameters
    ----------
    tokenizer : Tokenizer
    texts : sequence of str
    spans, words : bool
        Whether spans (characters), and numbers of words, are wanted.

    Returns
    -------
    Texts
        Empty arrays for what is not wanted.

    Raises
    ------
    UnsupportedFeatureError
        The tokenizer knows no words.
    """
    rows = TextRows.from_strings(texts)
    encoded = tokenizer.encode_batch(rows, spans=spans)
    none = NO_TEXTS
    return Texts(
        encoded.values,
        read_only(encoded.offsets),
        none.starts if encoded.starts is None else encoded.starts,
        none.ends if encoded.ends is None else encoded.ends,
        tokenizer.word_numbers(rows, encoded) if words else none.words,
    )


@dataclass(frozen=True)
class TokenWindows:
    """Windows over one text of each row, beside another one that is whole, or none.

    Attributes
    ----------
    settings : InputSettings
        Of the tokenizer.
    template : Template
        What the texts are put into.
    firsts, seconds : Texts
        Of the template.
    cut : Windows
        What each window holds of them; windows of a row are neighbours, in the order of the text.
    is_second : bool
        Whether the windows are of the second text.
    first_row : int
        Number of the first row in the call.
    """

    settings: InputSettings
    template: Template
    firsts: Texts
    seconds: Texts
    cut: Windows
    is_second: bool
    first_row: int

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each window with all that is around."""
        return self.cut.lengths(self.template)

    @property
    def texts(self) -> Texts:
        """The texts that are cut."""
        return self.seconds if self.is_second else self.firsts

    @property
    def rows(self) -> NDArray[np.int64]:
        """Row of each window."""
        return self.cut.rows

    @property
    def starts(self) -> NDArray[np.int64]:
        """First token of each window, by its number in `texts`."""
        return self.cut.second_starts if self.is_second else self.cut.first_starts

    @property
    def ends(self) -> NDArray[np.int64]:
        """Behind the last token of each window, by its number in `texts`."""
        return self.cut.second_ends if self.is_second else self.cut.first_ends

    def select(self, windows: NDArray[Any]) -> TokenWindows:
        """Some of the windows, by numbers or by a mask."""
        return TokenWindows(
            self.settings, self.template, self.firsts, self.seconds, Windows(*(each[windows] for each in self.cut)),
            self.is_second, self.first_row,
        )  # fmt: skip

    def owned(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The tokens for which each window is the one with most context; together all tokens, each once.

        Of the windows that hold a token it is the one whose nearer border is farthest, the earlier one of two; the
        ends of a text are no border. Of two neighbours that is parted in the middle of what they share.

        Returns
        -------
        starts, ends : int64[windows], int64[windows]
            By their numbers in `texts`.
        """
        starts, ends = self.starts.copy(), self.ends.copy()
        follows = self.rows[1:] == self.rows[:-1]
        middles = (self.starts[1:] + self.ends[:-1] + 1) // 2
        starts[1:][follows] = middles[follows]
        ends[:-1][follows] = middles[follows]
        return starts, ends

    def inputs(self, windows: NDArray[np.int64], *, types: bool = False) -> dict[str, NDArray[np.int64]]:
        """Some windows as a model takes them: int64[windows, width] each, padded to the longest one.

        Parameters
        ----------
        windows : int64[n]
        types : bool
            Give token types even where the tokenizer says that models of its kind take none.
        """
        part = self.select(windows)
        width = int(part.lengths.max(initial=0))
        offsets = np.arange(windows.size + 1) * width
        layout = Layout(self.template, part.cut, offsets, self.settings.padding_side == "left", np.int64)
        pad = 0 if self.settings.pad_id is None else self.settings.pad_id
        flat = {"input_ids": layout.values(self.template.parts, self.firsts.values, self.seconds.values, pad)}
        flat["attention_mask"] = layout.marks(self.template.entries(1, 1, 1), 0)
        if types or "token_type_ids" in self.settings.names:
            flat["token_type_ids"] = layout.marks(self.template.type_ids, self.settings.pad_type_id)
        return {name: values.reshape(windows.size, width) for name, values in flat.items()}

    def places(self, windows: NDArray[np.int64], part: int | None = None) -> NDArray[np.int64]:
        """Where a part of the template begins in the rows of :meth:`inputs`.

        Parameters
        ----------
        windows : int64[n]
        part : int, optional
            Its number; by default that of the text that is cut.
        """
        cut = Windows(*(each[windows] for each in self.cut))
        parts = self.template.parts
        if part is None:
            part = int(np.flatnonzero(parts == (SECOND_TEXT if self.is_second else FIRST_TEXT))[0])
        before = parts[:part]
        places = np.full(windows.size, int((before >= 0).sum()))
        if (before == FIRST_TEXT).any():
            places += cut.first_ends - cut.first_starts
        if (before == SECOND_TEXT).any():
            places += cut.second_ends - cut.second_starts
        if self.settings.padding_side == "left":
            lengths = cut.lengths(self.template)
            places += int(lengths.max(initial=0)) - lengths
        return places

    def refuse_no_number(self, windows: NDArray[np.int64], *values: NDArray[np.float32]) -> None:
        """Refuse what a model gave for windows and what is no number, which has neither order nor meaning.

        Raises
        ------
        RowError
            Names the row.
        """
        for each in values:
            refuse_no_number(each, self.rows[windows], self.first_row)


def cut_windows(
    settings: InputSettings,
    template: Template,
    firsts: Texts,
    seconds: Texts,
    *,
    is_second: bool,
    max_length: int,
    stride: int,
    first_row: int,
    shared: NDArray[np.int64] | None = None,
) -> TokenWindows:
    """Cut one text of each row into windows, each sharing some tokens with the one before.

    Parameters
    ----------
    settings : InputSettings
    template : Template
    firsts, seconds : Texts
        ``NO_TEXTS`` where the template has no second one.
    is_second : bool
        Which of them is cut; the other one is whole in each window.
    max_length : int
        Most tokens of a window, those of the template included.
    stride : int
        Tokens that a window shares with the one before.
    first_row : int
    shared : int64[rows], optional
        The text of each row that is cut, by its number, where rows share texts; by default row ``i`` has text ``i``.

    Raises
    ------
    ValueError
        There is no room for windows in a row: check before.
    """
    room = max_length - template.n_added
    plan = Truncation(ONLY_SECOND if is_second else ONLY_FIRST, room, stride, False, max_length)
    if shared is None:
        cut = cut_texts(firsts, seconds, template, plan, True)
        return TokenWindows(settings, template, firsts, seconds, cut, is_second, first_row)
    # cut as if each row had a text of its own, then moved to where it is
    texts = seconds if is_second else firsts
    offsets = offsets_of(np.diff(texts.offsets)[shared])
    own = texts._replace(offsets=read_only(offsets))
    cut = cut_texts(firsts if is_second else own, own if is_second else seconds, template, plan, True)
    moves = (texts.offsets[shared] - offsets[:-1])[cut.rows]
    if is_second:
        cut = cut._replace(second_starts=cut.second_starts + moves, second_ends=cut.second_ends + moves)
    else:
        cut = cut._replace(first_starts=cut.first_starts + moves, first_ends=cut.first_ends + moves)
    return TokenWindows(settings, template, firsts, seconds, cut, is_second, first_row)
