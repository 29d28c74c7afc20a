"""The measured part of ``docs/scale_out.md`` is what was recorded; its Python blocks run in the tests of the docs."""

from __future__ import annotations

from asv_benchmarks import scale_out_page
from asv_benchmarks.runs import merged, read_runs, sources


def test_the_page_is_what_was_recorded() -> None:
    page = scale_out_page.PAGE.read_text(encoding="utf-8")
    assert page == scale_out_page.write(merged(read_runs(sources()))["records"])
    assert page.count("| two workers, MB/s of text |") == 1
