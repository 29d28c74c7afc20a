"""The benchmarks run: every asv class once with its smallest parameters, and the report end to end on one corpus."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asv_benchmarks import benchmarks, report, smoke
from asv_benchmarks.benchmarks import corpora
from asv_benchmarks.benchmarks.backends import BACKENDS, reference_flat, references_of
from asv_benchmarks.curves import curve, exponent
from asv_benchmarks.measure import find_refusals
from asv_benchmarks.render import render
from asv_benchmarks.samples import same_ids
from asv_benchmarks.smallest import MODULES, REAL_SIZES, classes, module, smallest

REPOSITORY = Path(__file__).resolve().parent.parent


def test_every_module_holds_a_benchmark() -> None:
    assert {name for name, _ in classes()} == set(MODULES)
    assert len(MODULES) >= 7


@pytest.mark.parametrize("backend", ["numba_nlp", "tiktoken", "tokenizers"])
# models of real sizes: tests/test_generation_benchmarks.py and tests/test_pipeline_benchmarks.py have small ones
@pytest.mark.parametrize(("name", "found"), [case for case in classes() if case[0] not in REAL_SIZES])
def test_every_benchmark_runs(name: str, found: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "bench_adversarial":
        monkeypatch.setattr(module(name), "adversarial", lambda shape: corpora.ADVERSARIAL[shape](2_000))
    if name == "bench_scaling":
        monkeypatch.setattr(module(name), "SIZES", [16_000, 64_000])
        monkeypatch.setattr(module(name), "ROWS", [1, 10])
    if name == "bench_scale_out":
        pytest.importorskip("distributed", reason="needs dask.distributed")
        monkeypatch.setattr(module(name), "TOTAL_BYTES", 400_000)
        monkeypatch.setattr(module(name), "PROCESSES", False)
        monkeypatch.setattr(module(name), "WORKERS", 1)
    if name == "bench_models":
        pytest.importorskip("torch", reason="needs torch")
        pytest.importorskip("transformers", reason="needs transformers (Python 3.11 or later)")
    benchmark: Any = getattr(module(name), found)()
    chosen = smallest(benchmark, backend)
    if chosen is None:
        pytest.skip(f"{found} has no {backend}")
    if hasattr(benchmark, "setup"):
        benchmark.setup(*chosen)
    timed = [getattr(benchmark, key) for key in dir(benchmark) if key.startswith(("time_", "peakmem_", "track_"))]
    raw = [getattr(benchmark, key) for key in dir(benchmark) if key.startswith("timeraw_")]
    assert timed or raw
    for call in timed:
        call(*chosen)
    for call in raw:
        compile(call(), found, "exec")
    if hasattr(benchmark, "teardown"):
        benchmark.teardown(*chosen)


def test_an_inexact_library_is_left_out_of_timings_and_has_a_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(BACKENDS["tokenizers"]):  # type: ignore[misc]
        """One id of the first text that has any is another one."""

        def flat(self, out: Any) -> Any:
            values, offsets = super().flat(out)
            values[0] += 1
            return values, offsets

    exactness = module("bench_exactness").EqualIds()
    case = ("gpt2", "hamlet_lines", "tokenizers")
    exactness.setup(*case)
    assert exactness.track_equal_texts(*case) == 1
    monkeypatch.setitem(BACKENDS, "tokenizers", Wrong)
    exactness.setup(*case)
    n_texts = len(exactness.texts)
    assert exactness.track_equal_texts(*case) == pytest.approx(1 - 1 / n_texts)
    for kind in ("EncodeWarm", "EncodeCold", "EncodeHeldOut"):
        with pytest.raises(NotImplementedError, match="Wrong gives other ids than tiktoken and tokenizers"):
            getattr(module("bench_encode"), kind)().setup(*case)


def test_the_exponent_of_a_power_is_found() -> None:
    sizes = [1e3, 4e3, 1.6e4, 1e6]
    for power in (0.0, 1.0, 1.5, 2.0):
        assert exponent(sizes, [3e-9 * n**power for n in sizes]) == pytest.approx(power)
    with pytest.raises(ValueError, match=r"two sizes at least, got sizes \[5, 5\]"):
        exponent([5, 5], [1.0, 2.0])


def test_a_curve_ends_after_a_long_pass_but_has_two_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asv_benchmarks.curves.SECONDS_EACH", 0)
    called: list[int] = []
    cases = [(n, lambda n=n: called.append(n)) for n in range(1, 5)]
    assert curve(cases)[0] == [1, 2, 3, 4]
    assert called == [1, 1, 2, 2, 3, 3, 4, 4]  # once to warm
    monkeypatch.setattr("asv_benchmarks.curves.LONGEST", 0)
    assert curve(cases)[0] == [1, 2]


def test_the_smoke_run_has_each_class_once_a_backend() -> None:
    found = smoke.patterns()
    for name, kind in classes():
        mine = [pattern for pattern in found if pattern.startswith(rf"^{name}\.{kind}\.")]
        assert len(mine) in ((0,) if name in smoke.LEFT_OUT else (1, 2))
    warm = "bench_encode.EncodeWarm.time_encode_batch('gpt2', 'hamlet_lines', '{}')"
    for backend, wanted in (("numba_nlp", 1), ("tokenizers", 1), ("gigatoken", 0)):
        assert sum(bool(re.search(pattern, warm.format(backend))) for pattern in found) == wanted
    assert any(re.search(pattern, "bench_import.Import.timeraw_import") for pattern in found)


def test_the_smoke_run_leaves_the_results_alone(tmp_path: Path) -> None:
    made = json.loads(smoke.settings(tmp_path).read_text(encoding="utf-8"))
    suite = REPOSITORY / "asv_benchmarks"
    kept = json.loads((suite / "asv.conf.json").read_text(encoding="utf-8"))
    for name in ("repo", "benchmark_dir"):
        assert Path(made[name]).resolve() == (suite / kept[name]).resolve()
    assert made["results_dir"] == str(tmp_path)
    assert made["matrix"] == kept["matrix"]


@pytest.mark.parametrize(
    ("line", "is_figure"),
    [
        ("                 gpt2       hamlet_lines   tokenizers   482\u00b10ms  ", True),
        ("                  gpt2       1.1262028217315674 ", True),
        ("              tokenizers   hamlet_lines   49.3M    n/a  ", False),
        ("[ 1.09%] \u00b7\u00b7\u00b7 bench_import.Import.timeraw_import      42.1\u00b10ms", True),
        ("              vocabulary        backend               ", False),
    ],
)
def test_results_of_asv_are_counted(line: str, is_figure: bool) -> None:
    assert bool(smoke.FIGURE.search(line)) == is_figure


def test_training_benchmark_runs() -> None:
    benchmark = module("training_unigram").TrainUnigram()
    assert "hamlet_lines" in benchmark.params[0]
    benchmark.setup("hamlet_lines", 1000, "numba_nlp")
    benchmark.time_train("hamlet_lines", 1000, "numba_nlp")
    assert (Path(benchmark.folder.name) / "made.model").stat().st_size > 1000
    benchmark.teardown()
    with pytest.raises(NotImplementedError, match="each corpus has its sizes"):
        benchmark.setup("hamlet_lines", 8000, "numba_nlp")


def test_asv_finds_the_suite() -> None:
    folder = Path(benchmarks.__path__[0])
    settings = json.loads((folder.parent / "asv.conf.json").read_text(encoding="utf-8"))
    assert (folder.parent / settings["benchmark_dir"]).resolve() == folder.resolve()


@pytest.mark.slow
def test_report_writes_results_and_a_document(tmp_path: Path) -> None:
    results, document = tmp_path / "results.json", tmp_path / "new" / "benchmarks.md"
    asked = ["--quick", "--rounds", "1", "--vocab", "gpt2", "--corpora", "hamlet_lines"]
    asked += ["--kinds", "encode,latency,spans,threads,tasks"]
    report.main([*asked, "--backends", "numba_nlp,tiktoken", "--results", str(results), "--out", str(document)])
    found = json.loads(results.read_text(encoding="utf-8"))
    cells = {(record["backend"], record["cell"]) for record in found["records"] if record["table"] == "encode"}
    assert cells >= {(backend, cell) for backend in ("numba_nlp", "tiktoken") for cell in ("cold", "warm")}
    assert all(record["exact"] for record in found["records"])
    assert {record["table"] for record in found["records"]} >= {"latency", "spans", "document", "count", "load"}
    text = document.read_text(encoding="utf-8")
    assert text == render({results.name: found})
    assert "## Targets" in text


def record(
    cell: str, backend: str, seconds: list[float], exact: bool = True, vocabulary: str = "gpt2"
) -> dict[str, Any]:
    return {
        "table": "encode",
        "vocabulary": vocabulary,
        "corpus": "hamlet_lines",
        "cell": cell,
        "backend": backend,
        "threads": 1,
        "n_bytes": 1_000_000,
        "exact": exact,
        "seconds": seconds,
        "sizes": [],
    }


def results_of(records: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "date": "2000-01-01 00:00 UTC",
        "machine": {"processor": "none", "processors": 1, "load": "0", "system": "none", "python": "3"},
        "versions": {"numba_nlp": "0"},
        "settings": {
            "quick": False, "rounds": 3, "minutes": 0,
            "one thread on processors": [0], "two threads on processors": [0, 1],
        },
        "records": records,
        "adversarial": [],
        "startup": [],
        "memory": [],
    }  # fmt: skip


def test_a_ratio_is_paired_by_round_and_leaves_out_inexact_peers() -> None:
    records = [
        record("warm", "numba_nlp", [0.010, 0.020, 0.040]),
        record("warm", "gigatoken", [0.020, 0.030, 0.080]),
        record("warm", "fastokens", [0.001, 0.001, 0.001], exact=False),
    ]
    text = render({"x.json": results_of(records)})
    assert "**2.00** (gigatoken; spread 23 %)" in text
    assert "fastokens (*inexact*)" in text
    assert "| gpt2, hamlet_lines, warm: ours / gigatoken | > 1 | 2.00 (spread 23 %) | yes |" in text
    assert "**0 of 1 ratios to the fastest exact peer have a spread under 10 %.**" in text


def test_ours_is_not_ranked_when_it_is_inexact() -> None:
    records = [record("warm", "numba_nlp", [0.01], exact=False), record("warm", "gigatoken", [0.02])]
    assert "ours is inexact" in render({"x.json": results_of(records)})


def test_unigram_is_held_against_sentencepiece_and_against_the_fastest_other() -> None:
    def records(rounds: int) -> list[dict[str, Any]]:
        return [
            record("warm", "numba_nlp", [0.01] * rounds, vocabulary="t5"),
            record("warm", "sentencepiece", [0.05] * rounds, vocabulary="t5"),
            record("warm", "splintr-rs", [0.03] * rounds, vocabulary="t5"),
            record("warm", "tokie", [0.001] * rounds, exact=False, vocabulary="t5"),
        ]

    text = render({"x.json": results_of(records(3))})
    assert "| t5, hamlet_lines, warm: ours / sentencepiece | >= 6 | 5.00 | **no** |" in text
    assert "| t5, hamlet_lines, warm: ours / splintr-rs | >= 2 | 3.00 | yes |" in text
    assert "SentencePiece Unigram: 1 of 2 ratios" in text
    # one round decides nothing
    text = render({"x.json": results_of(records(1))})
    assert "| t5, hamlet_lines, warm: ours / splintr-rs | >= 2 | 3.00 (too few rounds) | undecided |" in text
    assert "SentencePiece Unigram: 0 of 2 ratios" in text


def test_one_document_of_several_runs() -> None:
    first = results_of([record("warm", "numba_nlp", [0.01])])
    second = results_of([record("warm", "numba_nlp", [0.01], vocabulary="mistral_v3")])
    second["refusals"] = [{"vocabulary": "mistral_v3", "backend": "snaptokens", "message": "no | way"}]
    text = render({"a.json": first, "b.json": second})
    assert "`docs/results/a.json`, `docs/results/b.json`" in text
    assert "### gpt2, hamlet_lines" in text
    assert "### mistral_v3, hamlet_lines" in text
    assert "| snaptokens | mistral_v3 | no \\| way |" in text


FAMILY_CELLS = [
    ("mistral_v3", "sentencepiece"),
    ("mistral_v3", "tokenizers"),
    ("bert_uncased", "tokenizers"),
    ("subword_nmt", "subword-nmt"),
]


@pytest.mark.parametrize(("vocabulary", "peer"), FAMILY_CELLS)
def test_backends_of_every_family_agree_on_a_small_corpus(vocabulary: str, peer: str) -> None:
    texts = [*corpora.corpus("hamlet_lines")[:60], "  two  spaces", "na\u00efve caf\u00e9 \u65e5\u672c", ""]
    try:
        ours, theirs = (BACKENDS[name](vocabulary) for name in ("numba_nlp", peer))
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    for backend in (ours, theirs):
        found = backend.flat(backend.encode_batch(texts))
        assert any(same_ids(found, reference_flat(vocabulary, texts, name)) for name in references_of(vocabulary))


def test_a_library_with_encodings_of_its_own_refuses_others() -> None:
    pytest.importorskip("rs_bpe")
    with pytest.raises(ValueError, match="carries cl100k and o200k, not 'gpt2'"):
        BACKENDS["rs_bpe"]("gpt2")


@pytest.mark.parametrize(
    ("name", "vocabulary"),
    [("rs_bpe", "cl100k"), *(("transformers", name) for name in ("gpt2", "cl100k", "bert_uncased", "t5"))],
)
def test_peers_give_the_ids_of_the_reference(name: str, vocabulary: str) -> None:
    pytest.importorskip(BACKENDS[name].module)
    texts = [*corpora.corpus("hamlet_lines")[:60], "  two  spaces", "na\u00efve caf\u00e9 \u65e5\u672c", ""]
    try:
        loaded = [BACKENDS[name](vocabulary, threads) for threads in (1, 2)]
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    right = reference_flat(vocabulary, texts, references_of(vocabulary)[-1])
    for backend in loaded:
        assert same_ids(backend.flat(backend.encode_batch(texts)), right)
        assert list(backend.count_batch(texts)) == np.diff(right[1]).tolist()
        assert backend.flat_one(backend.encode_one(texts[1])).tolist() == right[0][slice(*right[1][1:3])].tolist()


def test_a_library_that_refuses_a_vocabulary_is_named_with_its_words() -> None:
    refused = find_refusals("mistral_v3", ["sentencepiece", "subword-nmt"])
    assert list(refused) == ["subword-nmt"]
    assert "reads codes only" in refused["subword-nmt"]


def test_a_converted_model_gives_the_ids_of_sentencepiece() -> None:
    texts = list(corpora.corpus("hamlet_lines")[:200])
    assert same_ids(*(reference_flat("mistral_v3", texts, name) for name in ("sentencepiece", "tokenizers")))


def test_slices_hold_every_text_once_and_every_slice_is_held_out_in_turn() -> None:
    from asv_benchmarks.measure import HELD_OUT_EVERY, held_out

    texts = tuple("x" * n for n in range(1, 400))
    runs = corpora.slices(texts, 5_000)
    assert [text for run in runs for text in run] == list(texts)
    seen: list[str] = []
    for turn in range(HELD_OUT_EVERY):
        warm, out = held_out(runs, turn)
        unseen = [text for run in out for text in run]
        assert not set(warm) & set(unseen)
        assert len(warm) + len(unseen) == len(texts)
        seen += unseen
    assert sorted(seen, key=len) == list(texts)


def test_the_articles_document_is_what_its_results_give() -> None:
    articles = importlib.import_module("asv_benchmarks.articles_page")
    results = json.loads((REPOSITORY / "docs/results/articles.json").read_text(encoding="utf-8"))
    assert (REPOSITORY / "docs/articles.md").read_text(encoding="utf-8") == articles.render(results)


def test_the_head_of_hamlet_is_prepared_as_in_the_article(tmp_path: Path) -> None:
    articles = importlib.import_module("asv_benchmarks.articles")
    text = tmp_path / "play.txt"
    text.write_text("TITLE\n\n\n  by W. S.  \n\nACT I\n", encoding="utf-8")
    assert articles.hamlet_head(text, 1) == b"TITLE "
    assert articles.hamlet_head(text, 4) == b"TITLE by W. S.   "
    assert articles.hamlet_head(text, 9) == b"TITLE by W. S.   ACT I "
