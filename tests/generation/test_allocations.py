"""No array is allocated in a step, however small; views are."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch")

from numba_nlp.generation.beam_search import search_beams
from numba_nlp.generation.choice import choose_tokens
from numba_nlp.generation.config import GenerationConfig
from numba_nlp.generation.edits import RowEdits
from numba_nlp.generation.group_search import search_groups
from tests.generation.given_logits import GivenLogits, plan_of

STEPS, VOCABULARY = 12, 700

# --- NumPy's allocator (NEP 49): what it calls for the data of each array, even the smallest --------------------------

_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_size_t
_MALLOC = ctypes.CFUNCTYPE(_POINTER, _POINTER, _SIZE)
_CALLOC = ctypes.CFUNCTYPE(_POINTER, _POINTER, _SIZE, _SIZE)
_REALLOC = ctypes.CFUNCTYPE(_POINTER, _POINTER, _POINTER, _SIZE)
_FREE = ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _SIZE)
#: Place of PyDataMem_SetHandler in NumPy's table of functions, which never changes.
_SET_HANDLER = 304


class _Allocator(ctypes.Structure):
    _fields_ = (
        ("context", _POINTER), ("malloc", _MALLOC), ("calloc", _CALLOC), ("realloc", _REALLOC), ("free", _FREE),
    )  # fmt: skip


class _Handler(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("allocator", _Allocator))


_memory = ctypes.CDLL(None)
for _name, _result, _arguments in (
    ("malloc", _POINTER, [_SIZE]),
    ("calloc", _POINTER, [_SIZE, _SIZE]),
    ("realloc", _POINTER, [_POINTER, _SIZE]),
    ("free", None, [_POINTER]),
):
    getattr(_memory, _name).restype, getattr(_memory, _name).argtypes = _result, _arguments


class Counter:
    """Counts what NumPy allocates."""

    def __init__(self) -> None:
        self.arrays = 0

        def count(function: Any) -> Any:
            def counted(context: Any, *args: Any) -> Any:
                self.arrays += 1
                return function(*args)

            return counted

        allocator = _Allocator(
            None,
            _MALLOC(count(_memory.malloc)),
            _CALLOC(count(_memory.calloc)),
            _REALLOC(count(_memory.realloc)),
            _FREE(lambda context, pointer, size: _memory.free(pointer)),
        )
        self.handler = _Handler(b"counted", 1, allocator)


#: Arrays remember who frees them, so counters live as long as the process.
_counters: list[Counter] = []


@contextmanager
def counting() -> Iterator[Counter]:
    counter = Counter()
    _counters.append(counter)
    capsule_api = ctypes.pythonapi
    capsule_api.PyCapsule_New.restype = ctypes.py_object
    capsule_api.PyCapsule_New.argtypes = [_POINTER, ctypes.c_char_p, _POINTER]
    capsule_api.PyCapsule_GetPointer.restype = _POINTER
    capsule_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = capsule_api.PyCapsule_GetPointer(np._core.multiarray._ARRAY_API, None)
    address = ctypes.cast(table, ctypes.POINTER(_POINTER))[_SET_HANDLER]
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address)
    name = b"mem_handler"
    before = set_handler(capsule_api.PyCapsule_New(ctypes.addressof(counter.handler), name, None))
    try:
        yield counter
    finally:
        set_handler(before)


def test_the_counter_counts() -> None:
    with counting() as counter:
        begin = counter.arrays
        arrays = [np.zeros(1, np.uint8), np.empty(1000), np.arange(3) + 1, np.array(5.0)]
        assert counter.arrays >= begin + 5
        views = [array[:1] for array in arrays[1:3]]
        begin = counter.arrays
        np.copyto(views[0], views[1])
        views[0].fill(3)
        assert counter.arrays == begin


class CountedLogits(GivenLogits):
    """Notes at the beginning of each step what was allocated so far."""

    def __init__(self, counter: Counter, *args: Any) -> None:
        super().__init__(*args)
        self.counter = counter
        self.totals: list[int] = []

    def advance(self, tokens: Any, parents: Any = None) -> np.ndarray:
        self.totals.append(self.counter.arrays)
        return super().advance(tokens, parents)


RULES = {
    "repetition_penalty": 1.2,
    "no_repeat_ngram_size": 2,
    "bad_words_ids": ((5,), (6, 7)),
    "min_length": 6,
    "eos_token_id": (1, 2),
    "suppress_tokens": (1, 2, 9),
    "forced_bos_token_id": 8,
}
WARPERS = {"do_sample": True, "temperature": 0.8, "top_p": 0.9, "min_p": 0.01, "typical_p": 0.9}


@pytest.mark.parametrize("options", [{}, RULES, RULES | {"renormalize_logits": True}], ids=["plain", "rules", "all"])
@pytest.mark.parametrize(
    "search",
    [
        {},
        {"do_sample": True},
        WARPERS | {"num_return_sequences": 3},
        {"num_beams": 4},
        WARPERS | {"num_beams": 3},
        {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 0.5},
    ],
    ids=["greedy", "sampling", "warpers", "beams", "drawn beams", "groups"],
)
def test_nothing_is_allocated_in_a_step(search: dict[str, Any], options: dict[str, Any]) -> None:
    config = GenerationConfig(max_new_tokens=STEPS, **search, **options)
    plan = plan_of(config, 3, VOCABULARY)
    with counting() as counter:
        steps: Any = CountedLogits(counter, 3 * plan.per_prompt, VOCABULARY)
        edits = RowEdits(plan, (), None)
        if config.num_beam_groups > 1:
            search_groups(steps, plan, edits, None)
        elif config.num_beams > 1:
            search_beams(steps, plan, edits, None, np.uint64(1))
        else:
            choose_tokens(steps, plan, edits, None, None, np.uint64(1))
        assert len(steps.totals) == STEPS
        assert np.diff(steps.totals[2:]).tolist() == [0] * (STEPS - 3)
