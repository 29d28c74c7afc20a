"""Tiny models that write text: byte-level BPE vocabularies with random merges, for transformers and for us."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import numba_nlp as nlp
from tests.models.tiny import make_reference, save
from tools.generation_cases import settings_of

__all__ = ["LETTERS", "TextPair", "draw_prompt", "make_text_pair"]

#: What the models write, and a letter of two bytes, whose halves are tokens too.
LETTERS = "abcstop é"


@dataclass
class TextPair:
    """A model and its tokenizer, in transformers and here; ``written`` are the ids that text is made of."""

    theirs: Any
    ours: Any
    their_tokenizer: Any
    our_tokenizer: Any
    written: list[int]
    unwritten: list[int]
    end: int


def make_text_pair(architecture: str, folder: Path, *, seed: int = 0, tokens: int = 150) -> TextPair:
    """A vocabulary of all bytes, some merges of letters and an end, and a model with random weights."""
    generator = random.Random(seed)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate(alphabet)}
    spelled = [
        s for letter in LETTERS for s in pre_tokenizers.ByteLevel(False, use_regex=False).pre_tokenize_str(letter)
    ]
    pool = sorted({character for text, _ in spelled for character in text})
    merges = []
    while len(vocabulary) < 256 + tokens:
        pair = generator.choice(pool), generator.choice(pool)
        if len("".join(pair)) <= 6 and "".join(pair) not in vocabulary:
            vocabulary["".join(pair)] = len(vocabulary)
            merges.append(pair)
            pool.append("".join(pair))
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(False), decoders.ByteLevel()
    tokenizer.add_special_tokens(["<end>"])
    end = len(vocabulary)
    tokenizer.save(str(folder / "tokenizer.json"))
    if architecture == "GPT2LMHeadModel":
        settings: dict[str, Any] = {"n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 48}
    else:
        settings = settings_of(architecture, max_position_embeddings=48)
        settings.pop("num_labels")
    settings |= {"vocab_size": end + 1, "bos_token_id": end, "eos_token_id": end, "pad_token_id": None}
    theirs = make_reference(architecture, seed=seed, **settings)
    theirs.generation_config.pad_token_id = end
    theirs.generation_config.decoder_start_token_id = end
    written = [vocabulary[token] for token in pool]
    return TextPair(
        theirs,
        nlp.load_model(save(theirs, folder / "model")),
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>"),
        nlp.load_tokenizer(folder / "tokenizer.json"),
        written,
        [number for number in range(end) if number not in set(written)],
        end,
    )


def draw_prompt(pair: TextPair, generator: random.Random) -> torch.Tensor:
    """Some rows of ids of text."""
    rows, width = generator.randint(1, 3), generator.randint(1, 5)
    return torch.tensor([[generator.choice(pair.written) for _ in range(width)] for _ in range(rows)])
