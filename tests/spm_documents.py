"""Documents of checkpoint folders, put together from the parts that the loader uses."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path
from typing import Any

import numba_nlp as nlp
from numba_nlp.vocabulary import Vocabulary
from tests.spm_checkpoint_cases import Case
from vocab_tools.checkpoints.document import Document
from vocab_tools.checkpoints.families import family_of
from vocab_tools.checkpoints.family import Family, Native
from vocab_tools.checkpoints.files import Folder
from vocab_tools.checkpoints.settings import read_settings
from vocab_tools.checkpoints.spm_extraction import backend_document, extract
from vocab_tools.compiler import staged
from vocab_tools.formats import staged_json, tokenizer_json
from vocab_tools.formats.piece_table import Place
from vocab_tools.formats.stages.stage import Stage


def document_of(case: Case, folder: Path) -> dict[str, Any]:
    """The whole ``tokenizer.json`` of a case."""
    files = Folder(folder, str(folder))
    tokenizer_file = "tokenizer.json" if files.has("tokenizer.json") else None
    settings = read_settings(files, copy.deepcopy(case.given), tokenizer_file)
    values = settings.values
    if case.name == "TokenizersBackend":
        document = Document(backend_document(folder / case.file, values, settings))
        document.take_settings(values, settings.added_tokens, None)
        return document.state
    family = family_of(case.name)
    assert isinstance(family, Family)
    if tokenizer_file is None:
        native = extract(folder / case.file, case.name, family.model, values)
    else:
        native = _native(folder / tokenizer_file, family.model)
    options = {**family.defaults, **values}
    document = Document(family.build(options, native))
    document.take_settings(options, settings.added_tokens, native.post_processor)
    if family.finish is not None:
        family.finish(document, options)
    return document.state


def _native(path: Path, model: str | None) -> Native:
    content = json.loads(path.read_text(encoding="utf-8"))
    vocab = content["model"]["vocab"]
    if isinstance(vocab, list):
        vocab = [(piece, score) for piece, score in vocab]
    merges = None
    if model == "BPE":
        merges = [tuple(pair.split(" ") if isinstance(pair, str) else pair) for pair in content["model"]["merges"]]
    normalizer = content["normalizer"] or {"type": "Sequence", "normalizers": []}
    stages = normalizer["normalizers"] if normalizer["type"] == "Sequence" else [normalizer]
    charsmaps = [stage["precompiled_charsmap"] for stage in stages if stage["type"] == "Precompiled"]
    charsmap = base64.b64decode(charsmaps[0]) if charsmaps else None
    return Native(vocab, merges, charsmap, content["post_processor"])


def tokenizer_of(case: Case, folder: Path) -> nlp.Tokenizer:
    """The tokenizer of a case."""
    root = Stage(folder, "", document_of(case, folder))
    place = Place(folder, "", "model.vocab")
    vocab = staged_json.read_vocab(root.below("model"), place)
    added = tokenizer_json._read_added_tokens(root.below("added_tokens"), vocab)
    merges = root.value["model"].get("merges")
    description = staged_json.read(
        root,
        vocab,
        None if merges is None else [tuple(pair) for pair in merges],
        added,
        place,
        name="made",
        source_digest="0" * 64,
        allow_gaps=False,
    )
    return nlp.Tokenizer(Vocabulary(*staged.build_arrays(description)))
