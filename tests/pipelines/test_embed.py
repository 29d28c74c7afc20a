"""Vectors of texts and tokens: those of transformers, for each kind of family; folders of sentence-transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numba_nlp.errors import RowError, SourceFormatError, UnsupportedFeatureError
from numba_nlp.pipelines import pipeline
from tests.models.tiny import torch, transformers
from tests.pipelines.label_folders import CLASSIFIERS, ENCODERS, our_pipeline, their_pipeline, write_folder

TEXTS = ["the quick brown fox", "b", "don't read! Read a \u00fc thing?"]
CLOSE = {"rtol": 1e-5, "atol": 2e-5}


def assert_close(got: Any, expected: Any) -> None:
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, np.asarray(other), **CLOSE)


def hidden_states(model: Any, folder: Path) -> list[Any]:
    """Vectors of the tokens of each text by transformers, of an encoder-decoder from its encoder."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    with torch.no_grad():
        return [model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].numpy() for text in TEXTS]


@pytest.mark.parametrize("family", [*ENCODERS, "bart", "t5"])
def test_vectors_are_those_of_transformers(family: str, tmp_path: Path) -> None:
    architecture = ENCODERS.get(family, {"bart": "BartModel", "t5": "T5Model"}.get(family, ""))
    model = write_folder(tmp_path, family, architecture)
    tokens = hidden_states(model, tmp_path)
    ours = our_pipeline("feature-extraction", tmp_path, family)
    if family in ENCODERS:
        # transformers takes the decoder of an encoder-decoder, or cannot
        theirs = their_pipeline("feature-extraction", tmp_path, model)
        assert_close(ours(TEXTS, pooling="none"), [row[0] for row in theirs(TEXTS)])
    assert_close(ours(TEXTS, pooling="none"), tokens)
    for pooling, expected in (
        ("mean", [row.mean(0) for row in tokens]),
        ("cls", [row[0] for row in tokens]),
        ("last", [row[-1] for row in tokens]),
        ("max", [row.max(0) for row in tokens]),
        ("mean_sqrt", [row.sum(0) / len(row) ** 0.5 for row in tokens]),
    ):
        assert_close(ours(TEXTS, pooling=pooling), expected)
        assert_close(ours(TEXTS, pooling=pooling, normalize=True), [row / np.linalg.norm(row) for row in expected])
    assert_close(ours(TEXTS), ours(TEXTS, pooling="mean"))


@pytest.mark.parametrize("family", ["bert", "xlnet", "gpt2", "t5"])
def test_the_head_does_not_matter(family: str, tmp_path: Path) -> None:
    model = write_folder(tmp_path, family, CLASSIFIERS[family])
    tokens = hidden_states(getattr(model, "transformer" if family == "t5" else model.base_model_prefix), tmp_path)
    ours = our_pipeline("embed", tmp_path, family)
    assert ours.model.head == "sequence_classification"
    assert_close(ours(TEXTS, pooling="none"), tokens)
    assert_close(ours(TEXTS), [row.mean(0) for row in tokens])
    with pytest.raises(ValueError, match=r"with the head 'sequence_classification' has no pooler; .*pooling='cls'"):
        ours(TEXTS, pooling="pooler")


def test_pooler(tmp_path: Path) -> None:
    model = write_folder(tmp_path, "bert", "BertModel")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    with torch.no_grad():
        expected = [model(**tokenizer(text, return_tensors="pt")).pooler_output[0].numpy() for text in TEXTS]
    assert_close(pipeline("embed", model=tmp_path, pooling="pooler")(TEXTS), expected)


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bert")
    write_folder(folder, "bert", "BertModel")
    return folder


@pytest.fixture(scope="module")
def bert(bert_folder: Path) -> Any:
    """Of 60 positions."""
    return pipeline("embed", model=bert_folder)


def test_arrays(bert: Any) -> None:
    results = bert.arrays(TEXTS)
    assert results.vectors.shape == (3, 16)
    assert results.vectors.dtype == np.float32
    assert bert.arrays([]).vectors.shape == (0, 16)
    results = bert.arrays(TEXTS, pooling="none", batch_size=2)
    ids = bert.tokenizer(TEXTS).input_ids
    assert results.offsets.tolist() == ids.offsets.tolist()
    assert results.ids.tolist() == ids.values.tolist()
    assert results.vectors.shape == (ids.values.size, 16)
    nothing = bert.arrays([], pooling="none")
    assert (nothing.vectors.shape, nothing.offsets.tolist(), nothing.to_list()) == ((0, 16), [0], [])


