"""A short run of ``tools/fuzz_readers.py``, that it finds what is wrong, and what it has found."""

from __future__ import annotations

import gzip
import json
import pickle
import random
import re
from pathlib import Path

import pytest

import numba_nlp as nlp
import vocab_tools
from numba_nlp._schemas.byte_bpe import BYTE_BPE
from numba_nlp._vocabulary_file import file_parts, metadata_digest, payload_digest
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError, VocabularyFormatError
from numba_nlp.kernels.segment.bpe import ENCODE_ROWS
from numba_nlp.vocabulary import Vocabulary
from tests.checkpoint_folders import bert_files, write_folder
from tests.spm_folders import folder_of, trained
from tests.staged_tokenizers import made, staged
from tests.toy_vocabulary import toy_vocabulary
from tools import fuzz_readers
from tools.files import ROOT
from tools.fuzz_messages import read_fields, write_fields
from tools.fuzz_mutators import _plain, mutate
from tools.fuzz_seeds import READERS, Seed

RESULTS = ROOT / "docs" / "results" / "fuzz_readers.json"


def test_three_seconds(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    arguments = ["--seconds", "3", "--reader", "tiktoken", "--seed", "7", "--limit", "60", "--record", str(record)]
    assert fuzz_readers.main(arguments) == 0
    entry = json.loads(record.read_text())["readers"]["tiktoken"]
    assert entry["findings"] == []
    assert entry["cases"] == entry["loaded"] + entry["refused"] > 10


def test_the_record_has_every_reader_and_no_finding() -> None:
    readers = json.loads(RESULTS.read_text())["readers"]
    assert set(readers) == set(READERS)
    for entry in readers.values():
        assert entry["findings"] == []
        assert entry["seconds"] >= 120
        assert entry["loaded"] > 0
        assert entry["refused"] > 0


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (KeyError("a"), "KeyError at"),
        (RecursionError("deep"), "RecursionError at"),
        (MemoryError(), "MemoryError at"),
        (SourceFormatError("something is wrong"), "the message names no file"),
        (FileNotFoundError("vocab.txt: " + "a" * 5000), "a message of 5011 characters"),
    ],
)
def test_what_is_no_refusal_is_found(monkeypatch, tmp_path: Path, error: Exception, kind: str) -> None:
    def load(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(nlp, "load_tokenizer", load)
    outcome, what, _ = fuzz_readers.check(Seed("a", {"vocab.txt": b"a"}, ("vocab.txt",)), tmp_path)
    assert outcome == "finding"
    assert kind in what


def test_a_process_that_ends_or_hangs_is_found(monkeypatch) -> None:
    """The process is a stand-in that begins a case and does not finish it."""
    started = 'print(\'{"ready": 1}\\n{"case": 0}\', flush=True); '
    for code, what in (
        ("import os; os.abort()", "the process ended with -6"),
        ("import time; time.sleep(60)", "more time"),
    ):
        monkeypatch.setattr(fuzz_readers, "_process", _stand_in(started + code))
        report = fuzz_readers.fuzz_reader("tiktoken", 0.01, 1, 0.1)
        assert [finding["what"] for finding in report.findings] == [what]


def _stand_in(code: str):
    def process(reader, seconds, seed, first, folder, *, only=False):
        (folder.parent / "stderr.txt").write_text("")
        command = [fuzz_readers.sys.executable, "-c", code]
        return fuzz_readers.subprocess.Popen(
            command, stdout=fuzz_readers.subprocess.PIPE, stderr=fuzz_readers.subprocess.DEVNULL
        )

    return process


def test_cases_come_again_from_their_numbers() -> None:
    files = {"vocab.json": b'{"a": 0, "b": 1}', "merges.txt": b"#version: 0.2\na b\n", "a.model": trained("bpe_llama")}
    made = [mutate(random.Random(number), files) for number in range(200)]
    assert made == [mutate(random.Random(number), files) for number in range(200)]
    assert sum(one != files for one in made) > 180


def test_messages_are_written_as_they_were_read() -> None:
    content = trained("bpe_llama")
    assert write_fields(read_fields(content)) == content
    with pytest.raises(ValueError, match="no message"):
        read_fields(content[:-1])


# --- what was found ------------------------------------------------------------------------------------------------


def test_a_packed_file_of_nothing(tmp_path: Path) -> None:
    """It was a ValueError of unpacking."""
    path = tmp_path / "bpe_simple_vocab_16e6.txt.gz"
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(SourceFormatError, match=r"bpe_simple_vocab_16e6\.txt\.gz: expected CLIP's file"):
        vocab_tools.compile(path)


def test_messages_stay_short(tmp_path: Path) -> None:
    """A key of 9000 characters was in the message as it is."""
    path = tmp_path / "tokenizer.json"
    content = json.loads(made("unigram").to_str())
    content["normalizer"]["normalizers"][0]["a" * 9000] = 1
    path.write_text(json.dumps(content))
    with pytest.raises(UnsupportedFeatureError) as caught:
        vocab_tools.compile(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: normalizer.normalizers[0].aaa")
    assert "characters left out" in message
    assert len(message) <= 2000
    assert str(pickle.loads(pickle.dumps(caught.value))) == message


def test_offsets_without_an_offset(tmp_path: Path) -> None:
    """It was an IndexError; the digests of the file are right."""
    vocabulary = staged("unigram bytes").ours.vocabulary
    names = [name for name in vocabulary.arrays if name.endswith("_offsets")]
    messages = []
    path = tmp_path / "a.safetensors"
    for name in names:
        arrays = {**vocabulary.arrays, name: vocabulary.arrays[name][:0]}
        metadata = json.loads(json.dumps(dict(vocabulary.metadata), default=_plain))
        metadata["payload_digest"] = payload_digest(arrays)
        metadata["metadata_digest"] = metadata_digest(metadata)
        path.write_bytes(b"".join(file_parts(arrays, metadata)))
        with pytest.raises(VocabularyFormatError, match=r"a\.safetensors: ") as caught:
            nlp.load_tokenizer(path)
        messages.append(str(caught.value))
    assert any("is empty, expected offsets" in message for message in messages)


def test_a_pattern_that_is_none() -> None:
    """It was a KeyError when the vocabulary was used."""
    vocabulary = toy_vocabulary()
    with pytest.raises(VocabularyFormatError, match=r"metadata `pattern` is '\(', .* reads 'gpt2' or"):
        Vocabulary(vocabulary.arrays, {**vocabulary.metadata, "pattern": "("})
    assert {*ENCODE_ROWS, "regex"} == set(next(f for f in BYTE_BPE.metadata if f.name == "pattern").among)


@pytest.mark.parametrize("wrong", [["B"], {"B": 1}, 1, None])
def test_a_place_of_a_template_that_is_no_name(tmp_path: Path, wrong: object) -> None:
    """It was a TypeError of what cannot be hashed."""
    content = json.loads(made("bpe").to_str())
    content["post_processor"]["pair"][-1] = {"Sequence": {"id": wrong, "type_id": 1}}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content))
    with pytest.raises(UnsupportedFeatureError, match=r"tokenizer\.json: post_processor\.pair"):
        vocab_tools.compile(path)


