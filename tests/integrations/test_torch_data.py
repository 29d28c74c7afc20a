"""``DataLoader`` over texts: each row once whatever the workers, and batches as torch pads them."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import pytest

import numba_nlp as nlp
from numba_nlp.packing import pack
from tests.integrations.corpora import LINES, reference_ids
from tests.made_tokenizers import bert, gpt2

torch = pytest.importorskip("torch", reason="needs torch")
torch_data = pytest.importorskip("numba_nlp.integrations.torch_data", reason="needs torch")
DataLoader = torch.utils.data.DataLoader

TEXTS = LINES[:100]
# from 3.12 on Python warns of forks in processes with threads, which is what these tests are about
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


def stream() -> Iterator[str]:
    return iter(TEXTS)


def rows_of(loader: Any) -> dict[int, list[int]]:
    """Ids by row; no row may come twice."""
    found: dict[int, list[int]] = {}
    for batch in loader:
        lengths = batch["attention_mask"].sum(1).tolist()
        for row, ids, length in zip(batch["row"].tolist(), batch["input_ids"].tolist(), lengths, strict=True):
            assert row not in found
            found[row] = ids[:length]
    return found


@forks
@pytest.mark.parametrize("texts", [TEXTS, stream], ids=["rows", "stream"])
@pytest.mark.parametrize("n_workers", [0, 2])
def test_each_row_once(texts: Any, n_workers: int) -> None:
    ours = gpt2().ours
    # threads of this process before the fork
    ours.encode_batch(TEXTS * 20, num_threads=2)
    dataset = torch_data.EncodedTexts(texts, ours, block_rows=7)
    context = "fork" if n_workers and sys.platform == "linux" else None
    loader = DataLoader(
        dataset, batch_size=4, num_workers=n_workers, collate_fn=torch_data.PadCollate(50256),
        multiprocessing_context=context,
    )  # fmt: skip
    expected = dict(enumerate(reference_ids(TEXTS)))
    assert rows_of(loader) == expected
    # and in the next epoch
    assert rows_of(loader) == expected


def test_what_spawned_workers_get() -> None:
    for texts in (TEXTS, stream):
        dataset = torch_data.EncodedTexts(texts, gpt2().ours, block_rows=16)
        twin = pickle.loads(pickle.dumps(dataset))
        assert [one["input_ids"].tolist() for one in twin] == reference_ids(TEXTS)
    collate = pickle.loads(pickle.dumps(torch_data.PadCollate(9, side="left")))
    assert collate([[1], [2, 3]])["input_ids"].tolist() == [[9, 1], [2, 3]]


def test_ranks_share_the_rows() -> None:
    for texts in (TEXTS, stream):
        parts = [
            torch_data.EncodedTexts(texts, gpt2().ours, block_rows=8, rank=rank, world_size=3) for rank in range(3)
        ]
        rows = [[one["row"] for one in part] for part in parts]
        assert sorted(chain.from_iterable(rows)) == list(range(len(TEXTS)))
        if texts is TEXTS:
            assert [len(part) for part in parts] == [len(one) for one in rows] == [36, 32, 32]
    with pytest.raises(TypeError, match="number is not known"):
        len(parts[0])


def test_templates_and_truncation() -> None:
    reference = bert().reference
    reference.enable_truncation(8)
    try:
        expected = [reference.encode(text).ids for text in TEXTS]
    finally:
        reference.no_truncation()
    dataset = torch_data.EncodedTexts(TEXTS, bert().ours, max_length=8)
    assert [one["input_ids"].tolist() for one in dataset] == expected


def test_padding_is_that_of_torch() -> None:
    samples = [{"input_ids": np.array(ids, np.int32), "label": n} for n, ids in enumerate([[1, 2, 3], [], [4]])]
    batch = torch_data.PadCollate(9)(samples)
    tensors = [torch.tensor(sample["input_ids"].tolist(), dtype=torch.int64) for sample in samples]
    padded = torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=9)
    assert torch.equal(batch["input_ids"], padded)
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [0, 0, 0], [1, 0, 0]]
    assert batch["attention_mask"].dtype == batch["input_ids"].dtype == torch.int64
    assert batch["label"].tolist() == [0, 1, 2]
    left = torch_data.PadCollate(9, max_length=2, side="left", pad_to_multiple_of=4)(
        [one["input_ids"] for one in samples]
    )
    assert left["input_ids"].tolist() == [[9, 9, 1, 2], [9, 9, 9, 9], [9, 9, 9, 4]]


@forks
def test_packed_blocks(tmp_path: Any) -> None:
    ours = gpt2().ours
    blocks = pack(
        [ours.encode_batch(TEXTS)], tmp_path / "a.bin", block_size=16, separator_id=50256, vocabulary=ours.vocabulary
    )
    for n_workers in (0, 2):
        loader = DataLoader(blocks, batch_size=3, num_workers=n_workers, collate_fn=torch_data.collate_blocks)
        found = torch.cat(list(loader))
        assert found.dtype == torch.int64
        assert found.tolist() == blocks.array.tolist()


def test_wrong_arguments() -> None:
    ours = gpt2().ours
    for options, error in [
        ({"block_rows": 0}, "`block_rows` must be"),
        ({"rank": 2, "world_size": 2}, "`rank` must be"),
        ({"nulls": "null"}, "`nulls` must be"),
        ({"max_length": 0}, "`max_length` must be"),
    ]:
        with pytest.raises(ValueError, match=error):
            torch_data.EncodedTexts(TEXTS, ours, **options)
    with pytest.raises(nlp.errors.MissingRowError, match="row 1"):
        torch_data.EncodedTexts(["a", None], ours)
    with pytest.raises(TypeError, match="must be a Tokenizer"):
        torch_data.EncodedTexts(TEXTS, "gpt2")
    with pytest.raises(ValueError, match="`side` must be"):
        torch_data.PadCollate(0, side="both")
    with pytest.raises(ValueError, match="`pad_id` must be"):
        torch_data.PadCollate(-100)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([{"input_ids": np.array([2**33 + 1])}], "sample 0 must hold rows of whole numbers of 32 bits"),
        ([[1, 2], [1.5, 2]], "sample 1 must hold rows of whole numbers of 32 bits"),
        ([{"input_ids": [[1], [2]]}], "sample 0 must hold rows of whole numbers of 32 bits"),
        ([{"input_ids": [1], "y": 1}, {"input_ids": [1]}], "sample 1 has .'input_ids'., the first one"),
        ([{"input_ids": [1]}, {"input_ids": [1], "y": 1}], "sample 1 has .'input_ids', 'y'., the first one"),
        ([{"y": 1}], "sample 0 has .'y'."),
        ([{"input_ids": [1, 2], "attention_mask": [1]}], "`attention_mask` of sample 0 has 1 numbers, `input_ids` 2"),
    ],
)
def test_samples_that_make_no_batch(samples, message):
    with pytest.raises(ValueError, match=message):
        torch_data.PadCollate(0)(samples)


def test_masks_of_samples_are_kept():
    batch = torch_data.PadCollate(0, side="left")(
        [{"input_ids": [5, 6, 7], "attention_mask": [1, 0, 1]}, {"input_ids": [8], "attention_mask": [1]}]
    )
    assert batch["attention_mask"].tolist() == [[1, 0, 1], [0, 0, 1]]
    assert batch["input_ids"].tolist() == [[5, 6, 7], [0, 0, 8]]
