"""The documentation holds together, without building it: pages are reached, links stay, contracts say all."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from pathlib import PurePosixPath

import pytest

from tools.docs_site.contracts import contract_page, public_kernels, status_codes, twin_of
from tools.docs_site.pages import DOCS, link_targets, linked_pages, rewritten, sections_of, site_pages
from tools.files import ROOT

PAGES = {path.relative_to(DOCS).with_suffix("").as_posix(): path for path in DOCS.rglob("*.md")}
#: Sections of docstrings; characters of one that has none, all in all.
SECTIONS, LONGEST_SENTENCES = ("Parameters", "Returns"), 400
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")


def test_every_page_is_reached_from_the_index():
    reached = {"index", *linked_pages(INDEX)}
    for name in list(reached):  # an index of a folder has its other pages
        if PurePosixPath(name).name == "index" and name != "index":
            folder = PurePosixPath(name).parent.as_posix()
            text = PAGES[name].read_text(encoding="utf-8")
            reached |= {f"{folder}/{target.removesuffix('.md')}" for target in link_targets(text)}
    assert reached - {"readme"} == set(PAGES)


def test_sections_hold_each_page_once():
    sections = sections_of(INDEX)
    pages = [page for section in sections for page in section.pages]
    assert len(pages) == len(set(pages))
    assert len(sections) > 4


def test_links_of_the_site():
    text = "[a](../README.md) [`b`](../numba_nlp/kernels/words.py) [c](../pyproject.toml) [d](models.md#heads)"
    page = PurePosixPath("docs/page.md")
    exists = {"readme", "models", "contracts/numba_nlp.kernels.words"}.__contains__
    assert rewritten(text, page, exists) == (
        "[a](/readme.md) [`b`](/contracts/numba_nlp.kernels.words.rst) c [d](/models.md#heads)"
    )
    assert rewritten("```python\n[a](b.md)\n```\n", page, exists) == "```python\n[a](b.md)\n```\n"


def test_pages_of_the_site_lead_to_pages():
    added = {"Reference": ("api/index",), "Project": ("contributing", "changelog")}
    pages = site_pages(added, lambda name: name.startswith(("api/", "contracts/")))
    assert {"index.md", "readme.md", "contributing.md", "changelog.md"} < set(pages)
    names = {name.removesuffix(".md") for name in pages}
    listed = re.findall(r"```\{toctree\}.*?```", "".join(pages.values()), flags=re.DOTALL)
    in_trees = {line for tree in listed for line in tree.splitlines() if re.fullmatch(r"[\w/.-]+", line)}
    below = {name for name in names if name.startswith("decisions/") and name != "decisions/index"}
    assert in_trees >= names - {"index"} - below
    assert {name.partition("/")[2] for name in below} <= in_trees
    for name, content in pages.items():
        for target in link_targets(content):
            if target.startswith("/"):
                assert target.partition("#")[0].rsplit(".", 1)[0].lstrip("/") in names or "contracts/" in target, name


def returns_a_value(function) -> bool:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    returns = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    return any(value is not None and not (isinstance(value, ast.Constant) and value.value is None) for value in returns)


def test_every_kernel_says_what_it_takes_and_gives():
    """Sections; or one sentence that names the value and, as code, the arguments; or a reference to another kernel."""
    silent = []
    for name, function in public_kernels().items():
        text = inspect.getdoc(function) or ""
        has_parameters, has_returns = (re.search(rf"^{word}\n-+$", text, re.MULTILINE) for word in SECTIONS)
        refers = re.search(r"\b(as|of|in|for|with|by)\s+(:func:|the vector form|the plain form)", text)
        if not text or (returns_a_value(function) and has_parameters and not (has_returns or refers)):
            silent.append(name)
        if not has_parameters and not refers and len(text) > LONGEST_SENTENCES:
            silent.append(name)
    assert silent == []


def test_most_kernels_have_a_twin_on_their_page():
    kernels = public_kernels()
    with_twin = [name for name in kernels if twin_of(name) is not None]
    assert len(with_twin) > len(kernels) // 2
    for name in with_twin:
        assert twin_of(name).__module__.startswith("numba_nlp.reference")


def test_the_page_of_a_kernel():
    page = contract_page("numba_nlp.kernels.articles.bpe_naive.tokenize_naive")
    for text in (
        "tokenize_naive\n==============",
        ".. autofunction:: numba_nlp.kernels.articles.bpe_naive.tokenize_naive",
        ":Decorated: ``kernel``",
        "``numba_nlp.reference.articles.bpe_naive.tokenize_naive``",
    ):
        assert text in page


def test_status_codes_of_callees_are_told_apart():
    found = {name: status_codes(name) for name in public_kernels()}
    assert any(own for own, _ in found.values())
    assert any(below for _, below in found.values())
    assert not any(own & below for own, below in found.values())


def test_public_modules_have_pages():
    from tools.docs_site.api import module_page, public_modules

    assert {"numba_nlp", "numba_nlp.pipelines.classify", "numba_nlp.integrations.dask"} <= set(public_modules())
    page = module_page("numba_nlp", "Tokenizers")
    assert "   load_tokenizer\n" in page
    assert "   errors\n" not in page  # a module


def test_pictures_are_drawn_referenced_and_small():
    pytest.importorskip("matplotlib")
    from tools.draw_pictures import FOLDER, PICTURES

    pages = "".join(path.read_text(encoding="utf-8") for path in PAGES.values())
    drawn_by_the_report = {path.stem for path in FOLDER.glob("bench_*")}
    assert {path.stem for path in FOLDER.iterdir()} == set(PICTURES) | drawn_by_the_report
    for name in {*PICTURES, *drawn_by_the_report}:
        path = FOLDER / f"{name}.svg"
        assert f"pictures/{name}.svg" in pages
        assert path.stat().st_size < 100_000
        assert "<dc:date>" not in path.read_text(encoding="utf-8")


def test_pictures_are_those_that_are_drawn(tmp_path):
    """Those that take no time: the same words and numbers stand in them."""
    pytest.importorskip("matplotlib")
    from tools.draw_pictures import FOLDER, draw

    names = ["merge_table", "merge_table_lower", "trie", "bpe_times", "unigram_times"]
    draw(names, tmp_path)
    for name in names:
        drawn, kept = (
            re.findall(r"<text [^>]*>(.*?)</text>", (folder / f"{name}.svg").read_text(encoding="utf-8"), re.DOTALL)
            for folder in (tmp_path, FOLDER)
        )
        assert drawn == kept
        assert drawn


def test_make_docs_builds_what_is_tested_here():
    assert "-m tools.docs_site" in (ROOT / "Makefile").read_text(encoding="utf-8")
