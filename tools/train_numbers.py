"""Trains the package's own Marian model that spells out numbers and dates, measures it, and writes it with its card.

Run it as ``python -m tools.train_numbers``; an interrupted run goes on where it stopped. With ``--compare`` the folder
that is there is left alone: the model is trained anew beside it, and its figures must be the same within 2 %.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import numba_nlp as nlp
from numba_nlp.models import create_model, save_model
from numba_nlp.tokenizer import Tokenizer
from tools.model_training.cards import recipe_lines, table
from tools.model_training.command import finish, read_options
from tools.model_training.loop import Recipe, train
from tools.model_training.number_pairs import KINDS, Pair, draw_pair, held_out_pairs
from tools.model_training.number_vocabulary import END, PADDING, token_ids, write_tokenizer
from tools.model_training.translation import PairBatches, pair_loss, translate

__all__ = ["CONFIG", "EXAMPLES", "GENERATION", "RECIPE", "exact_matches", "main", "train_model"]

#: Held-out pairs of each kind that the figures are made of.
MEASURED = 1000

_IDS = token_ids()
#: 1.0 million weights: 2 MB in bfloat16. Weights begin as large as is usual for norms behind the sums: 1 / sqrt(width).
CONFIG: dict[str, Any] = {
    "model_type": "marian",
    "architectures": ["MarianMTModel"],
    "vocab_size": len(_IDS),
    "d_model": 128,
    "encoder_layers": 3,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 384,
    "decoder_ffn_dim": 384,
    "activation_function": "swish",
    "max_position_embeddings": 64,
    "scale_embedding": True,
    "initializer_range": 0.088,
    "init_std": 0.088,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
    "eos_token_id": _IDS[END],
    "pad_token_id": _IDS[PADDING],
    "decoder_start_token_id": _IDS[PADDING],
    "is_encoder_decoder": True,
}
GENERATION: dict[str, Any] = {
    "decoder_start_token_id": _IDS[PADDING],
    "eos_token_id": _IDS[END],
    "pad_token_id": _IDS[PADDING],
    "bad_words_ids": [[_IDS[PADDING]]],
    "forced_eos_token_id": _IDS[END],
    "max_length": CONFIG["max_position_embeddings"],
    "num_beams": 1,
}
RECIPE = Recipe(steps=8000, rows=128, rate=2e-3, warm_up=400, decay=0.01)

EXAMPLES = (
    ">>words<< 1,000,205",
    ">>words<< 1905",
    ">>year<< 1905",
    ">>words<< 22nd",
    ">>words<< 1776-07-04",
    ">>words<< 24.12.2031",
    ">>digits<< ninety-nine thousand and one",
    ">>digits<< one thousand one hundredth",
    ">>digits<< twenty twenty-six",
    ">>digits<< the fourth of July, seventeen seventy-six",
)


def _drawn(rng: random.Random) -> tuple[str, str]:
    pair = draw_pair(rng)
    return pair.source, pair.target


def exact_matches(model: Any, tokenizer: Tokenizer, pairs: Sequence[Pair]) -> dict[str, float]:
    """Part of the pairs of each kind whose target the model gives to the letter, and of all of them."""
    longest = model.settings.positions
    results = translate(model, tokenizer, [pair.source for pair in pairs], longest=longest)
    right = Counter[str]()
    number = Counter[str]()
    for pair, result in zip(pairs, results, strict=True):
        number[pair.kind] += 1
        right[pair.kind] += result == pair.target
    return {kind: right[kind] / number[kind] for kind in number} | {"all": right.total() / number.total()}


def train_model(recipe: Recipe, work: Path, config: dict[str, Any] = CONFIG) -> tuple[Any, float]:
    """Train the model, and write it with its tokenizer into ``work / "model"``.

    Returns
    -------
    Model, float
        As written and read again, in float32; minutes of training.
    """
    folder = work / "model"
    write_tokenizer(folder, longest=config["max_position_embeddings"])
    tokenizer = nlp.load_tokenizer(folder)
    batches = PairBatches(
        _drawn,
        tokenizer,
        nlp.load_tokenizer(folder, target=True),
        padding=config["pad_token_id"],
        start=config["decoder_start_token_id"],
        rows=recipe.rows,
        seed=recipe.seed,
    )
    model = create_model(config, seed=recipe.seed)
    # drawn anew: not those that the figures are made of, but for years, of which there are few
    sample = list(held_out_pairs(20, seed=1))

    def check(done: int) -> None:
        part = exact_matches(model, tokenizer, sample)["all"]
        print(f"after {done} steps: {100 * part:.1f} % of {len(sample)} held-out pairs", file=sys.stderr, flush=True)

    seconds = train(model, recipe, lambda step: pair_loss(model, batches[step]), state=work / "state.pt", check=check)
    model.generation_config = GENERATION
    save_model(model.to(torch.bfloat16), folder)
    return nlp.load_model(folder, dtype="float32"), seconds / 60


def card(model: Any, tokenizer: Tokenizer, figures: dict[str, float], recipe: Recipe, minutes: float) -> str:
    """The text of the model card."""
    s = model.settings
    weights = sum(parameter.numel() for parameter in model.parameters())
    results = translate(model, tokenizer, EXAMPLES, longest=s.positions)
    rows = [[kind, f"{100 * figures[kind]:.2f} %"] for kind in (*KINDS, "all")]
    examples = table(["source", "result"], [[f"`{a}`", f"`{b}`"] for a, b in zip(EXAMPLES, results, strict=True)])
    return f"""# Numbers

