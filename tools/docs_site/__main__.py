"""Write the sources of the site, and let Sphinx build it, with warnings as errors."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

# Before anything imports kernels: documented are Python functions.
os.environ["NUMBA_DISABLE_JIT"] = "1"

from tools.docs_site.api import api_pages
from tools.docs_site.contracts import contract_pages
from tools.docs_site.pages import DOCS, site_pages
from tools.files import ROOT

SOURCE, SITE = ROOT / "build" / "site-source", ROOT / "build" / "site"
#: Folders of docs whose files pages show or offer.
FILES = ("pictures", "results")


def write_sources(folder: Path) -> None:
    """Write all pages; files that stay the same keep their time, so that Sphinx reads what changed only."""
    pages = dict([*api_pages(), *contract_pages()])
    documents = {name.removesuffix(".rst") for name in pages}
    added = {"Reference": ("api/index", "contracts/index"), "Project": ("contributing", "changelog")}
    pages |= site_pages(added, documents.__contains__)
    for name, content in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            path.write_text(content, encoding="utf-8")
    for path in [*folder.rglob("*.md"), *folder.rglob("*.rst")]:
        if path.relative_to(folder).as_posix() not in pages:
            path.unlink()
    for name in FILES:
        shutil.copytree(DOCS / name, folder / name, dirs_exist_ok=True)


def main() -> int:
    """Command line; arguments go to Sphinx."""
    from sphinx.cmd.build import build_main

    write_sources(SOURCE)
    return build_main(
        [
            *("-b", "html", "-W", "--keep-going", "-j", "auto", "-q", "-c", str(DOCS)),
            *("-d", str(ROOT / "build" / "site-doctrees")),
            *sys.argv[1:],
            str(SOURCE),
            str(SITE),
        ]
    )


if __name__ == "__main__":
    status = main()
    if status == 0:
        print(f"{SITE / 'index.html'}")
    sys.exit(status)
