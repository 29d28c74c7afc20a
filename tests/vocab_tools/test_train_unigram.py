"""Training of SentencePiece models: against sentencepiece's own trainer on the same text."""

from __future__ import annotations

import io
import math

import numpy as np
import pyarrow as pa
import pytest
import sentencepiece

import numba_nlp as nlp
import vocab_tools
from numba_nlp.errors import InvalidTextError, SourceFormatError
from tests.made_tokenizers import HAMLET
from vocab_tools.formats.sentencepiece_writer import serialize, write_model
from vocab_tools.training.counts import WordCounts
from vocab_tools.training.unigram import train_unigram
from vocab_tools.training.unigram_options import TrainingOptions

LINES = HAMLET.read_text(encoding="utf-8").splitlines()


def reference(lines=None, **options):
    """What sentencepiece trains with the same options."""
    writer = io.BytesIO()
    settings = {"minloglevel": 2, "num_threads": 2, **options}
    sentences = iter(LINES if lines is None else lines)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=sentences, model_writer=writer, **settings)
    return sentencepiece.SentencePieceProcessor(model_proto=writer.getvalue())


def pieces_of(processor):
    return {processor.id_to_piece(i): processor.get_score(i) for i in range(processor.vocab_size())}


def likelihood(processor, lines):
    """Logarithm of probability for a character, of the best segmentations."""
    scores = pieces_of(processor)
    unknown = min(scores.values()) - 10
    total = sum(scores.get(piece, unknown) for line in processor.encode(lines, out_type=str) for piece in line)
    return total / sum(map(len, lines))


@pytest.fixture(scope="module")
def model():
    return train_unigram(HAMLET, vocab_size=1000, num_threads=2)


@pytest.fixture(scope="module")
def ours(model):
    return sentencepiece.SentencePieceProcessor(model_proto=serialize(model))


def test_pieces_and_likelihood_are_near_those_of_sentencepiece(ours):
    held_out = LINES[::5]
    train = [line for number, line in enumerate(LINES) if number % 5]
    theirs = reference(train, vocab_size=1000)
    made = sentencepiece.SentencePieceProcessor(model_proto=serialize(train_unigram(train, vocab_size=1000)))
    assert len(set(pieces_of(made)) & set(pieces_of(theirs))) >= 900
    assert likelihood(made, held_out) == pytest.approx(likelihood(theirs, held_out), rel=0.005)
    assert set(pieces_of(ours)) >= set("▁,.etaoin")


def test_the_file_encodes_alike_in_sentencepiece_and_here(tmp_path, model, ours):
    path = tmp_path / "hamlet.model"
    write_model(path, model)
    tokenizer = nlp.Tokenizer(vocab_tools.compile(path))
    texts = [*LINES[:300], "Zürich ﬁ \u3000 日本", "  a  b  ", ""]
    assert [ids.tolist() for ids in tokenizer.encode_batch(texts)] == ours.encode(texts)
    assert (model.unk_id, model.bos_id, model.eos_id, model.pad_id) == (0, 1, 2, -1)
    assert ours.vocab_size() == 1000
    assert [ours.id_to_piece(i) for i in range(3)] == ["<unk>", "<s>", "</s>"]


def test_scores_are_of_a_distribution(model):
    scores = model.scores[3:].astype(np.float64)
    assert np.isfinite(scores).all()
    assert (np.diff(scores) <= 0).all()
    # digamma lowers rare pieces, and pieces beyond the size were dropped
    assert 0.9 < np.exp(scores).sum() <= 1


def test_threads_do_not_matter(model):
    for threads in (1, 3):
        assert serialize(train_unigram(HAMLET, vocab_size=1000, num_threads=threads)) == serialize(model)


def test_sources(tmp_path, model):
    expected = serialize(model)
    assert serialize(train_unigram(LINES, vocab_size=1000)) == expected
    assert serialize(train_unigram(str(HAMLET), vocab_size=1000)) == expected
    assert serialize(train_unigram(pa.array(LINES), vocab_size=1000)) == expected
    halves = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path, lines in zip(halves, (LINES[:2000], LINES[2000:]), strict=True):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert serialize(train_unigram(halves, vocab_size=1000)) == expected


