"""What figures show, by value: against the articles, the references and definitions."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import sentencepiece

import numba_nlp as nlp
from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.text_rows import TextRows
from tests.families import family, sentencepiece_model
from tests.made_tokenizers import bert, gpt2
from tests.vocab_tools.editing.sources import LINES, SOURCES
from tests.vocab_tools.sources import tokenizer_file, vocabulary, write_json
from vocab_tools.editing.opening import open_vocabulary
from vocab_tools.plotting.histograms import fertility_of, lengths_of, rank_frequency_of
from vocab_tools.plotting.lattices import lattice_of
from vocab_tools.plotting.trees import merge_tree, trie_of


def test_lengths_of_pieces():
    pieces = [piece for piece in gpt2().reference.get_vocab() if piece != "<|endoftext|>"]
    found = lengths_of(gpt2().ours, "byte")  # a character of the byte alphabet is a byte
    assert found.counts.tolist() == np.bincount([len(piece) for piece in pieces]).tolist()
    characters = lengths_of(family("sentencepiece_char"))
    assert characters.counts.tolist()[2:] == [0, 0, 0, 1]  # <sep>
    assert characters.counts[1] == family("sentencepiece_char").vocab_size - 4  # <unk>, <s>, </s>, <sep>
    with pytest.raises(ValueError, match="'word'"):
        lengths_of(gpt2().ours, "word")


def test_frequencies_by_rank():
    rows = LINES[:200]
    counted = Counter(number for row in rows for number in gpt2().reference.encode(row).ids)
    found = rank_frequency_of(gpt2().ours, TextRows.from_strings(rows))
    expected = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    assert list(zip(found.ids.tolist(), found.counts.tolist(), strict=True)) == expected


def test_fertility_of_languages():
    texts = {
        "en": ["To be, or not to be", "that is the question"],
        "de": ["Der Rest, lieber Freund, war Schweigen"],
        "": [""],
    }
    corpora = {label: TextRows.from_strings(rows) for label, rows in texts.items()}
    found = fertility_of({"gpt2": gpt2().ours, "bert": bert().ours}, corpora)
    assert (found.labels, found.names) == (("en", "de", ""), ("gpt2", "bert"))
    for i, rows in enumerate(texts.values()):
        for j, reference in enumerate((gpt2().reference, bert().reference)):
            n = sum(len(reference.encode(row, add_special_tokens=False).ids) for row in rows)
            words, n_bytes = sum(len(row.split()) for row in rows), sum(len(row.encode()) for row in rows)
            if words:
                assert found.per_word[i, j] == n / words
                assert found.per_byte[i, j] == n / n_bytes
            else:
                assert math.isnan(found.per_word[i, j])


def test_the_trie_of_the_article():
    tree = trie_of(["cat", "carp", "car", "carpooling", "car"])
    assert "".join(tree.labels) == "carpoolingt"
    assert tree.parents == (-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2)
    assert [note for note in tree.notes if note] == ["car", "carp", "carpooling", "cat"]
    # every node spells a beginning of a word, and marked ones a word
    for node in range(len(tree.labels)):
        spelled, at = "", node
        while at >= 0:
            spelled, at = tree.labels[at] + spelled, tree.parents[at]
        assert any(word.startswith(spelled) for word in ("cat", "carpooling"))
        assert tree.marked[node] == (spelled in ("cat", "carp", "car", "carpooling"))
    x, depth = tree.places()
    assert depth.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 3]
    assert x[:3].tolist() == [0.5, 0.5, 0.5]
    assert (x[3], x[11]) == (0.0, 1.0)
    with pytest.raises(ValueError, match="at least one character"):
        trie_of([])


def test_merges_of_a_word_are_those_of_the_ranks(tmp_path):
    merges = ["h e", "l l", "o w", "he ll", "l ow", "hell o"]
    pieces = [merge.replace(" ", "") for merge in merges]
    path = write_json(tmp_path / "toy.json", tokenizer_file(vocabulary(*pieces), merges))
    tree = merge_tree(open_vocabulary(path, {}), "hello")
    assert tree.labels == ("hello", "hell", "he", "h", "e", "ll", "l", "l", "o")
    assert tree.parents == (-1, 0, 1, 2, 2, 1, 5, 5, 0)
    assert tree.notes == ("4", "3", "1", "", "", "2", "", "", "")
    assert tree.marked == (True, *[False] * 8)
    two = merge_tree(open_vocabulary(path, {}), "lowhe")
    assert [label for label, parent in zip(two.labels, two.parents, strict=True) if parent < 0] == ["low", "he"]
    x, _ = two.places()
    leaves = [node for node in range(len(two.labels)) if node not in two.parents]
    assert [two.labels[node] for node in sorted(leaves, key=lambda node: x[node])] == list("lowhe")
    assert (np.diff(sorted(x[leaves])) == 1).all()


@pytest.mark.parametrize("name", ["bpe model", "merges", "ranks", "byte-level json"])
def test_leaves_of_a_tree_are_the_word(name, tmp_path):
    source = SOURCES[name](tmp_path)
    opened = open_vocabulary(source.paths, source.options)
    encode = source.encoder(source.paths, source.options)
    for word in ("there", " other", "gathered thither"):
        tree = merge_tree(opened, word)
        roots = [label for label, parent in zip(tree.labels, tree.parents, strict=True) if parent < 0]
        assert roots == [opened.tokenizer.id_to_token(number) for number in encode(word)]
        children = tree.children()
        leaves = [label for label, below in zip(tree.labels, children, strict=True) if not below]
        assert all(len(leaf) == 1 for leaf in leaves)
        assert "".join(leaves) == "".join(roots)
        for node, below in enumerate(children):
            assert len(below) in (0, 2)
            if below:
                assert "".join(tree.labels[child] for child in below) == tree.labels[node]
                assert all(int(tree.notes[child]) < int(tree.notes[node]) for child in below if tree.notes[child])


def test_a_vocabulary_without_merges_has_no_tree(tmp_path):
    opened = open_vocabulary(SOURCES["words"](tmp_path).paths, {})
    with pytest.raises(UnsupportedFeatureError, match="has no merges"):
        merge_tree(opened, "word")


@pytest.mark.parametrize("text", ["To be, or not", "the question", "", "a日本\u0378b", "one  two"])
def test_the_lattice_holds_all_pieces_at_all_places(text, tmp_path):
    path = tmp_path / "made.model"
    path.write_bytes(sentencepiece_model("unigram"))
    reference = sentencepiece.SentencePieceProcessor(model_file=str(path))
    lattice = lattice_of(nlp.load_tokenizer(path), text)
    normalized = reference.normalize(text)
    assert lattice.text == normalized
    expected = set()
    for begin in range(len(normalized)):
        for end in range(begin + 1, len(normalized) + 1):
            number = reference.piece_to_id(normalized[begin:end])
            known = number != reference.unk_id() and not reference.is_control(number)
            if known:
                expected.add((begin, end, normalized[begin:end]))
        if (begin, begin + 1, normalized[begin]) not in expected:
            expected.add((begin, begin + 1, "<unk>"))
    assert {edge[:3] for edge in lattice.edges} == expected
    for edge in lattice.edges:
        number = reference.piece_to_id(edge.piece)
        if edge.piece != "<unk>":
            assert edge.score == pytest.approx(reference.get_score(number))
    # the path goes through the whole text, and its pieces are those of sentencepiece, which joins unknown characters
    path_edges = lattice.best
    assert [edge.begin for edge in path_edges] == [0, *(edge.end for edge in path_edges)][:-1] or not text
    pieces = [edge.piece for edge in path_edges]
    joined = [piece for i, piece in enumerate(pieces) if not (i and piece == "<unk>" == pieces[i - 1])]
    assert joined == [reference.id_to_piece(number) for number in reference.encode(text)]
    assert all(one.end == two.begin for one, two in pairwise(path_edges))


def test_other_algorithms_have_no_lattice():
    with pytest.raises(UnsupportedFeatureError, match=r"this is byte_bpe; give the \.model file"):
        lattice_of(gpt2().ours, "a")
