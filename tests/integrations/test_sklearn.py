"""Transformers for scikit-learn: its checks, counts as CountVectorizer makes them, pipelines, copies."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import numba_nlp as nlp
from tests.integrations.corpora import LINES, reference_ids
from tests.made_tokenizers import END, GPT2_FILES, bert, gpt2
from tests.toy_vocabulary import toy_vocabulary

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.exceptions import SkipTestWarning  # noqa: E402
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils import estimator_checks, get_tags  # noqa: E402

from numba_nlp.integrations.sklearn import EncodeTransformer, TokenCountVectorizer  # noqa: E402

TEXTS = LINES[:80]


def transformers() -> list[Any]:
    return [TokenCountVectorizer(gpt2().ours), EncodeTransformer(gpt2().ours, length=8, pad_id=50256)]


@pytest.mark.parametrize("made", transformers(), ids=lambda made: type(made).__name__)
def test_check_estimator(made: Any) -> None:
    # scikit-learn has nothing to feed estimators that take texts with, and says so
    with pytest.warns(SkipTestWarning, match="requires input"):
        estimator_checks.check_estimator(made)
    # the checks that need no data are run all the same
    for check in (
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_tags_renamed,
        estimator_checks.check_valid_tag_types,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
        estimator_checks.check_mixin_order,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
    ):
        check(type(made).__name__, made)
    tags = get_tags(made)
    assert (tags.input_tags.string, tags.input_tags.two_d_array, tags.requires_fit) == (True, False, False)


def test_counts_are_those_of_count_vectorizer() -> None:
    reference = gpt2().reference
    ids = [str(i) for i in range(50257)]
    theirs = CountVectorizer(
        analyzer=lambda text: [str(i) for i in reference.encode(text, add_special_tokens=False).ids], vocabulary=ids
    )
    ours = TokenCountVectorizer(gpt2().ours)
    wanted, found = theirs.transform(TEXTS), ours.transform(TEXTS)
    assert found.shape == (80, 50257)
    assert found.has_canonical_format
    assert (found != wanted).nnz == 0
    assert found.dtype == wanted.dtype == np.int64
    binary = ours.set_params(binary=True, dtype=np.float32).fit_transform(iter(TEXTS))
    assert (binary != wanted.astype(bool)).nnz == 0
    assert binary.dtype == np.float32


def test_names_of_tokens(tmp_path: Path) -> None:
    names = TokenCountVectorizer(gpt2().ours).get_feature_names_out()
    assert names.shape == (50257,)
    assert (names[262], names[50256]) == ("\u0120the", END)
    assert len(set(names)) == 50257
    assert TokenCountVectorizer(bert().ours).get_feature_names_out()[1996] == "the"
    columns = EncodeTransformer(gpt2().ours, length=2, pad_id=0).get_feature_names_out(["text"])
    assert columns.tolist() == ["token0", "token1"]


def test_ids_of_fixed_width() -> None:
    reference = bert().reference
    reference.enable_truncation(9)
    reference.enable_padding(length=9)
    try:
        expected = [encoding.ids for encoding in reference.encode_batch(TEXTS)]
    finally:
        reference.no_truncation()
        reference.no_padding()
    found = EncodeTransformer(bert().ours, length=9).fit_transform(TEXTS)
    assert found.tolist() == expected
    assert found.dtype == np.int32
    framed = EncodeTransformer(bert().ours, length=2).set_output(transform="pandas").fit_transform(pd.Series(TEXTS))
    assert list(framed.columns) == ["token0", "token1"]


def test_sources_of_the_tokenizer(tmp_path: Path) -> None:
    path = tmp_path / "toy.safetensors"
    toy_vocabulary().save(path)
    for source in (str(path), path, nlp.load_tokenizer(path)):
        ours = TokenCountVectorizer(source)
        assert ours.transform(["the and"]).sum() == 3
        assert not hasattr(ours, "tokenizer_")
        assert ours.fit(["a"]) is ours
        assert ours.tokenizer_ == nlp.load_tokenizer(path)
    for source, error, match in [
        (None, ValueError, "`tokenizer` is missing"),
        (7, TypeError, "must be a Tokenizer or a path, got 7"),
        (tmp_path / "none.safetensors", FileNotFoundError, r"none\.safetensors"),
    ]:
        with pytest.raises(error, match=match):
            TokenCountVectorizer(source).fit(["a"])  # type: ignore[arg-type]
    assert TokenCountVectorizer().set_params(tokenizer=path).fit_transform(["the"]).sum() == 1


def test_copies_and_pickles() -> None:
    for made in transformers():
        made.fit(TEXTS)
        twin = clone(made)
        assert twin.tokenizer is made.tokenizer
        assert not hasattr(twin, "tokenizer_")
        for other in (twin, pickle.loads(pickle.dumps(made))):
            assert other.get_params() == made.get_params()
            assert abs(other.transform(TEXTS) - made.transform(TEXTS)).sum() == 0


def test_pipelines_learn() -> None:
    labels = [int("the" in text.lower().split()) for text in LINES]
    model = make_pipeline(
        TokenCountVectorizer(gpt2().ours), TfidfTransformer(), LogisticRegression(C=1000, max_iter=500)
    )
    model.fit(LINES, labels)
    assert model.score(LINES, labels) > 0.95
    assert model[:-1].get_feature_names_out()[262] == "\u0120the"
    search = GridSearchCV(model, {"tokencountvectorizer__binary": [False, True]}, cv=2)
    search.fit(LINES[:200], labels[:200])
    assert set(search.best_params_) == {"tokencountvectorizer__binary"}
    table = pd.DataFrame({"text": TEXTS, "n": range(80)})
    mixed = ColumnTransformer([("counts", TokenCountVectorizer(gpt2().ours), "text"), ("n", "passthrough", ["n"])])
    assert mixed.fit_transform(table).shape == (80, 50258)
    with pytest.raises(ValueError, match=r"'text' instead of \['text'\]"):
        ColumnTransformer([("counts", TokenCountVectorizer(gpt2().ours), ["text"])]).fit(table)


def test_options_of_texts() -> None:
    ours = gpt2().ours
    assert TokenCountVectorizer(ours).transform([END])[0, 50256] == 0
    assert TokenCountVectorizer(ours, special="match").transform([END])[0, 50256] == 1
    assert TokenCountVectorizer(bert().ours, add_special_tokens=True).transform(["a"])[0, [101, 102]].sum() == 2
    with pytest.raises(nlp.errors.MissingRowError, match="row 1"):
        TokenCountVectorizer(ours).transform(["a", None])
    assert TokenCountVectorizer(ours, nulls="empty").transform(["a", None]).sum(1).tolist() == [[1], [0]]
    assert TokenCountVectorizer(ours).transform([]).shape == (0, 50257)
    for wrong in ("one text", b"one text"):
        with pytest.raises(ValueError, match="expected many texts, got one"):
            TokenCountVectorizer(ours).fit(wrong)
    assert sum(map(len, reference_ids(TEXTS))) == TokenCountVectorizer(ours).transform(TEXTS).sum()  # type: ignore[arg-type]
    assert GPT2_FILES
