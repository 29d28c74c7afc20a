"""Every kernel explains each of its parameters, and its module names a plain twin."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import numba_nlp
import numba_nlp.kernels
from numba_nlp._jit import kernels

for _module in pkgutil.walk_packages(numba_nlp.kernels.__path__, "numba_nlp.kernels."):
    importlib.import_module(_module.name)


def python_function(kernel):
    return getattr(kernel, "py_func", kernel)


PUBLIC = {
    name: python_function(kernel)
    for name, kernel in kernels.items()
    if name.startswith("numba_nlp.kernels.") and not name.rpartition(".")[2].startswith("_")
}


def listed_parameters(function) -> list[str] | None:
    """Names in the section of parameters of the docstring; None when there is no such section."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", inspect.getdoc(function) or "", re.M | re.S)
    if section is None:
        return None
    groups = re.findall(r"^(\*?\w[\w, *]*?)(?: :.*)?$", section[1], re.M)
    return [name.strip("* ") for group in groups for name in group.split(",")]


def explained(function) -> set[str]:
    """Parameters that a docstring lists, names as code, or leaves to the function that it refers to."""
    text = inspect.getdoc(function) or ""
    names = set(listed_parameters(function) or ())
    names.update(word for literal in re.findall(r"``(.+?)``", text, re.S) for word in re.findall(r"\w+", literal))
    for other in re.findall(r"(?:[Aa]rguments|[Aa]s)\s+(?:for|in|of)\s+:func:`([\w.]+)`", text):
        module, _, name = other.rpartition(".")
        owner = importlib.import_module(module or function.__module__)
        names |= explained(python_function(getattr(owner, name)))
    return names


def test_docstrings_explain_every_parameter():
    unexplained = {}
    for name, function in PUBLIC.items():
        missing = set(inspect.signature(function).parameters) - explained(function)
        if missing:
            unexplained[name] = missing
    assert not unexplained


def test_docstrings_list_the_parameters_in_their_order():
    wrong = {}
    for name, function in PUBLIC.items():
        listed = listed_parameters(function)
        if listed is not None and listed != list(inspect.signature(function).parameters):
            wrong[name] = listed
    assert not wrong


def test_kernels_compile_with_debug_information():
    """Numba takes the line of the second statement where the first is a docstring, and fails when there is none."""
    empty = []
    for path in Path(numba_nlp.__path__[0]).glob("kernels/**/*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef) and len(function.body) == 1:
                (only,) = function.body
                decorators = {node.id for node in function.decorator_list if isinstance(node, ast.Name)}
                if isinstance(only, ast.Expr) and decorators & {"kernel", "inlined"}:
                    empty.append(f"{path.name}:{function.lineno}")
    assert empty == []


def test_modules_name_their_twins():
    """All but ``lanes``, whose plain forms stand in the same file and serve the kernels of merging only."""
    modules = {name.rpartition(".")[0] for name in PUBLIC} - {"numba_nlp.kernels.lanes"}
    assert len(modules) > 15
    for module in modules:
        twin = re.search(r"^Twin: ``(numba_nlp\.reference\.[\w.]+)``", importlib.import_module(module).__doc__, re.M)
        assert twin is not None, f"{module} names no twin"
        name = twin[1]
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            owner, _, function = name.rpartition(".")
            assert callable(getattr(importlib.import_module(owner), function))


def test_many_kernels_are_there():
    assert len(PUBLIC) > 60
