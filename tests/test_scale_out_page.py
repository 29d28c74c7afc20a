"""The measured part of ``docs/scale_out.md`` is what was recorded; its Python blocks run in the tests of the docs."""

from __future__ import annotations

import json

from asv_benchmarks import scale_out_page


def test_the_page_is_what_was_recorded() -> None:
    record, report = (
        json.loads(path.read_text(encoding="utf-8")) for path in (scale_out_page.RECORD, scale_out_page.REPORT)
    )
    page = scale_out_page.PAGE.read_text(encoding="utf-8")
    assert page == scale_out_page.with_section(page, scale_out_page.render(record, report))
    assert page.count("| two workers, MB/s of text |") == 1
