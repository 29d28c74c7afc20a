"""The table, compiled files and their sources, and the command."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vocab_tools
from numba_nlp.errors import ConversionError, SourceFormatError, VocabularyFormatError
from numba_nlp.vocabulary import Vocabulary
from tests.checkpoint_folders import bert_files, byte_level, merged_files, write_folder
from tests.spm_folders import trained
from tests.vocab_tools.sources import tokenizer_file, vocabulary, write_json, write_ranks
from vocab_tools.converting.formats import FORMATS
from vocab_tools.formats.serde_numbers import read_float
from vocab_tools.formats.writers.json_text import tokenizer_bytes, written_float


def sources(folder):
    """One small source of every format, and the options of its reader."""
    write_folder(folder / "merges", merged_files(byte_level("<|endoftext|>")))
    write_folder(folder / "bert", bert_files())
    (folder / "a.model").write_bytes(trained("unigram"))
    (folder / "a.codes").write_text("#version: 0.2\nt h\nth e</w>\n", encoding="utf-8")
    (folder / "b.codes").write_text("t h 9\nth e</w> 3\n", encoding="utf-8")
    marian = write_folder(folder / "marian", {
        "vocab.json": {"</s>": 0, "<unk>": 1, "\u2581the": 2, "<pad>": 3},
        "tokenizer_config.json": {"tokenizer_class": "MarianTokenizer"},
    })  # fmt: skip
    for name in ("source.spm", "target.spm"):
        (marian / name).write_bytes(trained("unigram"))
    ranks = write_ranks(folder / "a.tiktoken", {bytes([byte]): byte for byte in range(256)})
    return {
        "sentencepiece": (folder / "a.model", {}),
        "tokenizer.json": (write_json(folder / "tokenizer.json", tokenizer_file(vocabulary("th"), ["t h"])), {}),
        "merges.txt": ([folder / "merges" / name for name in ("vocab.json", "merges.txt")], {"family": "gpt2"}),
        "tiktoken": (ranks, {"pattern": "o200k"}),
        "vocab.txt": (folder / "bert" / "vocab.txt", {"do_lower_case": False}),
        "subword-nmt": (folder / "a.codes", {}),
        "fastbpe": (folder / "b.codes", {}),
        "marian": (marian, {}),
    }


def files_of(source):
    if isinstance(source, list):
        return source
    return sorted(source.iterdir()) if source.is_dir() else [source]


def test_every_cell_says_something():
    cells = vocab_tools.conversion_matrix()
    assert list(cells) == [(source, target) for source in FORMATS for target in FORMATS]
    for (source, target), cell in cells.items():
        assert (cell.source, cell.target) == (source, target)
        assert bool(cell.which) == (cell.works != "no")
        assert cell.loses or cell.works == "yes"
        own = source == target or "compiled" in (source, target)
        assert (cell.convert is None) == (own or cell.works == "no")


def test_cells_that_lose_refuse_with_their_words(tmp_path):
    given_sources = sources(tmp_path)
    lossy = [cell for cell in vocab_tools.conversion_matrix().values() if cell.works == "no"]
    assert len(lossy) > 30
    for cell in lossy:
        source, options = given_sources[cell.source]
        with pytest.raises(ConversionError) as caught:
            vocab_tools.convert(source, tmp_path / "out", to=cell.target, **options)
        assert cell.loses in str(caught.value)
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "compiled"])
def test_a_compiled_file_gives_its_source_back(tmp_path, name):
    source, options = sources(tmp_path)[name]
    compiled = vocab_tools.convert(source, tmp_path / "a.safetensors", **options)
    assert (compiled.source, compiled.target) == (name, "compiled")
    back = vocab_tools.convert(compiled.paths[0], tmp_path / "back", to=name)
    assert (back.source, back.target) == ("compiled", name)
    read = {path.read_bytes() for path in files_of(source)}
    assert {path.read_bytes() for path in back.paths} <= read
    assert back.options == options
    again = list(back.paths) if name == "merges.txt" else tmp_path / "back"
    first, second = Vocabulary.load(compiled.paths[0]), vocab_tools.compile(again, **back.options)
    for array in first.arrays:
        assert first[array].tobytes() == second[array].tobytes(), array
    assert first.metadata["source_digest"] == second.metadata["source_digest"]


def test_a_compiled_file_becomes_what_its_source_can(tmp_path):
    source, _ = sources(tmp_path)["vocab.txt"]
    vocab_tools.compile(source, do_lower_case=False).save(tmp_path / "a.safetensors")
    made = vocab_tools.convert(tmp_path / "a.safetensors", tmp_path / "tokenizer.json")
    assert (made.source, made.target) == ("compiled", "tokenizer.json")
    assert (
        made.paths[0].read_bytes()
        == vocab_tools.convert(source, tmp_path / "b.json", do_lower_case=False).paths[0].read_bytes()
    )
    with pytest.raises(ConversionError, match="no list of merges or scores"):
        vocab_tools.convert(tmp_path / "a.safetensors", tmp_path / "a.model")


def test_a_vocabulary_without_its_source(tmp_path):
    source, _ = sources(tmp_path)["sentencepiece"]
    vocab_tools.compile(source, keep_source=False).save(tmp_path / "a.safetensors")
    with pytest.raises(VocabularyFormatError, match="does not keep the files"):
        vocab_tools.convert(tmp_path / "a.safetensors", tmp_path / "back.model")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source_files": [{"name": "../a", "bytes": 4}]}, "source_files"),
        ({"source_files": [{"name": "a", "bytes": 4}, {"name": "a", "bytes": 4}]}, "source_files"),
        ({"source_files": [{"name": "a", "bytes": -4}]}, "source_files"),
        ({"source_files": None}, "source_files"),
        ({"source_files": []}, "source_files"),
        ({"source_files": [{"name": "a", "bytes": "4"}]}, "source_files"),
        ({"source_files": [{"name": "a"}]}, "source_files"),
        ({"source_is_folder": 1}, "source_is_folder"),
        ({"source_options": {"source": "x"}}, "'source', which is no option that is kept"),
        ({"source_options": {"nothing": 1}}, "'nothing', which is no option that is kept"),
        ({"source_options": {"merges": "3"}}, "`merges` must be"),
        ({"source_options": {"vocabulary": "../x"}}, "the vocabulary '../x', expected one of several files"),
        ({"source_options": 3}, "source_options"),
        ({"source_files": [{"name": "a", "bytes": 4}]}, "does not hold the 4 bytes"),
        ({"source_files": [{"name": "a", "bytes": 1 << 39}]}, "more than sources have"),
    ],
)
def test_damaged_entries_of_sources(tmp_path, changes, message):
    source, _ = sources(tmp_path)["sentencepiece"]
    made = vocab_tools.compile(source)

    def damage_and_convert():
        Vocabulary(made.arrays, {**made.metadata, **changes}).save(tmp_path / "a.safetensors")
        vocab_tools.convert(tmp_path / "a.safetensors", tmp_path / "back", to="source")

    with pytest.raises(VocabularyFormatError, match=message):
        damage_and_convert()


def test_a_damaged_stream_of_sources(tmp_path):
    source, _ = sources(tmp_path)["sentencepiece"]
    made = vocab_tools.compile(source)
    arrays = {**made.arrays, "source_bytes": np.arange(200, dtype=np.uint8)}
    Vocabulary(arrays, made.metadata).save(tmp_path / "a.safetensors")
    with pytest.raises(VocabularyFormatError, match="cannot be unpacked"):
        vocab_tools.convert(tmp_path / "a.safetensors", tmp_path / "back.model")


def test_wrong_calls(tmp_path):
    source, _ = sources(tmp_path)["tokenizer.json"]
    with pytest.raises(SourceFormatError, match="to='xml' is no format"):
        vocab_tools.convert(source, tmp_path / "out", to="xml")
    with pytest.raises(SourceFormatError, match="the name does not tell the format"):
        vocab_tools.convert(source, tmp_path / "out.xml")
    with pytest.raises(SourceFormatError, match="ignore= takes"):
        vocab_tools.convert(source, tmp_path / "out", to="merges.txt", ignore=("merges",))
    with pytest.raises(ConversionError, match="is a folder, but"):
        vocab_tools.convert(source, tmp_path, to="tokenizer.json")
    with pytest.raises(ConversionError, match="needs a folder"):
        vocab_tools.convert(sources(tmp_path)["merges.txt"][0], source, to="merges.txt", family="gpt2")


@given(st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**60), max_value=2.0**60))
def test_scores_keep_their_bits(value):
    text = written_float(value)
    assert float(text) == value
    assert np.float32(read_float(text) if not text.isdigit() else int(text)) == np.float32(value)
    document = {"model": {"vocab": [["a", value], ['\u2581"\\', -1.5]]}}
    assert json.loads(tokenizer_bytes(document)) == document


def test_the_command(tmp_path):
    pytest.importorskip("typer")
    pytest.importorskip("rich")
    from typer.testing import CliRunner

    from vocab_tools.commands import app

    def run(*arguments):
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    shown = run("convert", "--matrix")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert all(name in shown.stdout for name in FORMATS)
    table = json.loads(run("convert", "--matrix", "--json").stdout)
    assert len(table) == 81
    assert {cell["works"] for cell in table} == {"yes", "some", "no"}

    source, _ = sources(tmp_path)["tiktoken"]
    output = tmp_path / "made.json"
    result = run("convert", source, "-o", output, "--option", "pattern=o200k", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout)["paths"] == [str(output)]
    plain = run("convert", output, "-o", tmp_path / "back.tiktoken")
    assert "read it with: --option pattern=o200k --option 'special_tokens={}'" in plain.stdout
    streamed = run("convert", output, "-o", "-", "--to", "tiktoken")
    assert streamed.stdout_bytes == (tmp_path / "back.tiktoken").read_bytes()
    assert streamed.stderr.startswith("tokenizer.json -> tiktoken: -\nread it with: ")
    assert run("convert", output, "-o", "-").exit_code == 2
    unknown = run("convert", output, "-o", tmp_path / "x.zzz")
    assert "pass --to with one of sentencepiece" in unknown.stderr
    assert run("convert", source, "-o", output, "--option", "pattern=o200k", "--to", "vocab.txt").exit_code == 1
    assert run("convert", source, "-o", source).exit_code == 2
    assert run("convert", source).exit_code == 2
    assert run("convert", "--matrix", source).exit_code == 2
    assert run("convert", source, "-o", output, "--option", "nonsense=1").exit_code == 2
