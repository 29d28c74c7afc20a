"""The page of conversions says what the table says, and every working cell was checked on two vocabularies."""

from __future__ import annotations

import json
from collections import defaultdict

import vocab_tools
from tools.conversion_page import PAGE, RESULTS, with_generated_parts


def test_the_page_is_up_to_date():
    text = PAGE.read_text(encoding="utf-8")
    assert with_generated_parts(text) == text, "run: python -m tools.conversion_page"


def test_every_working_cell_was_checked_on_two_vocabularies():
    results = json.loads(RESULTS.read_text(encoding="utf-8"))["results"]
    checked = defaultdict(set)
    for result in results:
        assert result["differing_lines"] == 0, result
        checked[result["source"], result["target"]].add(result["vocabulary"])
    for key, cell in vocab_tools.conversion_matrix().items():
        if cell.works != "no" and cell.source != cell.target:
            assert len(checked[key]) >= 2, key