def test_counts_as_source():
    listed = {"▁low": 5, "▁lower": 2, "▁newest": 6, "▁widest": 3}
    counts = WordCounts.from_items(listed)
    lines = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3
    options = {"vocab_size": 18, "hard_vocab_limit": False}
    expected = serialize(train_unigram(lines, **options))
    assert serialize(train_unigram(counts, **options)) == expected
    assert serialize(train_unigram(listed, **options)) == expected


@pytest.mark.parametrize("model_type", ["word", "char"])
@pytest.mark.parametrize("size", [50, 400])
def test_words_and_characters_are_those_of_sentencepiece(model_type, size):
    options = {"model_type": model_type, "vocab_size": size, "hard_vocab_limit": False}
    made = sentencepiece.SentencePieceProcessor(model_proto=serialize(train_unigram(LINES, **options)))
    expected = pieces_of(reference(**options))
    assert sorted(pieces_of(made).values()) == pytest.approx(sorted(expected.values()), abs=1e-5)
    last = min(expected[piece] for piece in list(expected)[3:])
    # of equally frequent ones at the end others may be taken
    differing = set(expected) ^ set(pieces_of(made))
    assert all(expected.get(piece, last) == pytest.approx(last, abs=1e-5) for piece in differing)


#: Options that do not touch one another are together.
OPTIONS = [
    {"treat_whitespace_as_suffix": True, "split_digits": True, "split_by_number": False},
    {
        "split_by_unicode_script": False,
        "pad_id": 3,
        "unk_id": 5,
        "bos_id": -1,
        "eos_id": 0,
        "unk_piece": "[UNK]",
        "pad_piece": "[PAD]",
    },
    {"byte_fallback": True, "character_coverage": 0.98},
    {"control_symbols": ["<a>", "</s>"], "user_defined_symbols": ["Hamlet", "<s>"], "max_sentence_length": 60},
    {"required_chars": "éßж", "character_coverage": 0.99, "max_sentencepiece_length": 3},
    {"normalization_rule_name": "nfkc_cf", "add_dummy_prefix": False},
    {"allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: next(iter(options)))
def test_options_do_what_they_do_in_sentencepiece(options):
    settings = {"vocab_size": 600, **options}
    trained = train_unigram(LINES, **settings)
    made = sentencepiece.SentencePieceProcessor(model_proto=serialize(trained))
    theirs = reference(**settings)
    fixed = [i for i in range(600) if theirs.is_control(i) or theirs.is_unknown(i) or theirs.is_byte(i)]
    for number in fixed:
        assert made.id_to_piece(number) == theirs.id_to_piece(number)
        assert made.get_score(number) == theirs.get_score(number)
    for key in ("unk_id", "bos_id", "eos_id", "pad_id"):
        assert getattr(made, key)() == getattr(theirs, key)()
    ours, expected = set(pieces_of(made)), set(pieces_of(theirs))
    assert len(ours & expected) >= 0.87 * 600
    assert {piece for piece in ours if len(piece) == 1} == {piece for piece in expected if len(piece) == 1}
    assert max(map(len, ours - {"Hamlet"})) <= max(16, *map(len, expected))
    assert likelihood(made, LINES[:500]) == pytest.approx(likelihood(theirs, LINES[:500]), rel=0.02)
    tokenizer = nlp.Tokenizer(nlp.Vocabulary(*build(trained)))
    texts = [*LINES[:100], "Hamlet, 1603 <s> ж"]
    assert [ids.tolist() for ids in tokenizer.encode_batch(texts)] == made.encode(texts)


def build(model):
    from vocab_tools.compiler.sentencepiece import build_arrays

    return build_arrays(model)


def test_pieces_across_white_space():
    lines = [line.lower() for line in LINES[:1500]]
    options = {"vocab_size": 700, "split_by_whitespace": False}
    made = sentencepiece.SentencePieceProcessor(model_proto=serialize(train_unigram(lines, **options)))
    theirs = reference(lines, **options)
    across = [{piece for piece in pieces_of(p) if "▁" in piece[1:]} for p in (made, theirs)]
    assert across[0]
    assert not any(piece.endswith("▁") for piece in across[0] if len(piece) > 1)
    assert len(set(pieces_of(made)) & set(pieces_of(theirs))) >= 0.85 * 700


def test_self_test_is_written_and_holds():
    model = train_unigram(LINES, vocab_size=300, self_test=["To be, or not to be", "日本 zzz"])
    processor = sentencepiece.SentencePieceProcessor(model_proto=serialize(model))
    assert [" ".join(processor.encode(text.decode(), out_type=str)).encode() for text, _ in model.self_test] == [
        pieces for _, pieces in model.self_test
    ]


def test_some_sentences_are_drawn():
    options = {"vocab_size": 200, "input_sentence_size": 500}
    first = serialize(train_unigram(LINES, **options))
    assert serialize(train_unigram(LINES, **options, num_threads=1)) == first
    assert serialize(train_unigram(LINES, **options, seed=1)) != first
    head = serialize(train_unigram(LINES, **options, shuffle_input_sentence=False))
    assert head == serialize(train_unigram(LINES[:500], vocab_size=200))


def test_rules_of_a_table(tmp_path):
    path = tmp_path / "rules.tsv"
    path.write_text("65\t6F\n", encoding="utf-8")
    model = train_unigram(LINES, vocab_size=200, normalization_rule_tsv=path)
    assert model.normalizer.name == "user_defined"
    assert not any(b"e" in piece for piece in model.pieces[3:])


def test_all_words_and_characters():
    model = train_unigram(LINES, model_type="word", vocab_size=10, use_all_vocab=True)
    words = {f"▁{word}" for line in LINES for word in line.split()}
    assert {piece.decode() for piece in model.pieces[3:]} == words
    characters = train_unigram(LINES, model_type="char", vocab_size=10, use_all_vocab=True)
    assert {piece.decode() for piece in characters.pieces[3:]} == {c for word in words for c in word}


def test_corpora_without_words(tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_bytes(b"\n\n  \n")
    for source in ([], [""], empty, WordCounts.from_items({})):
        with pytest.raises(ValueError, match="`source` has no words"):
            train_unigram(source)
    with pytest.raises(ValueError, match="`source` has no words"):
        train_unigram(["a" * 50], max_sentence_length=10)


def test_one_word_and_one_character():
    model = train_unigram(["a"], vocab_size=20, hard_vocab_limit=False)
    assert set(model.pieces) >= {"▁".encode(), b"a"}
    assert np.isfinite(model.scores).all()
    long = train_unigram(["a" * 3000], vocab_size=20, hard_vocab_limit=False)
    assert np.isfinite(long.scores).all()


def test_text_that_is_not_valid(tmp_path):
    path = tmp_path / "broken.txt"
    path.write_bytes(b"good\nb\xffd\n")
    with pytest.raises(InvalidTextError, match="bytes from offset 6 on are not UTF-8"):
        train_unigram(path)
    model = train_unigram(path, vocab_size=20, hard_vocab_limit=False, errors="replace", character_coverage=1.0)
    assert model.model_type == "unigram"  # U+FFFD is a space to nmt_nfkc
    with pytest.raises(InvalidTextError, match="text 1 of `source` holds a lone surrogate"):
        train_unigram(["a", "\ud800"])


def test_sizes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"`vocab_size` is 30, too small for \d+ characters and 3 unknown"):
        train_unigram(LINES, vocab_size=30)
    with pytest.raises(ValueError, match=r"`vocab_size` is 50,000, more than the [\d,]+ pieces that this corpus gives"):
        train_unigram(LINES, vocab_size=50_000)
    with pytest.raises(ValueError, match=r"`vocab_size` is 50,000, more than"):
        train_unigram(LINES, vocab_size=50_000, model_type="word")
    most = train_unigram(LINES, vocab_size=50_000, hard_vocab_limit=False)
    assert 3000 < len(most.pieces) < 50_000
    with pytest.raises(ValueError, match="byte pieces alone are 259"):
        train_unigram(LINES, vocab_size=100, byte_fallback=True)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"vocabsize": 3}, TypeError, "no option `vocabsize`; options are vocab_size, model_type"),
        ({"vocab_size": 0}, ValueError, "`vocab_size` must be a whole number from 1"),
        ({"vocab_size": 8000.0}, TypeError, "`vocab_size` must be a whole number"),
        ({"model_type": "bpe"}, ValueError, "`model_type` is 'bpe', known are unigram, word, char"),
        ({"character_coverage": 0.5}, ValueError, "`character_coverage` must be a number from 0.98 to 1.0, got 0.5"),
        ({"character_coverage": math.nan}, ValueError, "`character_coverage` must be a number from 0.98"),
        ({"shrinking_factor": 1.0}, ValueError, "`shrinking_factor` must be a number from 0.5 to 0.95"),
        ({"num_threads": 0}, ValueError, "`num_threads` must be a whole number from 1 on, got 0"),
        (
            {"max_sentencepiece_length": 513},
            ValueError,
            "`max_sentencepiece_length` must be a whole number from 1 to 512",
        ),
        ({"unk_id": -1}, ValueError, "`unk_id` must be a whole number from 0"),
        ({"bos_id": 0}, ValueError, "`bos_id` is 0, which '<unk>' has already"),
        ({"eos_piece": "<s>"}, ValueError, "`eos_piece` is '<s>', which has id 1 already"),
        ({"control_symbols": "<a>"}, TypeError, r"`control_symbols` must hold strings, .* pass \['<a>'\]"),
        ({"control_symbols": ["<a>", "<a>"]}, ValueError, "`control_symbols` holds '<a>', which is defined already"),
        ({"control_symbols": [""]}, ValueError, "`control_symbols` must be text"),
        ({"user_defined_symbols": ["\ud800"]}, ValueError, "holds a lone surrogate"),
        ({"user_defined_symbols": ["<unk>"]}, ValueError, "'<unk>', which is the unknown piece"),
        ({"normalization_rule_name": "nfd"}, ValueError, "`normalization_rule_name` is 'nfd'"),
        ({"vocab_size": "5"}, TypeError, "`vocab_size` must be a whole number"),
        ({"shrinking_factor": "x"}, TypeError, "`shrinking_factor` must be a number from 0.5 to 0.95, got 'x'"),
        ({"character_coverage": None}, TypeError, "`character_coverage` must be a number from 0.98"),
        ({"unk_surface": 5}, TypeError, "`unk_surface` must be a str, got 5"),
        ({"unk_surface": "\ud800"}, ValueError, "`unk_surface` must be valid Unicode"),
        ({"required_chars": 5}, TypeError, "`required_chars` must be a str, got 5"),
        ({"required_chars": "\ud800"}, ValueError, "`required_chars` must be valid Unicode"),
        ({"control_symbols": {"<a>"}}, TypeError, "`control_symbols` is a set, whose order differs"),
        ({"byte_fallback": "x"}, TypeError, "`byte_fallback` must be True or False, got 'x'"),
        ({"errors": "zz"}, ValueError, "`errors` must be 'strict' or 'replace', got 'zz'"),
        ({"self_test": "abc"}, TypeError, r"`self_test` must hold strings, got the one 'abc'; pass \['abc'\]"),
    ],
)
def test_options_out_of_range(options, error, message):
    with pytest.raises(error, match=message):
        train_unigram(LINES, **options)


