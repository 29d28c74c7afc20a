"""Tokenizers with templates of every kind, each beside transformers' own, and what both make of the same call."""

from __future__ import annotations

import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import AddedToken, decoders, normalizers, pre_tokenizers, processors

import numba_nlp as nlp
from tests.made_tokenizers import END, gpt2
from tests.vocab_tools.sources import train

_TOKENS = {"<s>": 0, "</s>": 1, "<pad>": 2}
_NAMED = [("<s>", 0), ("</s>", 1)]
POST_PROCESSORS = {
    "roberta": processors.RobertaProcessing(("</s>", 1), ("<s>", 0), trim_offsets=True, add_prefix_space=False),
    "bert": processors.BertProcessing(("</s>", 1), ("<s>", 0)),
    "bert_template": processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=_NAMED
    ),
    "t5_template": processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B:0 </s>:0", special_tokens=_NAMED),
    "turned_template": processors.TemplateProcessing(
        single="$A:5 </s>:3", pair="$B:4 </s>:5 $A:6 <s>:7", special_tokens=_NAMED
    ),
    "normalized": processors.RobertaProcessing(("</s>", 1), ("<s>", 0), trim_offsets=True, add_prefix_space=True),
    "byte_level": processors.ByteLevel(trim_offsets=False),
    "sequence": processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=True, add_prefix_space=False),
            processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=_NAMED),
        ]
    ),
}


class Pair(NamedTuple):
    """One tokenizer twice."""

    ours: nlp.Tokenizer
    reference: Any


@cache
def of_kind(kind: str) -> Pair:
    """A tokenizer with one of the post-processors, or GPT-2."""
    from transformers import PreTrainedTokenizerFast

    if kind == "gpt2":
        ours, backend = gpt2()
        return Pair(ours, PreTrainedTokenizerFast(tokenizer_object=backend, pad_token=END))
    backend = train(350, special_tokens=list(_TOKENS))
    backend.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=kind == "normalized")
    if kind == "normalized":
        backend.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.Lowercase()])
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = POST_PROCESSORS[kind]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        backend.save(str(path))
        ours = nlp.load_tokenizer(path)
    return Pair(ours, PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>"))


def ours_of(kind: str, text: Any, pair: Any, options: dict[str, Any]) -> dict[str, Any] | Exception:
    """What our tokenizer gives, as lists of rows; or the error."""
    pad = {"pad_token": END} if kind == "gpt2" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            inputs = of_kind(kind).ours(text, pair, **options, **pad, **EVERYTHING, return_word_ids=True,
                                        return_sequence_ids=True)  # fmt: skip
        except ValueError as error:
            return error
    found: dict[str, Any] = {}
    for name, value in inputs.items():
        found[name] = value.to_list() if isinstance(value, nlp.Ragged) else value.tolist()
    ids = inputs.input_ids
    if isinstance(ids, nlp.Ragged):
        for place, name in enumerate(("starts", "ends")):
            found[name] = [ids.spans(row)[place].tolist() for row in range(len(ids))]
    return found


#: Whatever can be returned, in transformers' keywords.
EVERYTHING = {
    "return_token_type_ids": True,
    "return_attention_mask": True,
    "return_special_tokens_mask": True,
    "return_offsets_mapping": True,
    "return_length": True,
}


def reference_of(kind: str, text: Any, pair: Any, options: dict[str, Any]) -> dict[str, Any] | BaseException:
    """What transformers gives, with our names and -1 for None; or the error (a panic of Rust is one, too)."""
    reference = of_kind(kind).reference
    options = dict(options)
    reference.truncation_side = options.pop("truncation_side", None) or "right"
    try:
        inputs = reference(text, pair, **options, **EVERYTHING, verbose=False)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return error
    found = dict(inputs)
    offsets = found.pop("offset_mapping")
    is_row = bool(offsets) and isinstance(offsets[0], tuple)
    for place, name in enumerate(("starts", "ends")):
        found[name] = [spans[place] if is_row else [span[place] for span in spans] for spans in offsets]
    n = 1 if is_row else len(offsets)
    for name in ("word_ids", "sequence_ids"):
        rows = [[-1 if value is None else value for value in getattr(inputs, name)(row)] for row in range(n)]
        found[name] = rows[0] if is_row else rows
    return found
