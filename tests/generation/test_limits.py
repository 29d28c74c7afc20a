"""What generation refuses by name: logits that are no numbers, rows that no memory holds, tokens that there are not."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from numba_nlp.generation import GenerationConfig  # noqa: E402
from numba_nlp.models import create_model  # noqa: E402
from tests.generation.test_edges import BART, GPT2, VOCABULARY  # noqa: E402

SEARCHES = [
    {},
    {"num_beams": 2},
    {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 1.0},
    {"do_sample": True, "top_k": 0},
    {"do_sample": True, "top_k": 5},
    {"do_sample": True, "top_k": 0, "top_p": 0.5},
    {"do_sample": True, "top_k": 0, "min_p": 0.5, "temperature": 0.5},
    {"do_sample": True, "num_beams": 2},
]


@pytest.mark.parametrize("engine", ["auto", "torch", "device"])
@pytest.mark.parametrize("part", ["decoder.norm.weight", "output.weight"])
def test_logits_that_are_no_numbers(engine: str, part: str) -> None:
    """All of a row, or one among others, which no option may remove unseen."""
    model = create_model({**GPT2, "tie_word_embeddings": False}, head="language_model")
    with torch.no_grad():
        model.get_parameter(part)[7] = float("nan")
    for options in SEARCHES:
        with pytest.raises(ValueError, match="the model gives logits that are no numbers"):
            model.generate([[3]], engine=engine, **options)


@pytest.mark.parametrize("engine", ["numba", "torch", "device"])
def test_lengths_that_no_memory_holds(engine: str) -> None:
    """T5 has no greatest length; four petabytes are more than there are addresses."""
    sizes = {"vocab_size": 30, "d_model": 8, "d_kv": 16, "d_ff": 8, "num_layers": 4, "num_heads": 4}
    model = create_model({"model_type": "t5", **sizes, "decoder_start_token_id": 0}, head="conditional_generation")
    given = {"num_beams": 1000, "engine": engine}
    message = r"`max_new_tokens` 2147483646: .* 1000 rows of 2147483647 tokens take 4,\d{3},\d{3} GiB"
    with pytest.raises(MemoryError, match=message):
        model.generate([[3]], max_new_tokens=2**31 - 2, **given)
    with pytest.raises(MemoryError, match="`max_length` 2147483647: keys and values"):
        model.generate([[3]], max_length=2**31 - 1, **given)
    with pytest.raises(ValueError, match="`max_new_tokens` 2147483647 make rows of 2147483648 tokens, and the most is"):
        model.generate([[3]], max_new_tokens=2**31 - 1, **given)


@pytest.mark.parametrize("engine", ["auto", "device"])
def test_special_tokens_that_are_none(engine: str) -> None:
    gpt2 = create_model(GPT2, head="language_model")
    bart = create_model(BART, head="conditional_generation")
    given: dict[str, Any] = {"max_new_tokens": 3, "engine": engine}
    for ends in (VOCABULARY, [2, VOCABULARY]):
        with pytest.raises(ValueError, match="`eos_token_id` holds 40, the model has tokens from 0 to 39; with None"):
            gpt2.generate([[3]], eos_token_id=ends, **given)
        with pytest.raises(ValueError, match="`eos_token_id` holds 40"):
            bart.generate([[3]], config=GenerationConfig(eos_token_id=ends), engine=engine)
    with pytest.raises(ValueError, match="`bos_token_id` holds 40, the model has tokens from 0 to 39"):
        gpt2.generate(bos_token_id=VOCABULARY, **given)
    with pytest.raises(ValueError, match="`bos_token_id` holds 41"):
        bart.generate([[3]], decoder_start_token_id=None, bos_token_id=41, **given)
    with pytest.raises(ValueError, match="`decoder_start_token_id` holds 42"):
        bart.generate([[3]], decoder_input_ids=[[3]], decoder_start_token_id=42, **given)
    # what nothing reads may be any id
    gpt2.generate([[3]], bos_token_id=VOCABULARY, pad_token_id=VOCABULARY, **given)


def test_ends_that_a_checkpoint_has() -> None:
    """Of its family, for a larger vocabulary: no token of the model is one, in transformers too."""
    model = create_model({**GPT2, "eos_token_id": 50256}, head="language_model")
    config = GenerationConfig.from_model(model)
    assert config.eos_ids == (50256,)
    assert model.generate([[3]], max_new_tokens=4).sequences.shape == (1, 5)
    assert model.generate([[3]], config=config, max_new_tokens=4).sequences.shape == (1, 5)
