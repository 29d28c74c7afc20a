"""Kernels of this package inside compiled functions of a user's own, cached by Numba as they may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.made_tokenizers import REPOSITORY, gpt2
from tests.robustness.children import output_of
from tests.snippets import python_blocks

_KERNEL = """
import numba
from numba_nlp.kernels import DIGEST

numba.config.CACHE_DIR = f"{FOLDER}/{DIGEST}"

from numba import njit
from numba_nlp.kernels.segment.decode import decode_ids, decoded_length
from numba_nlp.kernels.segment.bpe import encode_rows_gpt2


@njit(nogil=True, cache=True)
def length_of_each(piece_offsets, piece_kinds, ids, offsets, lengths, where):
    for row in range(lengths.size):
        lengths[row] = decoded_length(piece_offsets, piece_kinds, ids, offsets[row], offsets[row + 1], 0, where)
        if lengths[row] < 0:
            return row
    return -1
"""

_PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import numba_nlp as nlp
from users_kernel import length_of_each

tok = nlp.load_tokenizer(sys.argv[2])
texts = ["To be, or not to be", "", "caf\\u00e9"]
batch = tok.encode_batch(texts)
lengths, where = np.zeros(len(texts), np.int64), np.zeros(1, np.int64)
pieces = tok.vocabulary["piece_offsets"], tok.vocabulary["piece_kinds"]
assert length_of_each(*pieces, batch.values, batch.offsets, lengths, where) == -1
assert lengths.tolist() == [len(text.encode()) for text in texts]
wrong = batch.values.copy()
wrong[3] = 99_999
assert length_of_each(*pieces, wrong, batch.offsets, lengths, where) == 0
assert where[0] == 3
print(sum(length_of_each.stats.cache_hits.values()))
"""


def test_a_cached_kernel_of_a_user(tmp_path: Path) -> None:
    vocabulary = tmp_path / "gpt2.safetensors"
    gpt2().ours.vocabulary.save(vocabulary)
    source = tmp_path / "users_kernel.py"
    source.write_text(f"FOLDER = {str(tmp_path / 'cache')!r}\n{_KERNEL}", encoding="utf-8")
    assert output_of(_PROGRAM, tmp_path, vocabulary) == "0\n"
    assert output_of(_PROGRAM, tmp_path, vocabulary) == "1\n"
    assert list((tmp_path / "cache").rglob("*.nbi"))


@pytest.mark.parametrize("number", range(len(python_blocks((REPOSITORY / "docs/kernels.md").read_text("utf-8")))))
def test_each_example_of_the_documentation_runs_alone(number: int) -> None:
    _, block = python_blocks((REPOSITORY / "docs/kernels.md").read_text("utf-8"))[number]
    output_of(f"import os; os.chdir({str(REPOSITORY)!r})\n{block}")


def test_kernels_are_compiled_for_one_kind_of_array() -> None:
    # each specialisation costs seconds of compiling, so the library's own calls must agree on read-only or not
    code = """
import sys
import numpy as np
import pyarrow as pa
import numba_nlp as nlp
from numba_nlp import _jit
from tests.made_tokenizers import TEXTS, gpt2, regex_cut, roberta_like
for tok in (gpt2().ours, roberta_like().ours, roberta_like(prefix_space=True).ours, regex_cut().ours):
    for texts in (TEXTS, [t.encode() for t in TEXTS], np.array(TEXTS), pa.array(TEXTS), nlp.TextRows.from_strings(TEXTS)):
        for options in ({}, {"special": "plain"}, {"add_special_tokens": True}, {"special": "match"}):
            for unit in ("char", "byte"):
                batch = tok.encode_batch(texts, spans=True, unit=unit, **options)
            tok.encode_batch([*texts, None, "<mask> <cut>"] if isinstance(texts, list) else texts, nulls="null", **options)
            tok.encode(TEXTS[5], spans=True, **options)
        tok.decode_batch(batch), tok.decode(batch[5]), tok.decode(batch[5].tolist()), tok.decode_batch(batch.to_list())
        tok.token_to_id("a"), tok.id_to_token(5)
        batch.to_padded(), batch[1:3].to_padded(), batch.take([0, 1])
own = [f"{name}: {len(kernel.signatures)}" for name, kernel in _jit.kernels.items() if name.rsplit(".", 1)[1] in
       {"fill_spans", "find_specials", "split_rows", "decode_rows", "decode_ids", "decoded_length", "prefix_spaces",
        "find_piece", "validate_rows", "pad_rows"} and len(kernel.nopython_signatures) > 1]
print(own)
"""
    assert output_of(code) == "[]\n"
