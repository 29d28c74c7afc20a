from __future__ import annotations

import inspect
import json
import subprocess
import sys

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

import typer
from typer.testing import CliRunner

import vocab_tools
from numba_nlp.vocabulary import Vocabulary
from tests.vocab_tools.sources import PADDING, added, tokenizer_file, vocabulary, write_gpt2, write_json, write_ranks
from vocab_tools.commands import app
from vocab_tools.formats import character_vocab, gpt2

BYTES = {bytes([byte]): byte for byte in range(256)}


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def one_line(result):
    """The message on stderr, which must be the only thing printed."""
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_compile_writes_what_the_library_compiles(tmp_path):
    output = tmp_path / "out.safetensors"
    source = write_json(tmp_path / "toy.json", tokenizer_file(vocabulary("th"), ["t h"]))
    result = run("compile", source, "-o", output)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"toy: 257 ids, 1 merges -> {output} (")
    assert Vocabulary.load(output) == vocab_tools.compile(source)


def test_compile_passes_every_option_on(tmp_path):
    output = tmp_path / "out.safetensors"
    ranks = write_ranks(tmp_path / "toy.tiktoken", {**BYTES, b"th": 257})
    options = ["--pattern", "cl100k", "--special-token", "<a=b>=300", "--special-token", "<c>=301"]
    result = run("compile", ranks, "--output", output, *options, "--special", "plain", "--name", "mine", "--allow-gaps")
    assert (result.exit_code, result.stderr) == (0, "")
    expected = vocab_tools.compile(
        ranks,
        pattern="cl100k",
        special_tokens={"<a=b>": 300, "<c>": 301},
        special="plain",
        name="mine",
        allow_gaps=True,
    )
    assert Vocabulary.load(output) == expected
    pair = write_gpt2(tmp_path, vocabulary("th"), "t h\n")
    assert run("compile", *pair, "-o", output, "--family", "gpt2").exit_code == 0
    assert Vocabulary.load(output) == vocab_tools.compile(pair, family="gpt2")
    source = write_json(tmp_path / "toy.json", tokenizer_file(padding=PADDING, truncation={}))
    assert run("compile", source, "-o", output, "--ignore", "padding", "--ignore", "truncation").exit_code == 0


def test_vocab_txt_with_every_option_and_what_is_shown_of_it(tmp_path):
    output = tmp_path / "out.safetensors"
    source = tmp_path / "words.vocab.txt"
    source.write_text("<p>\n<u>\n<c>\n<s>\n<m>\na\n##b\n", encoding="utf-8")
    tokens = {"unk_token": "<u>", "sep_token": "<s>", "pad_token": "<p>", "cls_token": "<c>", "mask_token": "<m>"}
    switches = ["--no-do-lower-case", "--strip-accents", "--no-tokenize-chinese-chars"]
    limit = ["--max-input-chars-per-word", "7"]
    named = [part for name, token in tokens.items() for part in (f"--{name.replace('_', '-')}", token)]
    result = run("compile", source, "-o", output, *switches, *limit, *named)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"words.vocab: 7 ids -> {output} (")
    flags = {"do_lower_case": False, "strip_accents": True, "tokenize_chinese_chars": False}
    assert Vocabulary.load(output) == vocab_tools.compile(source, **flags, max_input_chars_per_word=7, **tokens)
    shown = run("inspect", output)
    assert shown.exit_code == 0
    for part in (
        "wordpiece",
        "clean_text=True, handle_chinese_chars=False, strip_accents=True, lowercase=False",
        "id 1; those with more than 7 characters always",
        "joins at '##', clean-up on",
    ):
        assert part in shown.stdout


def test_codes_of_subword_nmt_with_every_option(tmp_path):
    output = tmp_path / "out.safetensors"
    codes = tmp_path / "codes"
    codes.write_text("#version: 0.2\nt h\nth e</w>\na n\nan d</w>\n", encoding="utf-8")
    frequencies = tmp_path / "frequencies"
    frequencies.write_text("the 9\nth@@ 3\nan@@ 5\n", encoding="utf-8")
    options = ["--merges", "3", "--separator", "@@", "--vocabulary", frequencies, "--vocabulary-threshold", "4"]
    result = run("compile", codes, "-o", output, *options)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("codes: ")
    given = {"merges": 3, "separator": "@@", "vocabulary": frequencies, "vocabulary_threshold": 4}
    assert Vocabulary.load(output) == vocab_tools.compile(codes, **given)


def test_every_option_of_the_library_is_one_of_the_command():
    command = typer.main.get_command(app).commands["compile"]
    named = {parameter.name for parameter in command.params} - {"sources", "output", "special_token", "setting"}
    expected = {*inspect.signature(vocab_tools.compile).parameters} - {"source", "special_tokens", "settings"}
    assert named == expected
    (family,) = (parameter for parameter in command.params if parameter.name == "family")
    for name in (*gpt2.FAMILIES, *character_vocab.FAMILIES):
        assert name in family.help


