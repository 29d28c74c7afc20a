"""A page for each kernel: what it takes, what it gives, and its twin in plain Python.

All of it comes from the registry of :mod:`numba_nlp._jit`, the docstrings and the code: nothing is written by hand. Run
with ``NUMBA_DISABLE_JIT=1``, so that kernels are plain functions.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from types import FunctionType, ModuleType
from typing import Any

import numba_nlp.errors
import numba_nlp.kernels
from numba_nlp._jit import kernels

__all__ = ["contract_page", "contract_pages", "public_kernels", "status_codes", "twin_of"]

_PREFIX = "numba_nlp.kernels."
_TWIN = re.compile(r"^Twin: ``([\w.]+)``", flags=re.MULTILINE)
_STATUS = re.compile(r"^#: (.*?)\n(?:#: (.*?)\n)*(STATUS_\w+) = (-?\d+)$", flags=re.MULTILINE)


def python_function(made: Any) -> FunctionType:
    """The Python function behind what a decorator made."""
    function: FunctionType = getattr(made, "py_func", made)
    return function


@lru_cache(1)
def public_kernels() -> dict[str, FunctionType]:
    """All kernels that users may call, by their dotted names, module by module."""
    for module in pkgutil.walk_packages(numba_nlp.kernels.__path__, _PREFIX):
        importlib.import_module(module.name)
    names = (name for name in kernels if name.startswith(_PREFIX) and not name.rpartition(".")[2].startswith("_"))
    return {name: python_function(kernels[name]) for name in sorted(names)}


@lru_cache(1)
def _homes() -> dict[int, str]:
    """Where functions can be imported from, by identity: some are made by others, and stand in another module."""
    found: dict[int, str] = {}
    for module in pkgutil.walk_packages(numba_nlp.kernels.__path__, _PREFIX):
        for attribute, value in vars(importlib.import_module(module.name)).items():
            if callable(value):
                found.setdefault(id(python_function(value)), f"{module.name}.{attribute}")
    return found


def _described(name: str) -> str:
    """The directive that shows signature and docstring."""
    function = public_kernels()[name]
    module, _, short = name.rpartition(".")
    if getattr(importlib.import_module(module), short, None) is function:
        return f".. autofunction:: {name}\n"
    home = _homes().get(id(function))
    if home is not None:
        return f".. autofunction:: {home}\n"
    # in a table that is looked up by name
    from numpydoc.docscrape_sphinx import SphinxDocString

    text = str(SphinxDocString(inspect.getdoc(function) or "")).strip()
    return f".. py:function:: {name}{inspect.signature(function)}\n\n{textwrap.indent(text, '   ')}\n"


def _named_twin(module: str) -> tuple[str, str]:
    """What a module of kernels names as its twin, and the module in which that stands; empty without one."""
    said = _TWIN.search(importlib.import_module(module).__doc__ or "")
    if said is None:
        return "", ""
    try:
        importlib.import_module(said[1])
    except ModuleNotFoundError:  # it names a function
        return said[1], said[1].rpartition(".")[0]
    return said[1], said[1]


def twin_of(name: str) -> FunctionType | None:
    """The plain-Python twin of a kernel: the function of its name in the module that the kernel's module names.

    None where the twin is another function, which the page of the module names.
    """
    module, _, function = name.rpartition(".")
    said, owner = _named_twin(module)
    if not said or (said != owner and said.rpartition(".")[2] != function):
        return None
    found = getattr(importlib.import_module(owner), function, None)
    return found if isinstance(found, FunctionType) else None


@lru_cache(1)
def _meanings() -> dict[str, tuple[int, str]]:
    """Status codes of :mod:`numba_nlp.errors`: their numbers, and the comments before them."""
    source = inspect.getsource(numba_nlp.errors)
    found = {}
    for match in re.finditer(r"((?:^#: .*\n)*)^(STATUS_\w+) = (-?\d+)$", source, flags=re.MULTILINE):
        comment = " ".join(line.removeprefix("#: ") for line in match[1].splitlines())
        found[match[2]] = (int(match[3]), comment)
    return found


def status_codes(name: str) -> tuple[set[str], set[str]]:
    """Status codes that a kernel names, and those that only kernels name which it calls."""
    own: set[str] = set()
    below: set[str] = set()
    seen: set[FunctionType] = set()
    pending = [public_kernels()[name]]
    while pending:
        function = pending.pop()
        if function in seen:
            continue
        seen.add(function)
        (own if len(seen) == 1 else below).update(set(function.__code__.co_names) & set(_meanings()))
        for called in function.__code__.co_names:
            other = function.__globals__.get(called)
            target = python_function(other) if callable(other) else None
            if isinstance(target, FunctionType) and target.__module__.startswith(_PREFIX):
                pending.append(target)
    return own, below - own


def _decorator(function: FunctionType) -> str:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    return ", ".join(ast.unparse(decorator) for decorator in definition.decorator_list)


def _codes(names: set[str]) -> str:
    parts = []
    for name in sorted(names):
        number, meaning = _meanings()[name]
        parts.append(f"``{name}`` ({number}): {meaning}" if meaning else f"``{name}`` ({number})")
    return " ".join(parts)


def _title(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n"


def _code(shown: FunctionType | ModuleType) -> str:
    source = textwrap.dedent(inspect.getsource(shown))
    return ".. code-block:: python\n\n" + textwrap.indent(source, "   ")


def contract_page(name: str) -> str:
    """The page of a kernel, in reStructuredText."""
    function = public_kernels()[name]
    module, _, short = name.rpartition(".")
    own, below = status_codes(name)
    decorator = _decorator(function)
    facts = [f":Decorated: ``{decorator}``" if decorator else f":Made by: a function of :doc:`{module}`"]
    facts.append(f":Algorithm and source: :doc:`{module}`")
    if own:
        facts.append(f":Status codes: {_codes(own)}")
    if below:
        facts.append(f":Of kernels that it calls: {_codes(below)}")
    parts = [_title(short), _described(name), "\n".join(facts) + "\n"]
    twin = twin_of(name)
    said, owner = _named_twin(module)
    if twin is not None:
        place = f"``{twin.__module__}.{twin.__name__}``, of :doc:`{owner}`:\n"
        parts += [_title("In plain Python", "-"), place, _code(twin)]
    elif said:
        parts.append(f"In plain Python: ``{said}`` does what its module does, see :doc:`{owner}`.\n")
    return "\n".join(parts)


def _module_page(name: str, module: ModuleType, own: list[str]) -> str:
    lines = "\n".join(f"   {kernel}" for kernel in own)
    listed = "\n".join(f"- :doc:`{kernel}`: {_summary(kernel)}" for kernel in own)
    document = inspect.cleandoc(module.__doc__ or "")
    return "\n".join(
        (_title(name.removeprefix("numba_nlp.")), f".. module:: {name}\n", document + "\n", _title("Kernels", "-"),
         listed + "\n", f".. toctree::\n   :hidden:\n\n{lines}\n")
    )  # fmt: skip


def _summary(name: str) -> str:
    text = inspect.getdoc(public_kernels()[name]) or ""
    return " ".join(text.partition("\n\n")[0].split())


def contract_pages() -> Iterator[tuple[str, str]]:
    """All pages with their paths: kernels, modules, rooms, and the list of rooms."""
    by_module: dict[str, list[str]] = defaultdict(list)
    by_room: dict[str, list[str]] = defaultdict(list)
    for name in public_kernels():
        by_module[name.rpartition(".")[0]].append(name)
        yield f"contracts/{name}.rst", contract_page(name)
    for name, own in by_module.items():
        yield f"contracts/{name}.rst", _module_page(name, importlib.import_module(name), own)
        rest = name.removeprefix(_PREFIX)
        by_room[rest.partition(".")[0] if "." in rest else ""].append(name)
    twins = sorted({owner for owner in (_named_twin(module)[1] for module in by_module) if owner})
    for twin in twins:
        document = _code(importlib.import_module(twin))
        yield f"contracts/{twin}.rst", f"{_title(twin.removeprefix('numba_nlp.'))}\n{document}"
    yield (
        "contracts/twins.rst",
        _list_page("In plain Python", twins, "The twins of the kernels, written to be obvious."),
    )
    rooms = sorted(room for room in by_room if room)
    for room in rooms:
        modules = by_room[room]
        yield f"contracts/{_PREFIX}{room}.rst", _list_page(f"kernels.{room}", modules, f"Kernels of ``{room}``.")
    top = [*(f"{_PREFIX}{room}" for room in rooms), *by_room[""], "twins"]
    yield "contracts/index.rst", _list_page("Contracts of the kernels", top, _INTRODUCTION)


_INTRODUCTION = """\
Every kernel that compiled code of yours may call: signature, arrays with their dtypes, what comes back, the status
codes that it names, and the same in plain Python, which the tests compare it with. How to call them: :doc:`/kernels`;
what the arrays of a vocabulary hold: :doc:`/data_contracts`."""


def _list_page(title: str, documents: list[str], introduction: str) -> str:
    lines = "\n".join(f"   {document}" for document in documents)
    return f"{_title(title)}\n{introduction}\n\n.. toctree::\n   :maxdepth: 1\n\n{lines}\n"
