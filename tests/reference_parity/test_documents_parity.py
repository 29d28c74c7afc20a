"""Random ``tokenizer.json`` documents: what is loaded gives what ``tokenizers`` gives, the rest is refused by name."""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

import numba_nlp as nlp
from numba_nlp.errors import UnsupportedFeatureError
from tests.made_tokenizers import Pair
from tests.random_documents import random_document, random_texts, reference_of
from tests.reference_parity.test_staged_parity import placed

#: Documents of each kind.
COUNT = int(os.environ.get("NUMBA_NLP_TEST_EXAMPLES", "20"))
#: What a refusal must name: the part of the document, or the stage.
NAMED = re.compile(
    r"normalizer|pre_tokenizer|decoder|post_processor|added.tokens?|model\.|pattern|ByteLevel|BPEDecoder|Metaspace"
)


def write(folder: Path, document: dict[str, Any]) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def decoded(reference: Tokenizer, ids: list[int], skip: bool) -> str | None:
    """What the reference decodes; None where it panics (``Strip`` of more characters than a token has)."""
    try:
        return reference.decode(ids, skip_special_tokens=skip)
    except BaseException as error:  # its panics are no Exception
        if type(error).__name__ != "PanicException":
            raise
        return None


def compare(pair: Pair, texts: list[str], *, with_spans: bool) -> None:
    ours, reference = pair
    batch = ours.encode_batch(texts, spans=True, add_special_tokens=True)
    plain = ours.encode_batch(texts)
    for row, (text, expected) in enumerate(zip(texts, reference.encode_batch(texts), strict=True)):
        assert batch[row].tolist() == expected.ids, text
        assert not with_spans or placed(*batch.spans(row)) == expected.offsets, text
        ids = reference.encode(text, add_special_tokens=False).ids
        assert plain[row].tolist() == ours.encode(text).tolist() == ids, text
        for skip in (False, True):
            wanted = decoded(reference, expected.ids, skip)
            assert wanted is None or ours.decode(expected.ids, skip_special_tokens=skip) == wanted, text


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["WordPiece", "Unigram", "BPE", "marked"])
def test_documents(tmp_path: Path, kind: str) -> None:
    loaded = 0
    for seed in range(COUNT):
        rng = random.Random(f"{kind} {seed}")
        document = random_document(rng, kind)
        path = write(tmp_path, document)
        try:
            ours = nlp.load_tokenizer(path)
        except UnsupportedFeatureError as error:
            assert NAMED.search(str(error)), error  # noqa: PT017
            continue
        loaded += 1
        # tokenizers gives each byte of unknown characters the range of all of them; ours is that of the character
        whole_runs = kind == "Unigram" and document["model"]["byte_fallback"]
        compare(Pair(ours, reference_of(document)), random_texts(rng, document, 25), with_spans=not whole_runs)
    assert loaded > COUNT // 3
