"""Normalizers one behind the other, as an array program: rows in, normalized rows with alignment out.

A program is ``int32[4 * n]``, four numbers a step: operation, and up to three arguments (below). Strings of steps
stand in ``strings``, an argument names the number of one. Each step goes from one buffer to another; one that finds
nothing to do says so and costs a scan. Rows of ASCII, which nothing but the step that looks for it would change, are
copied at once when the program says so (``ascii_stays``).

===================  ======================  =======================================================================
operation            arguments               meaning
===================  ======================  =======================================================================
``OP_FORM``          form                    :func:`~numba_nlp.kernels.segment.normalize_forms.normal_form`
``OP_MAP``           map                     :func:`~numba_nlp.kernels.segment.normalize_maps.map_characters`
``OP_STRIP``         left, right             without white space at the ends
``OP_PREPEND``       string                  string put before
``OP_REPLACE``       pattern, content        string for string
``OP_REPLACE_RUNS``  member, least, content  string for run of a character
``OP_SPELL_BYTES``   -                       bytes in the byte alphabet
``OP_CHARSMAP``      -                       :func:`~numba_nlp.kernels.segment.normalize_precompiled.apply_charsmap`
``OP_SURROUND``      map, string             string on either side of the characters of a map
===================  ======================  =======================================================================

Twin: ``numba_nlp.reference.segment.normalize_program``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.graphemes import ClusterTables
from numba_nlp.kernels.segment.normalize_edits import prepend, replace_runs, replace_string, spell_bytes, strip
from numba_nlp.kernels.segment.normalize_forms import FormScratch, FormTables, new_form_scratch, normal_form
from numba_nlp.kernels.segment.normalize_maps import MapTables, map_characters, surround_characters
from numba_nlp.kernels.segment.normalize_precompiled import CharsmapTables, apply_charsmap
from numba_nlp.kernels.segment.normalize_text import UNCHANGED, Aligned, copy_aligned, load_aligned, new_aligned
from numba_nlp.kernels.segment.spans import ascii_end

__all__ = [
    "OPERATIONS",
    "OP_CHARSMAP",
    "OP_FORM",
    "OP_MAP",
    "OP_PREPEND",
    "OP_REPLACE",
    "OP_REPLACE_RUNS",
    "OP_SPELL_BYTES",
    "OP_STRIP",
    "OP_SURROUND",
    "STEP",
    "STEP_KERNELS",
    "NormalizerScratch",
    "NormalizerTables",
    "new_normalizer_scratch",
    "normalize",
    "normalize_rows",
    "run_step",
]

OP_FORM = 0
OP_MAP = 1
OP_STRIP = 2
OP_PREPEND = 3
OP_REPLACE = 4
OP_REPLACE_RUNS = 5
OP_SPELL_BYTES = 6
OP_CHARSMAP = 7
OP_SURROUND = 8
#: Number of operations.
OPERATIONS = 9

#: Numbers of one step.
STEP = 4


class NormalizerTables(NamedTuple):
    """A program and what its steps look up; tables that no step needs are empty.

    Attributes
    ----------
    program : int32[STEP * n]
    ascii_stays : int64[1]
        1 when no step changes ASCII text.
    strings, string_offsets : uint8[m], int64[k + 1]
        String ``i`` is ``strings[string_offsets[i]:string_offsets[i + 1]]``.
    forms : FormTables
    maps : MapTables
    charsmap : CharsmapTables
    clusters : ClusterTables
    """

    program: NDArray[np.int32]
    ascii_stays: NDArray[np.int64]
    strings: NDArray[np.uint8]
    string_offsets: NDArray[np.int64]
    forms: FormTables
    maps: MapTables
    charsmap: CharsmapTables
    clusters: ClusterTables


class NormalizerScratch(NamedTuple):
    """Two buffers that steps go between, what the normal forms need, and room for whoever calls steps by address."""

    here: Aligned
    there: Aligned
    forms: FormScratch
    calls: NDArray[np.int64]  # [OPERATIONS + 2]


def new_normalizer_scratch(capacity: int, aligned: bool) -> NormalizerScratch:
    """Memory for rows that have at most ``capacity`` bytes before, between and after all steps.

    Parameters
    ----------
    capacity : int
    aligned : bool
        Whether alignment is kept.
    """
    return NormalizerScratch(
        new_aligned(capacity, aligned), new_aligned(capacity, aligned), new_form_scratch(2 * capacity),
        np.zeros(OPERATIONS + 2, np.int64),
    )  # fmt: skip


@kernel
def _form_step(tables, first, second, third, here, n, scratch, there):
    return normal_form(tables.forms, first, here, 0, n, scratch.forms, there, 0)


@kernel
def _map_step(tables, first, second, third, here, n, scratch, there):
    return map_characters(tables.maps, first, here, 0, n, there, 0)


@kernel
def _strip_step(tables, first, second, third, here, n, scratch, there):
    return strip(first, second, here, 0, n, there, 0)


@kernel
def _prepend_step(tables, first, second, third, here, n, scratch, there):
    strings, offsets = tables.strings, tables.string_offsets
    return prepend(strings[offsets[first] : offsets[first + 1]], here, 0, n, there, 0)


@kernel
def _replace_step(tables, first, second, third, here, n, scratch, there):
    strings, offsets = tables.strings, tables.string_offsets
    pattern = strings[offsets[first] : offsets[first + 1]]
    return replace_string(pattern, strings[offsets[second] : offsets[second + 1]], here, 0, n, there, 0)


@kernel
def _replace_runs_step(tables, first, second, third, here, n, scratch, there):
    strings, offsets = tables.strings, tables.string_offsets
    return replace_runs(first, second, strings[offsets[third] : offsets[third + 1]], here, 0, n, there, 0)


@kernel
def _spell_bytes_step(tables, first, second, third, here, n, scratch, there):
    return spell_bytes(here, 0, n, there, 0)


@kernel
def _charsmap_step(tables, first, second, third, here, n, scratch, there):
    return apply_charsmap(tables.charsmap, tables.clusters, here, 0, n, there, 0)


@kernel
def _surround_step(tables, first, second, third, here, n, scratch, there):
    strings, offsets = tables.strings, tables.string_offsets
    return surround_characters(tables.maps, first, strings[offsets[second] : offsets[second + 1]], here, 0, n, there, 0)


#: What each operation runs, by its number: ``(tables, three arguments, here, n, scratch, there)``, from the first ``n``
#: bytes of ``here`` to ``there``.
STEP_KERNELS = (
    _form_step, _map_step, _strip_step, _prepend_step, _replace_step, _replace_runs_step, _spell_bytes_step,
    _charsmap_step, _surround_step,
)  # fmt: skip


@kernel
def run_step(tables, operation, first, second, third, here, n, scratch, there):
    """One step from the first ``n`` bytes of ``here`` to ``there``.

    Parameters
    ----------
    tables : NormalizerTables
    operation, first, second, third : int64
        The step.
    here : Aligned
    n : int64
    scratch : NormalizerScratch
    there : Aligned
        Written.

    Returns
    -------
    int64
        Bytes written; ``UNCHANGED``, or another negative status when there is no room.
    """
    if operation == OP_FORM:
        return _form_step(tables, first, second, third, here, n, scratch, there)
    if operation == OP_MAP:
        return _map_step(tables, first, second, third, here, n, scratch, there)
    if operation == OP_STRIP:
        return _strip_step(tables, first, second, third, here, n, scratch, there)
    if operation == OP_PREPEND:
        return _prepend_step(tables, first, second, third, here, n, scratch, there)
    if operation == OP_REPLACE:
        return _replace_step(tables, first, second, third, here, n, scratch, there)
    if operation == OP_REPLACE_RUNS:
        return _replace_runs_step(tables, first, second, third, here, n, scratch, there)
    if operation == OP_SPELL_BYTES:
        return _spell_bytes_step(tables, first, second, third, here, n, scratch, there)
    if operation == OP_SURROUND:
        return _surround_step(tables, first, second, third, here, n, scratch, there)
    return _charsmap_step(tables, first, second, third, here, n, scratch, there)


@kernel
def normalize(tables, data, start, stop, scratch, target, at):
    """Normalize one row.

    Parameters
    ----------
    tables : NormalizerTables
    data : uint8[n]
        Valid UTF-8.
    start, stop : int64
        The row.
    scratch : NormalizerScratch
        With alignment if ``target`` has it.
    target : Aligned
        Written from ``at`` on; ranges count from ``start``.
    at : int64

    Returns
    -------
    int64
        Place after the last byte written; ``STATUS_OUTPUT_FULL`` when ``target`` or ``scratch`` has no room.
    """
    if tables.ascii_stays[0] != 0 and ascii_end(data, start, stop) == stop:
        return load_aligned(data, start, stop, target, at)
    here, there = scratch.here, scratch.there
    n = load_aligned(data, start, stop, here, 0)
    if n < 0:
        return np.int64(STATUS_OUTPUT_FULL)
    for step in range(0, tables.program.size, STEP):
        end = run_step(
            tables, np.int64(tables.program[step]), np.int64(tables.program[step + 1]),
            np.int64(tables.program[step + 2]), np.int64(tables.program[step + 3]), here, n, scratch, there,
        )  # fmt: skip
        if end == UNCHANGED:
            continue
        if end < 0:
            return np.int64(STATUS_OUTPUT_FULL)
        n = end
        here, there = there, here
    return copy_aligned(here, 0, n, target, at)


@kernel
def normalize_rows(tables, data, starts, ends, first, scratch, target, at, out_starts, out_ends):
    """Normalize rows, as long as there is room.

    Parameters
    ----------
    tables : NormalizerTables
    data : uint8[n]
        Valid UTF-8.
    starts, ends : int64[rows], int64[rows]
        Byte range of each row; one without bytes stays so.
    first : int64
        Row to begin with.
    scratch : NormalizerScratch
    target : Aligned
        Written from ``at`` on; ranges count from the start of each row.
    at : int64
    out_starts, out_ends : int64[rows], int64[rows]
        Written from ``first`` on: the rows in ``target``.

    Returns
    -------
    int64
        Number of rows, or of the first row for which there is no room in ``target`` or ``scratch``: give more, and go
        on from that row at ``at = out_ends[row - 1]``.
    """
    for row in range(first, starts.size):
        end = np.int64(at)
        if starts[row] < ends[row]:
            end = normalize(tables, data, starts[row], ends[row], scratch, target, at)
        if end < 0:
            return np.int64(row)
        out_starts[row] = at
        out_ends[row] = end
        at = end
    return np.int64(starts.size)
