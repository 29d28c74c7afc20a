from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

import vocab_tools
from numba_nlp.byte_alphabet import BYTE_CHARACTERS, bytes_of, first_foreign_character, written
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from numba_nlp.kernels.tables.hashing import find_piece
from numba_nlp.kernels.tables.merge_table import find_merge_pair
from numba_nlp.vocabulary import Vocabulary
from tests.shared_data import shared
from tests.vocab_tools.sources import (
    PADDING,
    TEXT,
    added,
    piece_encoder,
    tokenizer_file,
    train,
    vocabulary,
    write_gpt2,
    write_json,
    write_ranks,
)
from vocab_tools.compiler import byte_bpe, describe_source
from vocab_tools.compiler.byte_bpe import build_arrays
from vocab_tools.formats import tiktoken_file, tokenizer_json

BYTES = {bytes([byte]): byte for byte in range(256)}


def built(tmp_path, value):
    return build_arrays(tokenizer_json.read(write_json(tmp_path / "toy.json", value)))


def from_ranks(tmp_path, *pieces, **options):
    ranks = {**BYTES, **{piece: 256 + number for number, piece in enumerate(pieces)}}
    path = write_ranks(tmp_path / "toy.tiktoken", ranks)
    return build_arrays(tiktoken_file.read(path, pattern="gpt2", **options)), ranks


def by_tiktoken(ranks, piece):
    return tiktoken.Encoding("toy", pat_str=".", mergeable_ranks=ranks, special_tokens={})._encode_single_piece(piece)


# --- the byte alphabet -------------------------------------------------------------------------------------------


def test_byte_alphabet_round_trips_and_knows_its_letters():
    every = bytes(range(256))
    assert bytes_of(written(every)) == every
    assert written(every) == BYTE_CHARACTERS
    assert (bytes_of("Ġthe"), bytes_of(""), written(b" \n")) == (b" the", b"", "ĠĊ")
    for foreign in " \t\n\x7f\x85\xa0\xad\u0144\uffff日😀":
        assert (bytes_of(f"a{foreign}"), first_foreign_character(f"a{foreign}")) == (None, foreign)
    assert first_foreign_character(BYTE_CHARACTERS) is None


# --- layout ------------------------------------------------------------------------------------------------------


def test_arrays_follow_the_contract(tmp_path):
    vocab = vocabulary("th", "the", "zz", specials=["<x>"])
    arrays, metadata = built(
        tmp_path,
        tokenizer_file(vocab, ["t h", "th e"], [added("<x>", 259), added("日", 260, special=False, rstrip=True)]),
    )
    Vocabulary(arrays, metadata)  # checks dtypes, lengths and ranges
    content, bounds = arrays["piece_bytes"].tobytes(), arrays["piece_offsets"].tolist()
    assert [content[bounds[i] : bounds[i + 1]] for i in range(256, 261)] == [
        b"th",
        b"the",
        b"zz",
        b"<x>",
        "日".encode(),
    ]
    assert arrays["piece_kinds"][255:].tolist() == [5, 0, 0, 0, 2, 3]
    assert arrays["byte_symbols"].tolist() == list(range(256))
    assert arrays["symbol_ids"][:256].tolist() == [vocab[written(bytes([byte]))] for byte in range(256)]
    assert arrays["symbol_ids"][256:].tolist() == [256, 257]
    assert arrays["merge_symbols"].tolist() == [256, 257]
    assert metadata["unique_products"] is True
    pairs = arrays["pair_merges"]
    assert (pairs[ord("t") << 8 | ord("h")], np.count_nonzero(pairs >= 0)) == (0, 1)
    assert find_merge_pair(arrays["merge_table"], arrays["merge_pairs"], ord("t"), ord("h")) == 0
    assert find_merge_pair(arrays["merge_table"], arrays["merge_pairs"], 256, ord("e")) == 1
    assert find_merge_pair(arrays["merge_table"], arrays["merge_pairs"], ord("t"), 257) == -1
    assert sorted(arrays["piece_lookup"][arrays["piece_lookup"] >= 0].tolist()) == list(range(259))
    assert arrays["special_bytes"].tobytes() == "<x>日".encode()
    assert arrays["special_offsets"].tolist() == [0, 3, 6]
    assert arrays["special_ids"].tolist() == [259, 260]
    assert arrays["special_flags"].tolist() == [1, 4]
    assert metadata["algorithm"] == "byte_bpe"


