"""``vocab-tools train``: the written file loads in the reference library and encodes there as here."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner

import numba_nlp as nlp
import vocab_tools
from tests.made_tokenizers import HAMLET
from vocab_tools.commands import app

LINES = HAMLET.read_text(encoding="utf-8").splitlines()[:1500]
TEXTS = [*LINES[:200], "To be, or not to be"]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


def run(*arguments, code=0, stdin=None):
    result = CliRunner().invoke(app, ["train", *map(str, arguments)], input=stdin)
    assert result.exit_code == code, result.output
    return result


def encoded(path):
    return [ids.tolist() for ids in nlp.Tokenizer(vocab_tools.compile(path)).encode_batch(TEXTS)]


@pytest.mark.parametrize(
    "options",
    [
        ("unigram", "--vocab_size", 300, "--character_coverage", 0.99, "--user_defined_symbols", "Hamlet,Ghost"),
        ("char", "--vocab-size", 60),
        ("bpe", "--kind", "sentencepiece", "--vocab-size", 400),
        ("bpe", "--kind", "sentencepiece", "--vocab-size", 600, "--byte-fallback"),
    ],
    ids=["unigram", "char", "bpe", "bpe-bytes"],
)
def test_models_encode_as_in_sentencepiece(corpus, tmp_path, options):
    sentencepiece = pytest.importorskip("sentencepiece")
    run("--input", corpus, "--model_prefix", tmp_path / "m", "--model-type", *options)
    reference = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "m.model"))
    assert encoded(tmp_path / "m.model") == reference.encode(TEXTS)


@pytest.mark.parametrize(
    "options",
    [
        ("bpe", "--vocab-size", 400, "--special-tokens", "<|endoftext|>"),
        ("bpe", "--kind", "character", "--vocab-size", 300, "--unk-token", "[UNK]", "--special-tokens", "[UNK]"),
        ("wordpiece", "--vocab-size", 300, "--limit-alphabet", 40),
        ("unigram", "--vocab-size", 300),
    ],
    ids=["byte-level", "character", "wordpiece", "unigram"],
)
def test_tokenizer_json_encodes_as_in_tokenizers(corpus, tmp_path, options):
    tokenizers = pytest.importorskip("tokenizers")
    output = tmp_path / "tokenizer.json"
    run(corpus, "-o", output, "--model-type", *options)
    reference = tokenizers.Tokenizer.from_file(str(output))
    expected = [row.ids for row in reference.encode_batch(TEXTS, add_special_tokens=False)]
    assert encoded(output) == expected


def test_codes_are_those_of_subword_nmt(corpus, tmp_path):
    learner = pytest.importorskip("subword_nmt.learn_bpe")
    expected = io.StringIO()
    learner.learn_bpe(io.StringIO(corpus.read_text(encoding="utf-8")), expected, 100, min_frequency=3)
    options = ("--model-type", "bpe", "--kind", "subword-nmt", "-s", 100, "--min-frequency", 3)
    run("-i", corpus, "-o", tmp_path / "a.codes", *options)
    counts = Counter(word for line in LINES for word in line.split(" ") if word)
    table = "".join(f"{word} {count}\n" for word, count in counts.items()).encode()
    run("-i", "-", "-o", tmp_path / "b.codes", "--dict-input", *options, stdin=table)
    for name in ("a.codes", "b.codes"):
        assert (tmp_path / name).read_text(encoding="utf-8") == expected.getvalue()


def test_sources_and_formats(corpus, tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    options = ("--model-type", "unigram", "--vocab-size", 200, "-o")
    report = json.loads(run(corpus, *options, tmp_path / "text.model", "--json").stdout)
    assert (report["vocab_size"], report["format"]) == (200, "sentencepiece")
    expected = (tmp_path / "text.model").read_bytes()
    (tmp_path / "c.gz").write_bytes(gzip.compress(corpus.read_bytes()))
    parquet.write_table(pa.table({"line": LINES}), tmp_path / "c.parquet")
    for source, more in (("c.gz", ()), ("c.parquet", ("--column", "line"))):
        run(tmp_path / source, *options, tmp_path / "other.model", *more)
        assert (tmp_path / "other.model").read_bytes() == expected
    run("-", *options, tmp_path / "other.model", stdin=corpus.read_bytes())
    assert (tmp_path / "other.model").read_bytes() == expected
    assert "no column 'text'; it has line" in run(
        tmp_path / "c.parquet", *options, tmp_path / "x.model", code=1
    ).stderr.replace("\n", " ")
    run(corpus, "--model-type", "bpe", "--vocab-size", 300, "-o", tmp_path / "folder")
    assert {path.name for path in (tmp_path / "folder").iterdir()} == {"vocab.json", "merges.txt"}
    run(corpus, "--model-type", "wordpiece", "--vocab-size", 200, "-o", tmp_path / "vocab.txt")
    assert len((tmp_path / "vocab.txt").read_text(encoding="utf-8").splitlines()) == 200


def test_the_call_of_spm_train(corpus, tmp_path):
    """Its words alone give what it gives: a ``.model``, of BPE too."""
    sentencepiece = pytest.importorskip("sentencepiece")
    run("--input", corpus, "--model_prefix", tmp_path / "m", "--model_type", "bpe", "--vocab_size", 400)
    assert encoded(tmp_path / "m.model") == (
        sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "m.model")).encode(TEXTS)
    )
    run(corpus, "-o", tmp_path / "n.model", "--model-type", "bpe", "--vocab-size", 400)
    assert (tmp_path / "n.model").read_bytes() == (tmp_path / "m.model").read_bytes()


@pytest.mark.parametrize(
    ("name", "options", "read_with"),
    [
        ("a.vocab.txt", ("wordpiece", "--no-lowercase"), {"do_lower_case": False}),
        ("folder", ("bpe",), {"family": "gpt2"}),
        ("a.tiktoken", ("bpe", "--cut", "llama3"), {"pattern": "llama3", "special_tokens": {}}),
        ("a.json", ("bpe", "--kind", "sentencepiece"), {}),
        ("a.json", ("bpe", "--kind", "character"), {}),
    ],
)
def test_what_is_written_is_read_as_it_was_trained(corpus, tmp_path, name, options, read_with):
    """What a format does not hold is said, as options for its reader."""
    output = tmp_path / name
    report = json.loads(run(corpus, "-o", output, "--vocab-size", 320, "--json", "--model-type", *options).stdout)
    assert report["options"] == read_with
    given = report["paths"] if len(report["paths"]) > 1 else report["paths"][0]
    made = nlp.Tokenizer(vocab_tools.compile(given, **read_with))
    run(corpus, "-o", tmp_path / "b.json", "--vocab-size", 320, "--model-type", *options)
    if name != "folder":  # whose special token comes with the format
        assert [ids.tolist() for ids in made.encode_batch(TEXTS)] == encoded(tmp_path / "b.json")
    shown = run(corpus, "-o", output, "--vocab-size", 320, "--model-type", *options).stdout
    assert ("read it with: --option" in shown) == bool(read_with)


@pytest.mark.parametrize(
    "options",
    [
        ("folder", "bpe", "--cut", "llama3"),
        ("folder", "bpe", "--add-prefix-space"),
        ("folder", "bpe", "--kind", "character", "--cut", "whitespace", "--end-of-word-suffix", "_"),
        ("a.codes", "bpe", "--kind", "character"),
        ("a.vocab.txt", "wordpiece", "--continuing-subword-prefix", "@@"),
    ],
)
def test_what_a_format_cannot_say_is_refused(corpus, tmp_path, options):
    name, model_type, *more = options
    result = run(corpus, "-o", tmp_path / name, "--vocab-size", 320, "--model-type", model_type, *more, code=1)
    assert "without a loss" in result.stderr or "would lose" in result.stderr
    assert not (tmp_path / name).exists()


def test_standard_output(corpus, tmp_path):
    options = ("--model-type", "bpe", "--kind", "subword-nmt", "-s", 50)
    run(corpus, "-o", tmp_path / "a.codes", *options)
    result = run(corpus, "-o", "-", *options)
    assert result.stdout_bytes == (tmp_path / "a.codes").read_bytes()
    assert result.stderr.startswith("bpe: ")
    run(corpus, "-o", "-", "--to", "merges.txt", "--model-type", "bpe", code=2)


def test_sizes_that_cannot_be(corpus, tmp_path):
    result = run(corpus, "-o", tmp_path / "vocab.txt", "--model-type", "wordpiece", "--vocab-size", 10)
    assert "note: more than the 10 asked for" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--model-type", "bpe", "--character-coverage", "1"), 2, "--character-coverage"),
        (("--model-type", "unigram", "--min-frequency", "1"), 2, "--min-frequency"),
        (("--model-type", "wordpiece", "--symbols", "1"), 2, "--symbols"),
        (("--model-type", "nothing"), 2, "--model-type"),
        (("--vocab-size", "0"), 2, "--vocab-size"),
        (("--model-type", "bpe", "--kind", "byte-level"), 1, "it would lose how text is cut into words"),
        (("--model-type", "unigram", "--vocab-size", "90000"), 2, "--no-hard-vocab-limit"),
    ],
)
def test_what_does_not_work(corpus, tmp_path, arguments, code, message):
    result = run(corpus, "-o", tmp_path / "x.model", *arguments, code=code)
    assert message in result.stderr
    assert not (tmp_path / "x.model").exists()
