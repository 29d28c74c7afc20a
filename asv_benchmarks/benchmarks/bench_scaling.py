"""How time grows: with the bytes of a text, of ordinary and of adversarial shape, with rows, with the vocabulary.

``track_exponent`` is the k of time = c * size ** k (:mod:`asv_benchmarks.curves`): 1 is linear, above 1 means that a
text twice as long costs more than twice. ``time_encode`` is the curve itself, one size a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from asv_benchmarks.curves import curve, exponent
from tools.references import GPT2_BEGINNINGS, vocabulary_size

from .backends import BACKENDS, Backend, serves
from .common import check_ids, fresh, texts
from .corpora import ADVERSARIAL, adversarial, size

#: Bytes of one text, 1 kB to 16 MB.
SIZES = [4**n * 1000 for n in range(8)]
#: The exponent is fitted from here on: below, what every call costs hides how time grows.
FITTED_BYTES = 16_000
#: Rows of a batch, of the lines of a corpus.
ROWS = [1, 10, 100, 1000, 10_000]
#: Text of a batch for the vocabularies.
BATCH_BYTES = 200_000
#: Backends that read a ``tokenizer.json`` of byte-level BPE; tiktoken and rs_bpe have encodings of their own only.
_READERS = [name for name in BACKENDS if serves(name, "gpt2") and name not in ("tiktoken", "rs_bpe")]
SHAPES = ["hamlet_lines", "english_lines", "python_sources", *ADVERSARIAL]


def text_of(shape: str, n_bytes: int) -> str:
    """One text of at most so many bytes, of an adversarial shape or a corpus; a corpus that is smaller is repeated."""
    if shape in ADVERSARIAL:
        return adversarial(shape, n_bytes)
    whole = "\n".join(texts(shape, n_bytes)).encode()
    whole *= -(-n_bytes // len(whole))
    return whole[:n_bytes].decode(errors="ignore")


class InputSize:
    """One text of a shape, again and again."""

    params = (["gpt2", "cl100k"], SHAPES, list(BACKENDS))
    param_names = ("vocabulary", "shape", "backend")
    timeout = 300

    def setup(self, vocabulary: str, shape: str, backend: str) -> None:
        self.backend = fresh(backend, vocabulary)
        check_ids(self.backend, [text_of(shape, FITTED_BYTES)])

    def track_exponent(self, vocabulary: str, shape: str, backend: str) -> float:
        """From 16 kB to 16 MB, or to the first size that takes longer than a second."""
        return exponent(*curve(self.cases(shape)))

    track_exponent.unit = "exponent"  # type: ignore[attr-defined]

    def cases(self, shape: str) -> Iterator[tuple[float, Callable[[], Any]]]:
        for n_bytes in SIZES:
            if n_bytes >= FITTED_BYTES:
                yield n_bytes, _call(self.backend, text_of(shape, n_bytes))


class InputSizeCurve:
    """The same at each size by itself."""

    params = (["gpt2"], SHAPES, ["numba_nlp", "gigatoken", "tiktoken", "tokenizers"], SIZES)
    param_names = ("vocabulary", "shape", "backend", "bytes")
    timeout = 300

    def setup(self, vocabulary: str, shape: str, backend: str, n_bytes: int) -> None:
        self.text = text_of(shape, n_bytes)
        self.backend = fresh(backend, vocabulary)
        check_ids(self.backend, [self.text])

    def time_encode(self, *_: object) -> None:
        self.backend.encode_one(self.text)


class BatchSize:
    """Rows of a batch: the lines of Hamlet, from one line to ten thousand."""

    params = (["gpt2", "bert_uncased", "t5"], list(BACKENDS))
    param_names = ("vocabulary", "backend")
    timeout = 300

    def setup(self, vocabulary: str, backend: str) -> None:
        lines = [line for line in texts("hamlet_lines") if line]
        self.texts = lines * -(-max(ROWS) // len(lines))
        self.backend = fresh(backend, vocabulary)
        check_ids(self.backend, self.texts)

    def track_exponent(self, *_: str) -> float:
        """With the bytes of the batch; below 1 where a call costs something that its rows share."""
        return exponent(*curve(self.cases()))

    track_exponent.unit = "exponent"  # type: ignore[attr-defined]

    def track_microseconds_a_call(self, *_: str) -> float:
        """What a batch of one row costs."""
        _, seconds = curve([next(self.cases())])
        return 1e6 * seconds[0]

    track_microseconds_a_call.unit = "us"  # type: ignore[attr-defined]

    def cases(self) -> Iterator[tuple[float, Callable[[], Any]]]:
        for n_rows in ROWS:
            rows = self.texts[:n_rows]
            yield size(rows), _batch_call(self.backend, rows)


class VocabularySize:
    """GPT-2 with its first 1000, 4000 and 16,000 merges, and whole: the same text, and loading."""

    params = (["hamlet_lines"], _READERS)
    param_names = ("corpus", "backend")
    timeout = 300

    def setup(self, corpus: str, backend: str) -> None:
        given = texts(corpus, BATCH_BYTES)
        self.loaded = {vocabulary: fresh(backend, vocabulary) for vocabulary in (*GPT2_BEGINNINGS, "gpt2")}
        for loaded in self.loaded.values():
            check_ids(loaded, given)
        self.texts = given

    def cases(self) -> Iterator[tuple[float, Callable[[], Any]]]:
        for name, loaded in self.loaded.items():
            yield vocabulary_size(name), _batch_call(loaded, self.texts)

    def load_cases(self) -> Iterator[tuple[float, Callable[[], Any]]]:
        for name, loaded in self.loaded.items():
            yield vocabulary_size(name), loaded.load_anew

    def track_encode_exponent(self, *_: str) -> float:
        """Of encoding, warm, with the number of ids of the vocabulary."""
        return exponent(*curve(self.cases()))

    track_encode_exponent.unit = "exponent"  # type: ignore[attr-defined]

    def track_load_exponent(self, *_: str) -> float:
        """Of loading, with the number of ids of the vocabulary."""
        return exponent(*curve(self.load_cases()))

    track_load_exponent.unit = "exponent"  # type: ignore[attr-defined]


def _call(backend: Backend, text: str) -> Callable[[], Any]:
    return lambda: backend.encode_one(text)


def _batch_call(backend: Backend, rows: list[str]) -> Callable[[], Any]:
    return lambda: backend.encode_batch(rows)
