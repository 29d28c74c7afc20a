"""Kernels of this package inside compiled functions of a user's own, cached by Numba as they may be."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.made_tokenizers import gpt2
from tests.robustness.children import REPOSITORY, output_of

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
texts = ["To be, or not to be", "", "\\u00e9t\\u00e9"]
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


_TWO_CACHES = """
import numba
from numba_nlp.kernels import DIGEST
from numba_nlp.kernels.tables.hashing import hash_bytes

numba.config.CACHE_DIR = f"{FOLDER}/{DIGEST}"


@numba.njit(cache=True)
def by_the_recipe(data):
    return hash_bytes(data, 0, data.size)


numba.config.CACHE_DIR = f"{FOLDER}/one_for_all"


@numba.njit(cache=True)
def without_it(data):
    return hash_bytes(data, 0, data.size)
"""

_CALL_BOTH = """
import sys
sys.path[:0] = sys.argv[1:]
import numpy as np
from two_caches import by_the_recipe, without_it

data = np.frombuffer(b"abcdef", np.uint8)
print(int(by_the_recipe(data)), int(without_it(data)))
"""


def test_a_cached_kernel_of_a_user_after_an_upgrade(tmp_path: Path) -> None:
    (tmp_path / "two_caches.py").write_text(f"FOLDER = {str(tmp_path / 'cache')!r}\n{_TWO_CACHES}", encoding="utf-8")
    first, other = output_of(_CALL_BOTH, tmp_path, NUMBA_NLP_CACHE_DIR=str(tmp_path / "ours")).split()
    assert first == other
    # another version of the package, in which a kernel gives something else
    upgraded = tmp_path / "upgraded"
    shutil.copytree(
        REPOSITORY / "numba_nlp", upgraded / "numba_nlp", ignore=shutil.ignore_patterns("data", "models", "__pycache__")
    )
    hashing = upgraded / "numba_nlp/kernels/tables/hashing.py"
    source = hashing.read_text(encoding="utf-8")
    changed = source.replace("0xD6E8FEB86659FD93", "0xD6E8FEB86659FD95")
    assert changed != source
    hashing.write_text(changed, encoding="utf-8")
    environment = {"NUMBA_NLP_CACHE_DIR": str(tmp_path / "ours")}
    fresh, stale = output_of(_CALL_BOTH, upgraded, tmp_path, **environment).split()
    assert fresh != first
    # what the recipe is there for: Numba keeps the machine code of the version before
    assert stale == first


def test_arrays_with_strides_are_refused() -> None:
    code = """
import numpy as np
from numba.core.errors import NumbaError
from numba_nlp.kernels.tables.hashing import hash_bytes
try:
    hash_bytes(np.zeros(20, np.uint8)[::2], 0, 10)
except NumbaError as error:
    assert "kernels take C-contiguous arrays" in str(error), error
    print("refused")
"""
    assert output_of(code) == "refused\n"
