"""Who speaks? Token counts in a pipeline of scikit-learn: ``python -m examples.with_sklearn``. Needs ``sklearn``."""

from __future__ import annotations

from pathlib import Path

from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import numba_nlp as nlp
from examples.checking import check
from numba_nlp.integrations.sklearn import TokenCountVectorizer

DATA = Path(__file__).resolve().parent / "data"


def main() -> None:
    """Tell the lines of a play from those of a table, by their tokens, with cross-validation."""
    tok = nlp.load_tokenizer([DATA / "gpt2/vocab.json", DATA / "gpt2/merges.txt"])
    play = [line for line in (DATA / "hamlet_gut.txt").read_text(encoding="utf-8").splitlines() if line.strip()][:400]
    table = [f"{line[: len(line) // 2]} {number * 37 % 101} kg" for number, line in enumerate(play)]
    texts, labels = [*play, *table], [0] * len(play) + [1] * len(table)

    model = make_pipeline(TokenCountVectorizer(tok), TfidfTransformer(), LogisticRegression(C=100))
    scores = cross_val_score(model, texts, labels, cv=4)
    print("accuracy by fold:", ", ".join(f"{score:.3f}" for score in scores))
    model.fit(texts, labels)
    weights = model[-1].coef_[0]
    telling = model[0].get_feature_names_out()[weights.argsort()[::-1][:3]]
    print("most telling tokens:", ", ".join(telling))
    check("folds above 0.97", int((scores > 0.97).sum()), len(scores))
    check("the unit among the telling tokens", int("Ġkg" in telling), 1)


if __name__ == "__main__":
    main()