def test_special_tokens_are_sorted_by_bytes_and_flags_are_separate(tmp_path):
    flags = ["special", "lstrip", "rstrip", "single_word", "normalized"]
    contents = ["<z>", "<zz>", "\U0001f600", "\uffee", "<a>"]  # UTF-16 order would differ from UTF-8 order
    entries = [
        added(content, 256 + number, **{"special": False, flag: True})
        for number, (content, flag) in enumerate(zip(contents, flags, strict=True))
    ]
    arrays, _ = built(tmp_path, tokenizer_file(added_tokens=entries))
    assert arrays["special_ids"].tolist() == [260, 256, 257, 259, 258]
    assert arrays["special_flags"].tolist() == [16, 1, 2, 8, 4]


def test_piece_lookup_finds_every_piece_of_the_model(tmp_path):
    vocab = vocabulary("th", "the", "Ġthe", "zz")
    arrays, _ = built(tmp_path, tokenizer_file(vocab, ["t h"], [added("zz", 259)]))
    lookup = arrays["piece_lookup"], arrays["piece_bytes"], arrays["piece_offsets"]
    for piece, number in vocab.items():
        data = np.frombuffer(bytes_of(piece), np.uint8)
        assert find_piece(*lookup, data, 0, data.size) == (number if piece != "zz" else -1)
    other = np.frombuffer(b"thx", np.uint8)
    assert find_piece(*lookup, other, 0, 3) == -1


def test_a_vocabulary_without_merges(tmp_path):
    arrays, metadata = built(tmp_path, tokenizer_file())
    Vocabulary(arrays, metadata)
    assert arrays["merge_symbols"].size == 0
    assert piece_encoder(arrays, metadata)(b"ab") == [vocabulary()["a"], vocabulary()["b"]]


def test_products_of_several_merges_share_a_symbol(tmp_path):
    vocab = vocabulary("ab", "bc", "abc")
    source = tokenizer_file(vocab, ["b c", "a bc", "a b", "ab c"])
    arrays, metadata = built(tmp_path, source)
    assert metadata["unique_products"] is False
    assert arrays["symbol_ids"][256:].tolist() == [257, 258, 256]
    assert arrays["merge_symbols"].tolist() == [256, 257, 258, 257]
    Vocabulary(arrays, metadata)
    encode = piece_encoder(arrays, metadata)
    model = Tokenizer.from_file(str(tmp_path / "toy.json")).model
    for piece in ("abc", "ab", "aabcc", "abab", "cab"):
        assert encode(piece.encode()) == [token.id for token in model.tokenize(piece)]


def test_merges_of_parts_that_nothing_makes_stay_idle(tmp_path):
    source = tokenizer_file(vocabulary("xy", "xyz", "yz"), ["xy z", "y z"])
    arrays, metadata = built(tmp_path, source)
    Vocabulary(arrays, metadata)
    assert arrays["symbol_ids"][256:].tolist() == [257, 258, 256]
    assert piece_encoder(arrays, metadata)(b"xyz") == [vocabulary()["x"], 258]


def test_sizes_are_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(byte_bpe, "MAX_PIECE_BYTES", 4)
    (arrays, _), _ = from_ranks(tmp_path, b"abcd")
    assert arrays["merge_symbols"].size == 0
    with pytest.raises(SourceFormatError, match="the piece with id 256 has 5 bytes, more than the 4"):
        from_ranks(tmp_path, b"abcde")
    monkeypatch.setattr(byte_bpe, "MAX_SYMBOLS", 256)
    with pytest.raises(UnsupportedFeatureError, match="257 ids, more than the 256"):
        from_ranks(tmp_path, b"abcd")


