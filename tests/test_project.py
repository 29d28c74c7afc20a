"""What holds for the project as a whole: one version, a cheap import, a complete surface, a complete wheel."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import numba_nlp

REPOSITORY = Path(__file__).resolve().parent.parent


def modules_after(statement: str) -> set[str]:
    """Names in ``sys.modules`` of a fresh interpreter that ran one statement."""
    code = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout))


def test_version_has_one_source() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", numba_nlp.__version__)
    assert numba_nlp.__version__ not in (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    changelog = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", changelog, flags=re.MULTILINE)
    assert newest is not None
    assert newest[1] == numba_nlp.__version__


def test_installed_version_is_that_of_the_source() -> None:
    try:
        installed = importlib.metadata.version("numba_nlp")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("numba_nlp is not installed, only on the path")
    assert installed == numba_nlp.__version__


@pytest.mark.parametrize("package", ["numba_nlp", "vocab_tools"])
def test_import_is_lazy(package: str) -> None:
    loaded = modules_after(f"import {package}")
    assert package in loaded
    heavy = {
        "dask",
        "google.protobuf",
        "numba",
        "numpy",
        "pandas",
        "polars",
        "pyarrow",
        "regex",
        "rich",
        "torch",
        "typer",
    }
    assert not heavy & loaded


def test_integrations_are_imported_one_by_one() -> None:
    heavy = {"dask", "datasets", "distributed", "numba", "numpy", "pandas", "pyarrow", "sklearn", "torch"}
    assert not heavy & modules_after("import numba_nlp.integrations")
    loaded = modules_after("import numba_nlp.integrations.dask, numba_nlp.integrations.datasets")
    # what a cluster's worker imports as it starts, before a task needs more
    assert "numba_nlp.integrations.shards" in loaded
    assert not (heavy - {"numba", "numpy"}) & loaded


def test_tokenizer_needs_no_optional_package() -> None:
    loaded = modules_after("import numba_nlp; numba_nlp.Tokenizer; numba_nlp.load_tokenizer")
    assert "numba_nlp.tokenizer" in loaded
    assert not {"google.protobuf", "pandas", "polars", "pyarrow", "rich", "torch", "typer"} & loaded


def test_models_are_found_without_their_packages() -> None:
    loaded = modules_after("import numba_nlp; numba_nlp.load_model; import numba_nlp.models; dir(numba_nlp.models)")
    assert "numba_nlp.models.loading" in loaded
    assert not {"huggingface_hub", "numba", "safetensors", "torch", "transformers"} & loaded


@pytest.mark.parametrize("package", ["numba_nlp", "vocab_tools"])
def test_every_public_name_is_there_and_documented(package: str) -> None:
    module = importlib.import_module(package)
    stub = Path(str(module.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    listed = re.search(r"__all__ = \[(.*?)\]", stub, flags=re.DOTALL)
    assert listed is not None
    assert sorted(re.findall(r'"(\w+)"', listed[1])) == sorted(module.__all__)
    for name in module.__all__:
        value = getattr(module, name)
        assert name.startswith("__") or value.__doc__, f"{package}.{name} has no docstring"


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        numba_nlp.no_such_name  # noqa: B018


def test_wheel_holds_both_packages_with_types_and_data(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"numba_nlp-{numba_nlp.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for package in ("numba_nlp", "vocab_tools"):
        sources = [
            path.relative_to(REPOSITORY).as_posix()
            for path in (REPOSITORY / package).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        ]
        assert f"{package}/py.typed" in sources
        assert names.issuperset(sources)
    assert {name.split("/")[0] for name in names} == {
        "numba_nlp",
        "vocab_tools",
        f"numba_nlp-{numba_nlp.__version__}.dist-info",
    }
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("licenses/NOTICE") for name in names)


def test_carried_data_are_the_files_their_notices_name() -> None:
    import hashlib

    notices = [*(REPOSITORY / "examples" / "data").rglob("*LICENSE.txt")]
    checked = 0
    for notice in notices:
        for digest, name in re.findall(r"sha256 ([0-9a-f]{64})  (\S+)", notice.read_text(encoding="utf-8")):
            assert hashlib.sha256((notice.parent / name).read_bytes()).hexdigest() == digest, name
            checked += 1
    assert checked == 5
