"""Single texts that pass through stages before the model: normalized, cut, and remembered whole.

``encode_one`` calls one C function with the text. For a tokenizer whose chunks are cut from the text as it is, that is
the row encoder of its family. For the others it is :data:`encode_text`: it looks for the whole text in a cache of
texts, and else runs the stages (:mod:`numba_nlp._fastcall.stages`), calls the row encoder of the family with what they
leave, and enters the result. Where a stage is a regular expression there is nothing to run, and :func:`remember` enters
what the plain way gave.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types

from numba_nlp._fastcall.control import (
    AS_UTF8,
    CLEAR_ERROR,
    MODEL_ROWS,
    SINGLE_PLACES,
    TEXT,
)
from numba_nlp._fastcall.layout import enter, make_reader
from numba_nlp._fastcall.single import holds_token
from numba_nlp._fastcall.stages import CutterProgram, NormalizerProgram
from numba_nlp._fastcall.strings import token_at
from numba_nlp._fastcall.values import (
    array_at,
    call1,
    call2,
    call10,
    call11,
    call13,
    call14,
    load,
    object_address,
    python_object,
)
from numba_nlp._jit import kernel, native, python_function
from numba_nlp.kernels.segment.bpe_memory import key_masks
from numba_nlp.kernels.segment.cached_loops import key_by_parts
from numba_nlp.kernels.segment.cached_rows import enter_chunk, recall_chunk
from numba_nlp.kernels.segment.cut_program import new_cut_scratch
from numba_nlp.kernels.segment.normalize_program import new_normalizer_scratch
from numba_nlp.kernels.segment.normalize_text import new_aligned
from numba_nlp.kernels.segment.spans import ascii_end
from numba_nlp.kernels.tables.word_cache import BITS, LONG_LIMIT, WordCache, home_of, new_word_cache

__all__ = ["CAPACITY", "TextStages", "encode_text", "remember", "run_spans", "run_stages"]

# Words of the block of a TextStages: whether the stages can be run, what they are, addresses.
READY, STAYS, PREFIX_SPACE = range(3)
NORMALIZE, NORMALIZE_TABLES, NORMALIZE_MEMORY, NORMALIZED = range(3, 7)
CUT, CUT_TABLES, CUT_MEMORY, CUT_TEXT = range(7, 11)
ROOM, STARTS, ENDS, OFFSETS, PLACES = range(11, 16)
FORM_FIRST, FORM_BYTES, FORM_OFFSETS, N_FORMS = range(16, 20)
NORMALIZED_STARTS, NORMALIZED_ENDS, CUT_STARTS, CUT_ENDS = range(20, 24)
MASKS, CACHE = 24, 25

# What does not go through the normalizer.
ASCII, ALL = 1, 2
#: Bytes of text that stages have room for; longer texts go the plain way.
CAPACITY = 1 << 15
#: Binary logarithm of the texts that are remembered, and bytes of them.
_TEXT_BITS, _TEXT_BYTES = 13, 1 << 19

_SPACE = 0x20
_read_cache = make_reader(WordCache, CACHE, "read_text_cache")


@kernel
def _find_form(stages, text, start, stop):
    """Whether a token that is looked for in normalized text stands between two places of a text."""
    n = load(stages + 8 * N_FORMS)
    if n == 0:
        return False
    source = array_at(text, stop, np.uint8)
    first = array_at(load(stages + 8 * FORM_FIRST), 256, np.uint8)
    offsets = array_at(load(stages + 8 * FORM_OFFSETS), n + 1, np.int64)
    contents = array_at(load(stages + 8 * FORM_BYTES), offsets[n], np.uint8)
    for k in range(start, stop):  # noqa: SIM110  compiled
        if first[source[k]] != 0 and token_at(source, stop, k, n, contents, offsets):
            return True
    return False


@kernel
def _run_stages(block, stages, text, size, ids, room):
    """Ids of a text by its stages and the model; negative where the plain way has to decide."""
    if load(stages + 8 * READY) == 0:
        return np.int64(-1)
    capacity = load(stages + 8 * ROOM)
    starts, ends = load(stages + 8 * STARTS), load(stages + 8 * ENDS)
    piece_starts, piece_ends = array_at(starts, capacity, np.int64), array_at(ends, capacity, np.int64)
    places = load(stages + 8 * PLACES)
    slots = array_at(places, 6, np.int64)
    prefix = load(stages + 8 * PREFIX_SPACE)
    begin, end = np.int64(0), size
    data = array_at(text, size, np.uint8)
    stays = load(stages + 8 * STAYS) == ALL or (load(stages + 8 * STAYS) == ASCII and ascii_end(data, 0, size) == size)
    if not stays:
        if load(stages + 8 * NORMALIZE) == 0:
            return np.int64(-1)
        slots[0], slots[1] = 0, size
        done = call11(
            load(stages + 8 * NORMALIZE), load(stages + 8 * NORMALIZE_TABLES), load(stages + 8 * NORMALIZE_MEMORY),
            text, size, places, places + 8, 1, 0, prefix, places + 16, places + 24,
        )  # fmt: skip
        if done != 1:
            return np.int64(-1)
        text, size = load(stages + 8 * NORMALIZED), capacity
        begin, end = slots[2], slots[3]
    if _find_form(stages, text, begin, end):
        return np.int64(-1)
    if prefix != 0 and begin < end:
        source = array_at(text, size, np.uint8)
        if stays:
            text, size = load(stages + 8 * NORMALIZED), capacity
            target = array_at(text, size, np.uint8)
            for k in range(begin, end):
                target[k + 1] = source[k]
            begin, end = begin + 1, end + 1
            source = target
        if source[begin] != _SPACE:
            begin -= 1
            source[begin] = _SPACE
    n = np.int64(1)
    piece_starts[0], piece_ends[0] = begin, end
    if load(stages + 8 * CUT) != 0 and begin < end:
        slots[0], slots[1] = begin, end
        done = call14(
            load(stages + 8 * CUT), load(stages + 8 * CUT_TABLES), load(stages + 8 * CUT_MEMORY), places, places + 8, 1,
            0, 0, 0, 0, starts, ends, capacity, 0, places + 16,
        )  # fmt: skip
        if done != 1:
            return np.int64(-1)
        n = slots[3]
        if load(stages + 8 * CUT_TEXT) != 0:
            text, size = load(stages + 8 * CUT_TEXT), capacity
    return call13(
        load(block + 8 * MODEL_ROWS), block, text, size, starts, ends, 0, 0, 0, n, ids, room,
        load(stages + 8 * OFFSETS), 0,
    )  # fmt: skip


@native("int64(int64, int64, int64, int64, int64, int64)")
def run_stages(block, stages, text, size, ids, room):
    """Ids of a text by its stages and the model.

    Parameters
    ----------
    block, stages : int
        Addresses of a ``ControlBlock`` of the model and of a ``TextStages``.
    text, size : int, int
        Address and bytes.
    ids, room : int, int
        Address of int32[room]; the stages' capacity, and ``SPARE_IDS``.

    Returns
    -------
    int
        Number of ids; negative where the plain way has to decide.
    """
    return _run_stages(block, stages, text, size, ids, room)


@native("int64(" + ", ".join(["int64"] * 10) + ")")
def run_spans(block, stages, segment, text, size, ids, starts, ends, token_ends, room):
    """Ids of a text by its stages and the model, and where in the text each comes from.

    Parameters
    ----------
    block, stages : int, int
        Addresses of a ``ControlBlock`` of the model and of a ``TextStages`` with alignment, which has no tokens to look
        for and puts no space before a text.
    segment : int
        Address of ``Family.segment`` of the model.
    text, size : int, int
        Address and bytes.
    ids, starts, ends, token_ends : int, int, int, int
        Addresses of int32[room], and of int64[room] three times; ``token_ends`` is for working memory.
    room : int
        The stages' capacity.

    Returns
    -------
    int
        Number of ids; negative where the plain way has to decide.
    """
    if load(stages + 8 * READY) == 0:
        return np.int64(-1)
    capacity = load(stages + 8 * ROOM)
    at_starts, at_ends, places = load(stages + 8 * STARTS), load(stages + 8 * ENDS), load(stages + 8 * PLACES)
    piece_starts, piece_ends = array_at(at_starts, capacity, np.int64), array_at(at_ends, capacity, np.int64)
    slots = array_at(places, 6, np.int64)
    slots[0], slots[1] = 0, size
    done = call11(
        load(stages + 8 * NORMALIZE), load(stages + 8 * NORMALIZE_TABLES), load(stages + 8 * NORMALIZE_MEMORY),
        text, size, places, places + 8, 1, 0, 0, places + 16, places + 24,
    )  # fmt: skip
    if done != 1:
        return np.int64(-1)
    here = load(stages + 8 * NORMALIZED)
    from_starts, from_ends = load(stages + 8 * NORMALIZED_STARTS), load(stages + 8 * NORMALIZED_ENDS)
    n = np.int64(1)
    piece_starts[0], piece_ends[0] = slots[2], slots[3]
    if load(stages + 8 * CUT) != 0 and slots[2] < slots[3]:
        slots[0], slots[1] = slots[2], slots[3]
        done = call14(
            load(stages + 8 * CUT), load(stages + 8 * CUT_TABLES), load(stages + 8 * CUT_MEMORY), places, places + 8, 1,
            0, 0, 0, 0, at_starts, at_ends, capacity, 0, places + 16,
        )  # fmt: skip
        if done != 1:
            return np.int64(-1)
        n = slots[3]
        if load(stages + 8 * CUT_TEXT) != 0:
            here = load(stages + 8 * CUT_TEXT)
            from_starts, from_ends = load(stages + 8 * CUT_STARTS), load(stages + 8 * CUT_ENDS)
    first_of, last_of = array_at(from_starts, capacity, np.int32), array_at(from_ends, capacity, np.int32)
    own_ends, out_starts = array_at(token_ends, room, np.int64), array_at(starts, room, np.int64)
    out_ends = array_at(ends, room, np.int64)
    out = np.int64(0)
    for piece in range(n):
        place = piece_starts[piece]
        if place >= piece_ends[piece]:
            continue
        last = call10(segment, block, here, capacity, place, piece_ends[piece], ids, room, token_ends, room, out)
        if last < 0:
            return np.int64(-1)
        for k in range(out, last):
            if own_ends[k] <= place:
                return np.int64(-1)
            out_starts[k] = first_of[place]
            place = own_ends[k]
            out_ends[k] = last_of[place - 1]
        out = last
    return out


@native("int64(" + ", ".join(["int64"] * 13) + ")")
def encode_text(block, text, size, starts, ends, fixed, n_fixed, first_row, last_row, ids, room, offsets, out):
    """Encode one whole text; arguments as of a row encoder, of which the text, its size and the ids are used.

    Gives the number of ids; negative where the plain way has to decide.
    """
    stages = load(block + 8 * TEXT)
    if size == 0 or size > LONG_LIMIT:
        return _run_stages(block, stages, text, size, ids, room)
    cache = _read_cache(stages)
    data = array_at(text, size, np.uint8)
    low, high = key_by_parts(data, 0, size, array_at(load(stages + 8 * MASKS), 68, np.uint64))
    home = home_of(low, high, 64 - cache.fill[BITS])
    found = array_at(ids, room, np.int32)
    n = recall_chunk(cache, data, 0, size, low, high, home, found, 0)
    if n < 0:
        n = _run_stages(block, stages, text, size, ids, room)
        if n >= 0:
            enter_chunk(cache, data, 0, size, low, high, home, found, 0, n)
    return n


@python_function(types.int64(types.int64, python_object, types.int64, types.int64))
def remember(block, text, ids, n):
    """Enter the ids of a text, which the plain way gave, if it is one that ``encode_one`` looks for.

    Parameters
    ----------
    block : int
        ``ControlBlock.address`` of a tokenizer with stages.
    text : object
    ids, n : int, int
        Address of int32[n].

    Returns
    -------
    int
        0.
    """
    places = load(block + 8 * SINGLE_PLACES)
    address = call2(load(block + 8 * AS_UTF8), object_address(text), places)
    if address == 0:
        call1(load(block + 8 * CLEAR_ERROR), 0)
        return 0
    size = load(places)
    if size == 0 or size > LONG_LIMIT:
        return 0
    data = array_at(address, size, np.uint8)
    if holds_token(block, data, size):
        return 0
    stages = load(block + 8 * TEXT)
    cache = _read_cache(stages)
    low, high = key_by_parts(data, 0, size, array_at(load(stages + 8 * MASKS), 68, np.uint64))
    home = home_of(low, high, 64 - cache.fill[BITS])
    enter_chunk(cache, data, 0, size, low, high, home, array_at(ids, n, np.int32), 0, n)
    return 0


class TextStages:
    """What a single text passes through before the model, and the texts that were encoded lately.

    Parameters
    ----------
    forms : sequence of bytes
        Tokens that are looked for in normalized text; a text that holds one goes the plain way.
    prefix_space : bool
        Whether a space is put before the normalized text.
    capacity : int
        Bytes of text that there is room for.
    """

    def __init__(self, forms: tuple[bytes, ...], prefix_space: bool, capacity: int = CAPACITY) -> None:
        first = np.zeros(256, np.uint8)
        first[[form[0] for form in forms]] = 1
        contents = np.frombuffer(b"".join(forms), np.uint8)
        offsets = np.concatenate(([0], np.cumsum([len(form) for form in forms], dtype=np.int64)))
        cache = new_word_cache(_TEXT_BITS, _TEXT_BYTES)
        normalized, offsets_of = np.empty(capacity, np.uint8), np.empty(capacity + 1, np.int64)
        starts, ends = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
        masks, places = key_masks(), np.zeros(6, np.int64)
        block = np.zeros(CACHE + 2 * len(cache), np.int64)
        block[PREFIX_SPACE] = prefix_space
        block[ROOM] = capacity
        for place, array in (
            (STARTS, starts), (ENDS, ends), (OFFSETS, offsets_of), (PLACES, places), (FORM_FIRST, first),
            (FORM_BYTES, contents), (FORM_OFFSETS, offsets), (MASKS, masks), (NORMALIZED, normalized),
        ):  # fmt: skip
            block[place] = array.ctypes.data
        block[N_FORMS] = len(forms)
        enter(block, CACHE, cache)
        self.block = block
        self._capacity = capacity
        self._kept: list[Any] = [first, contents, offsets, cache, masks, places, normalized, starts, ends, offsets_of]

    @property
    def address(self) -> int:
        """Address of the block."""
        return int(self.block.ctypes.data)

    def leave(self, everything: bool) -> None:
        """Text of ASCII, or any text, does not go through the normalizer."""
        self.block[STAYS] = ALL if everything else ASCII
        self.block[READY] = 1

    def use(self, normalizer: NormalizerProgram, cutter: CutterProgram | None, rewrites: bool, aligned: bool) -> None:
        """Take the stages that texts pass through.

        Parameters
        ----------
        normalizer : NormalizerProgram
        cutter : CutterProgram or None
            None where the model takes the normalized text as it is.
        rewrites : bool
            Whether the cutter writes the text anew.
        aligned : bool
            Whether it has to know where text comes from.
        """
        capacity = self._capacity
        target = new_aligned(capacity, aligned)
        memory = normalizer.new_memory(new_normalizer_scratch(capacity, aligned), target)
        given = {
            NORMALIZE_TABLES: normalizer.tables,
            NORMALIZE_MEMORY: memory.address,
            NORMALIZED: target.text.ctypes.data,
            NORMALIZED_STARTS: target.starts.ctypes.data,
            NORMALIZED_ENDS: target.ends.ctypes.data,
        }
        self._kept += [normalizer, memory]
        if cutter is not None:
            cut = new_aligned(capacity if rewrites else 0, aligned and rewrites)
            memory = cutter.new_memory(new_cut_scratch(capacity, aligned), target, cut)
            given |= {CUT: cutter.function, CUT_TABLES: cutter.tables, CUT_MEMORY: memory.address}
            if rewrites:
                given |= {
                    CUT_TEXT: cut.text.ctypes.data,
                    CUT_STARTS: cut.starts.ctypes.data,
                    CUT_ENDS: cut.ends.ctypes.data,
                }
            self._kept += [cutter, memory]
        for place, value in given.items():
            self.block[place] = value
        # last, for other threads may be encoding
        self.block[NORMALIZE] = normalizer.function
        self.block[READY] = 1
