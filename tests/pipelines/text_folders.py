"""Small checkpoints of the families that translate and summarise, and what transformers makes of a text with them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

pytest.importorskip("sentencepiece", reason="trains small models")

import numba_nlp as nlp
from numba_nlp.pipelines import pipeline
from tests import checkpoint_folders as plain
from tests.models.tiny import make_reference, save, torch, transformers
from tests.python_checkpoints import m2m100_folder, marian_folder
from tests.spm_folders import folder_of

_SIDES = {f"{side}_{name}": n for side in ("encoder", "decoder") for name, n in (("layers", 1), ("ffn_dim", 24))}
_BART = {**_SIDES, "d_model": 16, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
_FIVE = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


class TinyFamily(NamedTuple):
    """A family of models.

    Parameters
    ----------
    architecture : str
        Class of transformers.
    settings : dict
        Of its config.
    write : callable
        Writes the tokenizer's files into a folder.
    reads : dict
        Of the tokenizer of transformers, for a translation from English to French.
    writes : str or None
        The code of French.
    """

    architecture: str
    settings: dict[str, Any]
    write: Callable[[Path], Any]
    reads: Mapping[str, Any] = MappingProxyType({})
    writes: str | None = None


def _pieces(name: str, kind: str, file: str = "sentencepiece.bpe.model", **settings: Any) -> Callable[[Path], Any]:
    return lambda folder: folder_of(folder, f"{name}Tokenizer", kind, file, tokenizer_config=settings)


def _bart(folder: Path) -> Path:
    files = {
        **plain.merged_files(plain.byte_level(*_FIVE)),
        "tokenizer_config.json": {"tokenizer_class": "BartTokenizer"},
    }
    return plain.write_folder(folder, files)


_FAIRSEQ = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
_T5 = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
_MANY = {**_BART, **_FAIRSEQ}
_nllb = _pieces("Nllb", "bpe", extra_special_tokens=["deu_Latn", "eng_Latn", "fra_Latn", "zho_Hans", "zho_Hant"])
FAMILIES: dict[str, TinyFamily] = {
    "bart": TinyFamily("BartForConditionalGeneration", {**_BART, **_FAIRSEQ, "forced_bos_token_id": 0}, _bart),
    "pegasus": TinyFamily(
        "PegasusForConditionalGeneration", {**_BART, **_T5}, _pieces("Pegasus", "unigram_t5", "spiece.model")
    ),
    "t5": TinyFamily(
        "T5ForConditionalGeneration",
        {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2, **_T5},
        _pieces("T5", "unigram_t5", "spiece.model"),
    ),
    "marian": TinyFamily("MarianMTModel", {**_BART, "eos_token_id": 0, "forced_eos_token_id": 0}, marian_folder),
    "mbart": TinyFamily(
        "MBartForConditionalGeneration", _MANY, _pieces("MBart", "unigram"), {"src_lang": "en_XX"}, "fr_XX"
    ),
    "mbart50": TinyFamily(
        "MBartForConditionalGeneration", _MANY, _pieces("MBart50", "unigram"), {"src_lang": "en_XX"}, "fr_XX"
    ),
    "m2m_100": TinyFamily(
        "M2M100ForConditionalGeneration", _MANY, m2m100_folder, {"src_lang": "en"}, "__fr__"
    ),
    "nllb": TinyFamily(
        "M2M100ForConditionalGeneration", _MANY, _nllb, {"src_lang": "eng_Latn"}, "fra_Latn"
    ),
}  # fmt: skip


_TOKENIZERS: dict[Path, Any] = {}


def open_pipeline(task: str, folder: Path, **options: Any) -> Any:
    """A pipeline over a checkpoint that was written here, whose tokenizer is compiled already."""
    return pipeline(task, model=folder, tokenizer=_TOKENIZERS[folder], **options)


def write_checkpoint(name: str, folder: Path, *, positions: int = 80, **settings: Any) -> Path:
    """A checkpoint with random weights whose every token has a text."""
    family = FAMILIES[name]
    folder.mkdir(parents=True, exist_ok=True)
    family.write(folder)
    tokenizer = _TOKENIZERS[folder] = nlp.load_tokenizer(folder)
    own = dict(family.settings)
    if name == "marian":
        pad = tokenizer.token_to_id("<pad>")
        own |= {"pad_token_id": pad, "decoder_start_token_id": pad, "bad_words_ids": [[pad]]}
    if name == "mbart":
        own["decoder_start_token_id"] = tokenizer.token_to_id("fr_XX")
    if name != "t5":
        own["max_position_embeddings"] = positions
    generation = {
        key: own.pop(key) for key in ("bad_words_ids", "forced_bos_token_id", "forced_eos_token_id") if key in own
    }
    model = make_reference(family.architecture, vocab_size=tokenizer.vocab_size, **own)
    with torch.no_grad():
        # so large that the source shows in every token
        for parameter in model.parameters():
            if parameter.requires_grad and parameter.dim() > 1:
                parameter.mul_(2)
    for key, value in generation.items():
        setattr(model.generation_config, key, value)
    save(model, folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, **settings}), encoding="utf-8")
    return folder


class Reference:
    """The model and tokenizer of transformers, used as its pipelines of version 4 use them: one text after another."""

    def __init__(self, name: str, folder: Path) -> None:
        self._family = FAMILIES[name]
        with warnings.catch_warnings():
            # of a normaliser that Marian's tokenizer sets up and never calls
            warnings.filterwarnings("ignore", message="Recommended: pip install sacremoses")
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **self._family.reads)
        self.model = getattr(transformers, self._family.architecture).from_pretrained(folder).eval()
        self.forced: dict[str, int] = {}
        if self._family.writes is not None and name != "mbart":
            self.forced = {"forced_bos_token_id": self.tokenizer.convert_tokens_to_ids(self._family.writes)}

    def __call__(self, text: str, **options: Any) -> list[str]:
        """What it writes for a text."""
        inputs = self.tokenizer(text, return_tensors="pt")
        kept = {key: inputs[key] for key in ("input_ids", "attention_mask")}
        with torch.no_grad():
            rows = self.model.generate(**kept, **{**self.forced, **options})
        return [self.tokenizer.decode(row, skip_special_tokens=True) for row in rows]
