"""What classes over SentencePiece models are built from: merges, templates, language codes, ids that move."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, processors

from numba_nlp.errors import SourceFormatError
from vocab_tools.checkpoints import languages
from vocab_tools.checkpoints.spm_extraction import extract, generate_merges
from vocab_tools.checkpoints.templates import template

transformers = pytest.importorskip("transformers", reason="transformers 5 needs Python 3.11")

tokens = st.lists(st.text("ab\u2581", min_size=1, max_size=5), unique=True, min_size=1, max_size=30)


@given(tokens, st.integers(0, 3), st.randoms())
def test_merges_are_those_of_transformers(made: list[str], skipped: int, random) -> None:
    from transformers.tokenization_utils_base import generate_merges as reference

    ids = list(range(len(made)))
    random.shuffle(ids)
    vocab = dict(zip(made, ids, strict=True))
    assert generate_merges(vocab) == reference(vocab)
    assert generate_merges(vocab, set(made[:skipped])) == reference(vocab, skip_tokens=set(made[:skipped]))


@pytest.mark.parametrize(
    ("single", "pair"),
    [
        ("<s> $A </s>", "<s> $A </s> </s> $B:1 </s>:1"),
        ("$A:0 <s>:0 </s>:2", "$A:0 <s>:0 $B:1 <s>:1 </s>:2"),
        (["<s>", "$A"], ["<s>", "$A", "$B", "</s>"]),
    ],
)
def test_templates_are_those_of_tokenizers(single, pair) -> None:
    ids = {"<s>": 0, "</s>": 2}
    reference = Tokenizer(models.BPE())
    reference.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=list(ids.items()))
    written = json.loads(reference.to_str())["post_processor"]
    assert template(single, pair, ids, source="A") == written


@pytest.mark.parametrize(
    ("single", "ids", "message"),
    [
        ("<s> $A", {"<s>": None}, "ATokenizer puts '<s>' around texts, but the vocabulary does not have it"),
        ("<s> $A", {}, "'<s>' stands in the template, but is none of its special tokens"),
        ("<s>:x $A", {"<s>": 0}, "'<s>:x' cannot stand in a template"),
        (["a:b:1", "$A"], {"a:b": 0}, "neither spaces nor colons"),
        ("$C", {}, r"\$A and \$B are the only sequences"),
        ("<s>  $A", {"<s>": 0}, "'' cannot stand in a template"),
    ],
)
def test_templates_that_tokenizers_does_not_take(single, ids, message) -> None:
    with pytest.raises(SourceFormatError, match=message):
        template(single, "$A $B", ids, source="ATokenizer")


def test_language_codes_are_those_of_transformers() -> None:
    from transformers.models.mbart.tokenization_mbart import FAIRSEQ_LANGUAGE_CODES as MBART
    from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES as MBART50
    from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES as NLLB

    assert list(languages.MBART_LANGUAGES) == MBART
    assert list(languages.MBART50_LANGUAGES) == MBART50
    assert list(languages.NLLB_LANGUAGES) == NLLB


def test_a_count_that_is_no_number(tmp_path) -> None:
    from tests.spm_folders import trained

    path = tmp_path / "spiece.model"
    path.write_bytes(trained("unigram"))
    with pytest.raises(SourceFormatError, match="extra_ids must be an integer, got '100'"):
        extract(path, "T5Tokenizer", "Unigram", {"extra_ids": "100"})
