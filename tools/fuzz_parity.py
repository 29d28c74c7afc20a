"""Compare numba_nlp with the libraries that define what is right on generated strings; record the run.

::

    python -m tools.fuzz_parity --count 1000000 --seed 1 --vocab gpt2 --reference tokenizers
    python -m tools.fuzz_parity --count 200000 --seed 1 --vocab t5 --reference sentencepiece
    python -m tools.fuzz_parity --count 200000 --seed 1 --vocab clip --reference transformers

Checked per string: ids equal to the reference's (with subword-nmt, which has none, the segmented text); with tokenizers
also character spans equal to its offsets; byte spans
follow each other from the first byte to the last and decoding gives the string back, where no stage of the vocabulary
changes the text, else byte spans hold the characters of the others and decoding gives what the reference gives. Every
string goes through ``encode_batch``, one in fifty through ``encode`` too. A failing string is shrunk and printed. The
summary goes to ``docs/results/fuzz_<vocabulary>_<reference>.json``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import numba_nlp
from numba_nlp.character_text import segment_texts
from tools.bert_marks import kept_marks
from tools.character_references import CHARACTER, character_source, subword_nmt_bpe, transformers_tokenizer
from tools.files import ROOT
from tools.fuzz_texts import fuzz_texts
from tools.references import (
    SENTENCEPIECE_MODELS,
    STAGED,
    VOCABULARIES,
    WORDPIECE,
    hf_tokenizer,
    rank_file,
    sentencepiece_file,
    sentencepiece_processor,
    source_path,
    tiktoken_encoding,
    tokenizer_json_path,
)

__all__ = ["Parity", "Problem", "Summary", "fuzz", "load_ours", "shrink"]

BATCH = 2000
#: Special tokens of the generated strings, and what stands for them where the vocabulary is BERT's.
_BERT_SPECIALS = {
    "<|endoftext|>": "[MASK]",
    "<|fim_prefix|>": "[CLS][SEP]",
    "<s>": "[CLS]",
    "</s>": "[SEP]",
    "<pad>": "[PAD]",
    "<unk>": "[UNK]",
    "<mask>": "[MASK]",
}
REFERENCES = ("tiktoken", "tokenizers", "sentencepiece", *sorted(set(CHARACTER.values())))
#: After so many failing strings a run stops: there is a bug, more of it says nothing new.
ENOUGH = 20


@dataclass(frozen=True)
class Problem:
    """One string on which something differs."""

    what: str
    text: str
    ours: Any
    expected: Any

    def __str__(self) -> str:
        return f"{self.what} differ on {self.text!r}\n  ours     {self.ours}\n  expected {self.expected}"


@dataclass
class Summary:
    """What a run did; written as JSON."""

    vocabulary: str
    reference: str
    count: int
    seed: int
    bytes: int = 0
    seconds: float = 0.0
    date: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    failures: list[dict[str, str]] = field(default_factory=list)


def vanishing(tokenizer: Any) -> frozenset[str]:
    """Characters that a charsmap takes away: behind them, tokenizers gives the places of other characters."""
    if tokenizer.normalizer is None:
        return frozenset()
    points = [*range(0xD800), *range(0xE000, 0x110000)]
    return frozenset(c for c in map(chr, points) if not tokenizer.normalizer.normalize_str(f"a{c}b")[1:-1])


def load_ours(vocabulary: str, reference: str) -> Any:
    """Our tokenizer of a vocabulary, from the file whose semantics are those of ``reference``."""
    if vocabulary in WORDPIECE:
        return numba_nlp.load_tokenizer(source_path(vocabulary), do_lower_case=WORDPIECE[vocabulary][2])
    if reference == "sentencepiece":
        return numba_nlp.load_tokenizer(sentencepiece_file(vocabulary))
    if vocabulary in CHARACTER:
        family = {"family": vocabulary} if vocabulary == "ctrl" else {}
        return numba_nlp.load_tokenizer(character_source(vocabulary), **family)
    if vocabulary in STAGED:
        return numba_nlp.load_tokenizer(tokenizer_json_path(vocabulary), ignore=("truncation", "padding"))
    path = rank_file(vocabulary) if reference == "tiktoken" else tokenizer_json_path(vocabulary)
    return numba_nlp.load_tokenizer(str(path))


class Parity:
    """Our tokenizer beside a reference.

    Parameters
    ----------
    vocabulary : str
        ``"gpt2"``, ``"cl100k"``, ``"o200k"``, ``"p50k"``, ``"roberta"``, ``"bert_uncased"``, ``"bert_cased"``,
        ``"bert_chinese"``, ``"flan_t5"``, ``"xlnet_json"``, ``"mistral03"``, ``"barthez_json"``; for sentencepiece
        ``"t5"``, ``"xlnet"``, ``"albert"``, ``"xlmr"``, ``"marian"``, ``"mistral_v1"``, ``"mistral_v3"`` and
        ``"barthez"``; for transformers ``"gpt"``, ``"ctrl"`` and ``"clip"``; for subword-nmt ``"subword_nmt"``.
    reference : {"tiktoken", "tokenizers", "sentencepiece", "transformers", "subword-nmt"}
        tiktoken is asked by ``encode_ordinary`` and we by ``special="plain"``; tokenizers and transformers match their
        added tokens and so do we (``special="match"``).
    tokenizer : Tokenizer, optional
        Ours, when it is not the one that :func:`load_ours` gives.
    """

    def __init__(self, vocabulary: str, reference: str, tokenizer: Any = None) -> None:
        self.vocabulary, self.reference = vocabulary, reference
        if (reference == "sentencepiece") != (vocabulary in SENTENCEPIECE_MODELS):
            raise ValueError(f"{reference!r} is no reference for {vocabulary!r}")
        if CHARACTER.get(vocabulary, reference) != reference or (reference in CHARACTER.values()) != (
            vocabulary in CHARACTER
        ):
            raise ValueError(f"{reference!r} is no reference for {vocabulary!r}")
        self.special = "match" if reference in ("tokenizers", "transformers") else "plain"
        self.tokenizer = load_ours(vocabulary, reference) if tokenizer is None else tokenizer
        #: RoBERTa's spans leave out the leading space, and "<mask>" takes the space before it.
        self.contiguous = reference != "sentencepiece" and vocabulary not in {
            "roberta",
            *WORDPIECE,
            *STAGED,
            *CHARACTER,
        }
        #: Marks that stay and change places: tokenizers gives them the places of others.
        self.misplaced = kept_marks() if vocabulary in WORDPIECE and WORDPIECE[vocabulary][2] else frozenset()
        #: Where decoding changes text, what decodes as ours should.
        self.decode: Callable[[list[int]], str] | None = None
        self._hf: Any = None
        if reference == "sentencepiece":
            self._processor = sentencepiece_processor(vocabulary)
        elif reference == "subword-nmt":
            self._bpe = subword_nmt_bpe()
        elif reference == "transformers":
            self._slow = transformers_tokenizer(vocabulary)
            self._hf = getattr(self._slow, "backend_tokenizer", None)
            self.decode = self._slow.decode
            if vocabulary == "gpt":
                self.misplaced = kept_marks()
        elif reference == "tiktoken":
            name = VOCABULARIES[vocabulary]
            if name is None:
                raise ValueError(f"tiktoken has no encoding for {vocabulary!r}; use --reference tokenizers")
            self._encoding = tiktoken_encoding(name)
        else:
            self._hf = hf_tokenizer(vocabulary)
            if vocabulary in WORDPIECE or vocabulary in STAGED:
                self.decode = partial(self._hf.decode, skip_special_tokens=False)
            if vocabulary in STAGED:
                self.misplaced = vanishing(self._hf)

    def adapted(self, text: str) -> str:
        """A generated string with special tokens of this vocabulary."""
        if self.vocabulary in WORDPIECE:
            for other, own in _BERT_SPECIALS.items():
                text = text.replace(other, own)
        elif self.vocabulary in STAGED:
            text = text.replace("<|endoftext|>", max(self.tokenizer.special_tokens, key=len))
        return text

    def expected(self, texts: list[str]) -> tuple[list[list[int]], list[list[tuple[int, int]]] | None]:
        """Ids of the reference, and its character spans where it has them."""
        if self.reference == "tiktoken":
            return self._encoding.encode_ordinary_batch(texts, num_threads=2), None
        if self.reference == "sentencepiece":
            return self._processor.encode(texts), None
        if self._hf is None:
            return [self._slow(text, add_special_tokens=False)["input_ids"] for text in texts], None
        rows = self._hf.encode_batch(texts, add_special_tokens=False)
        return [row.ids for row in rows], [row.offsets for row in rows]

    def problems(self, texts: list[str], single_every: int = 50) -> Iterator[Problem]:
        """Every difference on these strings, checked as one batch."""
        if self.reference == "subword-nmt":
            yield from self._segmented(texts)
            return
        ids, spans = self.expected(texts)
        in_characters = self.tokenizer.encode_batch(texts, special=self.special, spans=True)
        in_bytes = self.tokenizer.encode_batch(texts, special=self.special, spans=True, unit="byte")
        decoded = self.tokenizer.decode_batch(in_bytes, skip_special_tokens=self.reference == "sentencepiece")
        to_decode = texts
        if self.reference == "sentencepiece":
            to_decode = self._processor.decode(ids)
        for row, text in enumerate(texts):
            start, stop = int(in_bytes.offsets[row]), int(in_bytes.offsets[row + 1])
            mine = in_bytes.values[start:stop].tolist()
            if mine != ids[row]:
                yield Problem("ids", text, mine, ids[row])
                continue
            if in_characters.values[start:stop].tolist() != mine:
                yield Problem("ids with character spans", text, in_characters.values[start:stop].tolist(), mine)
            if spans is not None and not self.misplaced.intersection(text):
                pairs = np.stack([in_characters.starts[start:stop], in_characters.ends[start:stop]], axis=1)
                if list(map(tuple, pairs.tolist())) != spans[row]:
                    yield Problem("spans", text, pairs.tolist(), spans[row])
            if self.contiguous:
                edges = [0, *in_bytes.ends[start:stop].tolist()]
                if in_bytes.starts[start:stop].tolist() != edges[:-1] or edges[-1] != len(text.encode()):
                    yield Problem("byte spans", text, edges, f"{len(text.encode())} bytes, without gaps")
                if decoded[row] != text:
                    yield Problem("decoded text", text, decoded[row], text)
            if self.decode is not None:
                content, places = text.encode(), (in_bytes.starts[start:stop], in_bytes.ends[start:stop])
                lengths = [[len(content[:place].decode()) for place in part.tolist()] for part in places]
                expected = [in_characters.starts[start:stop].tolist(), in_characters.ends[start:stop].tolist()]
                if lengths != expected:
                    yield Problem("byte spans", text, lengths, expected)
                theirs = self.decode(mine)
                if decoded[row] != theirs:
                    yield Problem("decoded text", text, decoded[row], theirs)
            if self.reference == "sentencepiece":
                if decoded[row] != to_decode[row]:
                    yield Problem("decoded text", text, decoded[row], to_decode[row])
                bounds = in_bytes.starts[start:stop], in_bytes.ends[start:stop]
                if (bounds[0] > bounds[1]).any() or any((np.diff(bound) < 0).any() for bound in bounds):
                    yield Problem("byte spans", text, [bound.tolist() for bound in bounds], "in order")
            if row % single_every == 0:
                alone = self.tokenizer.encode(text, special=self.special).tolist()
                if alone != mine:
                    yield Problem("ids of encode and encode_batch", text, alone, mine)

    def _segmented(self, texts: list[str]) -> Iterator[Problem]:
        """Differences of segmented text, of a line and of what ends it."""
        for text, mine in zip(texts, segment_texts(self.tokenizer, texts, keep_ends=True), strict=True):
            expected = self._bpe.process_line(text)
            if mine != expected:
                yield Problem("segmented text", text, mine, expected)


def shrink(text: str, fails: Callable[[str], bool]) -> str:
    """A shorter string that still fails: pieces are left out as long as it does, then single characters."""
    size = max(len(text) // 2, 1)
    while True:
        start, shorter = 0, False
        while start < len(text):
            candidate = text[:start] + text[start + size :]
            if candidate != text and fails(candidate):
                text, shorter = candidate, True
            else:
                start += size
        if not shorter and size == 1:
            return text
        if not shorter:
            size = max(size // 2, 1)


def _shrunk(parity: Parity, problem: Problem) -> Problem:
    """The same kind of problem on a shorter text, when the text fails on its own (and not only in its batch)."""

    def alone(text: str) -> Problem | None:
        return next((found for found in parity.problems([text], single_every=1) if found.what == problem.what), None)

    if alone(problem.text) is None:
        return problem
    return alone(shrink(problem.text, lambda text: alone(text) is not None)) or problem


def fuzz(parity: Parity, count: int, seed: int, say: Callable[[str], None] | None = None) -> Summary:
    """Check ``count`` strings made from ``seed``.

    Parameters
    ----------
    say : callable, optional
        Called with a line of progress now and then, and with every shrunk failure.
    """
    summary = Summary(parity.vocabulary, parity.reference, count, seed)
    summary.date = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    summary.versions = {
        "numba_nlp": getattr(numba_nlp, "__version__", "unknown"),
        parity.reference: version(parity.reference),
        "python": sys.version.split()[0],
    }
    started = time.perf_counter()
    texts = map(parity.adapted, fuzz_texts(count, seed))
    done = failing = 0
    while batch := list(islice(texts, BATCH)):
        for problem in parity.problems(batch):
            found = _shrunk(parity, problem)
            entry = {key: repr(value) for key, value in asdict(found).items()}
            failing += 1
            if entry not in summary.failures:
                summary.failures.append(entry)
                if say is not None:
                    say(str(found))
            if failing >= ENOUGH:
                break
        done += len(batch)
        summary.bytes += sum(len(text.encode()) for text in batch)
        if say is not None and done % (BATCH * 25) == 0:
            say(f"{done} of {count} strings, {time.perf_counter() - started:.0f} s, {failing} failures")
        if failing >= ENOUGH:
            summary.count = done
            break
    summary.seconds = round(time.perf_counter() - started, 1)
    return summary


def main() -> None:
    """Command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--vocab", choices=sorted([*VOCABULARIES, *SENTENCEPIECE_MODELS, *CHARACTER]), default="gpt2")
    parser.add_argument("--reference", choices=REFERENCES, default="tiktoken")
    parser.add_argument("--out", type=Path, help="summary (default docs/results/fuzz_<vocabulary>_<reference>.json)")
    options = parser.parse_args()
    summary = fuzz(Parity(options.vocab, options.reference), options.count, options.seed, print)
    path = options.out or ROOT / "docs" / "results" / f"fuzz_{options.vocab}_{options.reference}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(summary), indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
    print(json.dumps({key: value for key, value in asdict(summary).items() if key != "failures"}))
    if summary.failures:
        raise SystemExit(f"{len(summary.failures)} failing strings, see {path}")


if __name__ == "__main__":
    main()
