"""The benchmark of pipelines runs, compares, and is rendered as it was recorded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("transformers", reason="needs transformers")

from asv_benchmarks import pipeline_page
from asv_benchmarks.benchmarks import bench_pipelines, pipeline_readers, pipeline_writers
from asv_benchmarks.benchmarks.pipeline_cases import CASES

SIDES = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in (("layers", 1), ("ffn_dim", 24))}
HEADS = {f"{side}_attention_heads": 2 for side in ("encoder", "decoder")}
TINY: dict[str, dict[str, Any]] = {
    "translate": {**SIDES, **HEADS, "d_model": 16, "init_std": 0.3},
    "converse": {"n_embd": 16, "n_layer": 1, "n_head": 2, "initializer_range": 0.3},
    "generate": {"n_embd": 16, "n_layer": 1, "n_head": 2, "initializer_range": 0.3},
}


ENCODER = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24}
TINY |= {task: {**ENCODER, "initializer_range": 0.3} for task in pipeline_readers.CASES}
LENGTHS = {"min_new_tokens": 5, "max_new_tokens": 5}


def test_stages_of_a_pipeline_have_their_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CASES, "classify", replace(CASES["classify"], settings=TINY["classify"]))
    found = {}
    for stage in bench_pipelines.STAGES:
        parts = bench_pipelines.PipelineParts()
        parts.setup(stage, "classify")
        found[stage] = parts.track_seconds(stage, "classify")
        parts.teardown()
    assert all(seconds >= 0 for seconds in found.values())
    assert found["forward"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("task", list(TINY))
def test_both_libraries_give_the_same(task: str, tmp_path: Path) -> None:
    case = CASES[task]
    options = LENGTHS if task in pipeline_writers.CASES else {}
    tiny = replace(
        case,
        settings=TINY[task],
        options={**case.options, **options},
        their_options={**case.their_options, **options},
    )
    found = bench_pipelines.measure(tiny, 3, 2)
    assert found["equal"] == found["rows"] == 3
    assert [len(found[library]["cpu"]) for library in bench_pipelines.LIBRARIES] == [2, 2]
    assert all(part["forward"] > 0 for part in found["parts"])
    record = tmp_path / "record.json"
    for _ in range(2):  # a case is put in the place of itself
        bench_pipelines.record(record, task, 3, 2, 1, found)
    results = json.loads(record.read_text(encoding="utf-8"))
    assert len(results["cases"]) == 1
    page = pipeline_page.render(results)
    assert f"| {task} | 3 |" in page
    assert "3 of 3" in page
    results["versions"]["torch"] = "0"
    record.write_text(json.dumps(results), encoding="utf-8")
    with pytest.raises(ValueError, match="here it is"):
        bench_pipelines.record(record, task, 3, 2, 1, found)


def test_the_page_is_what_was_recorded() -> None:
    results = json.loads(pipeline_page.RECORD.read_text(encoding="utf-8"))
    assert pipeline_page.PAGE.read_text(encoding="utf-8") == pipeline_page.render(results)
