"""What a newcomer gets wrong is answered with what to do instead."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import numba_nlp as nlp
import vocab_tools
from tests.made_tokenizers import END, GPT2_FILES, REPOSITORY, gpt2, roberta_like


def test_several_paths_go_into_a_list() -> None:
    with pytest.raises(TypeError, match=r"several paths go into a list: load_tokenizer\(\['a', 'b'\]\)"):
        nlp.load_tokenizer("a", "b")  # type: ignore[arg-type]
    assert nlp.load_tokenizer(GPT2_FILES) == gpt2().ours


@pytest.mark.parametrize("source", [b"x", bytearray(b"x"), 5, None], ids=repr)
def test_what_is_no_path(source: Any) -> None:
    with pytest.raises(TypeError, match=rf"must be a path .*, got {type(source).__name__}"):
        nlp.load_tokenizer(source)
    with pytest.raises(TypeError, match=r"path or paths \(str or os.PathLike\), got|not iterable"):
        vocab_tools.compile(source)
    with pytest.raises(TypeError, match=rf"path or paths .*, got {type(source).__name__}"):
        nlp.load_tokenizer(["vocab.json", source])


def test_a_misspelt_option_is_one_of_the_call_that_was_made() -> None:
    ours = gpt2().ours
    with pytest.raises(TypeError, match=r"^Tokenizer\.__call__\(\) got an unexpected keyword argument 'paddings'"):
        ours("a", paddings=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^Tokenizer\.encode_padded\(\) got an unexpected keyword argument 'paddings'"):
        ours.encode_padded(["a"], 3, paddings=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^encode_padded\(\) got an unexpected keyword argument 'paddings'"):
        nlp.encode_padded(ours, ["a"], 3, paddings=True)  # type: ignore[call-arg]
    assert ours.__call__.__doc__ == nlp.inputs.model_inputs.__doc__
    assert ours("a", padding=True, pad_token=END) == nlp.inputs.model_inputs(ours, "a", padding=True, pad_token=END)


@pytest.mark.parametrize("value", ["<s>", ["<s>"], 1, None], ids=repr)
def test_special_tokens_are_added_or_not(value: Any) -> None:
    ours = roberta_like().ours
    calls = [
        lambda: ours(["a"], add_special_tokens=value),
        lambda: ours.encode("a", spans=True, add_special_tokens=value),
        lambda: ours.encode_batch(["a"], add_special_tokens=value),
        lambda: ours.count_batch(["a"], add_special_tokens=value),
        lambda: ours.encode_padded(["a"], 4, pad_id=0, add_special_tokens=value),
    ]
    for call in calls if value is None else [*calls, lambda: ours.encode("a", add_special_tokens=value)]:
        with pytest.raises(TypeError, match=r"`add_special_tokens` must be True \(.*\) or False, got "):
            call()


@pytest.mark.parametrize(
    ("name", "what", "code"),
    [
        ("pyarrow", "'numba_nlp[arrow]'", "nlp.TextRows.from_any(['a']).to_arrow()"),
        ("pyarrow", "'numba_nlp[arrow]'", "ragged.to_arrow()"),
        ("pyarrow", "'numba_nlp[arrow]'", "nlp.TextRows.from_any(pl.Series(['a']))"),
        ("torch", "'numba_nlp[models]'", "ragged.to_torch_nested()"),
        ("torch", "'numba_nlp[models]'", "nlp.inputs.model_inputs(None, 'a', return_tensors='pt')"),
        ("awkward", "awkward", "ragged.to_awkward()"),
    ],
)
def test_a_missing_library_is_named_with_what_installs_it(name: str, what: str, code: str) -> None:
    """In a process of its own, where the import of one library fails as if it were not installed."""
    program = f"""
import sys, polars as pl
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
sys.modules.pop({name!r}, None)
import numpy as np, numba_nlp as nlp, numba_nlp.inputs
ragged = nlp.Ragged(np.array([1], np.int32), np.array([0, 1]))
try:
    {code}
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout == f"this needs {name}, which is not installed: pip install {what}\n"
