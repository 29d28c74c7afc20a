"""What the report writes is what its results give: the document, the README's figures, pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asv_benchmarks import models_page, training_pages
from asv_benchmarks.published import README, documents, planned
from asv_benchmarks.records import write_results
from asv_benchmarks.runs import merged, read_runs, sources
from asv_benchmarks.sections import with_section

pytest.importorskip("matplotlib")
RUNS = read_runs(sources())


def test_documents_are_what_the_results_give() -> None:
    written = documents(sources())
    for path, text in written.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: python -m asv_benchmarks.report --render ..."
    assert README in written
    assert len(written) >= 3


def test_pages_are_what_was_recorded() -> None:
    for path, text in {**training_pages.pages(), models_page.PAGE: models_page.write()}.items():
        assert path.read_text(encoding="utf-8") == text, path.name


def test_what_was_measured_twice_is_refused() -> None:
    run = {"records": [{"table": "encode", "vocabulary": "gpt2"}]}
    other = {"records": [{"table": "count", "vocabulary": "gpt2"}]}
    assert len(merged({"a.json": run, "b.json": other})["records"]) == 2
    with pytest.raises(ValueError, match=r"a.json and c.json both have 'encode' of 'gpt2'; render one of them"):
        merged({"a.json": run, "b.json": other, "c.json": run})


def test_pictures_are_what_the_results_give(tmp_path: Path) -> None:
    from asv_benchmarks.pictures import FOLDER

    pictures = planned(RUNS)
    assert {picture.name for picture in pictures} == {path.stem for path in FOLDER.glob("bench_*")}
    for picture in pictures:
        made, kept = tmp_path / f"{picture.name}.svg", FOLDER / f"{picture.name}.svg"
        picture.draw(made)
        # versions of matplotlib spell paths in their own ways
        words = [re.findall(r"<text [^>]*>(.*?)</text>", path.read_text(encoding="utf-8")) for path in (made, kept)]
        assert words[0] == words[1]
        assert kept.stat().st_size < 60_000
        assert "<dc:date>" not in kept.read_text(encoding="utf-8")


def test_a_picture_is_drawn_the_same_twice(tmp_path: Path) -> None:
    picture = planned(RUNS)[0]
    for name in ("one.svg", "two.svg"):
        picture.draw(tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_section_stands_between_its_marks() -> None:
    page = (
        "a\n<!-- from here to the next mark: written by `python -m x.y` -->\nold\n"
        "<!-- end of what is written by a program -->\nb\n"
    )
    once = with_section(page, "x.y", "new\n")
    assert once.startswith("a\n<!-- from here")
    assert "\n\nnew\n\n" in once
    assert "old" not in once
    assert once.endswith("-->\nb\n")
    assert with_section(once, "x.y", "new") == once
    with pytest.raises(ValueError, match=r"python -m x\.z.*0 times, not once"):
        with_section(page, "x.z", "new")


def test_results_are_written_an_entry_a_line(tmp_path: Path) -> None:
    results = {"date": "2000-01-01", "records": [{"seconds": [0.12345678912]}, {"seconds": []}], "curves": []}
    write_results(tmp_path / "new" / "r.json", results)
    assert read_runs([tmp_path / "new" / "r.json"])["r.json"] == {
        **results, "records": [{"seconds": [0.123456789]}, {"seconds": []}],
    }  # fmt: skip
    assert (tmp_path / "new" / "r.json").read_text(encoding="utf-8").count("\n") == 8


def test_no_speed_is_typed_by_hand() -> None:
    for page in [README, *(README.parent / "docs").glob("*.md"), *(README.parent / "docs/walkthroughs").glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        if "\nWritten by `python -m asv_benchmarks." in text:
            continue
        text = re.sub(r"<!-- from here to the next mark.*?<!-- end of what", "", text, flags=re.DOTALL)
        found = re.findall(r"[\d.]+ ?(?:[MG]B/s|[µm]s\b|(?:times|x) as (?:fast|long|quick|slow))", text)
        assert found == [], page.name
