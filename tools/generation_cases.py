"""Random generations by tiny random models, ours and transformers', to be compared token by token.

A difference counts unless both agree once the models compute in float64: then float32 sums in another order have
flipped two candidates that are nearly equal.
"""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

import numba_nlp as nlp
from numba_nlp.generation import GenerationOutput
from tests.models.tiny import make_reference, save
from tests.models.tiny_pairs import settings_of

__all__ = ["ARCHITECTURES", "OPTIONS", "Case", "Pair", "compare", "draw_case", "make_pair", "their_rows"]

VOCABULARY = 40
_PADDING = 1
#: What texts of tokens are made of.
_LETTERS = "abcdef"
ARCHITECTURES = (
    "GPT2LMHeadModel",
    "OpenAIGPTLMHeadModel",
    "BartForConditionalGeneration",
    "MarianMTModel",
    "T5ForConditionalGeneration",
    "MBartForConditionalGeneration",
    "PegasusForConditionalGeneration",
    "M2M100ForConditionalGeneration",
    "XLNetLMHeadModel",
)
#: Sums of log-probabilities may differ by so much.
CLOSE = 1e-4
#: Scores below are of rows that are none: see ``beam_memory.UNLIKELY``.
_NO_ROW = -1e6
#: Those whose padding at the left transformers leaves out of account, in positions or altogether.
_NEVER_PADDED = ("OpenAIGPTLMHeadModel", "XLNetLMHeadModel")
_XLNET = {"vocab_size": VOCABULARY, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 40, "mem_len": None}
_GPT = {"vocab_size": VOCABULARY, "n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 40}


def _make_tokenizer() -> Any:
    """What the tokens of all models are as text: special ones, single letters, and some letters together."""
    generator, texts = random.Random(0), ["{", "|", "}", *_LETTERS]
    while len(texts) < VOCABULARY:
        text = "".join(generator.choices(_LETTERS, k=generator.randint(2, 4)))
        if text not in texts:
            texts.append(text)
    made = Tokenizer(models.BPE({text: number for number, text in enumerate(texts)}, []))
    made.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=made, clean_up_tokenization_spaces=False)


_TOKENIZER = _make_tokenizer()


@dataclass
class Pair:
    """One model, in transformers and here, in float32 and float64, and tokens that it writes often."""

    architecture: str
    theirs: Any
    ours: Any
    often: list[int]
    precise: tuple[Any, Any] | None = field(default=None, repr=False)

    def in_float64(self) -> tuple[Any, Any]:
        """Theirs and ours."""
        if self.precise is None:
            ours, theirs = copy.deepcopy(self.ours), copy.deepcopy(self.theirs).double()
            ours.cast(torch.float64)
            if "XLNet" in self.architecture:
                _widen_xlnet(theirs)
            self.precise = theirs, ours
        return self.precise


