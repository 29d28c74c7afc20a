"""The benchmark of whole generations and the tool for kinds of weights run, compare and are rendered as recorded."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")

from asv_benchmarks import generation_page  # noqa: E402
from asv_benchmarks.benchmarks import bench_generation  # noqa: E402
from asv_benchmarks.benchmarks.generation_models import CASES, GenerationCase, write_checkpoint  # noqa: E402
from asv_benchmarks.benchmarks.generation_peers import LIBRARIES, exact, make_call, read_inputs  # noqa: E402
from asv_benchmarks.generation_limits import Work, least_seconds, work_of  # noqa: E402

SIDES = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in (("layers", 1), ("ffn_dim", 48))}
HEADS = {f"{side}_attention_heads": 2 for side in ("encoder", "decoder")}
#: Settings of a tiny model of each kind, wider spread so that no two tokens are nearly as likely.
TINY: dict[str, dict[str, Any]] = {
    "marian-10": {
        **SIDES, **HEADS, "d_model": 32, "vocab_size": 61, "decoder_vocab_size": 61, "pad_token_id": 60,
        "decoder_start_token_id": 60, "init_std": 0.3,
    },
    "t5-small-3": {"d_model": 32, "d_ff": 48, "d_kv": 16, "num_layers": 1, "num_heads": 2, "vocab_size": 60},
    "distilbart-6-6": {**SIDES, **HEADS, "d_model": 32, "vocab_size": 60, "init_std": 0.3},
    "gpt2-3": {
        "n_embd": 32, "n_layer": 1, "n_head": 2, "vocab_size": 60, "bos_token_id": 0, "eos_token_id": 0,
        "initializer_range": 0.3,
    },
}  # fmt: skip


def tiny(name: str) -> GenerationCase:
    case = CASES[name]
    lengths = tuple(min(length, 9) - (row % 3) for row, length in enumerate(case.lengths[:3]))
    return replace(case, lengths=lengths, new_tokens=5, settings=TINY[name])


@pytest.fixture(scope="module", params=list(TINY))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[GenerationCase, Path]:
    case = tiny(request.param)
    folder = tmp_path_factory.mktemp(request.param)
    write_checkpoint(case, folder)
    return case, folder


def call(library: str, case: GenerationCase, folder: Path) -> np.ndarray:
    threads = torch.get_num_threads()
    try:
        return make_call(library, case, folder, threads)()
    except NotImplementedError as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "transformers"])
def test_libraries_write_the_same(made: tuple[GenerationCase, Path], library: str) -> None:
    case, folder = made
    rows = call(library, case, folder)
    assert rows.shape == (len(case.lengths) * case.returned, case.new_tokens)
    if exact(library, case):
        np.testing.assert_array_equal(rows, call("transformers", case, folder))


def test_checkpoints_are_made_from_a_seed(made: tuple[GenerationCase, Path], tmp_path: Path) -> None:
    case, folder = made
    write_checkpoint(case, tmp_path)
    assert (tmp_path / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()


def test_inputs_are_padded_where_the_model_wants_it(made: tuple[GenerationCase, Path]) -> None:
    case, folder = made
    mask = read_inputs(case, folder)[1]
    assert mask.sum(1).tolist() == list(case.lengths)
    edge = mask[:, -1] if case.decoder_only else mask[:, 0]
    assert edge.all()
    assert mask.all() == (len(case.lengths) == 1)


def test_rows_that_differ_are_counted(made: tuple[GenerationCase, Path]) -> None:
    case, folder = made
    rows = call("numba_nlp float32", case, folder)
    assert bench_generation.compare(case, folder, rows, rows) == {"rows": len(rows), "equal": len(rows), "tied": 0}
    other = rows.copy()
    other[0, 2] = 7 if rows[0, 2] != 7 else 8
    assert bench_generation.compare(case, folder, other, rows) == {"rows": len(rows), "equal": len(rows) - 1, "tied": 0}


def test_measuring_recording_and_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    monkeypatch.setitem(bench_generation.CASES, "gpt2-3", tiny("gpt2-3"))
    path = tmp_path / "speeds.json"
    arguments = ["--rounds", "2", "--cases", "gpt2-3", "--libraries", "numba_nlp float32", "--threads", str(threads)]
    if find_spec("ctranslate2") is None:
        monkeypatch.setattr(bench_generation, "PACKAGES", ("numba", "numpy", "torch", "transformers"))
    for _ in range(2):
        assert bench_generation.main([*arguments, "--record", str(path)]) == 0
    found = json.loads(path.read_text(encoding="utf-8"))
    (case,) = found["cases"]
    assert [cell["library"] for cell in case["cells"]] == ["transformers", "numba_nlp float32"]
    assert all(len(cell["wall"]) == len(cell["cpu"]) == 2 and cell["equal"] == cell["rows"] for cell in case["cells"])
    page = generation_page.render(found)
    assert "| gpt2-3 | 15 |" in page
    found["machine"]["processor"] = "another"
    path.write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(ValueError, match="another"):
        bench_generation.main([*arguments, "--record", str(path)])


@pytest.mark.parametrize("name", list(TINY))
def test_the_work_of_a_generation_is_that_of_its_matrices(name: str) -> None:
    case = tiny(name)
    kind = getattr(transformers, case.architecture)
    model = kind(kind.config_class(**case.configuration))
    sizes = {key: value.numel() for key, value in model.state_dict().items() if key.endswith(".weight")}
    products = {
        key: n for key, n in sizes.items() if re.search(r"(layers|block|h)\.\d+\..*", key) and "norm" not in key
    }
    products = {key: n for key, n in products.items() if "bias" not in key and "ln_" not in key}
    sides = {key: n for key, n in products.items() if "encoder." in key}
    # keys and values of the source
    crossed = {key: n for key, n in products.items() if re.search(r"(encoder_attn|EncDecAttention)\.(k|v)", key)}
    reads = sum(products.values()) if case.decoder_only else sum((sides | crossed).values())
    writes = sum(n for key, n in products.items() if key not in sides and key not in crossed)
    work = work_of(case, model.config)
    tokens = sum(case.lengths) - (len(case.lengths) if case.decoder_only else 0)
    assert work.weights == writes + sizes["lm_head.weight"]
    assert work.source == 2 * tokens * reads
    assert (work.steps, work.rows) == (case.new_tokens - 1, len(case.lengths) * case.beams)


def test_no_generation_is_quicker_than_reading_and_multiplying() -> None:
    limits = {"flops": 2.0, "bytes": 100.0}
    # 5 seconds for the source; reading takes 0.16, one row 4, three rows 12
    assert least_seconds(Work(10.0, 4, 2, 3, 1), limits, 4) == 5.0 + 4.0 + 2 * 12.0
    assert least_seconds(Work(0.0, 4, 2, 3, 1), limits | {"bytes": 1.0}, 4) == 3 * 16.0


def test_the_page_is_what_the_records_give() -> None:
    assert generation_page.PAGE.read_text(encoding="utf-8") == generation_page.render(*generation_page.read_records())


def test_recorded_tokens_are_those_of_transformers() -> None:
    for case in generation_page.read_records()[0]["cases"]:
        for cell in case["cells"]:
            if cell["exact"]:
                assert cell["equal"] + cell["tied"] == cell["rows"], (case["case"], cell["library"])


# ------------------------------------------------------------------------------------------ kinds of weights


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Any:
    import numba_nlp as nlp
    from tools.measure_weight_kinds import Subject

    folder = tmp_path_factory.mktemp("t5")
    write_checkpoint(tiny("t5-small-3"), folder)
    prompts = [[7, 8, 9, 1], [10, 1], [11, 12, 1]]
    return Subject(nlp.load_model(folder), prompts, [[5, 6, 7], [8, 1], [9, 9, 9, 1]], prompts, 6)


def test_dictated_rows_have_the_log_probabilities_of_score(subject: Any) -> None:
    from numba_nlp.generation import score
    from tools.measure_weight_kinds import agreement, compare, measure

    figures = measure(subject, "float32")
    scores = score(subject.model, subject.prompts, subject.targets)
    expected = [row[: len(target)] for row, target in zip(scores.token_scores.tolist(), subject.targets, strict=True)]
    for row, right in zip(figures.log_probabilities, expected, strict=True):
        np.testing.assert_allclose(row, right, rtol=1e-4, atol=1e-5)
    # what it writes is what it would have written at each place
    assert figures.own_best == figures.written[1]
    assert compare(figures, figures)["own_token"] == 1
    assert agreement([[1, 2, 3], [4]], [[1, 3, 3, 5], [4]]) == 3 / 5


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "int8"])
def test_kinds_of_weights_are_near(subject: Any, kind: str) -> None:
    from tools.measure_weight_kinds import compare, measure

    try:
        figures = measure(subject, kind)
    except NotImplementedError as missing:
        pytest.skip(str(missing))
    assert abs(compare(figures, measure(subject, "float32"))["perplexity_change"]) < 0.02
