"""What to do with special tokens that stand in the text: policies, and cutting rows at matches."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import shown
from numba_nlp._encoders.rows import Segments
from numba_nlp._fastcall import NOTHING_WATCHED, Watched, watch_tokens
from numba_nlp._special_options import OPTIONS, Matches, in_template, rows_with_options
from numba_nlp.errors import SpecialTokenError
from numba_nlp.kernels.segment.language_codes import split_codes
from numba_nlp.kernels.segment.special import SpecialMatcher, build_special_matcher, find_specials, split_rows
from numba_nlp.kernels.segment.special_matcher import FLAG_NORMALIZED
from numba_nlp.vocabulary import Vocabulary

if TYPE_CHECKING:
    from numba_nlp._second_search import SecondSearch

__all__ = ["POLICIES", "SpecialTokens"]

POLICIES = ("raise", "match", "plain")
_MATCHERS_KEPT = 8
_NO_TEMPLATE = np.zeros(0, np.int32)
# read-only like the template of a vocabulary: kernels are compiled for one kind of array
_NO_TEMPLATE.flags.writeable = False
#: How codes of languages begin.
_OPENING = b">>"


def searched_in_normalized_text(vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Which added tokens are looked for in normalized text, where that is another than the text itself: bool[K]."""
    program = vocabulary.arrays.get("normalizer_program")
    normalizes = program is not None and program.size > 0
    found: NDArray[np.bool_] = (vocabulary["special_flags"] & FLAG_NORMALIZED != 0) & normalizes
    return found


_MATCH_TYPES: tuple[Any, Any, Any, Any] = (np.int64, np.int64, np.int64, np.int32)


def _no_matches() -> Matches:
    return Matches(*(np.empty(0, dtype) for dtype in _MATCH_TYPES))