@pytest.mark.parametrize("pattern", ["(a", r"(a)\1", r"(?<=\p{Nope})a"])
def test_a_pattern_that_cannot_run_is_refused_while_compiling(tmp_path, pattern):
    ranks = write_ranks(tmp_path / "toy.tiktoken", BYTES)
    with pytest.raises(UnsupportedFeatureError, match="pattern"):
        vocab_tools.compile(ranks, pattern=pattern)
    assert vocab_tools.compile(ranks, pattern=r"\p{L}+|\P{L}").metadata["pattern"] == "regex"


def test_compiling_twice_gives_the_same_digest(tmp_path):
    path = write_json(tmp_path / "toy.json", tokenizer_file(vocabulary("th"), ["t h"]))
    assert vocab_tools.compile(path) == vocab_tools.compile(path)
    assert vocab_tools.compile(path, name="other") != vocab_tools.compile(path)


# --- pieces taken whole ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("merges", "whole"),
    [(["t h", "th e"], False), (["t h"], True), (["h e", "t h", "th e"], True)],
)
def test_ignore_merges_matters_only_where_merging_misses_a_piece(tmp_path, merges, whole):
    pieces = ("th", "the", "he") if "h e" in merges else ("th", "the")
    source = tokenizer_file(vocabulary(*pieces), merges, model={"ignore_merges": True})
    arrays, metadata = built(tmp_path, source)
    assert metadata["whole_pieces"] is whole
    encode = piece_encoder(arrays, metadata)
    model = Tokenizer.from_file(str(tmp_path / "toy.json")).model
    for piece in ("the", "th", "thethe", "het"):
        assert encode(piece.encode()) == [token.id for token in model.tokenize(piece)]
    source["model"]["ignore_merges"] = False
    assert built(tmp_path, source)[1]["whole_pieces"] is False


def test_rank_file_with_a_piece_that_merging_misses(tmp_path):
    (arrays, metadata), ranks = from_ranks(tmp_path, b"ab", b"bcd", b"abcd")
    assert metadata["whole_pieces"] is True
    assert arrays["merge_symbols"].size == 1
    encode = piece_encoder(arrays, metadata)
    for piece in (b"ab", b"bcd", b"abcd", b"xabcd"):
        assert encode(piece) == by_tiktoken(ranks, piece)


# --- merges derived from ranks -----------------------------------------------------------------------------------


def test_merges_are_numbered_in_order_of_rank_although_long_pieces_come_first(tmp_path):
    (arrays, metadata), ranks = from_ranks(tmp_path, b"abc", b"bc", b"ab")
    assert arrays["symbol_ids"][256:].tolist() == [256, 257, 258]
    encode = piece_encoder(arrays, metadata)
    for piece in (b"abc", b"ab", b"bc", b"abcabc", b"aabcbc"):
        assert encode(piece) == by_tiktoken(ranks, piece)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_derived_merges_agree_with_tiktoken_on_any_rank_file(tmp_path_factory, data):
    words = st.text("abc", min_size=2, max_size=6).map(str.encode)
    pieces = data.draw(st.lists(words, unique=True, max_size=25))
    (arrays, metadata), ranks = from_ranks(tmp_path_factory.mktemp("ranks"), *pieces)
    encode = piece_encoder(arrays, metadata)
    reference = tiktoken.Encoding("toy", pat_str=".", mergeable_ranks=ranks, special_tokens={})
    for piece in [*pieces, *data.draw(st.lists(st.text("abc", min_size=1, max_size=14).map(str.encode), max_size=10))]:
        assert encode(piece) == reference._encode_single_piece(piece)


