"""Plain twins of ``fill_scalar.py`` and of the window scanners: one token of the interpreted regex after the other."""

from __future__ import annotations

from numba_nlp.reference.segment import scan


def _fill(next_end: scan.NextEnd, tables, data, position: int, stop: int, spans, n: int, limit: int) -> tuple[int, int]:
    starts, ends = spans
    while position < stop and n < limit:
        starts[n] = position
        position = ends[n] = next_end(*tables, data, position, stop)
        n += 1
    return n, position


def fill_spans_gpt2(class_index, class_blocks, data, position, stop, starts, ends, n, limit) -> tuple[int, int]:
    """Append the GPT-2 tokens from ``position`` on until the text ends or there are ``limit`` spans."""
    tables, spans = (class_index, class_blocks), (starts, ends)
    return _fill(scan.next_end_gpt2, tables, data, position, stop, spans, n, limit)


def fill_spans_cl100k(class_index, class_blocks, data, position, stop, starts, ends, n, limit) -> tuple[int, int]:
    """Append the cl100k tokens from ``position`` on until the text ends or there are ``limit`` spans."""
    tables, spans = (class_index, class_blocks), (starts, ends)
    return _fill(scan.next_end_cl100k, tables, data, position, stop, spans, n, limit)


def fill_spans_o200k(class_index, class_blocks, data, position, stop, starts, ends, n, limit) -> tuple[int, int]:
    """Append the o200k tokens from ``position`` on until the text ends or there are ``limit`` spans."""
    tables, spans = (class_index, class_blocks), (starts, ends)
    return _fill(scan.next_end_o200k, tables, data, position, stop, spans, n, limit)


def fill_spans_llama3(class_index, class_blocks, data, position, stop, starts, ends, n, limit) -> tuple[int, int]:
    """Append the Llama-3 tokens from ``position`` on until the text ends or there are ``limit`` spans."""
    tables, spans = (class_index, class_blocks), (starts, ends)
    return _fill(scan.next_end_llama3, tables, data, position, stop, spans, n, limit)


def fill_spans_qwen2(class_index, class_blocks, data, position, stop, starts, ends, n, limit) -> tuple[int, int]:
    """Append the Qwen2 tokens from ``position`` on until the text ends or there are ``limit`` spans."""
    tables, spans = (class_index, class_blocks), (starts, ends)
    return _fill(scan.next_end_qwen2, tables, data, position, stop, spans, n, limit)


def fill_spans_tekken(class_index, class_blocks, data, position, stop, starts, ends, n, limit) -> tuple[int, int]:
    """Append the Mistral tekken tokens from ``position`` on until the text ends or there are ``limit`` spans."""
    tables, spans = (class_index, class_blocks), (starts, ends)
    return _fill(scan.next_end_tekken, tables, data, position, stop, spans, n, limit)


def fill_spans_deepseek_v3(class_index, class_blocks, data, position, stop, starts, ends, n, limit) -> tuple[int, int]:
    """Append the DeepSeek-V3 tokens from ``position`` on until the text ends or there are ``limit`` spans."""
    tables, spans = (class_index, class_blocks), (starts, ends)
    return _fill(scan.next_end_deepseek_v3, tables, data, position, stop, spans, n, limit)
