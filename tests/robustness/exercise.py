"""Uses a Tokenizer in every way and prints what came out as JSON; run in processes with different compile flags."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numba
import numpy as np
import pyarrow as pa
from numba.core.dispatcher import Dispatcher

import numba_nlp as nlp
from numba_nlp._decoders import DECODERS
from numba_nlp._encoders import ENCODERS
from numba_nlp.kernels.segment.bpe import ENCODE_ROWS
from tests.scan_texts import ADVERSARIAL, FRAGMENTS

TEXTS = (
    "To be, or not to be: that's the question.\n",
    "the theatre and the band, they'd gathered <|endoftext|> there <|end|>and<|pad|>",
    "  two  spaces\t\ttabs\r\n1234567890 3.14159 def f(x):\n    return x\n",
    "\u00dcberf\u00e4lle \u00fcber na\u00efve fa\u00e7ades",
    "\u65e5\u672c\u8a9e\u306e\u672c, \U0001f44d\U0001f3fd e\u0301\u00e9",
    "a" * 70 + " " + "the" * 30 + " " + "and " * 20,
    *(text for text in ADVERSARIAL if len(text) < 80),
    "".join(FRAGMENTS[::2]),
)


def plain_values(result: Any) -> Any:
    """Arrays and ragged arrays as lists, missing rows as None."""
    if isinstance(result, nlp.Ragged):
        parts = (result.values, result.offsets, result.starts, result.ends, result.valid)
        return [plain_values(part) for part in parts]
    if isinstance(result, tuple):
        return [plain_values(part) for part in result]
    return result.tolist() if isinstance(result, np.ndarray) else result


def inputs(folder: Path) -> Iterator[tuple[str, Any]]:
    """The same rows as every kind of input."""
    lines = [text.replace("\n", " ").replace("\r", " ") for text in TEXTS]
    file = folder / "lines.txt"
    file.write_bytes("\n".join(lines).encode())
    yield "list", list(TEXTS)
    yield "tuple of bytes", tuple(text.encode() for text in TEXTS)
    yield "generator", (text for text in TEXTS)
    yield "objects", np.array(TEXTS, dtype=object)
    yield "U", np.array([text.replace("\0", "0") for text in TEXTS])
    yield "S", np.array([text.replace("\0", "0").encode() for text in TEXTS])
    yield "string", pa.array(TEXTS)
    yield "large_string", pa.array(TEXTS, pa.large_string())
    yield "string_view", pa.array(TEXTS, pa.string_view())
    yield "dictionary", pa.array(TEXTS).dictionary_encode()
    yield "slice", pa.array(TEXTS, pa.large_string())[2:9]
    yield "chunks", pa.chunked_array([list(TEXTS[:3]), [], list(TEXTS[3:])])
    yield "file", nlp.TextRows.from_file(file)
    yield "lines of a file", nlp.TextRows.from_file(file, keep_line_ends=True)[1:5]
    yield "nothing", []


def results_of(tok: nlp.Tokenizer, folder: Path) -> dict[str, Any]:
    """Everything that a tokenizer gives for the texts."""
    found: dict[str, Any] = {}
    for number, text in enumerate(TEXTS):
        for special in ("plain", "match"):
            for unit in ("char", "byte"):
                found[f"spans {number} {special} {unit}"] = tok.encode(text, spans=True, unit=unit, special=special)
            found[f"ids {number} {special}"] = tok.encode(text, special=special, add_special_tokens=True)
        found[f"single {number}"] = ids = tok.encode(text) if number != 1 else tok.encode(text, special="plain")
        found[f"bytes {number}"] = tok.encode(text.encode(), special="plain")
        found[f"text {number}"] = tok.decode(ids)
        found[f"count {number}"] = tok.count(text, special="plain")
    for name, texts in inputs(folder):
        found[f"batch of {name}"] = batch = tok.encode_batch(texts, spans=True, special="match", num_threads=2)
        found[f"texts of {name}"] = tok.decode_batch(batch)
    holed = pa.array(["the", None, "and", ""])
    for nulls in ("empty", "null"):
        found[f"nulls {nulls}"] = tok.encode_batch(holed, nulls=nulls, spans=True, unit="byte")
    one_of_them = sorted(tok.special_tokens)[:1]
    found["allowed"] = tok.encode_batch([TEXTS[0], one_of_them[0], ""], special=one_of_them, spans=True)
    found["counts"] = tok.count_batch(list(TEXTS), special="plain", num_threads=1)
    found["padded"] = tok.encode_batch(list(TEXTS), special="plain").to_padded(pad_id=0)[0]
    found["tokens"] = [tok.id_to_token(i) for i in range(0, min(264, tok.vocab_size), 3)]
    found["ids of tokens"] = [tok.token_to_id(token) for token in found["tokens"]]
    return {key: plain_values(value) for key, value in found.items()}


class Recorder:
    """Stands before a kernel and keeps the types of its arguments."""

    types_of: ClassVar[dict[str, set[str]]] = {}

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._name = f"{kernel.__module__}.{kernel.__qualname__}"

    def __call__(self, *arguments: Any) -> Any:
        types = ", ".join(str(numba.typeof(argument)) for argument in arguments)
        self.types_of.setdefault(self._name, set()).add(types)
        return self._kernel(*arguments)


def _recorded(value: Any) -> Any:
    """The value with a recorder before each kernel in it."""
    if isinstance(value, Dispatcher):
        return Recorder(value)
    if value is ENCODE_ROWS:
        return {pattern: Recorder(rows) for pattern, rows in value.items()}
    if isinstance(value, ModuleType) and value.__name__.startswith("numba_nlp.kernels"):
        return SimpleNamespace(**{name: _recorded(inner) for name, inner in vars(value).items()})
    return value


def record_calls() -> None:
    """From now on, record what the modules outside of the kernels call kernels with."""
    for name in ("tokenizer", "packing"):
        importlib.import_module(f"numba_nlp.{name}")
    # what a vocabulary asks for is imported then, too late for a recorder
    for module, _ in ENCODERS.values():
        importlib.import_module(f"numba_nlp._encoders.{module}")
    for module, _ in DECODERS.values():
        importlib.import_module(f"numba_nlp._decoders.{module}")
    for name, module in list(sys.modules.items()):
        # kernels call each other in compiled code, and _fastcall puts them together
        inside = ("numba_nlp.kernels", "numba_nlp.reference", "numba_nlp._fastcall")
        if name.startswith("numba_nlp") and not name.startswith(inside):
            for key, value in list(vars(module).items()):
                recorded = _recorded(value)
                if recorded is not value:
                    setattr(module, key, recorded)


def main(folders: Sequence[Path]) -> None:
    """Print the results of all compiled vocabularies of some folders."""
    record_calls()
    report: dict[str, Any] = {"results": {}, "calls": {}}
    for path in sorted(path for folder in folders for path in folder.glob("*.safetensors")):
        tok = nlp.load_tokenizer(path)
        report["results"][path.stem] = results_of(tok, path.parent)
        report["calls"][path.stem] = tok.describe()["calls"]
    report["types"] = {name: sorted(types) for name, types in Recorder.types_of.items()}
    print(json.dumps(report))


if __name__ == "__main__":
    main([Path(folder) for folder in sys.argv[1:]])
