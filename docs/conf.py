"""Sphinx's configuration; the pages are written by ``tools/docs_site``, see there, and built by ``make docs``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# kernels are documented as the Python functions that they are compiled from
os.environ["NUMBA_DISABLE_JIT"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from numba_nlp._version import __version__

project = "numba_nlp"
author = "the numba_nlp contributors"
project_copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
default_role = "code"

myst_heading_anchors = 4
autosummary_generate = False  # the pages of names are among the sources
autodoc_typehints = "none"  # docstrings say more: dtypes and shapes
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = f"numba_nlp {version}"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "navigation_depth": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# the tree of 600 kernels beside each of their pages would be most of the site
html_sidebars = {"contracts/*": [], "api/names/*": []}
