"""What a newcomer gets wrong is answered with what to do instead."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numba_nlp as nlp
import vocab_tools
from numba_nlp.character_text import segment_text
from numba_nlp.errors import SourceFormatError, UnknownTokenError, UnsupportedFeatureError
from numba_nlp.unigram_sampling import common_prefix_search
from tests.made_tokenizers import BERT_FILE, END, GPT2_FILES, REPOSITORY, gpt2, roberta_like
from tests.random_sentencepiece import model_content, random_model
from vocab_tools.formats.sentencepiece_pb2 import ModelProto


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


class _Nothing:
    def __repr__(self) -> str:
        return "nothing\nsensible " * 20


#: Values of types that no option has.
ODD = [
    None, -1, 2**70, 1.5, float("nan"), "", "\ud800", b"a", [], [["a"]], {"a": 1}, np.zeros(3), np.array(5),
    np.zeros(2, bool), _Nothing(), range(3), object,
]  # fmt: skip
#: Values that some options do take, so that they are no errors there.
TAKEN = {
    "encode.special": [None, [], np.zeros(0)],
    "encode.seed": [],
    "call.special": [None, []],
    "call.padding_side": [None],
    "call.return_attention_mask": [None],
    "call.return_tensors": [None],
    "call.truncation": [None],
    "call.max_length": [None],
    "call.pad_to_multiple_of": [None],
    "sample.seed": [-1, 2**70],
    "sample.nbest_size": [-1],
    "sample.alpha": [1.5, 2**70],
    ".sep_token": [None],
    ".do_lower_case": [None],
    ".end_of_word": [""],
}


def _calls() -> dict[str, Any]:
    ours, unigram = gpt2().ours, random_model(3, usual=True).ours
    texts, pad = ["a", "b c"], {"pad_id": 0}
    encode = {name: partial(_call, ours.encode, "a", name) for name in ("spans", "unit", "errors", "dropout", "seed")}
    encode["special"] = partial(_call, ours.encode, "a", "special")
    call = {
        name: partial(_call, ours, texts, name, **pad)
        for name in (
            "padding", "truncation", "stride", "padding_side", "return_tensors", "return_attention_mask",
            "return_overflowing_tokens", "return_offsets_mapping", "return_length", "return_word_ids", "nulls",
            "errors", "max_length", "pad_to_multiple_of", "add_special_tokens", "special",
        )
    }  # fmt: skip
    names = ("alpha", "nbest_size", "n_samples", "seed", "errors")
    sample = {name: partial(_call, unigram.sample, "a", name) for name in names}
    decode = {name: partial(_call, ours.decode, [1], name) for name in ("skip_special_tokens", "errors")}
    padded = {
        "length": lambda value: ours.encode_padded(texts, value, pad_id=0),
        "dtype": lambda value: ours.encode_padded(texts, 4, pad_id=0, dtype=value),
        "pad_token": lambda value: ours.encode_padded(texts, 4, pad_token=value),
        "tokenizer": lambda value: nlp.encode_padded(value, texts, 4),
    }
    other = {
        "n": lambda value: unigram.nbest("a", value),
        "capacity": ours.kernel_memory,
        "pairs": vocab_tools.from_pairs,
        "end_of_word": lambda value: vocab_tools.from_pairs({"a b": 1}, end_of_word=value),
        "unknown": lambda value: vocab_tools.from_pairs({"a b": 1}, unknown=value),
        "sep_token": lambda value: vocab_tools.compile(BERT_FILE, sep_token=value),
        "do_lower_case": lambda value: vocab_tools.compile(BERT_FILE, do_lower_case=value),
        "units": lambda value: common_prefix_search(value, b"a"),
        "path": nlp.TextRows.from_file,
    }
    groups = {"encode": encode, "call": call, "sample": sample, "decode": decode, "encode_padded": padded, "": other}
    return {f"{group}.{name}": call for group, calls in groups.items() for name, call in calls.items()}


def _call(function: Any, first: Any, name: str, value: Any, **options: Any) -> Any:
    return function(first, **options, **{name: value})


@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:20])
def test_odd_values_are_answered_with_the_argument_they_were_given_for(value: Any) -> None:
    """TypeError or ValueError with the name of the argument on one line; nothing of Numba's or NumPy's own."""
    for name, call in _calls().items():
        argument = name.partition(".")[2]
        if any(value is one or repr(value) == repr(one) for one in TAKEN.get(name, [])):
            call(value)
            continue
        with pytest.raises((TypeError, ValueError, UnknownTokenError)) as caught:
            call(value)
        message = str(caught.value)
        assert argument in message or caught.type is UnknownTokenError, f"{name}={value!r}: {message}"
        assert "truth value" not in message
        assert "\n" not in message


def test_paths_that_are_none(tmp_path: Path) -> None:
    for source in ("", [""]):
        with pytest.raises(SourceFormatError, match="empty path"):
            nlp.load_tokenizer(source)
    with pytest.raises(SourceFormatError, match="/dev/null: is no regular file"):
        nlp.load_tokenizer("/dev/null")
    with pytest.raises(SourceFormatError, match="is a folder"):
        nlp.load_tokenizer([tmp_path])


def test_glossaries_are_regular_expressions() -> None:
    tok = nlp.Tokenizer(vocab_tools.from_pairs({"a b": 1}))
    with pytest.raises(TypeError, match="is not of codes of subword-nmt"):
        segment_text(tok, "a")


def test_merges_name_file_and_line(tmp_path: Path) -> None:
    vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    vocab.write_text(json.dumps({"<unk>": 0, "a": 1, "b": 2, "a</w>": 3, "b</w>": 4, "ab</w>": 5}))
    merges.write_text("#version: 0.2\na b</w>\nb a</w>\n")
    with pytest.raises(SourceFormatError, match=r"merges\.txt:3: the merge 'b a</w>' needs 'ba</w>', its product"):
        nlp.load_tokenizer([vocab, merges], family="openai-gpt")


def test_scores_beyond_all_measure_name_the_file_and_the_piece(tmp_path: Path) -> None:
    model = ModelProto.FromString(model_content(3, usual=True))
    model.pieces[5].score = -1.34e38
    path = tmp_path / "spiece.model"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(SourceFormatError, match=r"spiece\.model: pieces\[5\] .*the score is -1\.34e\+38, expected"):
        nlp.load_tokenizer(path)


def test_what_is_refused_when_compiling_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "codes"
    path.write_text("#version: 0.1\na </w>\nb <\nb< /w>\n")
    with pytest.raises(UnsupportedFeatureError, match=r"codes: the merge of .* makes the mark of the end of a word"):
        nlp.load_tokenizer(path)


def test_the_command_is_a_module_too() -> None:
    command = [sys.executable, "-m", "vocab_tools", "--help"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert "compile" in done.stdout
