"""Convert real vocabularies, and let the library of each format encode texts before and after.

``python -m tools.verify_conversions --output docs/results/conversions.json`` checks every working cell of the table
(``vocab-tools convert --matrix``) on the vocabularies of :data:`SOURCES`; chains such as ``.model -> tokenizer.json ->
.model`` check the way back. Segmentations with one sum of scores are counted apart: which of them a library takes
depends on the precision of its additions. Lines in which a special token is written are left out: what becomes of
those is a rule of each library, not of a vocabulary. ``NUMBA_NLP_FASTBPE`` names the program of fastBPE.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import vocab_tools
from tools.conversion_references import FASTBPE, REFERENCES, Reference
from tools.files import ROOT, find_file, shared_file
from vocab_tools.converting.formats import FORMATS

__all__ = ["CHAINS", "SOURCES", "Case", "lines_of_texts"]

#: Lines of every text.
_LINES = 1500
_TEXTS = (
    "text/udhr/amh.txt", "text/udhr/arb.txt", "text/udhr/cmn_hans.txt", "text/udhr/ell.txt", "text/udhr/eng.txt",
    "text/udhr/fra.txt", "text/udhr/hin.txt", "text/udhr/jpn.txt", "text/udhr/kor.txt", "text/udhr/rus.txt",
    "text/udhr/spa.txt", "text/udhr/tha.txt", "text/botchan.txt", "text/hamlet.txt", "text/json/twitter.json",
)  # fmt: skip
_CODE = ("vocab_tools/converting/api.py", "numba_nlp/tokenizer.py", "numba_nlp/regex_translate.py")


class Case(NamedTuple):
    """A real vocabulary.

    Attributes
    ----------
    files : tuple of str
        In the data folder.
    options : dict
        Of its reader.
    """

    files: tuple[str, ...]
    options: Mapping[str, Any] = MappingProxyType({})


_GPT = ("vocab/openai_gpt/encoder_bpe_40000.json", "vocab/openai_gpt/vocab_40000.bpe")
#: Real vocabularies by format.
SOURCES: dict[str, dict[str, Case]] = {
    "sentencepiece": {
        "t5": Case(("vocab/t5/spiece.model",)),
        "albert": Case(("vocab/albert/30k-clean.model",)),
        "torchtext": Case(("vocab/sentencepiece/torchtext_spm_example.model",)),
        "mistral_v1": Case(("vocab/mistral/tokenizer.model.v1",)),
        "amr_bpe": Case(("vocab/sentencepiece/amr_sentencepiece.bpe.model",)),
        "barthez": Case(("vocab/barthez/sentencepiece.bpe.model",)),
    },
    "tokenizer.json": {
        "gpt2_json": Case(("vocab/gpt2/tokenizer.json",)),
        "bert_cased_json": Case(("vocab/bert/bert_base_cased.json",)),
        "minilm_json": Case(("vocab/bert/minilm_uncased_tokenizer.json",), {"ignore": ("padding", "truncation")}),
        "xlnet_json": Case(("vocab/xlnet/tokenizer.json",)),
        "mistral03_json": Case(("vocab/mistral/mistral03.json",)),
    },
    "merges.txt": {
        "gpt2": Case(("vocab/gpt2/vocab.json", "vocab/gpt2/merges.txt"), {"family": "gpt2"}),
        "roberta": Case(("vocab/roberta_bart/vocab.json", "vocab/roberta_bart/merges.txt"), {"family": "roberta"}),
        "gpt": Case(_GPT, {"family": "openai-gpt"}),
    },
    "tiktoken": {
        "cl100k": Case(("vocab/tiktoken/cl100k_base.tiktoken",)),
        "o200k": Case(("vocab/tiktoken/o200k_base.tiktoken",)),
        "p50k": Case(("vocab/tiktoken/p50k_base.tiktoken",)),
    },
    "vocab.txt": {
        "bert_uncased": Case(("vocab/bert/uncased_vocab.txt",)),
        "bert_cased": Case(("vocab/bert/cased_vocab.txt",), {"do_lower_case": False}),
        "bert_chinese": Case(("vocab/bert/chinese_vocab.txt",)),
    },
    "subword-nmt": {
        "subword_nmt": Case(("vocab/subword_nmt/bpe.ref",)),
        "gpt_codes": Case((_GPT[1],)),
    },
    "marian": {
        "opus_en_mg": Case(("vocab/marian/opus-mt-en-mg",)),
        "opus_uk_en": Case(("vocab/marian/opus-mt-uk-en",)),
    },
}
#: One conversion after the other; each step is compared with the one before.
CHAINS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("sentencepiece", "tokenizer.json", "sentencepiece"): (
        "t5", "albert", "torchtext", "mistral_v1", "amr_bpe", "barthez",
    ),
    ("tokenizer.json", "merges.txt", "tokenizer.json"): ("gpt2_json",),
    ("tokenizer.json", "tiktoken", "tokenizer.json"): ("gpt2_json",),
    ("merges.txt", "tokenizer.json", "merges.txt"): ("gpt2", "roberta", "gpt"),
    ("merges.txt", "tiktoken", "merges.txt"): ("gpt2",),
    ("tiktoken", "tokenizer.json", "tiktoken"): ("cl100k", "o200k", "p50k"),
    ("tiktoken", "merges.txt", "tiktoken"): ("p50k",),
    ("vocab.txt", "tokenizer.json", "vocab.txt"): ("bert_uncased", "bert_cased", "bert_chinese"),
    ("tokenizer.json", "vocab.txt", "tokenizer.json"): ("bert_cased_json", "minilm_json"),
    ("subword-nmt", "fastbpe", "subword-nmt"): ("subword_nmt", "gpt_codes"),
    ("sentencepiece", "compiled", "sentencepiece"): ("t5", "mistral_v1"),
    ("tokenizer.json", "compiled", "tokenizer.json"): ("xlnet_json", "mistral03_json"),
    ("merges.txt", "compiled", "merges.txt"): ("gpt2", "roberta"),
    ("tiktoken", "compiled", "tiktoken"): ("cl100k", "o200k"),
    ("vocab.txt", "compiled", "vocab.txt"): ("bert_uncased", "bert_cased"),
    ("subword-nmt", "compiled", "subword-nmt"): ("subword_nmt", "gpt_codes"),
    ("subword-nmt", "fastbpe", "compiled", "fastbpe"): ("subword_nmt", "gpt_codes"),
    ("marian", "compiled", "marian"): ("opus_en_mg", "opus_uk_en"),
}  # fmt: skip


def lines_of_texts() -> list[str]:
    """Lines of several languages, of code, and of strings that break programs.

    Raises
    ------
    FileNotFoundError
        A text is not there.
    """
    lines: list[str] = []
    for name in _TEXTS:
        lines += find_file(shared=name).read_text(encoding="utf-8").split("\n")[:_LINES]
    for name in _CODE:
        lines += (ROOT / name).read_text(encoding="utf-8").split("\n")
    strings = json.loads(find_file(shared="text/blns.json").read_text(encoding="utf-8"))
    return [*lines, *strings]


def _source(format_name: str, case: Case) -> Any:
    paths = [find_file(shared=name) for name in case.files]
    return paths[0] if len(paths) == 1 else paths


def _target(folder: Path, step: int, format_name: str) -> Path:
    names = {
        "sentencepiece": "made.model", "tokenizer.json": "tokenizer.json", "merges.txt": "made", "marian": "made",
        "tiktoken": "made.tiktoken", "vocab.txt": "vocab.txt", "compiled": "made.safetensors",
    }  # fmt: skip
    place = folder / str(step)
    place.mkdir()
    return place / names.get(format_name, "made.codes")


def _check_chain(chain: Sequence[str], name: str, lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Results of the steps of a chain."""
    case = SOURCES[chain[0]][name]
    given: Any = _source(chain[0], case)
    options = dict(case.options)
    ignore = options.pop("ignore", ())
    single = given if isinstance(given, list) else [given]
    # a folder is known by one of its files
    paths = [path / "vocab.json" if path.is_dir() else path for path in single]
    before = REFERENCES[chain[0]](paths, options)
    with tempfile.TemporaryDirectory() as folder:
        for step, (old, new) in enumerate(pairwise(chain)):
            started = time.perf_counter()
            made = vocab_tools.convert(given, _target(Path(folder), step, new), to=new, ignore=ignore, **options)
            seconds = time.perf_counter() - started
            after = REFERENCES[new](made.paths, made.options)
            special = before.special | after.special
            kept = [line for line in lines if not any(token in line for token in special)]
            first, second = before.encode(kept), after.encode(kept)
            if first and isinstance(next(iter(filter(None, first)), [0])[0], str):
                first, second = _known(before, after, first), _known(before, after, second)
            rows = list(zip(kept, first, second, strict=True))
            tied = before.tied or after.tied
            ties = [line for line, a, b in rows if a != b and tied is not None and tied(a, b)]
            wrong = [line for line, a, b in rows if a != b and line not in ties]
            yield {
                "vocabulary": name, "source": old, "target": new, "chain": " -> ".join(chain[: step + 2]),
                "lines": len(kept), "left_out": len(lines) - len(kept), "ids": sum(map(len, first)),
                "differing_lines": len(wrong), "tied_lines": len(ties), "examples": (wrong + ties)[:8],
                "seconds": round(seconds, 2),
            }  # fmt: skip
            if new == "compiled" and chain[step + 2 :] and chain[0] == chain[step + 2]:
                _check_same_files(given, made.paths[0], Path(folder) / f"back{step}", chain[0])
            given = made.paths[0] if len(made.paths) == 1 else list(made.paths)
            if new == "marian":
                given = made.paths[0].parent
            before, options = after, dict(made.options)


