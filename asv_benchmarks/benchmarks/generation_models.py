"""What generation is measured with: models of the real sizes with random weights, their inputs and their options.

The cases are those of an article on text generation in Rust (Becquin, revised in January 2021): translation,
summarization and free text. Every row gets the same number of new tokens, for ends are kept from coming: what is
compared is the same work.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["CASES", "GenerationCase", "write_checkpoint"]

#: Tokens of sentences: that which the article translates, then nine more of the same news text.
SENTENCES = (50, 23, 37, 34, 14, 42, 45, 74, 33, 50)
#: Tokens of the article as a whole, about.
DOCUMENT = 400
#: Tokens of prompts; "The majority of crustaceans are aquatic," has eight.
PROMPTS = (8, 11, 6)
#: No token is forced, so that all libraries search by the same rule until the end.
_UNFORCED = {"forced_eos_token_id": None, "forced_bos_token_id": None}


def _sides(layers: tuple[int, int], heads: int, ffn: int) -> dict[str, int]:
    both = {"attention_heads": heads, "ffn_dim": ffn}
    settings = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in both.items()}
    return settings | {"encoder_layers": layers[0], "decoder_layers": layers[1]}


def _bart(encoder: int, decoder: int) -> dict[str, Any]:
    # CTranslate2 asks for the last one, which old checkpoints name
    own = {"d_model": 1024, "vocab_size": 50264, "normalize_before": False}
    return {**_sides((encoder, decoder), 16, 4096), **_UNFORCED, **own}


def _t5(width: int, ffn: int, layers: int, heads: int) -> dict[str, Any]:
    sizes = {"d_model": width, "d_ff": ffn, "num_layers": layers, "num_heads": heads, "d_kv": 64}
    return {**sizes, "vocab_size": 32128, "decoder_start_token_id": 0}


#: Name -> class of transformers, and what differs from the defaults of its configuration.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "opus-mt": (
        "MarianMTModel",
        {
            **_sides((6, 6), 8, 2048),
            **_UNFORCED,
            "d_model": 512,
            "vocab_size": 65001,
            "decoder_vocab_size": 65001,
            "pad_token_id": 65000,
            "decoder_start_token_id": 65000,
            "eos_token_id": 0,
            "max_position_embeddings": 512,
            "activation_function": "swish",
            "scale_embedding": True,
        },
    ),
    "t5-small": ("T5ForConditionalGeneration", _t5(512, 2048, 6, 8)),
    "t5-base": ("T5ForConditionalGeneration", _t5(768, 3072, 12, 12)),
    "bart-large": ("BartForConditionalGeneration", _bart(12, 12)),
    "distilbart-12-6": ("BartForConditionalGeneration", _bart(12, 6)),
    "distilbart-6-6": ("BartForConditionalGeneration", _bart(6, 6)),
    "gpt2": ("GPT2LMHeadModel", {}),
}


@dataclass(frozen=True)
class GenerationCase:
    """One generation.

    Attributes
    ----------
    model : str
        A key of `MODELS`.
    lengths : tuple of int
        Tokens of each source, or prompt.
    new_tokens : int
        Of every row.
    beams : int
    returned : int
        Rows of each source that are returned.
    sampled : bool
        Whether beams are drawn, of the 50 likeliest.
    settings : dict
        Changes of the model's configuration, for tests.
    """

    model: str
    lengths: tuple[int, ...]
    new_tokens: int
    beams: int
    returned: int = 1
    sampled: bool = False
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def architecture(self) -> str:
        """Class of transformers."""
        return MODELS[self.model][0]

    @property
    def decoder_only(self) -> bool:
        """Whether the model has no encoder."""
        return self.architecture == "GPT2LMHeadModel"

    @property
    def configuration(self) -> dict[str, Any]:
        """What differs from the defaults of transformers."""
        return MODELS[self.model][1] | self.settings

    def ids(self, vocabulary: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """What is read, int64, and its mask: sources with their end and padding at the right, prompts at the left."""
        random = np.random.default_rng(0)
        width = max(self.lengths)
        ids = np.full((len(self.lengths), width), end)
        mask = np.zeros_like(ids)
        for row, length in enumerate(self.lengths):
            tokens = random.integers(5, vocabulary - 5, length)
            if not self.decoder_only:
                tokens[-1] = end
            real = slice(width - length, width) if self.decoder_only else slice(0, length)
            ids[row, real], mask[row, real] = tokens, 1
        return ids, mask

    @property
    def options(self) -> dict[str, Any]:
        """Options of a generation, as transformers names them, and as they are here."""
        begun = max(self.lengths) if self.decoder_only else 1
        options: dict[str, Any] = {
            "num_beams": self.beams,
            "num_return_sequences": self.returned,
            "early_stopping": True,
            "min_length": begun + self.new_tokens,
            "max_length": begun + self.new_tokens,
            "do_sample": self.sampled,
        }
        if self.sampled:
            options["top_k"] = 50
        return options


CASES: dict[str, GenerationCase] = {
    "marian-1": GenerationCase("opus-mt", SENTENCES[:1], 32, 6),
    "marian-10": GenerationCase("opus-mt", SENTENCES, 32, 6),
    "t5-small-3": GenerationCase("t5-small", SENTENCES[:3], 32, 6),
    "t5-small-10": GenerationCase("t5-small", SENTENCES, 32, 6),
    "t5-base-3": GenerationCase("t5-base", SENTENCES[:3], 32, 6),
    "t5-base-10": GenerationCase("t5-base", SENTENCES, 32, 6),
    "bart-large": GenerationCase("bart-large", (DOCUMENT,), 60, 3),
    "distilbart-12-6": GenerationCase("distilbart-12-6", (DOCUMENT,), 60, 3),
    "distilbart-6-6": GenerationCase("distilbart-6-6", (DOCUMENT,), 60, 3),
    "gpt2-1": GenerationCase("gpt2", PROMPTS[:1], 64, 5, 5),
    "gpt2-3": GenerationCase("gpt2", PROMPTS, 64, 5, 5),
    "gpt2-1-sampled": GenerationCase("gpt2", PROMPTS[:1], 64, 5, 5, sampled=True),
    "gpt2-3-sampled": GenerationCase("gpt2", PROMPTS, 64, 5, 5, sampled=True),
}


def write_checkpoint(case: GenerationCase, folder: Path) -> None:
    """A checkpoint in float32 with the weights that transformers draws for a seed."""
    import torch
    import transformers

    kind = getattr(transformers, case.architecture)
    torch.manual_seed(0)
    model = kind(kind.config_class(**case.configuration))
    model.save_pretrained(folder)
