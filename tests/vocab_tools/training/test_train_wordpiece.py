from __future__ import annotations

import pytest

import numba_nlp
import vocab_tools
from numba_nlp.errors import SourceFormatError
from tests.shared_data import shared
from vocab_tools.training import train_wordpiece


@pytest.mark.parametrize("options", [{}, {"lowercase": False}, {"limit_alphabet": 60}, {"min_frequency": 4}])
def test_vocabulary_is_that_of_tokenizers(options):
    """tokenizers numbers characters with the prefix in no fixed order; given as special tokens they have one."""
    tokenizers = pytest.importorskip("tokenizers")
    with open(shared("text/udhr_all_languages.txt"), encoding="utf-8", newline="\n") as stream:
        lines = [line for number, line in enumerate(stream) if number % 60 == 0]
    made = train_wordpiece(lines, vocab_size=2500, **options).vocabulary
    specials = ["[UNK]", *(token for token in made if token[:2] == "##" and len(token) == 3)]
    trained = train_wordpiece(lines, vocab_size=2500, special_tokens=specials, **options)
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=options.pop("lowercase", True))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=2500, special_tokens=specials, show_progress=False, **options
    )
    tokenizer.train_from_iterator(lines, trainer)
    assert trained.vocabulary == tokenizer.get_vocab()


def test_what_is_written_encodes_as_in_tokenizers(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    trained = train_wordpiece(["The theatre of Örebro, the end!"] * 3, vocab_size=60)
    trained.write_tokenizer_json(tmp_path / "tokenizer.json")
    trained.write_vocab_txt(tmp_path / "vocab.txt")
    reference = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    compiled = numba_nlp.Tokenizer(trained.compile())
    of_lines = numba_nlp.Tokenizer(vocab_tools.compile(tmp_path / "vocab.txt"))
    for text in ("the end, there!", "zebra", ""):
        expected = reference.encode(text).ids
        assert compiled.encode(text, add_special_tokens=True).tolist() == expected
        assert of_lines.encode(text, add_special_tokens=True).tolist() == expected


def test_small_corpora():
    trained = train_wordpiece([], special_tokens=["[UNK]"])
    assert trained.vocabulary == {"[UNK]": 0}
    assert not trained.reached


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"lowercase": "no"}, TypeError, "`lowercase` must be True or False, got 'no'"),
        ({"strip_accents": 0}, TypeError, "`strip_accents` must be True or False, got 0"),
        ({"continuing_subword_prefix": None}, TypeError, "`continuing_subword_prefix` must be a str"),
        ({"special_tokens": {"[UNK]"}}, TypeError, "`special_tokens` is a set"),
        ({"vocab_size": "5"}, TypeError, "`vocab_size` must be a whole number"),
        ({"name": 5}, TypeError, "`name` must be a str, got 5"),
    ],
)
def test_options_of_wrong_types(options, error, message):
    with pytest.raises(error, match=message):
        train_wordpiece(["a"], **options)


def test_sums_that_int64_does_not_hold_are_refused():
    with pytest.raises(SourceFormatError, match=f"the characters of all words, .* add up to {3 * 2**62}, more than"):
        train_wordpiece({"éé": 2**62, "cd": 2**61})
    # the characters fit, their bytes would not
    assert "é" in train_wordpiece({"é": 2**62}).vocabulary


def test_the_token_of_unknown_words_is_needed():
    with pytest.raises(ValueError, match="`unk_token` is"):
        train_wordpiece(["a"], special_tokens=["[PAD]"])