def random_pieces(n, pieces, seed=5):
    """Random bytes, slices of real text in many scripts, and pieces put together."""
    rng = random.Random(seed)
    text = shared("text/udhr_all_languages.txt").read_bytes()
    known = [piece for piece in pieces if piece]
    for number in range(n):
        length = rng.randrange(1, 40)
        if number % 3 == 0:
            yield rng.randbytes(length)
        elif number % 3 == 1:
            start = rng.randrange(len(text) - length)
            yield text[start : start + length]
        else:
            yield b"".join(rng.choices(known, k=rng.randrange(1, 5)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["p50k_base", "cl100k_base", "o200k_base"])
def test_known_rank_files_agree_with_tiktoken(name):
    description = describe_source(shared(f"vocab/tiktoken/{name}.tiktoken"))
    arrays, metadata = build_arrays(description)
    assert metadata["whole_pieces"] is False  # every piece is made by merging
    ranks = {piece: rank for rank, piece in enumerate(description.pieces) if piece is not None}
    reference = tiktoken.Encoding("x", pat_str=".", mergeable_ranks=ranks, special_tokens={})
    encode = piece_encoder(arrays, metadata)
    for piece in random_pieces(3000, description.pieces):
        assert encode(piece) == reference._encode_single_piece(piece), piece


# --- merges as tokenizers lists them -----------------------------------------------------------------------------


@pytest.mark.parametrize("vocab_size", [256, 300, 420])
def test_trained_tokenizers_agree(tmp_path, vocab_size):
    trained = train(vocab_size)
    trained.save(str(tmp_path / "toy.json"))
    source = tokenizer_file()  # the trained file has no decoder and no complete stages: take its model only
    model = {"vocab": trained.get_vocab(), "merges": built_merges(trained)}
    arrays, metadata = built(tmp_path, {**source, "model": {**source["model"], **model}})
    encode = piece_encoder(arrays, metadata)
    for word in " ".join(TEXT).split(" "):
        expected = [token.id for token in trained.model.tokenize(written(word.encode()))]
        assert encode(word.encode()) == expected


def built_merges(tokenizer):
    import json

    return json.loads(tokenizer.to_str())["model"]["merges"]


@pytest.mark.slow
def test_gpt2_files_and_tokenizer_json_compile_alike_and_agree_with_tokenizers():
    pair = [shared("vocab/gpt2/merges.txt"), shared("vocab/gpt2/vocab.json")]
    from_pair = vocab_tools.compile(pair, keep_source=False)
    path = shared("vocab/gpt2/tokenizer.json")
    from_json = vocab_tools.compile(path, keep_source=False)
    for name, array in from_pair.arrays.items():
        if name != "special_flags":  # the file says "normalized", which means nothing without a normaliser
            assert np.array_equal(array, from_json[name]), name
    encode = piece_encoder(from_pair.arrays, from_pair.metadata)
    model = Tokenizer.from_file(str(path)).model
    for piece in random_pieces(3000, describe_source(pair).pieces):
        assert encode(piece) == [token.id for token in model.tokenize(written(piece))], piece


@pytest.mark.slow
def test_roberta_files():
    vocabulary_ = vocab_tools.compile(
        [shared("vocab/roberta_bart/vocab.json"), shared("vocab/roberta_bart/merges.txt")]
    )
    assert vocabulary_.size == 50265
    assert vocabulary_["template_single"].tolist() == [0, -1, 2]
    assert vocabulary_.metadata["trim_offsets"] is True
    encode = piece_encoder(vocabulary_.arrays, vocabulary_.metadata)
    assert encode(b" the") == [5]


# --- the one call ------------------------------------------------------------------------------------------------


def test_options_reach_their_reader(tmp_path):
    ranks = write_ranks(tmp_path / "toy.tiktoken", BYTES)
    made = vocab_tools.compile(ranks, pattern="o200k", special_tokens={"<e>": 300}, special="plain", name="mine")
    assert (made.metadata["pattern"], made.metadata["special_policy"], made.metadata["name"]) == (
        "o200k",
        "plain",
        "mine",
    )
    assert made.size == 301
    pair = write_gpt2(tmp_path, vocabulary("th"), "t h\n")
    assert vocab_tools.compile(pair, family="gpt2").size == 258
    source = write_json(tmp_path / "toy.json", tokenizer_file(padding=PADDING))
    assert vocab_tools.compile(source, ignore=("padding",)).size == 256


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"family": "gpt2"}, r"family= does not apply to .*toy\.tiktoken \(format 'tiktoken'\), only to 'gpt2'"),
        ({"ignore": ("padding",)}, "ignore= does not apply to .* only to 'tokenizer.json'"),
        ({"special": "never"}, "special must be one of 'raise', 'match', 'plain', got 'never'"),
    ],
)
def test_options_that_do_not_apply(tmp_path, options, message):
    ranks = write_ranks(tmp_path / "toy.tiktoken", BYTES)
    with pytest.raises(SourceFormatError, match=message):
        vocab_tools.compile(ranks, pattern="gpt2", **options)