def test_token_vectors_in_chunks(bert: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = bert.arrays(TEXTS, pooling="none")
    monkeypatch.setattr("numba_nlp.pipelines.base.ROWS_OF_LISTS", 2)
    got = bert.arrays(TEXTS, pooling="none")
    assert got.offsets.tolist() == expected.offsets.tolist()
    assert got.ids.tolist() == expected.ids.tolist()
    assert_close(got.to_list(), expected.to_list())


def test_what_is_too_long(bert: Any) -> None:
    long = "the quick brown fox " * 40
    with pytest.raises(
        RowError, match=r"^row 1: 162 tokens, and the most are 60; .*truncation=True, or .*windows=True"
    ):
        bert(["a", long])
    assert_close([bert(long, truncation=True)], [bert("the quick brown fox " * 14 + "the quick")])
    assert_close([bert(long, truncation=True, max_length=6)], [bert("the quick brown fox")])

    # 160 tokens in windows of 58, 58 and 44; of which no token is left out
    words = long.split()
    parts = [" ".join(words[:58]), " ".join(words[58:116]), " ".join(words[116:])]
    weights = np.array([58, 58, 44])[:, None]
    alone = bert.arrays(parts).vectors
    expected = (alone * weights).sum(0) / 160
    rows = ["b", long, "the fox", ""]
    assert_close(bert(rows, windows=True), [bert("b"), expected, bert("the fox"), bert("")])
    assert_close(bert(rows[::-1], windows=True, batch_size=2)[::-1], bert(rows, windows=True))
    assert_close([bert(long, windows=True, normalize=True)], [expected / np.linalg.norm(expected)])

    # windows that share tokens
    parts = [" ".join(words[first : first + 58]) for first in (0, 48, 96, 144)]
    counts = np.array([len(part.split()) for part in parts])[:, None]
    expected = (bert.arrays(parts).vectors * counts).sum(0) / counts.sum()
    last = counts.ravel().tolist()
    assert last[:3] == [58, 58, 58]
    assert_close([bert(long, windows=True, stride=10)], [expected])


def test_texts_without_an_end(tmp_path: Path) -> None:
    """T5 has no limit, unless its tokenizer is asked to cut."""
    write_folder(tmp_path, "t5", "T5Model")
    ours = our_pipeline("embed", tmp_path, "t5")
    long = "the quick brown fox " * 200
    whole = ours(long)
    assert np.isfinite(whole).all()
    assert np.abs(ours(long, max_length=50, truncation=True) - whole).max() > 1e-4
    with pytest.raises(RowError, match="and the most are 50"):
        ours(long, max_length=50)


def test_a_row_without_tokens(tmp_path: Path) -> None:
    write_folder(tmp_path, "gpt2", "GPT2Model")
    ours = pipeline("embed", model=tmp_path)
    for options in ({}, {"windows": True}, {"pooling": "none"}):
        with pytest.raises(RowError, match=r"^row 1: the text gives no token"):
            ours(["a", "", "b"], **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"pooling": "first"}, ValueError, "`pooling` must be 'mean', 'cls', .* or 'none', got 'first'"),
        ({"normalize": 1}, TypeError, "`normalize` must be True or False"),
        ({"truncation": "only_first"}, ValueError, "`truncation` must be False or True"),
        ({"truncation": True, "windows": True}, ValueError, "give `truncation` or `windows`, not both"),
        ({"stride": 3}, ValueError, "`stride` 3 is of windows=True"),
        ({"windows": True, "pooling": "none"}, ValueError, "`windows` are averaged"),
        ({"windows": True, "stride": 58}, ValueError, "`stride` must be less than"),
        ({"max_length": 61}, ValueError, "`max_length` is 61, but the model has 60 positions"),
        ({"max_length": 2}, ValueError, "`max_length` is 2, which leaves no room for text beside 2 special tokens"),
    ],
)
def test_options(bert: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        bert(TEXTS, **options)


# --- folders of sentence-transformers ----------------------------------------------------------------------------


def sentence_folder(folder: Path, *kinds: str, pooling: Any = None, reading: Any = None, library: Any = None) -> Path:
    """The files of that library, beside a model."""
    write_folder(folder, "bert", "BertModel")
    modules = []
    for number, kind in enumerate(kinds):
        path = "" if kind == "Transformer" else f"{number}_{kind}"
        modules.append(
            {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        )
        (folder / path).mkdir(exist_ok=True)
    files = {
        "modules.json": modules,
        "sentence_bert_config.json": reading,
        "config_sentence_transformers.json": library,
    }
    if "Pooling" in kinds:
        files[f"{kinds.index('Pooling')}_Pooling/config.json"] = pooling
    for name, value in files.items():
        if value is not None:
            (folder / name).write_text(json.dumps(value), encoding="utf-8")
    return folder


ALL = ("Transformer", "Pooling", "Normalize")


@pytest.mark.parametrize(
    ("kinds", "pooling", "expected"),
    [
        (ALL, {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, ("mean", True)),
        (ALL[:2], {"pooling_mode_cls_token": True, "word_embedding_dimension": 16}, ("cls", False)),
        (ALL, {"pooling_mode": "max", "embedding_dimension": 16}, ("max", True)),
        (ALL, {"pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False}, ("last", True)),
        (ALL, {"pooling_mode_mean_sqrt_len_tokens": True}, ("mean_sqrt", True)),
    ],
)
def test_what_a_folder_says(kinds: tuple[str, ...], pooling: Any, expected: tuple[str, bool], tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path, *kinds, pooling=pooling)
    ours = pipeline("embed", model=folder)
    assert (ours.options.pooling, ours.options.normalize) == expected
    plain = pipeline("embed", model=ours.model, tokenizer=ours.tokenizer)
    assert (plain.options.pooling, plain.options.normalize) == ("mean", False)
    assert_close(ours(TEXTS), plain(TEXTS, pooling=expected[0], normalize=expected[1]))
    # what the caller says counts more
    assert pipeline("embed", model=folder, pooling="none", normalize=False).options.pooling == "none"
    assert_close(ours(TEXTS, pooling="max", normalize=False), plain(TEXTS, pooling="max"))


def test_where_a_folder_cuts(tmp_path: Path) -> None:
    pooling = {"pooling_mode_mean_tokens": True}
    folder = sentence_folder(tmp_path, *ALL, pooling=pooling, reading={"max_seq_length": 20, "do_lower_case": False})
    ours = pipeline("embed", model=folder)
    long = "the fox " * 12
    with pytest.raises(RowError, match=r"^row 0: 26 tokens, and the most are 20"):
        ours(long)
    assert_close([ours(long, truncation=True)], [ours("the fox " * 9)])
    assert np.isfinite(ours(long, max_length=40)).all()
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 512}')
    assert pipeline("embed", model=folder).options.max_length == 60  # the model has no more


@pytest.mark.parametrize(
    ("kinds", "files", "error", "message"),
    [
        (("Transformer", "Pooling", "Dense"), {}, UnsupportedFeatureError, "the module 'Dense' is not supported; say"),
        (
            ALL,
            {"pooling": {"pooling_mode_weightedmean_tokens": True}},
            UnsupportedFeatureError,
            "weightedmean_tokens is",
        ),
        (
            ALL,
            {"pooling": {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}},
            UnsupportedFeatureError,
            "pooling by mean_tokens and max_tokens is not supported",
        ),
        (ALL, {"pooling": {}}, UnsupportedFeatureError, "pooling by nothing is not supported"),
        (ALL, {"library": {"default_prompt_name": "query"}}, UnsupportedFeatureError, "`default_prompt_name` 'query'"),
    ],
)
def test_what_is_not_supported_of_a_folder(
    kinds: tuple[str, ...], files: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    folder = sentence_folder(tmp_path, *kinds, **{"pooling": {"pooling_mode_mean_tokens": True}, **files})
    with pytest.raises(error, match=message):
        pipeline("embed", model=folder)
    # the way out that the message names
    assert len(pipeline("embed", model=folder, pooling="mean")(TEXTS)) == 3


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("modules.json", "{}", SourceFormatError, "must be a list of modules"),
        ("modules.json", "[", SourceFormatError, "this is not JSON"),
        ("modules.json", '[{"type": "x.Pooling", "path": "../.."}]', SourceFormatError, "must lie in the folder"),
        ("1_Pooling/config.json", "[]", SourceFormatError, "must hold an object"),
        ("sentence_bert_config.json", '{"max_seq_length": 0}', SourceFormatError, "`max_seq_length` must be a whole"),
        ("sentence_bert_config.json", '{"do_lower_case": true}', UnsupportedFeatureError, "`do_lower_case`"),
    ],
)
def test_damaged_folders(name: str, content: str, error: type[Exception], message: str, tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path, *ALL, pooling={"pooling_mode_mean_tokens": True})
    (folder / name).write_text(content)
    with pytest.raises(error, match=message):
        pipeline("embed", model=folder)
