"""Draw the pictures of the documentation, into ``docs/pictures``.

::

    python -m tools.draw_pictures              # all of them
    python -m tools.draw_pictures trie bpe_times

Equal inputs and equal versions of matplotlib give equal files. Timings are those that
``python -m tools.measure_walkthroughs`` recorded.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba_nlp as nlp
from asv_benchmarks import history_page
from numba_nlp.models import own_model
from tools.files import CARRIED, ROOT
from vocab_tools.editing.opening import OpenedVocabulary, open_vocabulary
from vocab_tools.formats.sentencepiece_writer import write_model
from vocab_tools.plotting.beams import beam_tree
from vocab_tools.plotting.figures import (
    draw_curves,
    draw_frequencies,
    draw_lattice,
    draw_merge_steps,
    draw_tree,
)
from vocab_tools.plotting.histograms import rank_frequency_of
from vocab_tools.plotting.lattices import lattice_of
from vocab_tools.plotting.merge_steps import merge_steps
from vocab_tools.plotting.trees import merge_tree, trie_of
from vocab_tools.training import train_bpe, train_unigram

__all__ = ["FOLDER", "PICTURES", "draw", "main"]

FOLDER = ROOT / "docs/pictures"
TIMINGS = ROOT / "docs/results/walkthrough_timings.json"
PLAY = CARRIED / "hamlet_gut.txt"
#: The merges of the first article, the first one first.
ARTICLE_MERGES = ("e r", "h e", "l l", "l o", "he ll", "lo w", "hell o")


def article_vocabulary() -> OpenedVocabulary:
    """The vocabulary of the first article's example."""
    merges = [merge.split() for merge in ARTICLE_MERGES]
    pieces = ["<unk>", *sorted(set("".join(ARTICLE_MERGES)) - {" "}), *("".join(merge) for merge in merges)]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    model = {"type": "BPE", "unk_token": "<unk>", "vocab": vocabulary, "merges": merges}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "article.json"
        path.write_text(json.dumps({"added_tokens": [], "model": model}), encoding="utf-8")
        return open_vocabulary(path, {})


def merge_table(path: Path) -> None:
    """The steps of a word that becomes one token."""
    draw_merge_steps(merge_steps(merge_tree(article_vocabulary(), "hello")), path)


def merge_table_lower(path: Path) -> None:
    """The steps of a word that stays two tokens."""
    draw_merge_steps(merge_steps(merge_tree(article_vocabulary(), "lower")), path)


def merge_tree_gpt2(path: Path) -> None:
    """How GPT-2's vocabulary makes the tokens of a word."""
    opened = open_vocabulary([CARRIED / "gpt2/vocab.json", CARRIED / "gpt2/merges.txt"], {})
    draw_tree(merge_tree(opened, " hellos"), path)


def trie(path: Path) -> None:
    """The trie of the second article."""
    draw_tree(trie_of(["cat", "carp", "car"]), path, notes_beside=True)


def lattice(path: Path) -> None:
    """All pieces that a word may be cut into, by a model that was trained on the play."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "hamlet.model"
        write_model(model, train_unigram(PLAY, vocab_size=1000))
        draw_lattice(lattice_of(nlp.load_tokenizer(model), "unmatched"), path)


def token_frequencies(path: Path) -> None:
    """The plot of the tutorial."""
    tok = nlp.Tokenizer(train_bpe(PLAY, vocab_size=2_000, special_tokens=["<|end|>"]).compile())
    draw_frequencies(rank_frequency_of(tok, PLAY), path, "Tokens of Hamlet, 2,000 in all")


def beams(path: Path) -> None:
    """What a search with three beams kept while a small model continues a line."""
    folder = own_model("shakespeare")
    model, tokenizer = nlp.load_model(folder, dtype="float32"), nlp.load_tokenizer(folder)
    tree = beam_tree(model, tokenizer, "HAMLET.\nTo be, or", num_beams=3, do_sample=False, max_new_tokens=6)
    draw_tree(tree, path)


def bpe_times(path: Path) -> None:
    """Time against size, of BPE."""
    _times("bpe", path, "BPE: time by the size of the text")


def unigram_times(path: Path) -> None:
    """Time against size, of Unigram."""
    _times("unigram", path, "Unigram: time by the size of the text")


def history_batches(path: Path) -> None:
    """Time of batches at some commits."""
    history_page.draw("history_batches", path)


def history_calls(path: Path) -> None:
    """Time of single calls at some commits."""
    history_page.draw("history_calls", path)


def _times(algorithm: str, path: Path, title: str) -> None:
    curves: dict[str, Any] = json.loads(TIMINGS.read_text(encoding="utf-8"))[algorithm]["curves"]
    draw_curves({name: (curve["bytes"], curve["seconds"]) for name, curve in curves.items()}, path, title)


PICTURES: dict[str, Callable[[Path], None]] = {
    function.__name__: function
    for function in (
        merge_table,
        merge_table_lower,
        merge_tree_gpt2,
        trie,
        lattice,
        token_frequencies,
        beams,
        bpe_times,
        unigram_times,
        history_batches,
        history_calls,
    )
}


def draw(names: list[str], folder: Path = FOLDER, suffix: str = ".svg") -> None:
    """Draw some pictures.

    Raises
    ------
    KeyError
        There is no such picture.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        PICTURES[name]((folder / name).with_suffix(suffix))


def main() -> None:
    """Command line."""
    names = sys.argv[1:] or list(PICTURES)
    unknown = sorted(set(names) - set(PICTURES))
    if unknown:
        sys.exit(f"no picture {', '.join(unknown)}; there are {', '.join(PICTURES)}")
    draw(names)


if __name__ == "__main__":
    main()