def test_a_checkpoint_and_its_settings(tmp_path):
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nTo\nto\n", encoding="utf-8")
    (folder / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    output = tmp_path / "out.safetensors"
    result = run("compile", folder, "-o", output, "--setting", "padding_side=left", "--setting", "model_max_length=9")
    assert result.exit_code == 0, result.output
    assert Vocabulary.load(output).metadata["padding_side"] == "left"
    for wrong in ("padding_side", "strip_accents=false"):
        assert run("compile", folder, "-o", output, "--setting", wrong).exit_code == 2


def test_errors_are_one_line_and_exit_code_1(tmp_path):
    output = tmp_path / "out.safetensors"
    source = write_json(tmp_path / "toy.json", tokenizer_file(normalizer={"type": "Novel"}))
    assert 'normalizer = {"type": "Novel"}' in one_line(run("compile", source, "-o", output))
    assert "does not exist" in one_line(run("compile", tmp_path / "nothing", "-o", output))
    assert not output.exists()
    good = write_json(tmp_path / "toy.json", tokenizer_file())
    assert "no-such-folder" in one_line(run("compile", good, "-o", tmp_path / "no-such-folder" / "x.safetensors"))
    (tmp_path / "x.safetensors").write_bytes(good.read_bytes())
    assert "x.safetensors" in one_line(run("inspect", tmp_path / "x.safetensors"))
    assert "words" in one_line(run("inspect", write_json(tmp_path / "words", 5)))
    assert "nothing" in one_line(run("inspect", tmp_path / "nothing"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compile"], "Missing argument"),
        (["compile", "x"], "Missing option '--output'"),
        (["compile", "x", "-o", "y", "--special-token", "text"], "expected TEXT=ID, got 'text'"),
        (["compile", "x", "-o", "y", "--special-token", "=5"], "expected TEXT=ID, got '=5'"),
        (["compile", "x", "-o", "y", "--special-token", "a=-5"], "expected TEXT=ID, got 'a=-5'"),
        (["compile", "x", "-o", "y", "--special-token", "a=1", "--special-token", "a=2"], "'a' is given twice"),
        (["inspect", "x", "--longest", "-1"], "--longest"),
        (["explode"], "explode"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_source_is_never_overwritten(tmp_path):
    source = write_json(tmp_path / "toy.json", tokenizer_file())
    before = source.read_bytes()
    result = run("compile", source, "-o", tmp_path / "." / "toy.json")
    assert result.exit_code == 2
    assert "is one of the sources" in result.stderr
    assert source.read_bytes() == before


def test_inspect_shows_what_the_file_holds(tmp_path):
    output = tmp_path / "out.safetensors"
    vocab = vocabulary("th", "the", "ãģ", "[x]")
    entries = [added("<s>", 260), added("<extra>", 261, special=False, lstrip=True)]
    made = vocab_tools.compile(write_json(tmp_path / "toy.json", tokenizer_file(vocab, ["t h", "th e"], entries)))
    made.save(output)
    result = run("inspect", output)
    assert (result.exit_code, result.stderr) == (0, "")
    for shown in (
        "byte_bpe",
        "262: 4 normal, 1 special, 1 added, not special, 256 single bytes",
        "gpt2, runs by a hand-written scanner",
        f"tokenizers (Unicode {made.metadata['unicode_version']})",
        made.digest,
        made.metadata["source_digest"],
        "'<s>'",
        "lstrip",
        "'the'",
        r"b'\xe3\x81'",  # half a character
        "'[x]'",  # no markup
    ):
        assert shown in result.stdout, shown
    assert "longest pieces" not in run("inspect", output, "--longest", "0").stdout
    listed = json.loads(run("inspect", output, "--json", "--longest", "1").stdout)
    assert listed["name"] == "toy"
    assert listed["facts"]["digest"] == made.digest
    assert listed["added_tokens"] == [
        {"id": 260, "token": "<s>", "flags": ["special"]}, {"id": 261, "token": "<extra>", "flags": ["lstrip"]},
    ]  # fmt: skip
    assert listed["longest_pieces"] == [{"id": 257, "bytes": 3, "piece": "'the'"}]
    # a source is shown as what it compiles to
    from_source = json.loads(run("inspect", tmp_path / "toy.json", "--json", "--longest", "1").stdout)
    assert from_source == listed


def test_inspect_says_when_a_regular_expression_runs(tmp_path):
    output = tmp_path / "out.safetensors"
    vocab_tools.compile(write_ranks(tmp_path / "toy.tiktoken", BYTES), pattern=r"\p{L}+|\P{L}").save(output)
    result = run("inspect", output)
    assert "regex, runs as a regular expression (slower)" in result.stdout
    assert r"\p{L}+|\P{L}" in result.stdout


def test_bugs_keep_their_traceback(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise KeyError("a bug")

    monkeypatch.setattr("vocab_tools.compiler.api.compile", broken)
    assert isinstance(run("compile", tmp_path / "x", "-o", tmp_path / "y").exception, KeyError)


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_a_missing_extra_is_named(missing):
    result = run_python(f"import sys; sys.modules[{missing!r}] = None; import vocab_tools.cli; vocab_tools.cli.main()")
    assert result.returncode == 1
    assert result.stderr == (
        f"error: vocab-tools needs typer and rich, and {missing} is not installed; install the command-line extra in "
        "the checkout: pip install '.[cli]'\n"
    )


def test_the_entry_point_runs_and_imports_late():
    result = run_python("import sys; sys.argv = ['vocab-tools', '--help']; import vocab_tools.cli as cli; cli.main()")
    assert result.returncode == 0
    assert "inspect" in result.stdout
    code = "import sys, vocab_tools.cli; print([m for m in ('typer', 'rich', 'numba', 'numpy') if m in sys.modules])"
    assert run_python(code).stdout == "[]\n"
