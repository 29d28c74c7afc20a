"""What the history of this project follows: some benchmarks of asv, the same ones at each commit.

All read what the repository carries, so that anybody can measure them again.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["CASES", "Case", "patterns"]

#: The vocabularies that the repository carries, one a family.
VOCABULARIES = {
    "gpt2": "GPT-2 (BPE over bytes)",
    "mistral_v3": "Mistral v3 (BPE of SentencePiece)",
    "bert_uncased": "BERT (WordPiece)",
}
CORPUS = "hamlet_lines"


class Case(NamedTuple):
    """A benchmark with its parameters.

    Parameters
    ----------
    benchmark : str
        Its name in asv.
    parameters : tuple of str
    title : str
        Its name on the page.
    """

    benchmark: str
    parameters: tuple[str, ...]
    title: str

    @property
    def pattern(self) -> str:
        """What asv's ``--bench`` is given for it alone."""
        values = f"({', '.join(map(repr, self.parameters))})" if self.parameters else ""
        return f"^{re.escape(self.benchmark + values)}$"


def _of_each(benchmark: str, parameters: tuple[str, ...], title: str) -> list[Case]:
    return [
        Case(benchmark, (vocabulary, *parameters, "numba_nlp"), f"{title}, {name}")
        for vocabulary, name in VOCABULARIES.items()
    ]


CASES: tuple[Case, ...] = (
    *_of_each("bench_encode.EncodeCold.time_encode_batch", (CORPUS,), "batch, cold"),
    *_of_each("bench_encode.EncodeWarm.time_encode_batch", (CORPUS,), "batch, warm"),
    *_of_each("bench_encode.EncodeHeldOut.time_encode_batch", (CORPUS,), "batch, held-out"),
    *_of_each("bench_latency.Latency.time_encode", ("45 characters",), "one sentence"),
    *_of_each("bench_load.Load.time_load", (), "loading"),
    Case("bench_count.Count.time_count", ("gpt2", CORPUS, "numba_nlp"), "numbers of ids, GPT-2"),
    Case("bench_decode.Decode.time_decode", ("gpt2", CORPUS, "numba_nlp"), "ids to one text, GPT-2"),
    Case("bench_decode.DecodeBatch.time_decode_batch", ("gpt2", CORPUS, "numba_nlp"), "ids to many texts, GPT-2"),
    Case("bench_import.Import.timeraw_import", (), "import of numba_nlp"),
    Case("bench_compile.FirstIds.track_kernels_cached", ("gpt2",), "first ids, kernels cached, GPT-2"),
    Case("bench_encode.EncodePeakMemory.peakmem_encode_batch", ("gpt2", CORPUS, "numba_nlp"), "peak memory, GPT-2"),
    # what no commit of ours changes: how far it moves is how far to trust the others
    Case("bench_encode.EncodeWarm.time_encode_batch", ("gpt2", CORPUS, "tokenizers"), "*control:* batch, tokenizers"),
    Case("bench_import.Import.timeraw_import_numba", (), "*control:* import of Numba"),
)


def patterns() -> list[str]:
    """What asv's ``--bench`` is given."""
    return [case.pattern for case in CASES]
