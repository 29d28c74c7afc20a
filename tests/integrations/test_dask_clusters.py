"""Clusters of dask.distributed: a tokenizer once a worker, and nothing lost or doubled when one is killed."""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import numba_nlp as nlp
from numba_nlp.integrations import dask as nlp_dask
from numba_nlp.integrations.shards import encode_corpus
from tests.integrations import cluster_tasks
from tests.integrations.corpora import LINES, read_ids, reference_ids, write_corpus
from tests.made_tokenizers import gpt2
from tests.toy_vocabulary import toy_vocabulary

distributed = pytest.importorskip("distributed")
bag = pytest.importorskip("dask.bag")

QUIET = {"dashboard_address": ":0", "silence_logs": 50}


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    """A client of a cluster of two processes."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, memory_limit=0, **QUIET) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def as_lists(rows: list[Any]) -> list[list[int]]:
    return [row.tolist() for row in rows]


def test_a_tokenizer_goes_to_each_process_once(processes: Any, tmp_path: Path) -> None:
    unsaved = nlp.Tokenizer(gpt2().ours.vocabulary)
    texts = bag.from_sequence(LINES[:60], npartitions=6)
    ids = nlp_dask.encode(texts, unsaved)
    assert len(pickle.dumps(ids.dask)) < 20_000
    assert as_lists(ids.compute()) == reference_ids(LINES[:60])
    digest = unsaved.vocabulary.digest
    there = processes.run(cluster_tasks.plugins)
    assert len(there) == 2
    assert all(names == [f"numba_nlp-{digest}"] for names in there.values())
    assert list(processes.run(cluster_tasks.held).values()) == [{digest: None}] * 2
    # whoever asks again sends nothing, and the workers keep what they have
    before = processes.run(cluster_tasks.place_of, digest)
    nlp_dask.share(unsaved, processes)
    assert nlp_dask.count(texts, unsaved).sum().compute() == sum(map(len, reference_ids(LINES[:60])))  # type: ignore[arg-type]
    assert processes.run(cluster_tasks.place_of, digest) == before
    # a compiled file that workers see is mapped there
    path = tmp_path / "toy.safetensors"
    toy_vocabulary().save(path)
    saved = nlp.load_tokenizer(path)
    assert as_lists(nlp_dask.encode(bag.from_sequence(["the and"]), saved).compute()) == [
        saved.encode("the and").tolist()
    ]
    assert all(found[saved.vocabulary.digest] == str(path) for found in processes.run(cluster_tasks.held).values())


def test_a_killed_worker_loses_and_doubles_nothing(processes: Any, tmp_path: Path) -> None:
    paths, texts = write_corpus(tmp_path)
    ours = gpt2().ours
    encode_corpus(paths, tmp_path / "one", ours, column="text", shard_bytes=600)
    expected = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    assert len(expected) > 15
    doomed, other = processes.run(os.getpid).items()
    processes.run(cluster_tasks.meet, tmp_path, 2, 3, workers=[doomed[0]])
    processes.run(cluster_tasks.meet, tmp_path, 2, None, workers=[other[0]])
    corpus = nlp_dask.encode_corpus(paths, tmp_path / "many", ours, column="text", shard_bytes=600)
    processes.wait_for_workers(2, timeout=60)
    alive = set(processes.run(os.getpid).values())
    assert other[1] in alive
    assert doomed[1] not in alive
    assert {path.name: path.read_bytes() for path in (tmp_path / "many").iterdir()} == expected
    assert read_ids(tmp_path / "many") == reference_ids(texts)
    assert (corpus.rows, len(corpus.shards)) == (len(texts), len(expected))
    # the one that took its place was given the tokenizer as it started
    assert all(ours.vocabulary.digest in found for found in processes.run(cluster_tasks.held).values())
    assert len(alive) == 2


def test_threads_of_a_cluster(tmp_path: Path) -> None:
    paths, texts = write_corpus(tmp_path)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, **QUIET) as cluster,
        distributed.Client(cluster),
    ):
        rows = nlp_dask.encode(bag.from_sequence(LINES[:60], npartitions=6), gpt2().ours).compute()
        assert as_lists(rows) == reference_ids(LINES[:60])
        first = nlp_dask.encode_corpus(paths, tmp_path / "ids", gpt2().ours, column="text", shard_bytes=5000)
        Path(first.paths[1]).unlink()
        # at once, while the cluster may still hold the first results
        again = nlp_dask.encode_corpus(paths, tmp_path / "ids", gpt2().ours, column="text", shard_bytes=5000)
        assert (first.n_encoded, again.n_encoded, again.ids) == (len(first.shards), 1, first.ids)
    assert read_ids(tmp_path / "ids") == reference_ids(texts)


def test_an_asynchronous_client_is_waited_for_by_its_owner() -> None:
    ours = gpt2().ours

    async def work() -> list[Any]:
        async with (
            distributed.LocalCluster(n_workers=1, processes=False, asynchronous=True, **QUIET) as cluster,
            distributed.Client(cluster, asynchronous=True) as client,
        ):
            texts = bag.from_sequence(LINES[:5])
            with pytest.raises(RuntimeError, match=r"await numba_nlp\.integrations\.dask\.share"):
                nlp_dask.encode(texts, ours)
            await nlp_dask.share(ours)
            rows: list[Any] = await client.compute(nlp_dask.encode(texts, ours))
            return rows

    assert as_lists(asyncio.run(work())) == reference_ids(LINES[:5])
