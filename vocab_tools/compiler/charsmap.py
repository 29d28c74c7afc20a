"""What follows from a normaliser's rules: how much text can grow, and where raw text may be cut before normalising.

Text may be cut into stretches that are normalised one by one, each cached under its raw bytes, where the result is the
same as that of the whole. :func:`summarize` says where that is, from all rules and user-defined symbols at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.segment.normalizer_tables import (
    ADD_DUMMY_PREFIX,
    ESCAPE_WHITESPACES,
    REMOVE_EXTRA_WHITESPACES,
    WHITESPACE_AS_SUFFIX,
    NormalizerTables,
    new_tables,
)
from vocab_tools.formats import darts
from vocab_tools.formats.charsmap import Charsmap
from vocab_tools.formats.sentencepiece_model import NormalizerSpec

__all__ = ["CharsmapSummary", "flags_of", "normalizer_tables", "summarize", "symbol_units"]

_SPACE = 0x20
_MARK = "\u2581".encode()


@dataclass(frozen=True)
class CharsmapSummary:
    """Facts about a normaliser that hold for every text.

    Attributes
    ----------
    growth : int
        Bytes of normalised text for one byte of text, at most; the space of ``add_dummy_prefix`` comes on top.
    begins : bool[256]
        Bytes with which a rule or a symbol begins.
    replaced_ascii : dict of int to bytes
        ASCII characters that are replaced when they stand alone, with their replacements.
    deleted_ascii : tuple of int
        Those of them that go.
    pairs_ascii : bool
        A rule or a symbol begins with two ASCII bytes. Otherwise an ASCII character that another one follows is
        normalised by itself.
    spans_space : bool
        A rule or a symbol has a space (0x20) after its first byte. Then no text may be cut before a space.
    replaces_space : bool
        A rule or a symbol begins with a space, so that a space need not become one.
    solid : bool[256]
        Bytes after which text may be cut before a space (0x20), unless ``spans_space``: what ends with such a byte is
        normalised to something that ends with neither a space nor U+2581, so no space is left out across the cut.
        The stretches are then normalised with ``ROW_STARTS`` for the first and ``ROW_ENDS`` for the last only.
    characters : int
        Characters of normalised text for one byte of text, at most; as for ``growth``.
    spaces : bool[256]
        Bytes that become one space wherever they stand: no rule and no symbol holds them, but one that replaces them
        alone by a space. Text may be cut before them as before a space.
    """

    growth: int
    begins: NDArray[np.bool_] = field(repr=False)
    replaced_ascii: dict[int, bytes] = field(repr=False)
    deleted_ascii: tuple[int, ...] = field(repr=False)
    pairs_ascii: bool
    spans_space: bool
    replaces_space: bool
    solid: NDArray[np.bool_] = field(repr=False)
    characters: int
    spaces: NDArray[np.bool_] = field(repr=False)


def flags_of(spec: NormalizerSpec) -> int:
    """The flags of a normaliser, as its kernel takes them."""
    return (
        ADD_DUMMY_PREFIX * spec.add_dummy_prefix
        | REMOVE_EXTRA_WHITESPACES * spec.remove_extra_whitespaces
        | ESCAPE_WHITESPACES * spec.escape_whitespaces
        | WHITESPACE_AS_SUFFIX * spec.whitespace_as_suffix
    )


def symbol_units(symbols: Sequence[bytes]) -> NDArray[np.uint32]:
    """Double array of the user-defined symbols, which the normaliser keeps as they are; empty for none.

    Raises
    ------
    ValueError
        A symbol is empty, doubled, or holds the byte 0.
    """
    return darts.build(symbols, list(range(len(symbols)))) if symbols else np.zeros(0, np.uint32)


def normalizer_tables(spec: NormalizerSpec, symbols: Sequence[bytes] = ()) -> NormalizerTables:
    """Tables of the kernel ``normalize`` for a normaliser and the model's user-defined symbols."""
    units, strings = np.zeros(0, np.uint32), np.zeros(0, np.uint8)
    if spec.charsmap is not None:
        units, strings = spec.charsmap.units, spec.charsmap.strings
    return new_tables(units, strings, symbol_units(symbols), flags_of(spec), summarize(spec, symbols).growth)


