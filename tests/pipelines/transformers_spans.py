"""What models and tokenizers of transformers make of texts in windows: answers by outer products, tags by its joins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
import transformers

__all__ = ["BestAnswer", "best_answer", "join_tags", "whole_words"]


class BestAnswer(NamedTuple):
    """The best span over all windows, the least score of no answer, and how many windows there were."""

    score: float
    start: int
    end: int
    no_answer: float
    windows: int


def best_answer(
    tokenizer: Any,
    model: Any,
    question: str,
    context: str,
    *,
    max_seq_len: int,
    doc_stride: int,
    max_answer_len: int = 15,
) -> BestAnswer:
    """Look up the best span of each window in an outer product over the tokens of the context.

    The context comes first, and token types are given, where the tokenizer pads at the left (XLNet).
    """
    leads = tokenizer.padding_side == "right"
    texts = (question, context) if leads else (context, question)
    encoded = tokenizer(
        *texts, truncation="only_second" if leads else "only_first", max_length=max_seq_len, stride=doc_stride,
        return_overflowing_tokens=True, return_offsets_mapping=True, return_token_type_ids=not leads or None,
    )  # fmt: skip
    best, least = (-1.0, 0, 0), 1.0
    count = len(encoded["input_ids"])
    for window in range(count):
        ids = encoded["input_ids"][window]
        names = [name for name in ("input_ids", "attention_mask", "token_type_ids") if name in encoded]
        with torch.no_grad():
            out = model(**{name: torch.tensor([encoded[name][window]]) for name in names})
        places = [place for place, number in enumerate(encoded.sequence_ids(window)) if number == int(leads)]
        null = ids.index(tokenizer.cls_token_id) if leads else len(ids) - 1
        start, end = (
            logits[0, [*places, null]].double().softmax(-1).numpy() for logits in (out.start_logits, out.end_logits)
        )
        least = min(least, float(start[-1] * end[-1]))
        if not places:
            continue
        product = np.tril(np.triu(np.outer(start[:-1], end[:-1])), max_answer_len - 1)
        first, last = np.unravel_index(np.argmax(product), product.shape)
        offsets = encoded["offset_mapping"][window]
        if product[first, last] > best[0]:
            best = float(product[first, last]), offsets[places[first]][0], offsets[places[last]][1]
    return BestAnswer(*best, least, count)


def whole_words(tokenizer: Any, context: str, answers: list[Any]) -> list[Any]:
    """Spans up to the ends of their words, by the words of transformers 5.

    The pipeline of transformers 4 cuts words where a window ends.
    """
    encoded = tokenizer(context, add_special_tokens=False, return_offsets_mapping=True)
    offsets, words = encoded["offset_mapping"], encoded.word_ids()
    bounds: dict[int, tuple[int, int]] = {}
    for (start, end), word in zip(offsets, words, strict=True):
        bounds[word] = (bounds.get(word, (start, end))[0], end)
    starts = {start: bounds[word][0] for (start, _), word in zip(offsets, words, strict=True)}
    ends = {end: bounds[word][1] for (_, end), word in zip(offsets, words, strict=True)}
    return [
        (start, end, score) if (start, end) == (0, 0) else (starts[start], ends[end], score)
        for start, end, score in answers
    ]


def _shares_of_tokens(theirs: Any, text: str, longest: int, stride: int) -> tuple[Any, Any, int]:
    """Encoding of a whole text, shares of labels of each token from the window with most context, and windows."""
    tokenizer = theirs.tokenizer
    options = {"max_length": longest, "stride": stride, "truncation": True, "return_overflowing_tokens": True}
    windows = tokenizer(text, return_special_tokens_mask=True, **options)
    encoded = tokenizer(text, add_special_tokens=False, truncation=False, return_offsets_mapping=True)
    n = len(encoded["input_ids"])
    shares = np.full((n, theirs.model.config.num_labels), np.nan, np.float32)
    depths = np.full(n, -1.0)
    start = 0
    for number in range(len(windows["input_ids"])):
        names = [name for name in ("input_ids", "attention_mask", "token_type_ids") if name in windows]
        with torch.no_grad():
            out = theirs.model(**{name: torch.tensor([windows[name][number]]) for name in names})
        # those of the template: in text they are no special tokens
        inner = [place for place, sequence in enumerate(windows.sequence_ids(number)) if sequence == 0]
        logits = out.logits[0].numpy()[inner]
        powers = np.exp(logits - logits.max(-1, keepdims=True))
        end = start + len(inner)
        for token in range(start, end):
            left = token - start if start else np.inf
            right = end - 1 - token if end < n else np.inf
            if min(left, right) > depths[token]:
                depths[token] = min(left, right)
                shares[token] = (powers / powers.sum(-1, keepdims=True))[token - start]
        start = end - stride
    return encoded, shares, len(windows["input_ids"])


def join_tags(theirs: Any, text: str, strategy: str, longest: int, stride: int) -> tuple[list[Any], int]:
    """What the pipeline of transformers makes of the shares of tokens, and how many windows there were.

    Words are those of its tokenizer, as ours are; the label "O" is left out.
    """
    encoded, shares, count = _shares_of_tokens(theirs, text, longest, stride)
    way = transformers.pipelines.token_classification.AggregationStrategy[strategy.upper()]
    tokens = theirs.gather_pre_entities(
        text, np.array(encoded["input_ids"]), shares, encoded["offset_mapping"], np.zeros(len(shares)), way
    )
    words = encoded.word_ids()
    for place, token in enumerate(tokens):
        token["is_subword"] = place > 0 and words[place] is not None and words[place] == words[place - 1]
    entities = theirs.aggregate(tokens, way)
    return [each for each in entities if each.get("entity", each.get("entity_group")) != "O"], count
