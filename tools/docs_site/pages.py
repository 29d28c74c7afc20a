"""The Markdown pages as the site has them: links that leave ``docs`` lead to pages of the site, or are plain text.

What the site holds, and in which order, is what ``docs/index.md`` links to, heading by heading.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tools.files import ROOT

__all__ = ["DOCS", "REPOSITORY_PAGES", "Section", "link_targets", "linked_pages", "sections_of", "site_pages"]

DOCS = ROOT / "docs"
#: Pages of the repository outside of ``docs``, and their names on the site.
REPOSITORY_PAGES = {"README.md": "readme", "CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog"}
_LINK = re.compile(r"(?<!!)\[(?P<text>(?:`[^`]*`|[^\]`])*)\]\((?P<target>[^)\s]+)\)")
_FENCE = re.compile(r"^(```.*?^```|    .*?$)", flags=re.DOTALL | re.MULTILINE)
_KERNELS = "numba_nlp/kernels/"


class Section(NamedTuple):
    """A heading of ``docs/index.md`` with the pages below it.

    Attributes
    ----------
    title : str
    pages : tuple of str
        As Sphinx names documents: without suffix, relative to ``docs``.
    """

    title: str
    pages: tuple[str, ...]


def link_targets(text: str) -> list[str]:
    """Where the links of a Markdown text lead, code blocks aside."""
    return [match["target"] for match in _LINK.finditer(_FENCE.sub("", text))]


def _inside(page: PurePosixPath, target: str) -> PurePosixPath | None:
    """Path below the repository that a relative link of a page leads to, or None for an address elsewhere."""
    if re.match(r"[a-z]+:|#", target):
        return None
    parts: list[str] = []
    for part in (page.parent / target.partition("#")[0]).parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return PurePosixPath(*parts)


def document_of(path: PurePosixPath) -> str | None:
    """Name of the page of the site that a file of the repository becomes, or None."""
    if str(path) in REPOSITORY_PAGES:
        return REPOSITORY_PAGES[str(path)]
    if path.suffix == ".md" and path.parts[0] == "docs":
        return str(PurePosixPath(*path.parts[1:]).with_suffix(""))
    if str(path).startswith(_KERNELS):
        return f"contracts/{'.'.join(path.with_suffix('').parts)}"
    return None


def rewritten(text: str, page: PurePosixPath, exists: Callable[[str], bool]) -> str:
    """A page with the links of the site.

    Parameters
    ----------
    text : str
    page : PurePosixPath
        Relative to the repository.
    exists : callable
        Whether the site has a document of that name.
    """

    def replace(match: re.Match[str]) -> str:
        target = match["target"]
        path = _inside(page, target)
        if path is None:
            return match[0]
        document = document_of(path)
        anchor = target.partition("#")[1] + target.partition("#")[2]
        if document is not None and exists(document):
            suffix = ".rst" if document.startswith("contracts/") else ".md"
            return f"[{match['text']}](/{document}{suffix}{anchor})"
        if path.parts[0] == "docs" and (ROOT / path).is_file():
            return match[0]  # a file that Sphinx offers for download
        return match["text"]

    parts = _FENCE.split(text)
    # every second part is code
    return "".join(part if number % 2 else _LINK.sub(replace, part) for number, part in enumerate(parts))


def linked_pages(index: str) -> tuple[str, ...]:
    """Pages of ``docs`` that a text of ``docs/index.md`` links to, in order, each once."""
    found: dict[str, None] = {}
    for target in link_targets(index):
        path = _inside(PurePosixPath("docs/index.md"), target)
        if path is not None and path.suffix == ".md":
            document = document_of(path)
            if document is not None:
                found[document] = None
    return tuple(found)


def sections_of(index: str) -> list[Section]:
    """What ``docs/index.md`` links to before its first heading, and below each."""
    parts = re.split(r"^## (.+)$", index, flags=re.MULTILINE)
    titles = ["Start", *(title.strip() for title in parts[1::2])]
    return [Section(title, linked_pages(body)) for title, body in zip(titles, parts[::2], strict=True)]


def _toctree(section: Section) -> str:
    pages = "\n".join(section.pages)
    return f"```{{toctree}}\n:hidden:\n:caption: {section.title}\n:maxdepth: 1\n\n{pages}\n```\n"


def _children(folder: str, docs: Path) -> str:
    """A hidden table of contents for the ``index.md`` of a folder: all other pages of it."""
    pages = sorted(path.stem for path in (docs / folder).glob("*.md") if path.stem != "index")
    return "\n```{toctree}\n:hidden:\n:maxdepth: 1\n\n" + "\n".join(pages) + "\n```\n"


def site_pages(extra: dict[str, tuple[str, ...]], exists: Callable[[str], bool]) -> dict[str, str]:
    """All Markdown pages of the site by their paths.

    Parameters
    ----------
    extra : dict of str to tuple of str
        Generated pages that a section of this title holds too; the section is made when the index has none.
    exists : callable
        Whether there is a generated document of that name.
    """
    sources = {f"docs/{path.relative_to(DOCS).as_posix()}": path for path in sorted(DOCS.rglob("*.md"))}
    sources |= {name: ROOT / name for name in REPOSITORY_PAGES}
    documents = {document_of(PurePosixPath(name)) for name in sources}
    made: dict[str, str] = {}
    for name, path in sources.items():
        page = PurePosixPath(name)
        text = path.read_text(encoding="utf-8")
        document = document_of(page)
        content = rewritten(text, page, lambda other: other in documents or exists(other))
        if document == "index":
            sections = {section.title: section.pages for section in sections_of(text)}
            for title, pages in extra.items():
                sections[title] = (*sections.get(title, ()), *pages)
            content += "\n" + "\n".join(_toctree(Section(title, pages)) for title, pages in sections.items())
        elif page.name == "index.md":
            content += _children(str(page.parent.relative_to("docs")), DOCS)
        made[f"{document}.md"] = content
    return made