A small translation model that spells out numbers and dates in English, and reads them back, so that encoder-decoders
work without a download. Code that does this by rule is better; the model is for trying things out and for tests.

## Model

Marian's architecture with {s.encoder_blocks} and {s.decoder_blocks} layers of width {s.encoder.width},
{s.encoder.heads} heads, {s.positions} positions and {s.vocabulary} tokens: {weights / 1e6:.2f} million weights in
bfloat16. The pieces are listed, not learnt: words that numbers and dates are made of, digits, letters. The folder is
read by `numba_nlp.load_model`, `numba_nlp.load_tokenizer` and transformers.

## Use

A source begins with a code.

- `>>words<<`: a number below 10^12, with commas or without (`1,234`, `1234`), an ordinal below 10^6 (`22nd`), or a
  date of the years 1000 to 2999: `1776-07-04`, `07/04/1776` (the month first), `04.07.1776` (the day first),
  `July 4, 1776`, `4 July 1776`. Words are American: `one thousand two hundred five`.
- `>>year<<`: a year from 1000 to 2999, as it is read: `1905` gives `nineteen oh five`.
- `>>digits<<`: the words of any of these, "and" and hyphens there or not. Numbers come back with commas, dates as
  `1776-07-04`.

{examples}

## Data

Pairs made by rule while training (`tools/model_training`), {recipe.steps * recipe.rows:,} of them: no data of
others. A hash of the value keeps one number of 20 from 100 on out of training, in every form and in both directions,
with all dates of such years, and one of 20 of the other dates.

## Training

    python -m tools.train_numbers

{recipe_lines(recipe, minutes)}

## Figures

Results that are right to the letter, of {MEASURED} sources of each kind (all that there are, of years) whose values
training never saw, the likeliest token each time.

{table(["kind", "right"], rows)}

## Limits

Numbers below 0, fractions, sums of money, times, other calendars and other languages were not taught: whatever comes
out for them is made up. There is no sign of doubt when a result is wrong.

The weights are under the licence of numba_nlp (Apache License 2.0).
"""


def main(arguments: list[str] | None = None) -> int:
    """Train, measure, write; 1 if ``--compare`` finds a difference."""
    options = read_options(__doc__ or "", "numbers", RECIPE, arguments)
    model, minutes = train_model(options.recipe, options.work)
    tokenizer = nlp.load_tokenizer(options.work / "model")
    figures = exact_matches(model, tokenizer, list(held_out_pairs(MEASURED)))
    return finish(options, figures, minutes, card(model, tokenizer, figures, options.recipe, minutes))


if __name__ == "__main__":
    sys.exit(main())
