"""SentencePiece BPE: rows of raw text to ids through the word cache.

How rows are cut depends on what the model's normaliser does (``options[MODE]``):

``BRIDGED``
    It only writes U+2581 for spaces and puts one in front, so raw text is encoded as it is, cut where no merge crosses
    (:mod:`numba_nlp.kernels.segment.fill_bridged`). The first chunk of a row has ids of its own.
``SPACED``
    Raw text is cut before spaces (:mod:`numba_nlp.kernels.segment.fill_spaced`), and each chunk is normalised. Its
    first byte says whether it begins a row. No piece holds U+2581 behind another character, so no merge crosses.
``WHOLE``
    Each row is one chunk.

Twin: ``numba_nlp.reference.segment.sentencepiece_bpe_rows``: whole rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.errors import STATUS_NOT_TILING, STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.cached_rows import rows_function
from numba_nlp.kernels.segment.fill_bridged import fill_bridged
from numba_nlp.kernels.segment.fill_spaced import begin_row, fill_spaced
from numba_nlp.kernels.segment.normalize_charsmap import ROW_ENDS, WHOLE_ROW, normalize
from numba_nlp.kernels.segment.normalizer_tables import NormalizerTables
from numba_nlp.kernels.segment.row_firsts import FIRSTS, enter_marked, is_first_of_row
from numba_nlp.kernels.segment.sentencepiece_bpe import segment_from
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import (
    PREFIX_SYMBOL,
    UNKNOWN_BYTES,
    UNKNOWN_ID,
    UNKNOWN_POLICY,
)
from numba_nlp.kernels.segment.sentencepiece_bpe_rows_memory import BRIDGED, ID_GROWTH, MODE, SPACED
from numba_nlp.kernels.segment.sentencepiece_unigram import fill_row
from numba_nlp.kernels.segment.sentencepiece_unigram_memory import SPACE
from numba_nlp.kernels.segment.tiled_ids import same_ids, tile
from numba_nlp.kernels.specialising import specialise
from numba_nlp.kernels.tables.word_cache import SPARE_IDS

__all__ = ["ENCODE_ROWS", "FILLS", "HOOKS", "align_text", "encode_chunk", "encode_unseen", "solve_chunk"]


@inlined
def _normalize(tables, data, start, stop, edges, text, from_starts, from_ends):
    """:func:`numba_nlp.kernels.segment.normalize_charsmap.normalize` with the tables of a vocabulary."""
    normalizer = NormalizerTables(
        tables.rule_units, tables.rule_strings, tables.symbol_units, tables.words, tables.steps, tables.after,
        tables.settings,
    )  # fmt: skip
    return normalize(normalizer, data, start, stop, edges, text, from_starts, from_ends)


@inlined
def _no_room(tables, n):
    """Capacity to ask for when a chunk of ``n`` bytes did not fit, negative."""
    return -(n * (tables.settings[1] + 3) // 3 + 16)


@kernel
def solve_chunk(tables, data, start, n, begins_row, scratch, ids, first):
    """Ids of one chunk.

    Parameters
    ----------
    tables : SentencePieceBpeRowTables
    data : uint8[m]
    start, n : int64
        The chunk, ``n >= 1``.
    begins_row : bool
        Whether it begins a row; only looked at where rows are cut at unbridgeable pairs.
    scratch : SentencePieceBpeRowScratch
    ids : int32[k]
        Written from ``first`` on: at most ``ID_GROWTH`` a byte.
    first : int64

    Returns
    -------
    int64
        Number of ids; negative, the capacity that would do, when the scratch is too small.
    """
    no_ends = scratch.starts[:0]
    if tables.options[MODE] == BRIDGED:
        prefix = np.int64(tables.flags[PREFIX_SYMBOL]) if begins_row else np.int64(-1)
        last = segment_from(tables, data, start, start + n, prefix, scratch, ids, no_ends, first)
        return last - first if last >= 0 else last
    edges = np.int64(WHOLE_ROW)
    if tables.options[MODE] == SPACED and tables.byte_traits[data[start]] & SPACE != 0:
        # spaces at the end of a chunk are those of the row
        edges = np.int64(ROW_ENDS)
    no_places = scratch.list_symbols[:0]
    n_text = _normalize(tables, data, start, start + n, edges, scratch.text, no_places, no_places)
    if n_text < 0:
        return _no_room(tables, n)
    if (
        n_text > n * tables.options[ID_GROWTH]
        and _most_ids(tables, scratch.text, n_text) > n * tables.options[ID_GROWTH]
    ):
        # only a vocabulary that lies about itself comes here
        return -(np.int64(1) << 40)
    last = segment_from(tables, scratch.text, np.int64(0), n_text, np.int64(-1), scratch, ids, no_ends, first)
    return last - first if last >= 0 else last


@kernel
def _most_ids(tables, text, n):
    """Most ids of ``n`` bytes of normalised text: one a character, or one a byte."""
    if tables.flags[UNKNOWN_POLICY] == UNKNOWN_BYTES:
        return n
    count = np.int64(0)
    for i in range(n):
        count += np.int64(text[i] & 0xC0 != 0x80)
    return count


def encode_chunk(tables, cache, data, start, n, low, high, home, scratch, ids, first):
    """Solve one chunk that the cache does not hold, and enter it: the code of :data:`encode_unseen`.

    Parameters
    ----------
    tables, cache : SentencePieceBpeRowTables, WordCache
    data : uint8[m]
    start, n : int64
        The chunk.
    low, high, home : uint64, uint64, int64
        Its key and home.
    scratch : SentencePieceBpeRowScratch
    ids : int32[k]
        Written from ``first`` on.
    first : int64

    Returns
    -------
    int64
        Number of ids; negative, as of :func:`solve_chunk`, when the scratch is too small.
    """
    n_ids = solve_chunk(tables, data, start, n, is_first_of_row(low, high, n), scratch, ids, first)
    if n_ids < 0:
        return n_ids
    enter_marked(cache, data, start, n, low, high, home, ids, first, n_ids)
    return n_ids


@inlined
def align_text(tables, data, start, stop, scratch, from_starts, from_ends, token_ends, ids, first):
    """Where the tokens of a text end in its normalised form, and where that comes from.

    Parameters
    ----------
    tables : SentencePieceBpeRowTables
    data : uint8[m]
    start, stop : int64
        The text: a row, or a segment that was encoded by itself.
    scratch : SentencePieceBpeRowScratch
        ``text`` is written.
    from_starts, from_ends : int32[room]
        Written: the alignment (:func:`numba_nlp.kernels.segment.normalize_charsmap.normalize`); as long as
        ``scratch.text``.
    token_ends : int64[room]
        Written.
    ids : int32[k]
        The ids of the text, from ``first`` on; others may follow.
    first : int64

    Returns
    -------
    int64
        Number of tokens; ``STATUS_OUTPUT_FULL`` when the scratch is too small, ``STATUS_NOT_TILING`` when the ids are
        not those of the text.
    """
    n_text = _normalize(tables, data, start, stop, WHOLE_ROW, scratch.text, from_starts, from_ends)
    if n_text < 0:
        return np.int64(STATUS_OUTPUT_FULL)
    # without unknown tokens the lengths of the pieces say where they end
    unknown = np.int64(tables.flags[UNKNOWN_ID])
    count = tile(tables.piece_lengths, unknown, np.int64(n_text), ids, first, token_ends)
    if count >= 0:
        return count
    found = scratch.found
    if found.size < n_text + SPARE_IDS:
        return np.int64(STATUS_OUTPUT_FULL)
    count = segment_from(
        tables, scratch.text, np.int64(0), n_text, np.int64(-1), scratch, found, token_ends, np.int64(0)
    )
    if count < 0:
        return np.int64(STATUS_OUTPUT_FULL)
    return count if same_ids(found, count, ids, first) else np.int64(STATUS_NOT_TILING)


#: What cuts rows, by the name of the pattern, and what else :func:`numba_nlp.kernels.segment.cached_rows.rows_function`
#: takes for it.
FILLS = {"bridged": fill_bridged, "spaced": fill_spaced, "whole": fill_row}
HOOKS: dict[str, dict[str, Any]] = {"bridged": FIRSTS, "spaced": {"begin_row": begin_row}, "whole": {}}
#: A chunk that the cache does not hold (:func:`numba_nlp.kernels.segment.cached_rows.encode_unseen`).
encode_unseen = inlined(specialise(encode_chunk, "encode_unseen_sentencepiece_bpe"))
#: Row encoders (:func:`numba_nlp.kernels.segment.cached_rows.encode_rows`) by the name of the pattern.
ENCODE_ROWS = {
    pattern: rows_function(fill, kernel, f"encode_rows_bpe_{pattern}", encode_unseen, **HOOKS[pattern])
    for pattern, fill in FILLS.items()
}

encode_rows_bpe_bridged = ENCODE_ROWS["bridged"]
encode_rows_bpe_spaced = ENCODE_ROWS["spaced"]
encode_rows_bpe_whole = ENCODE_ROWS["whole"]