@pytest.mark.parametrize(
    ("vocab", "message"),
    [
        ([["a", 0.0], [{"String": ""}, -9.0]], r"model\.vocab\[1\]: expected a piece and its score"),
        ([["a", 0.0], []], r"model\.vocab\[1\]: expected a piece and its score"),
        ([["a", 0.0], 3], r"model\.vocab\[1\]: expected a piece and its score"),
        ({"a": 0, "b": None}, r"model\.vocab: the id of 'b' is None, no integer"),
        ({"a": "0"}, r"model\.vocab: the id of 'a' is '0', no integer"),
    ],
)
def test_pieces_of_a_checkpoint(tmp_path: Path, vocab: object, message: str) -> None:
    """It was a TypeError."""
    content = json.loads(made("unigram").to_str())
    content["model"]["vocab"] = vocab
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    with pytest.raises(SourceFormatError, match=message) as caught:
        vocab_tools.compile(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_options_of_a_checkpoint_name_it(tmp_path: Path) -> None:
    """The message did not say which checkpoint."""
    folder_of(tmp_path, "T5Tokenizer", "unigram_t5", "spiece.model", tokenizer_config={"extra_ids": "Metaspace"})
    with pytest.raises(SourceFormatError, match="extra_ids must be an integer, got 'Metaspace'") as caught:
        vocab_tools.compile(tmp_path)
    assert str(tmp_path) in str(caught.value)


MANY = "9" * 5000


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("codes.txt", f"#version: {MANY}\nt h\nth e</w>\n", {}),
        ("codes.txt", f"t h 9\nth e</w> {MANY}\n", {}),
        ("codes.txt", "t h\nth e</w>\n", {"vocabulary": f"the {MANY}\n", "vocabulary_threshold": 2}),
        ("a.tiktoken", f"YQ== {MANY}\n", {"pattern": "gpt2"}),
    ],
)
def test_numbers_of_many_digits(tmp_path: Path, name: str, content: str, options: dict[str, object]) -> None:
    """They were a ValueError of int()."""
    path = tmp_path / name
    path.write_text(content)
    if "vocabulary" in options:
        words = tmp_path / "words.txt"
        words.write_text(str(options["vocabulary"]))
        options = {**options, "vocabulary": words}
    with pytest.raises((SourceFormatError, UnsupportedFeatureError), match=re.escape(str(tmp_path))):
        vocab_tools.compile(path, **options)


def test_ids_of_many_digits(tmp_path: Path) -> None:
    write_folder(tmp_path, bert_files())
    config = {"tokenizer_class": "BertTokenizer", "added_tokens_decoder": {MANY: {"content": "<x>"}}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(SourceFormatError, match="expected ids as keys, got '999"):
        vocab_tools.compile(tmp_path)


def test_halves_of_characters(tmp_path: Path) -> None:
    """They were a UnicodeEncodeError; pairs of escapes are characters."""
    vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    merges.write_text("#version: 0.2\nt h\n")
    pieces = {"<unk>": 0, "t": 1, "h": 2, "th": 3, "\U0001f44d": 4}
    vocab.write_text(json.dumps(pieces))
    assert "\\ud83d" in vocab.read_text()
    assert vocab_tools.compile([vocab, merges], family="openai-gpt").size == 5
    vocab.write_text(json.dumps({**pieces, "\ud800": 5}, indent=0))
    with pytest.raises(SourceFormatError, match=r"vocab\.json:7: '.ud800' holds half of a character"):
        vocab_tools.compile([vocab, merges], family="openai-gpt")