def _widen_xlnet(model: Any) -> None:
    """Have transformers' XLNet run in float64: its table of positions and its masks are of float32 otherwise."""
    table = model.transformer.relative_positional_encoding

    def widened(_: Any, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return given, {
            name: value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
            for name, value in named.items()
        }

    model.transformer.relative_positional_encoding = lambda *given, **named: table(*given, **named).double()
    model.register_forward_pre_hook(widened, with_kwargs=True)


@dataclass
class Case:
    """Arguments of one generation, and what computes it here."""

    input_ids: torch.Tensor
    attention_mask: torch.Tensor | None
    options: dict[str, Any]
    #: Ours.
    engine: str = "auto"
    #: What transformers gives, once it was asked for: the same for all engines.
    expected: tuple[torch.Tensor, torch.Tensor | None, torch.Tensor] | None = field(default=None, repr=False)


def _is_decoder(architecture: str) -> bool:
    return "GPT" in architecture or "XLNet" in architecture


def make_pair(architecture: str, folder: Path, *, seed: int = 0) -> Pair:
    """A tiny model of transformers with weights so large that some tokens are much more probable than others."""
    decoder_only = _is_decoder(architecture)
    if decoder_only:
        own = _GPT if "GPT" in architecture else _XLNET
        settings: dict[str, Any] = {**own, "bos_token_id": 0, "eos_token_id": 2, "pad_token_id": None}
    else:
        settings = settings_of(architecture, vocab_size=VOCABULARY, max_position_embeddings=40)
        settings.pop("num_labels")
        if architecture.startswith("T5"):  # transformers' cache has as many layers as the encoder
            settings["num_decoder_layers"] = settings["num_layers"]
    theirs = make_reference(architecture, seed=seed, **settings)
    theirs.generation_config.pad_token_id = _PADDING
    if not theirs.generation_config.decoder_start_token_id:
        theirs.generation_config.decoder_start_token_id = None if decoder_only else 0
    ours = nlp.load_model(save(theirs, folder))
    # what it writes, so that some rows end: a random model repeats a few tokens
    prompts = torch.arange(3, 35).reshape(8, 4)
    written = ours.generate(prompts, eos_token_id=None, max_new_tokens=12, num_beams=1).sequences[:, -12:]
    often = [int(token) for token in written.unique() if token >= 3] or [3]
    return Pair(architecture, theirs, ours, often)


#: Options that are drawn, beside beams, numbers of rows, ends and lengths.
OPTIONS = (
    "length_penalty",
    "early_stopping",
    "no_repeat_ngram_size",
    "encoder_no_repeat_ngram_size",
    "min_length",
    "min_new_tokens",
    "repetition_penalty",
    "bad_words_ids",
    "suppress_tokens",
    "begin_suppress_tokens",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "renormalize_logits",
    "prefix_allowed_tokens_fn",
    "max_length",
    "stop_strings",
)


def draw_case(generator: random.Random, pair: Pair, *, only: str | None = None) -> Case:
    """Random arguments.

    Parameters
    ----------
    generator : random.Random
    pair : Pair
        For which model.
    only : str, optional
        The one option that is set beside beams and lengths; by default several are.
    """

    def token() -> int:
        return generator.randrange(3, VOCABULARY)

    decoder_only = _is_decoder(pair.architecture)
    padded = pair.architecture not in _NEVER_PADDED
    rows, width = generator.randint(1, 4), generator.randint(1, 7)
    ids = torch.tensor([[token() for _ in range(width)] for _ in range(rows)])
    mask = None
    if padded and width > 1 and generator.random() < 0.5:
        mask = torch.ones_like(ids)
        for row in range(rows):
            n = generator.randint(0, width - 1)
            where = slice(0, n) if decoder_only else slice(width - n, width)
            ids[row, where], mask[row, where] = _PADDING, 0
    beams = generator.choice([1, 2, 3, 5])
    options: dict[str, Any] = {"num_beams": beams}
    if beams > 1:
        options["num_return_sequences"] = generator.choice([1, beams])
    often = generator.sample(pair.often, min(3, len(pair.often)))
    options["eos_token_id"] = generator.choice([2, [token(), token()], often[0], often[:2], [2, *often]])
    options["max_new_tokens"] = generator.randint(1, 16)
    draws: dict[str, Callable[[], Any]] = {
        "length_penalty": lambda: generator.choice([-0.5, 0.0, 0.6, 2.0]),
        "early_stopping": lambda: generator.choice([True, "never"]),
        "no_repeat_ngram_size": lambda: generator.choice([1, 2, 3]),
        "encoder_no_repeat_ngram_size": lambda: generator.choice([1, 2]),
        "min_length": lambda: generator.randint(1, 9),
        "min_new_tokens": lambda: generator.randint(1, 9),
        "repetition_penalty": lambda: generator.choice([0.7, 1.3, 2.0]),
        "bad_words_ids": lambda: [[token()] for _ in range(5)] + [[token(), token()] for _ in range(60)],
        "suppress_tokens": lambda: [token() for _ in range(6)],
        "begin_suppress_tokens": lambda: [token() for _ in range(6)],
        "forced_bos_token_id": token,
        "forced_eos_token_id": lambda: generator.choice([2, token()]),
        "renormalize_logits": lambda: True,
        "prefix_allowed_tokens_fn": lambda: _allow_every_third,
        "max_length": lambda: width + generator.randint(1, 12) if decoder_only else generator.randint(2, 13),
        "stop_strings": lambda: ["".join(generator.choices(_LETTERS, k=k)) for k in generator.choice([[1], [2, 3]])],
    }
    for name in OPTIONS:
        if (only is None and generator.random() < 0.2) or name == only:
            options[name] = draws[name]()
    if "stop_strings" in options:
        options["tokenizer"] = _TOKENIZER
    if "max_length" in options:
        del options["max_new_tokens"]
    if set(options.get("suppress_tokens", ())) & {
        options.get("forced_bos_token_id"),
        options.get("forced_eos_token_id"),
    }:
        del options["suppress_tokens"]
    return Case(ids, mask, options)


def _allow_every_third(prompt: int, tokens: Any) -> list[int]:
    """Two thirds of the vocabulary, others for each prompt and length."""
    return [token for token in range(VOCABULARY) if (token + prompt + len(tokens)) % 3]


def their_rows(theirs: Any, case: Case) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
    """What transformers gives: sequences, scores of beams, log-probabilities of new tokens."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = theirs.generate(
            case.input_ids,
            attention_mask=case.attention_mask,
            return_dict_in_generate=True,
            output_scores=True,
            output_logits=True,
            # with a cache its M2M100 gives positions to padding tokens that were written, without one it does not
            use_cache=theirs.config.model_type != "m2m_100",
            **case.options,
        )
        beams = getattr(out, "beam_indices", None)
        values = theirs.compute_transition_scores(out.sequences, out.scores, beams, normalize_logits=beams is None)
    return out.sequences, getattr(out, "sequences_scores", None), values


def _ours(model: Any, case: Case) -> GenerationOutput:
    with warnings.catch_warnings():
        # options are drawn that do nothing beside others, and lengths that cannot be
        warnings.filterwarnings("ignore", "`.* (has no effect|is more than rows may have)")
        output: GenerationOutput = model.generate(
            case.input_ids, case.attention_mask, engine=case.engine, **case.options
        )
    return output


def compare(pair: Pair, case: Case) -> tuple[str, str]:
    """Generate with both.

    Returns
    -------
    verdict : str
        "same", "near tie", "no token left" (where the options rule out all of them, which ours refuses) or
        "different".
    why : str
        What differs.
    """
    if case.expected is None:
        case.expected = their_rows(pair.theirs, case)
    theirs, scores, values = case.expected
    try:
        ours = _ours(pair.ours, case)
    except ValueError as error:
        if "leave no token" not in str(error):
            raise
        # transformers takes token 0 where all are minus infinity; a log-softmax of such a row is NaN
        return ("no token left", "") if bool(values.isnan().any()) else ("different", str(error))
    why = _difference(theirs, scores, values, ours, case)
    if not why:
        return "same", ""
    precise_theirs, precise_ours = pair.in_float64()
    if not _difference(*their_rows(precise_theirs, case), _ours(precise_ours, case), case):
        return "near tie", why
    return "different", why


def _difference(theirs: Any, scores: Any, values: Any, ours: GenerationOutput, case: Case) -> str:
    """What differs, or nothing."""
    width = ours.prompt_width
    if scores is not None and not bool((scores > _NO_ROW).all()):
        # fewer rows than asked for: what transformers gives for the others is by chance
        real = scores > _NO_ROW
        mine = ours.scores > _NO_ROW
        if not torch.equal(real, mine):
            return f"other rows are none: {scores.tolist()}, {ours.scores.tolist()}"
        return _unequal("scores", scores[real], ours.scores[real])
    if theirs.shape != ours.sequences.shape or not torch.equal(theirs, ours.sequences):
        return f"sequences: {theirs[:, width:].tolist()}\n  ours: {ours.sequences[:, width:].tolist()}"
    if scores is not None:
        why = _unequal("scores", scores, ours.scores)
        if why:
            return why
        return _unequal("token scores", values, ours.token_scores)
    # transformers goes on to give scores of padding behind a row's end
    n = values.shape[1]
    counted = torch.ones_like(values, dtype=torch.bool)
    if "stop_strings" in case.options:
        # which rows a text ended is not looked for here: padding at their ends is not compared
        written = (theirs[:, width:] != _PADDING).int().flip(1).cumsum(1).flip(1)[:, :n] > 0
        return _unequal("token scores", values.where(written, 0.0), ours.token_scores.where(written, 0.0))
    ends = torch.isin(theirs[:, width:], torch.tensor(case.options["eos_token_id"]))
    counted[:, 1:] = ends.cumsum(1)[:, : n - 1] == 0
    return _unequal("token scores", values.where(counted, 0.0), ours.token_scores)


def _unequal(name: str, theirs: torch.Tensor, ours: torch.Tensor) -> str:
    if theirs.shape == ours.shape and torch.allclose(theirs.float(), ours, rtol=CLOSE, atol=CLOSE):
        return ""
    return f"{name}: {theirs.tolist()}\n  ours: {ours.tolist()}"
