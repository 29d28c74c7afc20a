"""The examples with other libraries do what they say; without a library its example is skipped."""

from __future__ import annotations

import importlib
import inspect

import pytest


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("with_command_line", "typer"),
        ("with_dask", "distributed"),
        ("with_datasets", "datasets"),
        ("with_numba", "numba"),
        ("with_sklearn", "sklearn"),
        ("with_tables", "awkward"),
        ("with_torch_loader", "torch"),
        ("with_xarray", "xarray"),
    ],
)
def test_the_example_checks_itself(name, needs, tmp_path, capsys):
    pytest.importorskip(needs)
    arguments = {"folder": tmp_path, "num_workers": 0}
    example = importlib.import_module(f"examples.{name}")
    example.main(**{key: arguments[key] for key in inspect.signature(example.main).parameters})
    assert " right" in capsys.readouterr().out
