"""How the report repeats: ratios of the same rounds, how far they spread, and when that is enough."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

from asv_benchmarks.benchmarks.common import Inexact
from asv_benchmarks.curves import curves
from asv_benchmarks.measure_tasks import Task, measure_task
from asv_benchmarks.ratios import fastest_peer, leaders, ratio_of, ratio_to_peer
from asv_benchmarks.samples import Record, Rounds, add, interleaved, wanted_names
from asv_benchmarks.targets import named_peers


def record(backend: str, seconds: list[float], n_bytes: int = 1, **fields: Any) -> dict[str, Any]:
    given = {"rounds": list(range(len(seconds))), **fields}
    return vars(Record("encode", "gpt2", "c", "warm", backend, 1, n_bytes, seconds=seconds, **given))


def test_the_spread_is_the_notch_of_a_box_plot() -> None:
    matplotlib = pytest.importorskip("matplotlib.cbook")
    ratios = [1.0, 1.1, 1.3, 1.2, 1.6, 0.9, 1.15]
    (box,) = matplotlib.boxplot_stats(ratios)
    found = ratio_of(record("a", [1.0] * 7), record("b", ratios))
    assert found.value == pytest.approx(box["med"])
    assert found.spread == pytest.approx((box["cihi"] - box["cilo"]) / box["med"])
    assert not found.settled
    assert ratio_of(record("a", [1.0] * 3), record("b", [2.0, 2.01, 2.02])).settled
    assert ratio_of(record("a", [1.0] * 2), record("b", [2.0] * 2)).spread == inf


def test_samples_of_one_round_are_put_together_and_pairs_are_of_one_round() -> None:
    ours = record("numba_nlp", [1.0, 3.0, 1.0, 1.0, 9.0], rounds=[0, 0, 1, 2, 3])
    peer = record("x", [8.0, 3.0, 2.0], rounds=[0, 2, 1])
    # a byte each: 4 s and 8 s for 2 bytes and 1, 1 and 2, 1 and 3
    assert ratio_of(ours, peer).value == pytest.approx(np.median([8 / 2, 2, 3]))


def test_results_that_do_not_say_their_rounds_are_cut_into_as_many_runs() -> None:
    ours = record("numba_nlp", [1.0, 1.0, 2.0, 2.0, 4.0, 4.0], rounds=[])
    peer = record("x", [2.0, 4.0, 8.0], rounds=[])
    assert ratio_of(ours, peer) == (2.0, 0.0)


def test_a_ratio_is_of_the_same_text_and_held_out_slices_count_by_the_byte() -> None:
    whole, part = record("numba_nlp", [9.0] * 3, 8), record("numba_nlp", [1.0] * 3, 2)
    slow, inexact = record("slow", [4.0] * 3, 2), record("wrong", [0.1] * 3, 2, exact=False)
    ranked = ratio_to_peer([whole, part, slow, inexact])
    assert ranked is not None
    assert (ranked[0]["backend"], ranked[1].value) == ("slow", 4.0)
    slices = record("slices", [1.0, 1.0], 100, sizes=[10, 10])
    assert fastest_peer([slices, record("at once", [9.0, 9.0], 100)])["backend"] == "at once"  # type: ignore[index]


def test_rounds_go_on_until_the_ratio_of_ours_to_the_fastest_exact_peer_has_settled() -> None:
    found = [Record("t", "v", "c", "warm", name, 1) for name in ("numba_nlp", "near", "far", "slow")]
    by_name = {one.backend: one for one in found}
    taken: list[tuple[int, str]] = []

    def take(name: str, turn: int) -> None:
        taken.append((turn, name))
        seconds = {"numba_nlp": 1.0, "near": 2.0 + (turn % 3 if turn < 6 else 0), "far": 5.0, "slow": 9.0}[name]
        add(by_name[name], turn, seconds)

    names = list(by_name)
    turns = interleaved(names, take, Rounds(4, 40, 60), wanted_names(found, Rounds(4, 40, 60), ["slow"]))
    by_turn = [{name for turn, name in taken if turn == n} for n in range(turns)]
    assert by_turn[:4] == [set(names), set(names), {"numba_nlp", "near", "far"}, {"numba_nlp", "near", "far"}]
    assert all(some == {"numba_nlp", "near"} for some in by_turn[4:])
    assert 6 < turns < 40
    assert ratio_of(vars(found[0]), vars(found[1])).settled
    # B C A after A B C
    assert [name for turn, name in taken if turn == 1] == [*names[1:], names[0]]


def test_a_peer_that_a_target_names_goes_on_as_well() -> None:
    cell = [record("numba_nlp", [1.0] * 4), record("near", [2.0] * 4), record("named", [5.0, 9.0, 7.0, 5.0])]
    assert leaders(cell, unsettled=True) == set()
    assert leaders(cell, unsettled=True, also=["named", "absent"]) == {"numba_nlp", "named"}
    assert leaders(cell, unsettled=False, also=["named"]) == {"numba_nlp", "near", "named"}
    assert named_peers("t5") == {"sentencepiece"}
    assert named_peers("gpt2") == set()


def test_rounds_end_at_the_most_and_after_the_seconds() -> None:
    for rounds, expected in ((Rounds(2, 5, 60), 5), (Rounds(2, 5, 0), 2)):
        assert interleaved(["a"], lambda *_: None, rounds, lambda _: ["a"]) == expected


def test_curves_take_turns_and_stop_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asv_benchmarks.curves.SECONDS_EACH", 0)
    called: list[str] = []
    cases = {
        name: [(n, lambda name=name: called.append(name)) for n in range(1, last)]
        for name, last in (("a", 3), ("b", 5))
    }
    found = curves(cases)  # type: ignore[arg-type]
    assert (found["a"][0], found["b"][0]) == ([1, 2], [1, 2, 3, 4])
    assert "".join(called) == "abababab" + "bbbb"


def test_an_inexact_library_is_marked_and_not_timed_in_a_task() -> None:
    class Task1:
        params = (["gpt2"], ["c"], ["numba_nlp", "tokenizers", "tiktoken"])
        param_names = ("vocabulary", "corpus", "backend")

        def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
            if backend == "tiktoken":
                raise NotImplementedError("not installed")
            self.texts = ["ab"]
            if backend == "tokenizers":
                raise Inexact("other ids")

        def time_it(self, *_: str) -> None:
            sum(range(10_000))

    found = measure_task(Task("t", Task1, {"warm": "time_it"}, ""), "gpt2", list(Task1.params[2]), Rounds(2, 2, 1), "c")
    assert [(one.backend, one.exact, len(one.seconds), one.n_bytes) for one in found] == [
        ("numba_nlp", True, 2, 2),
        ("tokenizers", False, 0, 2),
    ]
