"""Tables of merges are those of the article; trees of beams hold what a search by hand keeps."""

from __future__ import annotations

import pytest

from tools.draw_pictures import article_vocabulary
from vocab_tools.plotting.merge_steps import merge_steps
from vocab_tools.plotting.trees import Tree, merge_tree


@pytest.mark.parametrize(
    ("word", "rows"),
    [
        ("lower", ["l o w e r", "l o w er", "lo w er", "low er"]),
        ("hello", ["h e l l o", "he l l o", "he ll o", "hell o", "hello"]),
        ("lo", ["l o", "lo"]),
        ("w", ["w"]),
    ],
)
def test_the_steps_of_the_article(word, rows):
    steps = merge_steps(merge_tree(article_vocabulary(), word))
    assert [" ".join(symbol.text for symbol in row) for row in steps.rows] == rows
    assert len(steps.pairs) == len(rows) - 1
    for number, row in enumerate(steps.rows):
        assert [(symbol.begin, symbol.end) for symbol in row] == _places(row)
        if number:
            assert row[steps.made[number]].text == "".join(steps.pairs[number - 1])


def _places(row):
    places, at = [], 0
    for symbol in row:
        places.append((at, at + len(symbol.text)))
        at += len(symbol.text)
    return places


def test_steps_go_by_their_notes_not_by_their_place():
    # (b c) first, then (a bc), then (d e)
    tree = Tree(
        parents=(-1, 0, 0, 2, 2, -1, 5, 5), labels=("abc", "a", "bc", "b", "c", "de", "d", "e"),
        notes=("2", "", "1", "", "", "3", "", ""), marked=(True, *[False] * 4, True, False, False),
    )  # fmt: skip
    assert merge_steps(tree).made == (-1, 1, 0, 1)
    assert merge_steps(tree).pairs == (("b", "c"), ("a", "bc"), ("d", "e"))


class TestAxes:
    """Drawing without a file."""

    @pytest.fixture(autouse=True)
    def _matplotlib(self):
        pytest.importorskip("matplotlib")

    def test_a_table_of_merges(self):
        from vocab_tools.plotting.plots import plot_merge_steps

        axes = plot_merge_steps(merge_steps(merge_tree(article_vocabulary(), "lower")))
        texts = [text.get_text() for text in axes.texts]
        assert [text for text in texts if "+" in text] == ["1.  e + r", "2.  l + o", "3.  lo + w"]
        assert texts.count("er") == 3
        assert len(axes.patches) == 5 + 4 + 3 + 2

    def test_given_axes_are_drawn_on(self):
        from matplotlib.figure import Figure

        from vocab_tools.plotting.plots import plot_curves, plot_tree

        left, right = Figure().subplots(1, 2)
        curves = {"$a": ([1, 10], [1, 100]), "b": ([1, 10], [2, 20])}
        assert plot_curves(curves, left, x_label="x", y_label="y") is left
        assert [text.get_text() for text in left.get_legend().get_texts()] == ["$a", "b"]
        assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
        assert [list(line.get_ydata()) for line in left.lines] == [[1, 100], [2, 20]]
        assert plot_tree(Tree((-1, 0), ("a", "b"), ("", "1"), (False, True)), right) is right
        assert [text.get_text() for text in right.texts] == ["a", "b", "1"]


class TestBeams:
    """The tree of a search."""

    @pytest.fixture(autouse=True)
    def _torch(self):
        pytest.importorskip("torch")

    def test_the_tree_is_that_of_a_search_by_hand(self):
        import numba_nlp as nlp
        from numba_nlp.models import create_model
        from vocab_tools.plotting.beams import beam_tree

        letters = nlp.Tokenizer(_letters())
        config = {"model_type": "gpt2", "vocab_size": letters.vocab_size, "n_embd": 16, "n_layer": 1, "n_head": 2}
        model = create_model({**config, "initializer_range": 1.0}, head="language_model", seed=3).eval()
        steps, beams = 4, 3
        tree = beam_tree(model, letters, "ab", num_beams=beams, max_new_tokens=steps, eos_token_id=None)
        assert _rows(tree) == pytest.approx(_search(model, letters, "ab", beams, steps), abs=0.02)
        # the best row is the last step's first
        best = max(((row, score) for row, score in _rows(tree).items() if len(row) == steps), key=lambda one: one[1])
        assert tuple(tree.labels[node] for node in range(1, len(tree.labels)) if tree.marked[node]) == best[0]

    def test_ends_are_in_the_tree_and_scores_are_those_of_the_result(self):
        import numba_nlp as nlp
        from numba_nlp.models import own_model
        from vocab_tools.plotting.beams import beam_tree

        folder = own_model("numbers")
        model, tok = nlp.load_model(folder, dtype="float32"), nlp.load_tokenizer(folder)
        tree = beam_tree(model, tok, ">>year<< 1905", num_beams=3)
        out = model.generate(**tok([">>year<< 1905"], padding=True), num_beams=3, num_return_sequences=3)
        rows = _rows(tree)
        for sequence, scores in zip(out.sequences.tolist(), out.token_scores.tolist(), strict=True):
            new = sequence[1:]
            new = new[: new.index(0) + 1]  # the end token
            assert rows[tuple(tok.id_to_token(i) for i in new)] == pytest.approx(sum(scores), abs=0.02)
        marked = [label for label, best in zip(tree.labels, tree.marked, strict=True) if best]
        assert marked[1:] == [tok.id_to_token(i) for i in out.sequences[0, 1:].tolist()]

    def test_one_beam_is_no_tree(self):
        from vocab_tools.plotting.beams import beam_tree

        with pytest.raises(ValueError, match="at least 2"):
            beam_tree(None, None, "", num_beams=1)


def _letters():
    from vocab_tools.training import train_bpe

    return train_bpe(["abcde"], vocab_size=256, kind="byte-level").compile()


def _rows(tree):
    """Labels from the root to each node, and its score."""
    found = {}
    for node in range(1, len(tree.labels)):
        row, at = (), node
        while tree.parents[at] >= 0:
            row, at = (tree.labels[at], *row), tree.parents[at]
        found[row] = float(tree.notes[node])
    return found


def _search(model, tokenizer, text, beams, steps):
    """All rows that a search keeps, each step's from all continuations of the last step's."""
    import torch

    prompt = tokenizer.encode(text).tolist()
    running, kept = {(): 0.0}, {}
    for _ in range(steps):
        candidates = {}
        for row, score in running.items():
            values = model([prompt + list(row)]).logits[0, -1].log_softmax(-1)
            best = torch.topk(values, beams)
            for value, token in zip(best.values.tolist(), best.indices.tolist(), strict=True):
                candidates[(*row, token)] = score + value
        running = dict(sorted(candidates.items(), key=lambda one: -one[1])[:beams])
        kept |= running
    return {tuple(tokenizer.id_to_token(i) for i in row): score for row, score in kept.items()}