def test_numbers_of_numpy_are_numbers():
    options = {"hard_vocab_limit": False, "num_threads": 1}
    of_numpy = train_unigram(LINES[:50], vocab_size=np.int64(80), character_coverage=np.float64(1.0), **options)
    assert of_numpy.pieces == train_unigram(LINES[:50], vocab_size=80, character_coverage=1.0, **options).pieces


@pytest.mark.parametrize("model_type", ["unigram", "word", "char"])
def test_sums_that_int64_does_not_hold_are_refused(model_type):
    with pytest.raises(SourceFormatError, match=f"the characters of all words, .* add up to {10 * 2**61}, more than"):
        train_unigram({"\u2581aaaaab": 2**61, "\u2581cd": 2**61}, model_type=model_type, max_sentencepiece_length=1)


def test_sums_of_weights_of_seeds_are_refused():
    counts = {"\u2581aaaaab": 2**58, "\u2581cd": 2**58}
    with pytest.raises(SourceFormatError, match=f"times the 7 of the longest piece, add up to {7 * 10 * 2**58}, more"):
        train_unigram(counts, vocab_size=12)
    # where nothing is weighed by its length they fit
    assert len(train_unigram(counts, vocab_size=8, model_type="char").pieces) == 8


def test_defaults_are_those_of_sentencepiece():
    from sentencepiece import sentencepiece_model_pb2 as theirs

    spec = theirs.TrainerSpec()
    made = TrainingOptions()
    for name in TrainingOptions.names():
        if name in {field.name for field in spec.DESCRIPTOR.fields} - {"model_type", "num_threads"}:
            expected = getattr(spec, name)
            found = getattr(made, name)
            assert found == (pytest.approx(expected) if isinstance(expected, float) else expected) or not expected, name
