"""No damage to a vocabulary file goes unnoticed, and none raises anything but VocabularyFormatError."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.errors import VocabularyFormatError
from numba_nlp.vocabulary import Vocabulary
from tests.toy_vocabulary import toy_vocabulary

CONTENT = toy_vocabulary().to_bytes()
HEADER_STOP = 8 + struct.unpack("<Q", CONTENT[:8])[0]
HEADER = json.loads(CONTENT[8:HEADER_STOP])


def refused(content: bytes, *, verify: bool = True) -> str:
    """The message with which a file is refused."""
    with pytest.raises(VocabularyFormatError, match=r"vocab_tools\.compile") as caught:
        Vocabulary.from_bytes(content, verify=verify)
    return str(caught.value)


def flipped(position: int, mask: int) -> bytes:
    content = bytearray(CONTENT)
    content[position] ^= mask
    return bytes(content)


def with_header(header: bytes, body: bytes = CONTENT[HEADER_STOP:]) -> bytes:
    return struct.pack("<Q", len(header)) + header + body


def test_whole_file_is_accepted() -> None:
    assert Vocabulary.from_bytes(CONTENT) == toy_vocabulary()
    assert with_header(CONTENT[8:HEADER_STOP]) == CONTENT


def test_every_header_byte_counts() -> None:
    for position in range(HEADER_STOP):
        for mask in (0x01, 0x20, 0x80):
            # Without the digest of the payload too: the header is always checked whole.
            refused(flipped(position, mask), verify=False)


def test_sampled_body_bytes_count() -> None:
    for position in [*range(HEADER_STOP, len(CONTENT), 379), *range(len(CONTENT) - 64, len(CONTENT))]:
        refused(flipped(position, 0x01))


def test_first_and_last_byte_of_every_array_count() -> None:
    for name, entry in HEADER.items():
        if name != "__metadata__" and entry["shape"][0]:
            start, stop = entry["data_offsets"]
            for position in (start, stop - 1):
                for mask in (0x01, 0x80):
                    refused(flipped(HEADER_STOP + position, mask))


@given(st.integers(0, len(CONTENT) - 1), st.integers(1, 255))
def test_any_flipped_byte(position: int, mask: int) -> None:
    refused(flipped(position, mask))


@given(st.integers(HEADER_STOP, len(CONTENT) - 1), st.integers(1, 255))
def test_flipped_body_without_digest_is_refused_or_harmless(position: int, mask: int) -> None:
    try:
        vocabulary = Vocabulary.from_bytes(flipped(position, mask), verify=False)
    except VocabularyFormatError:
        return
    # What was let through is structurally sound: the constructor's checks accept it.
    Vocabulary(vocabulary.arrays, vocabulary.metadata)


@given(st.integers(0, len(CONTENT) - 1))
def test_any_truncation(length: int) -> None:
    refused(CONTENT[:length], verify=False)


def test_short_truncations(tmp_path: Path) -> None:
    path = tmp_path / "cut.safetensors"
    for length in [*range(64), HEADER_STOP - 1, HEADER_STOP, HEADER_STOP + 1, len(CONTENT) - 1]:
        path.write_bytes(CONTENT[:length])
        with pytest.raises(VocabularyFormatError, match=r"cut\.safetensors: .*vocab_tools"):
            Vocabulary.load(path)


@given(st.binary(min_size=1, max_size=200))
def test_any_appended_bytes(extra: bytes) -> None:
    assert "followed by foreign bytes" in refused(CONTENT + extra)


@given(st.binary(max_size=300))
def test_any_foreign_bytes(content: bytes) -> None:
    refused(content)
    refused(with_header(content, b""))


@given(st.integers(0, HEADER_STOP), st.integers(0, 40), st.binary(max_size=40))
def test_any_header_edit(position: int, cut: int, inserted: bytes) -> None:
    header = CONTENT[8 : 8 + position] + inserted + CONTENT[8 + position + cut : HEADER_STOP]
    if header != CONTENT[8:HEADER_STOP]:
        refused(with_header(header))


@pytest.mark.parametrize("length", [0, 1, 2**22 + 1, 2**31, 2**63, 2**64 - 1, len(CONTENT), len(CONTENT) - 7])
def test_claimed_header_lengths(length: int) -> None:
    refused(struct.pack("<Q", length) + CONTENT[8:])


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"__metadata__":1}',
        b'{"__metadata__":{}}',
        b'{"__metadata__":{"numba_nlp":1}}',
        b'{"__metadata__":{"numba_nlp":"1"}}',
        b'{"__metadata__":{"numba_nlp":"[]"}}',
        b'{"__metadata__":{"numba_nlp":"{}"}}',
        b'{"__metadata__":{"numba_nlp":"\\ud800"}}',
        b'{"__metadata__":{"numba_nlp":"{\\"a\\":NaN}"}}',
        b'{"__metadata__":{"numba_nlp":"{\\"a\\":1e999}"}}',
        b'{"__metadata__":{"numba_nlp":"{\\"a\\":1,\\"a\\":1}"}}',
        b'{"__metadata__":{"numba_nlp":"{\\"a\\":\\"\\\\ud800\\"}"}}',
        b'{"__metadata__":{"numba_nlp":"{\\"format_version\\":' + b"1" * 5000 + b'}"}}',
        b'{"__metadata__":{"numba_nlp":"' + b"[" * 5000 + b"]" * 5000 + b'"}}',
        b'{"__metadata__":{"numba_nlp":"{\\"a\\":' + b"[" * 400 + b"]" * 400 + b'}"}}',
        b'{"a":1,"a":2}',
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'\xef\xbb\xbf{"a":1}',
        b"\xff\xfe",
        '{"é":1}'.encode("latin-1"),
    ],
    ids=lambda header: repr(header[:40]),
)
def test_hostile_headers(header: bytes) -> None:
    refused(with_header(header))
    refused(with_header(header, b""))


def _edited(name: str, **changes: Any) -> bytes:
    """The file with one entry of the header changed, and the header as long as before where possible."""
    header = json.loads(CONTENT[8:HEADER_STOP])
    if changes:
        header[name] = {**header[name], **changes}
    else:
        del header[name]
    text = json.dumps(header, separators=(",", ":")).encode()
    return with_header(text + b" " * (-(8 + len(text)) % 64))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dtype": "I16"}, "data_offsets"),
        ({"dtype": "BF16"}, "has dtype 'BF16'"),
        ({"dtype": 4}, "has dtype 4"),
        ({"dtype": []}, r"has dtype \[\]"),
        ({"shape": []}, "has shape"),
        ({"shape": [256, 1]}, "has shape"),
        ({"shape": 256}, "has shape"),
        ({"shape": [-256]}, "has shape"),
        ({"shape": [256.0]}, "has shape"),
        ({"shape": [True]}, "has shape"),
        ({"shape": [2**62]}, "has shape"),
        ({"shape": [2**61]}, "has data_offsets"),
        ({"shape": [10**30]}, "has shape"),
        ({"shape": [255]}, "has data_offsets"),
        ({"data_offsets": [0, 1024]}, "has data_offsets"),
        ({"data_offsets": [2**40, 2**40 + 1024]}, "has data_offsets"),
        ({"data_offsets": [-1024, 0]}, "has data_offsets"),
        ({"data_offsets": [0]}, "has data_offsets"),
        ({"data_offsets": None}, "has data_offsets"),
        ({"more": 1}, "is not described by"),
        ({}, "has data_offsets"),
    ],
)
def test_hostile_entries(changes: dict[str, Any], message: str) -> None:
    content = _edited("byte_symbols", **changes)
    with pytest.raises(VocabularyFormatError, match=message):
        Vocabulary.from_bytes(content, verify=False)


def test_padding_is_zero() -> None:
    start, stop = HEADER["padding.0"]["data_offsets"]
    for position in range(start, stop):
        assert "padding.0" in refused(flipped(HEADER_STOP + position, 4), verify=False)


def test_damaged_file_on_disk_is_named(tmp_path: Path) -> None:
    path = tmp_path / "damaged.safetensors"
    content = np.frombuffer(CONTENT, np.uint8).copy()
    content[HEADER_STOP] ^= 1
    path.write_bytes(content.tobytes())
    with pytest.raises(VocabularyFormatError, match=r"damaged\.safetensors: .*`payload_digest`"):
        Vocabulary.load(path)