def summarize(spec: NormalizerSpec, symbols: Sequence[bytes] = ()) -> CharsmapSummary:
    """Gather what holds for every text.

    Parameters
    ----------
    spec : NormalizerSpec
    symbols : sequence of bytes
        The model's user-defined symbols.

    Returns
    -------
    CharsmapSummary
    """
    space = _MARK if spec.escape_whitespaces else b" "
    facts = _Facts(len(space))
    if spec.charsmap is not None:
        facts.add_rules(spec.charsmap)
    for symbol in symbols:
        facts.add_symbol(symbol)
    solid = np.ones(256, np.bool_)
    if spec.remove_extra_whitespaces:
        solid = ~facts.open
        solid[_SPACE] = False
        # A U+2581 that is written in the text is left out at its end like a space.
        solid[_MARK[-1]] = False
    return CharsmapSummary(
        growth=facts.growth,
        begins=facts.begins,
        replaced_ascii=facts.replaced,
        deleted_ascii=tuple(byte for byte, text in facts.replaced.items() if not text),
        pairs_ascii=facts.pairs_ascii,
        spans_space=facts.spans_space,
        replaces_space=bool(facts.begins[_SPACE]),
        solid=solid,
        characters=facts.characters,
        spaces=facts.spaces(),
    )


class _Facts:
    """Facts so far, as rules and symbols are added.

    Parameters
    ----------
    space_width : int
        Bytes of a written space.
    """

    def __init__(self, space_width: int) -> None:
        self.growth = space_width
        self.begins = np.zeros(256, np.bool_)
        #: Last bytes of keys whose replacement may leave a space at the end of the text.
        self.open = np.zeros(256, np.bool_)
        self.replaced: dict[int, bytes] = {}
        self.pairs_ascii = False
        self.spans_space = False
        self.characters = 1
        #: Bytes that stand in a key of two bytes or more.
        self._within = np.zeros(256, np.bool_)
        self._space_width = space_width

    def add_rules(self, charsmap: Charsmap) -> None:
        strings = charsmap.strings
        stops = np.flatnonzero(strings == 0)
        spaces = np.concatenate([[0], np.cumsum(strings == _SPACE)])
        leads = np.concatenate([[0], np.cumsum((strings & 0xC0) != 0x80)])
        for depth in darts.depths(charsmap.units):
            values, labels = depth.values[depth.ends], depth.labels[depth.ends]
            ends = stops[np.searchsorted(stops, values)]
            widths = ends - values + (self._space_width - 1) * (spaces[ends] - spaces[values])
            if widths.size:
                self.growth = max(self.growth, int(-(-widths.max() // depth.length)))
                self.characters = max(self.characters, int(-(-(leads[ends] - leads[values]).max() // depth.length)))
            # A replacement that is empty leaves what was before it at the end.
            is_open = (ends == values) | (strings[ends - 1] == _SPACE)
            # So is U+2581; other characters that end with its last byte are taken for it, which does no harm.
            is_open |= strings[ends - 1] == _MARK[-1]
            self.open[labels[is_open]] = True
            if depth.length == 1:
                self._within[depth.labels[darts.has_children(charsmap.units, depth.nodes)]] = True
                self.begins[depth.labels] = True
                for label, value, end in zip(labels.tolist(), values.tolist(), ends.tolist(), strict=True):
                    self.replaced[label] = strings[value:end].tobytes()
            else:
                self._within[depth.labels] = True
                self.spans_space = self.spans_space or bool((depth.labels == _SPACE).any())
            if depth.length == 2:
                # Keys are UTF-8, so a second byte that is ASCII follows one that is.
                self.pairs_ascii = self.pairs_ascii or bool((depth.labels < 0x80).any())

    def spaces(self) -> NDArray[np.bool_]:
        """Bytes that become one space wherever they stand."""
        found = np.zeros(256, np.bool_)
        alone = [_SPACE] if _SPACE not in self.replaced else []
        found[alone + [byte for byte, text in self.replaced.items() if text == b" "]] = True
        return found & ~self._within

    def add_symbol(self, symbol: bytes) -> None:
        # also a symbol of one byte is kept, whatever a rule says
        self._within[list(symbol)] = True
        self.begins[symbol[0]] = True
        self.spans_space = self.spans_space or _SPACE in symbol[1:]
        self.pairs_ascii = self.pairs_ascii or (len(symbol) > 1 and symbol[1] < 0x80)
        if symbol[-1] in (_SPACE, _MARK[-1]):
            self.open[symbol[-1]] = True
