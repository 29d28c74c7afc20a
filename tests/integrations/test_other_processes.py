"""Names of tasks and fingerprints in another process, with other hashes: those of this one."""

from __future__ import annotations

from pathlib import Path

import pytest

import numba_nlp as nlp
from tests.integrations.task_names import names
from tests.made_tokenizers import gpt2
from tests.robustness.children import output_of

for library in ("dask.bag", "dask.dataframe", "datasets"):
    pytest.importorskip(library)


_CHILD = """
import sys
import numba_nlp as nlp
from tests.integrations.task_names import names
print(names(nlp.load_tokenizer(sys.argv[1])))
"""


def test_names_and_fingerprints_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "gpt2.safetensors"
    gpt2().ours.vocabulary.save(path)
    loaded = nlp.load_tokenizer(path)
    here = names(loaded)
    loaded.encode_batch(["what is learnt changes nothing"], spans=True)
    assert names(loaded) == here
    assert output_of(_CHILD, path, PYTHONHASHSEED="7") == f"{here}\n"
