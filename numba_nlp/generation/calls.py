"""`generate`: from a model and ids to rows of tokens."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
import torch

from numba_nlp.generation.arguments import check_prefix_function, check_streamer, settle_config, take_processors
from numba_nlp.generation.choice import Streamer
from numba_nlp.generation.clock import StepClock
from numba_nlp.generation.config import GenerationConfig
from numba_nlp.generation.decode_plan import Weights
from numba_nlp.generation.edits import PrefixFunction, Processor
from numba_nlp.generation.engines import Request, choose_engine
from numba_nlp.generation.outputs import GenerationOutput
from numba_nlp.generation.plan import Plan, make_plan, with_equals
from numba_nlp.generation.streaming import tells_streamer
from numba_nlp.generation.text_ends import TextEnds
from numba_nlp.generation.token_text import Decode, take_decoder
from numba_nlp.kernels.generation.beam_memory import UNLIKELY

__all__ = ["generate"]


@tells_streamer
def generate(
    model: Any,
    input_ids: Any = None,
    attention_mask: Any = None,
    *,
    config: GenerationConfig | None = None,
    seed: int | None = None,
    equal_before: Any = None,
    decoder_input_ids: Any = None,
    decoder_attention_mask: Any = None,
    streamer: Streamer | None = None,
    processors: Sequence[Processor] | None = None,
    prefix_allowed_tokens_fn: PrefixFunction | None = None,
    tokenizer: Any = None,
    decode: Decode | None = None,
    engine: str = "auto",
    weights: Weights = "auto",
    clock: StepClock | None = None,
    **options: Any,
) -> GenerationOutput:
    """Generate tokens.

    Parameters
    ----------
    model : Model
        Of ``load_model``: a decoder with the head "language_model", or an encoder-decoder with
        "conditional_generation".
    input_ids : array-like, Tensor, or sequence of rows of unlike lengths
        Prompts of a decoder, by default one of ``bos_token_id``; what the encoder reads of an encoder-decoder.
    attention_mask : array-like or Tensor, optional
        1 for tokens that count, 0 for padding, of the same shape. Without it, a decoder takes what is ``pad_token_id``
        for padding, unless that ends rows too; an encoder takes all tokens. Prompts that are padded at the right are
        padded at the left instead.
    config : GenerationConfig, optional
        By default that of the checkpoint. Special tokens that it leaves out are the checkpoint's.
    seed : int, optional
        Of sampling, from 0 to 2**64 - 1; by default another one in each call.
    equal_before : array-like, optional
        Of sampling, for prompts (or sources) that are parted over several calls: how many equal ones were before each,
        in all of these, whole numbers ``[prompts]``. By default those in this call are counted.
    decoder_input_ids, decoder_attention_mask : array-like or Tensor, optional
        What the decoder of an encoder-decoder begins with, by default ``decoder_start_token_id``, which is put before
        rows if none of them begins with it.
    streamer : Streamer, optional
        Is given the prompts and the tokens of each step, then told the end; not with beams, whose rows change. For
        text there is :class:`numba_nlp.generation.TextStreamer`.
    processors : sequence of callable, optional
        Each is called in each step and for each row with ``(values, tokens)``, arrays, in this order (transformers'
        are called with ``(input_ids, scores)``): float32 ``[V]`` to be changed in place, logits or, with beams,
        log-probabilities; and int32, what the row has read and written. It gives nothing back. Compiled functions are
        fastest.
    prefix_allowed_tokens_fn : callable, optional
        ``(number of the prompt, tokens of a row) -> ids that may follow``, at least one, in any order; a set too.
    tokenizer : Tokenizer, optional
        Gives the text of rows in which ``stop_strings`` are looked for, special tokens included; one of ours, or
        another with a method ``decode(ids, skip_special_tokens=False)``, as those of transformers.
    decode : callable, optional
        ``ids, int32 [n] -> text``, in place of a tokenizer.
    engine : {"auto", "numba", "torch", "device"}
        What computes: with "numba" and "torch" the model runs so, and what follows on its logits is compiled on the
        host, see :func:`numba_nlp.generation.step_choice.choose_steps`; with "device" torch does everything on the
        device of the model, without waiting for the host. "auto": "device" on CUDA, else Numba where it can.
    weights : {"auto", "float32", "float16", "bfloat16", "int8"}
        How Numba keeps weights. "auto": exactly, with 16 bits where the checkpoint had no more.
    clock : StepClock, optional
        Counts the seconds that the model takes of the call.
    **options
        Changes of the config, see :class:`GenerationConfig`. Keys of transformers that change the speed or the form of
        its output only are passed over, and so is what tokenizers give beside ids and masks.

    Returns
    -------
    GenerationOutput

    Raises
    ------
    ValueError
        An option has a value that it cannot have, or rows are malformed or do not fit into the model.
    TypeError
        There is no such option, ids are no whole numbers, or a callable is none or gives what it must not.
    UnsupportedFeatureError
        An option of transformers is not supported.

    Warns
    -----
    UserWarning
        `max_length` is given, and `max_new_tokens`, which counts more, is set; or `min_length`, and a config has
        `min_new_tokens`.
    """
    check_streamer(streamer)
    check_prefix_function(prefix_allowed_tokens_fn)
    taken_processors = take_processors(processors)
    settled = settle_config(model, config, options)
    if streamer is not None and settled.num_beams > 1:
        raise ValueError(f"`streamer` with `num_beams` {settled.num_beams}: rows of a beam search change until its end")
    run = choose_engine(engine, model.device)
    plan = make_plan(model, settled, input_ids, attention_mask, decoder_input_ids, decoder_attention_mask)
    if equal_before is not None:
        plan = with_equals(plan, equal_before)
    key = _seed(seed)
    text_ends = _text_ends(plan, tokenizer, decode)
    if plan.prompts.ids.shape[0] == 0:
        if streamer is not None:
            streamer.end()
        return _nothing(model, plan)
    rows, scores, values = run(
        Request(model, plan, key, taken_processors, prefix_allowed_tokens_fn, streamer, text_ends, weights, clock)
    )
    _refuse_lost(plan, scores)
    return GenerationOutput(
        sequences=torch.from_numpy(rows.astype(np.int64)).to(model.device),
        scores=torch.from_numpy(scores).to(model.device),
        token_scores=torch.from_numpy(values).to(model.device),
        prompt_width=plan.prompt_width,
    )


def _refuse_lost(plan: Plan, scores: np.ndarray) -> None:
    """Refuse a search whose rows were all lost because a penalty made their scores as low as those of no row."""
    config = plan.config
    if config.num_beams == 1 or config.length_penalty >= 0:
        return
    lost = np.flatnonzero(np.isneginf(scores.reshape(-1, config.num_return_sequences)).all(1))
    if lost.size:
        raise ValueError(
            f"`length_penalty` {config.length_penalty} makes all scores of prompt {lost[0]} lower than {UNLIKELY:.0e}, "
            "below which beam searches take a row for none; give one nearer to 0"
        )


def _text_ends(plan: Plan, tokenizer: Any, decode: Decode | None) -> TextEnds | None:
    text = take_decoder(tokenizer, decode)
    stops = plan.config.stop_strings
    if stops is None:
        return None
    if text is None:
        raise ValueError(
            f"`stop_strings` {list(stops)!r} are looked for in text: give `tokenizer`, or a function from ids to text "
            "as `decode`; or switch them off with `stop_strings=None`"
        )
    return TextEnds(stops, text, plan.firsts())


def _seed(seed: int | None) -> np.uint64:
    if seed is None:
        return np.uint64(secrets.randbits(64))
    try:
        number = index(seed)
    except TypeError:
        raise TypeError(f"`seed` must be a whole number from 0 to 2**64 - 1, got {seed!r}") from None
    if not 0 <= number < 2**64:
        raise ValueError(f"`seed` must be from 0 to 2**64 - 1, got {seed}")
    return np.uint64(number)


def _nothing(model: Any, plan: Plan) -> GenerationOutput:
    return GenerationOutput(
        sequences=torch.zeros((0, plan.prompt_width), dtype=torch.int64, device=model.device),
        scores=torch.zeros(0, device=model.device),
        token_scores=torch.zeros((0, 0), device=model.device),
        prompt_width=plan.prompt_width,
    )
