"""Every Python snippet of the README and the documentation runs and gives what the text says."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import numba
import pytest

from tests.snippets import python_blocks, run_snippets

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = [
    page
    for page in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
    if python_blocks(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Snippets name the carried data as seen from the repository, and write where they stand.
    # numba.config.CACHE_DIR, which a snippet sets, is restored with the working directory.
    monkeypatch.setattr(numba.config, "CACHE_DIR", numba.config.CACHE_DIR)
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    try:
        run_snippets(page)
    except OSError as error:
        if "does not allow ptrace" not in str(error):
            raise
        pytest.skip(str(error))
    # a reader runs them in a checkout, where git should not show what they wrote
    ignored = [line.strip("/") for line in (REPOSITORY / ".gitignore").read_text(encoding="utf-8").splitlines()]
    written = {path.name for path in tmp_path.iterdir()} - {"examples"}
    assert [name for name in written if not any(fnmatch(name, pattern) for pattern in ignored)] == []


def test_the_readme_shows_code() -> None:
    assert REPOSITORY / "README.md" in PAGES


def test_a_wrong_statement_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("text\n\n```python\nx = 1\nx + 1  # -> 2\n```\n", encoding="utf-8")
    assert run_snippets(page) == 1
    page.write_text("text\n\n```python\nx = 1\n```\n\n```python\nx + 1  # -> 3\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"page\.md:8: got 2, the text says 3"):
        run_snippets(page)


def test_links_within_the_repository_lead_somewhere() -> None:
    for page in [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")]:
        prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", prose):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_readme_names_only_make_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"\bmake ([a-z-]+)\b", (REPOSITORY / page).read_text(encoding="utf-8")))
        assert named <= targets, f"{page} names {sorted(named - targets)}"
