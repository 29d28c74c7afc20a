"""Start-up of each library: a fresh interpreter imports it, loads a vocabulary and encodes one sentence.

The child runs three plain lines as a user would write them, nothing of this suite, and reads a clock between them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tools.references import family_of, source_path, tokenizer_json_path

from .benchmarks.compiled import compiled_path

__all__ = ["STARTUP", "start"]

SENTENCE = "The quick brown fox jumps over the lazy dogs."

#: Backend -> (import, load from ``paths``, encode ``text``); tiktoken needs its own lines per kind of vocabulary.
STARTUP: dict[str, tuple[str, str, str]] = {
    "numba_nlp": ("import numba_nlp", "t = numba_nlp.load_tokenizer(paths[0])", "t.encode(text)"),
    "gigatoken": ("import gigatoken", "t = gigatoken.Tokenizer(paths[0])", "t.encode(text)"),
    "fastokens": ("import fastokens", "t = fastokens.Tokenizer.from_file(paths[0])", "t.encode(text).ids"),
    "snaptokens": ("import snaptokens", "t = snaptokens.Tokenizer.from_file(paths[0])", "t.encode(text).ids"),
    "splintr-rs": ("import splintr", "t = splintr.from_json(paths[0])", "t.encode(text)"),
    "nanotoken": ("import nanotoken", "t = nanotoken.Tokenizer.from_vocab(paths[0])", "t.encode(text)"),
    "tokie": ("import tokie", "t = tokie.Tokenizer.from_json(paths[0])", "t.encode(text).ids"),
    "kitoken": (
        "import kitoken",
        "t = (kitoken.Kitoken.from_sentencepiece_file if paths[0].endswith('.model') else "
        "kitoken.Kitoken.from_tokenizers_file)(paths[0])",
        "t.encode(text)",
    ),
    "rs_bpe": ("from rs_bpe.bpe import openai", "t = getattr(openai, paths[0])()", "t.encode(text)"),
    "sentencepiece": (
        "import sentencepiece",
        "t = sentencepiece.SentencePieceProcessor(model_file=paths[0])",
        "t.encode(text)",
    ),
    "tokenizers": ("import tokenizers", "t = tokenizers.Tokenizer.from_file(paths[0])", "t.encode(text).ids"),
    "tiktoken": (
        "import tiktoken, tiktoken.load, tiktoken_ext.openai_public as public",
        "t = tiktoken.Encoding('x', pat_str=pattern(), mergeable_ranks=ranks(), special_tokens={})",
        "t.encode_ordinary(text)",
    ),
    "transformers": (
        "from transformers import PreTrainedTokenizerFast",
        "t = PreTrainedTokenizerFast(tokenizer_file=paths[0])",
        "t(text, add_special_tokens=False)['input_ids']",
    ),
}

#: tiktoken's ranks come from its own readers; the pattern only has to be one of the right cost.
_TIKTOKEN = """
def pattern(): return public.r50k_pat_str
def ranks():
    if len(paths) == 2:
        return tiktoken.load.data_gym_to_mergeable_bpe_ranks(paths[1], paths[0])
    return tiktoken.load.load_tiktoken_bpe(paths[0])
"""

_CHILD = """
import sys, time
paths, text, clock = sys.argv[2:], sys.argv[1], time.perf_counter
{helpers}
a = clock()
{imports}
b = clock()
{load}
c = clock()
{encode}
d = clock()
done = time.time()
import json
print(json.dumps([b - a, c - b, d - c, done]))
"""


def _paths(backend: str, vocabulary: str) -> list[str]:
    found: Path | tuple[Path, Path]
    if backend == "numba_nlp":
        found = compiled_path(vocabulary)
    elif backend == "rs_bpe":
        # it carries its vocabularies; this is the name of one
        return [f"{vocabulary}_base"]
    elif backend in ("nanotoken", "tiktoken", "sentencepiece") or (
        backend == "kitoken" and family_of(vocabulary) in {"unigram", "sentencepiece_bpe"}
    ):
        found = source_path(vocabulary)
    else:
        found = tokenizer_json_path(vocabulary)
    return [str(path) for path in (found if isinstance(found, tuple) else (found,))]


def start(backend: str, vocabulary: str, environment: dict[str, str] | None = None) -> dict[str, float]:
    """Seconds of import, of loading, of the first encode, and from before the process to the ids ("total").

    Parameters
    ----------
    environment : dict, optional
        Added to the child's environment (an empty kernel cache, for one).
    """
    imports, load, encode = STARTUP[backend]
    helpers = _TIKTOKEN if backend == "tiktoken" else ""
    code = _CHILD.format(helpers=helpers, imports=imports, load=load, encode=encode)
    given = {**os.environ, "TIKTOKEN_CACHE_DIR": "", **(environment or {})}
    before = time.time()
    done = subprocess.run(
        [sys.executable, "-c", code, SENTENCE, *_paths(backend, vocabulary)],
        capture_output=True,
        text=True,
        env=given,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"start-up of {backend} with {vocabulary} failed:\n{done.stderr}")
    importing, loading, first, finished = json.loads(done.stdout)
    return {"import": importing, "load": loading, "first encode": first, "total": finished - before}