def _known(before: Reference, after: Reference, rows: list[list[str]]) -> list[list[str]]:
    """Rows of tokens; those that have no id on one of the two sides are unknown."""
    for known in (before.known, after.known):
        if known is not None:
            rows = [[token if token in known else "<unk>" for token in row] for row in rows]
    return rows


def _check_same_files(source: Any, compiled: Path, target: Path, format_name: str) -> None:
    """What comes out of a compiled vocabulary are the bytes that went in."""
    back = vocab_tools.convert(compiled, target, to="source")
    before = source if isinstance(source, list) else sorted(source.iterdir()) if source.is_dir() else [source]
    contents = {path.read_bytes() for path in before}
    if any(path.read_bytes() not in contents for path in back.paths):
        raise SystemExit(f"{compiled}: the files of its {format_name} are not those that it was made of")


def main() -> int:
    """Command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="file of results (JSON)")
    parser.add_argument("--only", nargs="*", default=(), help="names of vocabularies; default: all")
    arguments = parser.parse_args()
    if shared_file("vocab") is None:
        parser.error("the vocabularies of NUMBA_NLP_SHARED are not on this machine")
    lines = lines_of_texts()
    results: list[dict[str, Any]] = []
    for chain, names in CHAINS.items():
        if "fastbpe" in chain and not FASTBPE:
            print(f"left out, NUMBA_NLP_FASTBPE is not set: {' -> '.join(chain)}", file=sys.stderr)
            continue
        for name in names:
            if arguments.only and name not in arguments.only:
                continue
            for result in _check_chain(chain, name, lines):
                results.append(result)
                print(
                    f"{result['chain']}: {name}: {result['differing_lines']} of {result['lines']} lines differ, "
                    f"and {result['tied_lines']} between segmentations of one score"
                )
            _save(arguments.output, results)
    return int(any(result["differing_lines"] for result in results))


def _save(path: Path | None, results: list[dict[str, Any]]) -> None:
    if path is not None:
        content = {"texts": [*_TEXTS, *_CODE, "text/blns.json"], "formats": list(FORMATS), "results": results}
        path.write_text(json.dumps(content, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