def test_special_policy_of_each_format(tmp_path):
    ranks = describe_source(write_ranks(tmp_path / "toy.tiktoken", BYTES), pattern="gpt2")
    source = describe_source(write_json(tmp_path / "toy.json", tokenizer_file()))
    assert (ranks.special_policy, source.special_policy) == ("raise", "match")
    arrays, metadata = build_arrays(dataclasses.replace(source, trim_offsets=True, trim_keeps_prefix_space=True))
    assert (metadata["trim_offsets"], metadata["trim_keeps_prefix_space"]) == (True, True)
    assert Vocabulary(arrays, metadata).metadata["trim_keeps_prefix_space"] is True


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("x.model", b"\x0a\x0e", SourceFormatError, "neither a whole SentencePiece model nor another"),
        ("tokenizer.model.v3", b"\x0a\x0e", SourceFormatError, "neither a whole SentencePiece model nor another"),
        ("words.txt", b"a\nb\n", UnsupportedFeatureError, r"neither has a line \[UNK\] near its beginning nor a name"),
        (
            "merges.txt",
            b"#version: 0.2\nt h\n",
            SourceFormatError,
            r"no pieces; pass both files, \['\.\.\./vocab\.json', '",
        ),
        ("m.txt", "#version: 0.2\nĠ t\n".encode(), SourceFormatError, r"m\.txt: a merges\.txt holds merges but no"),
        ("x.safetensors", b"\x00\x01", UnsupportedFeatureError, "a compiled vocabulary"),
        (
            "x.bin",
            b"\x00\x01",
            UnsupportedFeatureError,
            "its format is not supported .* reads a tokenizer.json, a pair",
        ),
        ("x.json", b'{"a": 1}', SourceFormatError, r"a vocab\.json holds pieces but no merges; pass both files"),
        ("x.json", b"", SourceFormatError, "the file is empty"),
    ],
)
def test_formats_that_are_not_supported(tmp_path, name, content, error, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(error, match=message):
        vocab_tools.compile(path)


def test_content_decides_over_the_name(tmp_path):
    assert vocab_tools.compile(write_ranks(tmp_path / "ranks.txt", BYTES), pattern="gpt2").size == 256
    assert vocab_tools.compile(write_json(tmp_path / "toy.model", tokenizer_file())).size == 256


def test_paths_that_do_not_belong_together(tmp_path):
    vocab_path, merges_path = write_gpt2(tmp_path, vocabulary("th"), "t h\n")
    assert vocab_tools.compile([str(merges_path), str(vocab_path)], family="gpt2").size == 258
    for paths in ([vocab_path, vocab_path], [vocab_path, merges_path, merges_path], [merges_path, merges_path], []):
        with pytest.raises(SourceFormatError, match=r"two paths must be a vocab\.json and its merges\.txt"):
            vocab_tools.compile(paths)
    with pytest.raises(FileNotFoundError, match=r"nothing: does not exist; give the path of a tokenizer\.json"):
        vocab_tools.compile(tmp_path / "nothing")
    with pytest.raises(SourceFormatError, match="is a folder; give the folder of a checkpoint by itself"):
        vocab_tools.compile([tmp_path])
    with pytest.raises(
        SourceFormatError, match=r"nothing that says which tokenizer class .* there is merges\.txt, vocab"
    ):
        vocab_tools.compile(tmp_path)
    write_json(tmp_path / "tokenizer.json", tokenizer_file())
    assert vocab_tools.compile(tmp_path).size == 256