class SpecialTokens:
    """The added tokens of a vocabulary.

    Parameters
    ----------
    vocabulary : Vocabulary
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._bytes = vocabulary["special_bytes"]
        self._offsets = vocabulary["special_offsets"]
        self._flags = vocabulary["special_flags"]
        self._ids = vocabulary["special_ids"]
        self._template = vocabulary["template_single"]
        # an empty one stands for the text alone, as -1 does
        at = int(np.argmax(self._template == -1)) if self._template.size else 0
        self._head, self._tail = self._template[:at], self._template[at + 1 :]
        content = self._bytes.tobytes()
        bounds = self._offsets.tolist()
        #: Content of each token, in the order of the arrays.
        self.contents: list[str] = [content[a:b].decode() for a, b in pairwise(bounds)]
        #: Content -> id.
        self.ids: dict[str, int] = dict(zip(self.contents, self._ids.tolist(), strict=True))
        self._in_normalized = searched_in_normalized_text(vocabulary)
        #: Tokens that are looked for in normalized text, as they are there -> id.
        self.forms: dict[bytes, int] = {}
        if self._in_normalized.any():
            # here, since vocabularies without a normalizer are read without its kernels
            from numba_nlp._second_search import normalized_contents

            regexes = vocabulary.metadata["normalizer_regexes"]
            forms = normalized_contents(vocabulary.arrays, regexes, self._normalized_contents())
            self.forms = dict(zip(forms, self._ids[self._in_normalized].tolist(), strict=True))
        #: Codes of languages at the beginning of texts, and the id of unknown ones; None where there are none.
        self._codes: tuple[NDArray[np.uint32], int] | None = None
        if vocabulary.metadata.get("language_codes", False):
            self._codes = vocabulary["code_units"], int(vocabulary.metadata["unknown_token_id"])
        #: Whether tokens are looked for as transformers' classes in Python do it.
        self._in_one_search = vocabulary.metadata.get("special_search", "tokenizers") == "transformers"
        self._has_options = self._in_one_search and bool((self._flags & OPTIONS).any())
        self._watched = self._watch([content.encode() for content in self.contents])
        self._watched_in_plain = self._watch([])
        self._matchers: dict[frozenset[str] | None, SpecialMatcher] = {}
        self._literal: SpecialMatcher | None = None

    def framed(self, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """The ids of a text in the template."""
        return np.concatenate((self._head, ids, self._tail))

    def watched_in_text(self, policy: str | frozenset[str]) -> Watched:
        """What a single text may hold, as it was given, that leaves it to the general way: tokens, and codes."""
        there = zip(self.contents, self._in_normalized, strict=True)
        contents = [content.encode() for content, in_normalized in there if policy != "plain" and not in_normalized]
        if self._codes is not None:
            contents.append(_OPENING)
        return watch_tokens({content[0] for content in contents}, contents) if contents else NOTHING_WATCHED

    def _watch(self, contents: list[bytes]) -> Watched:
        """What leaves texts to the general way: some of the tokens, and what codes begin with."""
        if self._codes is not None:
            contents = [*contents, _OPENING]
        if not contents:
            return NOTHING_WATCHED
        return watch_tokens({content[0] for content in (*contents, *self.forms)}, contents)

    def _normalized_contents(self) -> list[str]:
        return [content for content, there in zip(self.contents, self._in_normalized, strict=True) if there]

    def watched(self, policy: str | frozenset[str]) -> Watched:
        """What a text may hold that leaves it to the general way; no tokens when the policy is ``"plain"``."""
        return self._watched_in_plain if policy == "plain" else self._watched

    def check_policy(self, special: Any) -> str | frozenset[str]:
        """Refuse what is no policy.

        Raises
        ------
        ValueError
            Neither one of the three policies nor a collection of special tokens of this vocabulary.
        """
        if isinstance(special, str):
            if special in POLICIES:
                return special
            raise ValueError(
                f"`special` must be 'raise', 'match', 'plain' or a collection of special tokens, got {special!r}"
            )
        if not isinstance(special, Collection) or (isinstance(special, np.ndarray) and not special.ndim):
            raise ValueError(f"`special` must be a policy or a collection of special tokens, got {shown(special)}")
        if not all(isinstance(token, str) for token in special):
            raise ValueError(f"`special` must hold special tokens as str, got {shown(special)}")
        allowed = frozenset(special)
        unknown = sorted(map(repr, allowed - self.ids.keys()))
        if unknown:
            known = ", ".join(map(repr, self.contents)) or "none"
            raise ValueError(f"{unknown[0]} is no special token of this vocabulary; it has {known}")
        return allowed

    def _matcher(self, active: frozenset[str] | None) -> SpecialMatcher:
        matcher = self._matchers.get(active)
        if matcher is None:
            chosen = ~self._in_normalized
            if active is not None:
                chosen &= np.array([content in active for content in self.contents], np.bool_)
            flags = np.zeros_like(self._flags) if self._in_one_search else self._flags
            matcher = build_special_matcher(self._bytes, self._offsets, flags, chosen)
            if len(self._matchers) >= _MATCHERS_KEPT:
                self._matchers.clear()
            self._matchers[active] = matcher
        return matcher

    def _find(
        self, active: frozenset[str] | None, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> Matches:
        return self._found(self._matcher(active), data, starts, ends)

    def _found(
        self, matcher: SpecialMatcher, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> Matches:
        found = _no_matches()
        n = int(find_specials(matcher, data, starts, ends, *found))
        if n:
            found = Matches(*(np.empty(n, dtype) for dtype in _MATCH_TYPES))
            find_specials(matcher, data, starts, ends, *found)
        return found

    def occurrences(
        self, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> dict[str, int]:
        """How often the content of each token stands in rows, whatever its options; those that do not are left out.

        Parameters
        ----------
        data, starts, ends : uint8[n], int64[rows], int64[rows]
        """
        if not self.contents:
            return {}
        if self._literal is None:
            every = np.ones(len(self.contents), np.bool_)
            self._literal = build_special_matcher(self._bytes, self._offsets, np.zeros_like(self._flags), every)
        found = self._found(self._literal, data, starts, ends)
        counts = np.bincount(found.tokens, minlength=len(self.contents)).tolist()
        return {content: count for content, count in zip(self.contents, counts, strict=True) if count}

    def segments(
        self,
        special: str | frozenset[str],
        add_special_tokens: bool,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        valid: NDArray[np.bool_] | None = None,
    ) -> Segments | None:
        """Cut rows as the policy says, and codes of languages off their texts; arguments of :meth:`split`."""
        found = self.split(special, add_special_tokens, data, starts, ends, valid)
        if self._codes is None or not starts.size:
            return found
        if found is None:
            no_ids = np.full(starts.size, -1, np.int32)
            found = Segments(starts, ends, no_ids, np.arange(starts.size + 1))
        room = 2 * found.starts.size
        parts = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int32)
        first_of_row = np.empty(starts.size + 1, np.int64)
        n = int(split_codes(*self._codes, data, *found[:4], *parts, first_of_row))
        kept = parts[0][:n], parts[1][:n], parts[2][:n]
        for array in (*kept, first_of_row):
            array.flags.writeable = False
        return Segments(*kept, first_of_row, found.second)

    def split(
        self,
        special: str | frozenset[str],
        add_special_tokens: bool,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        valid: NDArray[np.bool_] | None = None,
    ) -> Segments | None:
        """Cut rows as the policy says.

        Parameters
        ----------
        special : str or frozenset of str
            What :meth:`check_policy` gave.
        add_special_tokens : bool
            Put each row into the vocabulary's template.
        data, starts, ends : uint8[n], int64[rows], int64[rows]
        valid : bool[rows], optional
            False for missing rows, which have no segments.

        Returns
        -------
        Segments or None
            None when every row is one text.

        Raises
        ------
        SpecialTokenError
            A token that may not stand in the text does; names token, row and byte.
        """
        found = _no_matches()
        if self.contents and special != "plain":
            if special == "raise":
                self._refuse(self._find(None, data, starts, ends), starts)
            elif special == "match":
                found = self._find(None, data, starts, ends)
            else:
                assert isinstance(special, frozenset)
                others = frozenset(self.contents) - special
                if others:
                    self._refuse(self._find(others, data, starts, ends), starts)
                found = self._find(special, data, starts, ends)
        template = self._template if add_special_tokens else _NO_TEMPLATE
        n_matches = found.rows.size
        if n_matches and self._has_options:
            parts_of_row = rows_with_options(found, self._flags, self._ids, data, starts, ends)
            return in_template(parts_of_row, template, valid)
        second = self._second_search(special)
        if not n_matches and not template.size and second is None:
            return None
        room = starts.size * (max(template.size, 1) + 1) + 2 * n_matches
        seg_starts, seg_ends, seg_fixed = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int32)
        first_of_row = np.empty(starts.size + 1, np.int64)
        n = int(
            split_rows(
                *found, n_matches, self._ids, template, starts, ends, seg_starts, seg_ends, seg_fixed, first_of_row
            )
        )
        assert n >= 0, "the segment arrays are sized for every case"
        parts = seg_starts[:n], seg_ends[:n], seg_fixed[:n]
        if valid is not None:
            # missing rows have no text, so what they have is the template
            counts = np.diff(first_of_row)
            is_there = np.repeat(valid, counts)
            parts = parts[0][is_there], parts[1][is_there], parts[2][is_there]
            np.cumsum(np.where(valid, counts, 0), out=first_of_row[1:])
        for array in (*parts, first_of_row):
            array.flags.writeable = False
        return Segments(*parts, first_of_row, second)

    def _second_search(self, special: str | frozenset[str]) -> SecondSearch | None:
        """What to look for in normalized text."""
        if not self.forms or special == "plain":
            return None
        from numba_nlp._second_search import SecondSearch

        contents = self._normalized_contents()
        matched = np.full(len(contents), special == "match")
        if isinstance(special, frozenset):
            matched = np.array([content in special for content in contents], np.bool_)
        there = self._in_normalized
        return SecondSearch(list(self.forms), contents, self._ids[there], self._flags[there], matched, ~matched)

    def _refuse(self, found: Matches, starts: NDArray[np.int64]) -> None:
        if not found.rows.size:
            return
        row, token = int(found.rows[0]), self.contents[int(found.tokens[0])]
        raise SpecialTokenError(
            f"the text holds the special token {token!r} (row {row}, byte {int(found.starts[0] - starts[row])}). "
            'Pass special="match" to give it its id, special="plain" to encode it as ordinary text, or '
            f"special={{{token!r}}} to match this one and refuse the others."
        )
