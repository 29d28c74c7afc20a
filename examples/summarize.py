"""The news of made-up reports, in a sentence: ``python -m examples.summarize [FOLDER]``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

import numba_nlp as nlp
from examples.checking import check, out_folder
from examples.tiny_training import fit, next_token_loss
from numba_nlp.models import create_model, save_model
from vocab_tools.training import train_wordpiece

NAMES = ("rosalind", "orlando", "celia", "oliver", "touchstone", "silvius")
DEEDS = ("came to", "left", "praised", "wrote of", "dreamt of")
PLACES = ("arden", "the court", "athens", "the castle")
OTHER_PLACES = ("the mill", "the harbour", "padua", "the moor")
CHATTER = (
    "it rained on {}.",
    "nobody had seen the cart from {}.",
    "{} was quiet that day.",
    "they say the wine of {} is sweet.",
)
SIDES = {
    f"{side}_{name}": value
    for side in ("encoder", "decoder")
    for name, value in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 128))
}


def report(random: np.random.Generator) -> tuple[str, str]:
    """Sentences of which one is the news, and that one."""
    news = f"{random.choice(NAMES)} {random.choice(DEEDS)} {random.choice(PLACES)}."
    sentences = [str(random.choice(CHATTER)).format(random.choice(OTHER_PLACES)) for _ in range(random.integers(1, 4))]
    sentences.insert(int(random.integers(len(sentences) + 1)), f"above all, {news}")
    return " ".join(sentences), news


def train_folder(folder: Path) -> None:
    """A vocabulary, and a BART of two layers a side that is trained on reports; their checkpoint."""
    random = np.random.default_rng(1)
    train_wordpiece([report(random)[0] for _ in range(1000)], vocab_size=10_000).write_vocab_txt(folder / "vocab.txt")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}), encoding="utf-8")
    tok = nlp.load_tokenizer(folder / "vocab.txt")
    pad, start, end = (tok.token_to_id(token) for token in ("[PAD]", "[CLS]", "[SEP]"))
    config = {
        "model_type": "bart", "vocab_size": tok.vocab_size, "d_model": 64, "max_position_embeddings": 64, **SIDES,
        "init_std": 0.15, "pad_token_id": pad, "bos_token_id": start, "eos_token_id": end,
        "decoder_start_token_id": start, "forced_eos_token_id": None,
        "task_specific_params": {"summarization": {"max_length": 16, "num_beams": 2}},
    }  # fmt: skip
    model = create_model(config, head="conditional_generation")

    def loss(random: np.random.Generator) -> torch.Tensor:
        reports, news = zip(*(report(random) for _ in range(48)), strict=True)
        source, target = (tok(list(texts), padding=True, return_tensors="pt") for texts in (reports, news))
        logits = model(**source, decoder_input_ids=target.input_ids[:, :-1]).logits
        return next_token_loss(logits, target.input_ids, target.attention_mask.bool())

    fit(model, loss, 320, rate=3e-3)
    save_model(model, folder)


def main(folder: Path) -> None:
    """Train, then summarize reports that were drawn anew, a long one in parts."""
    train_folder(folder)
    summarize = nlp.pipeline("summarize", model=folder)

    random = np.random.default_rng(99)
    reports, news = zip(*(report(random) for _ in range(100)), strict=True)
    found = summarize(list(reports))
    for text, summary in zip(reports[:3], found, strict=False):
        print(f"{summary:32} of: {text}")
    check("summaries", sum(a == b for a, b in zip(found, news, strict=True)), len(news))

    # longer than the model's 64 positions: refused, unless parts between sentences are asked for
    in_parts = summarize.arrays([" ".join(reports[:6])], chunk=True)
    print(f"{in_parts.n_chunks[0]} parts: {in_parts.to_list()[0]}")


if __name__ == "__main__":
    with out_folder() as folder:
        main(folder)
