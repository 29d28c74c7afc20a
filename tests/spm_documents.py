"""The documents and the tokenizers of checkpoint folders over SentencePiece models."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numba_nlp as nlp
from tests.spm_checkpoint_cases import Case
from vocab_tools.checkpoints.describe import read_checkpoint
from vocab_tools.checkpoints.files import Folder


def document_of(case: Case, folder: Path) -> dict[str, Any]:
    """The whole ``tokenizer.json`` of a case."""
    return read_checkpoint(Folder(folder, str(folder)), copy.deepcopy(case.given)).document.state


def tokenizer_of(case: Case, folder: Path) -> nlp.Tokenizer:
    """The tokenizer of a case."""
    return nlp.load_tokenizer(folder, **copy.deepcopy(case.given))
