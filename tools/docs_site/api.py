"""Pages of the public names: one a module, whose names autosummary lists, and one a name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType

__all__ = ["MODULES", "api_pages", "module_page", "public_modules"]

#: Modules whose names are public, with what they are; those of the pipelines' tasks come to them.
MODULES = {
    "numba_nlp": "Tokenizers, rows and vocabularies",
    "numba_nlp.errors": "Errors",
    "numba_nlp.packing": "Files of training blocks",
    "numba_nlp.unigram_sampling": "Cuts of Unigram models on arrays",
    "numba_nlp.character_text": "Segmented text of subword-nmt",
    "numba_nlp.models": "Models",
    "numba_nlp.generation": "Generation",
    "numba_nlp.pipelines": "Pipelines",
    "numba_nlp.integrations.shards": "Corpora of files",
    "numba_nlp.integrations.dask": "dask",
    "numba_nlp.integrations.sklearn": "scikit-learn",
    "numba_nlp.integrations.datasets": "Hugging Face datasets",
    "numba_nlp.integrations.torch_data": "torch's DataLoader",
    "vocab_tools": "Vocabularies: compile, convert, compare, change",
    "vocab_tools.training": "Training",
    "vocab_tools.articles": "The articles' algorithms",
    "vocab_tools.plotting.plots": "Figures on axes",
    "vocab_tools.plotting.figures": "Figures as files",
    "vocab_tools.plotting.histograms": "What figures count",
    "vocab_tools.plotting.trees": "Trees of tries and merges",
    "vocab_tools.plotting.merge_steps": "Tables of merges",
    "vocab_tools.plotting.lattices": "Lattices",
    "vocab_tools.plotting.beams": "Trees of beams",
}


def public_modules() -> dict[str, str]:
    """Names of the public modules, with titles."""
    from numba_nlp.pipelines.task_names import TASKS

    return MODULES | {f"numba_nlp.pipelines.{task.module}": f"``pipelines.{task.module}``" for task in TASKS.values()}


def _own_names(module: ModuleType) -> list[str]:
    """What a module offers, its version and its modules aside."""
    names = getattr(module, "__all__", None)
    assert names is not None, f"{module.__name__} does not say what is public"
    listed = (name for name in names if not name.startswith("__") and not inspect.ismodule(getattr(module, name)))
    return [name for name in listed if callable(getattr(module, name))]


def module_page(name: str, title: str) -> str:
    """The page of a module, in reStructuredText."""
    module = importlib.import_module(name)
    heading = f"{title}: ``{name}``" if not title.startswith("``") else title
    listed = "\n".join(f"   {own}" for own in _own_names(module))
    document = inspect.cleandoc(module.__doc__ or "")
    return (
        f"{heading}\n{'=' * len(heading)}\n\n{document}\n\n.. currentmodule:: {name}\n\n"
        f".. autosummary::\n   :toctree: names\n   :nosignatures:\n\n{listed}\n"
    )


def _name_page(module: str, name: str) -> str:
    value = getattr(importlib.import_module(module), name)
    lines = [f".. autofunction:: {name}"]
    if inspect.isclass(value):
        lines = [f".. autoclass:: {name}", "   :members:"]
        if not module.startswith("numba_nlp.integrations."):  # whose bases belong to other libraries
            lines.append("   :inherited-members: Exception, Module, dict, tuple")
    return "\n".join((name, "=" * len(name), "", f".. currentmodule:: {module}", "", *lines, ""))


def api_pages() -> Iterator[tuple[str, str]]:
    """All pages with their paths."""
    modules = public_modules()
    for name, title in modules.items():
        yield f"api/{name}.rst", module_page(name, title)
        for own in _own_names(importlib.import_module(name)):
            yield f"api/names/{name}.{own}.rst", _name_page(name, own)
    listed = "\n".join(f"   {name}" for name in modules)
    yield "api/index.rst", f"Public names\n============\n\n.. toctree::\n   :maxdepth: 1\n\n{listed}\n"
