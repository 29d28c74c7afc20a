"""Text generation is that of transformers, whatever the batch; its text comes in pieces too."""

from __future__ import annotations

from pathlib import Path
from threading import active_count
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch")

from numba_nlp.errors import RowError
from numba_nlp.generation.config import GenerationConfig
from numba_nlp.models import own_model
from numba_nlp.pipelines import pipeline
from tests.models.tiny import torch, transformers
from tests.pipelines.decoder_folders import write_decoder

TEXTS = ["the king", "To be, or not to be", "a", "Who's there?"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_decoder(tmp_path_factory.mktemp("gpt2"))


@pytest.fixture(scope="module")
def generate(folder: Path) -> Any:
    return pipeline("text-generation", model=folder)


@pytest.fixture(scope="module")
def reference(folder: Path) -> Any:
    return transformers.pipeline("text-generation", model=str(folder))


@pytest.mark.parametrize(
    "options",
    [
        {"max_new_tokens": 7},
        {"max_new_tokens": 7, "return_full_text": False, "num_beams": 3},
        {"max_length": 24, "min_length": 12},
        {"max_new_tokens": 6, "prefix": "the quick "},
        {"max_new_tokens": 5, "num_beams": 3, "num_return_sequences": 2, "repetition_penalty": 1.3},
        {"max_new_tokens": 12, "stop_sequence": "e"},
        {"max_new_tokens": 60, "handle_long_generation": "hole"},
    ],
)
def test_texts_are_those_of_transformers(generate: Any, reference: Any, options: dict[str, Any]) -> None:
    # version 5 has defaults of its own, which are switched off
    theirs = {"do_sample": False, "max_new_tokens": None, "pad_token_id": 0, **options}
    if "handle_long_generation" in options:
        reference.tokenizer.model_max_length = 64
    expected = [[found["generated_text"] for found in reference(text, **theirs)] for text in TEXTS]
    plain = [found if "num_return_sequences" in options else found[0] for found in expected]
    assert generate(TEXTS, **options) == plain
    assert generate(TEXTS[1], **options) == plain[1]
    assert generate(TEXTS, batch_size=1, **options) == plain


@pytest.mark.parametrize(("family", "kind"), [("openai-gpt", "OpenAIGPTLMHeadModel"), ("xlnet", "XLNetLMHeadModel")])
def test_what_the_tokenizer_writes_at_the_front_stays(family: str, kind: str, tmp_path: Path) -> None:
    # their decoders leave a space out at the front: the first new word would be joined to the prompt if it were decoded
    # alone, as version 5 does; version 4 cut the text behind that of the prompt
    if family == "xlnet":
        pytest.importorskip("sentencepiece", reason="trains a small model")
    folder = write_decoder(tmp_path, family)
    pipe = pipeline("generate", model=folder)
    options = {"max_new_tokens": 6, "num_beams": 2, "eos_token_id": None}
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = getattr(transformers, kind).from_pretrained(folder).eval()
    expected = []
    for text in TEXTS:
        ids = tokenizer(text, return_tensors="pt", add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            row = model.generate(ids, attention_mask=torch.ones_like(ids), pad_token_id=0, **options)[0]
        whole, before = (tokenizer.decode(part, skip_special_tokens=True) for part in (row, ids[0]))
        expected.append(text + whole[len(before) :])
    assert pipe(TEXTS, **options) == expected
    assert "".join(pipe.stream(TEXTS[1], max_new_tokens=6)) == pipe(TEXTS[1], max_new_tokens=6)


def test_lengths_of_a_row_do_not_depend_on_the_others(generate: Any) -> None:
    texts = ["the fox", "the quick brown fox don't read a thing", ""]
    for options in ({"max_length": 40}, {"max_length": 40, "min_length": 40}, {}):
        alone = [generate(text, **options) for text in texts]
        assert generate(texts, **options) == alone
    out = generate.arrays(texts, max_length=40, min_length=40)
    sizes = generate.tokenizer.count_batch(texts)
    assert out.tokens.row_lengths.tolist() == [40 - max(1, size) for size in sizes.tolist()]


def test_prompts_that_do_not_fit_say_what_to_do(generate: Any) -> None:
    long = "the quick brown fox " * 9
    size = generate.tokenizer.count(long)
    with pytest.raises(
        RowError, match=rf"row 1: the prompt has {size} tokens and up to 20 new ones .* 64 positions; .*hole"
    ):
        generate(["a", long])
    out = generate.arrays(["a", long], handle_long_generation="hole", max_new_tokens=20)
    assert out.left_out.tolist() == [0, size + 20 - 64]
    with pytest.raises(RowError, match="row 0: 64 new tokens are asked for, and the model has 64 positions in all"):
        generate(long, handle_long_generation="hole", max_new_tokens=64)
    with pytest.raises(RowError, match=f"row 0: the prompt has {size} tokens, and `max_length` 30"):
        generate(long, max_length=30)


def test_equal_prompts_draw_by_their_order_in_the_call(generate: Any) -> None:
    options = {"do_sample": True, "seed": 3, "max_new_tokens": 8, "num_return_sequences": 2, "return_full_text": False}
    texts = ["the", "a", "the", "the king", "the"]
    expected = generate(texts, **options)
    assert len({text for row in expected for text in row}) == 10
    for size in (1, 2, 4):
        assert generate(texts, batch_size=size, **options) == expected
    assert list(generate(iter(texts), batch_size=1, **options)) == expected
    assert generate([texts[1], None, *texts], errors="return", **options)[0] == expected[1]
    bad = generate(["the", None, "the"], errors="return", **options)
    assert [bad[0], bad[2]] == expected[0:3:2]
    # a call begins anew
    assert generate("the", **options) == expected[0]


def test_callables_are_told_the_row(generate: Any) -> None:
    seen = set()

    def allowed(row: int, tokens: Any) -> list[int]:
        seen.add(row)
        return [20 + row]

    texts = generate(["a", "the king", "b"], prefix_allowed_tokens_fn=allowed, max_new_tokens=2, batch_size=2)
    assert seen == {0, 1, 2}
    letter = generate.tokenizer.decode
    assert [text[-2:] for text in texts] == [letter([20 + row]) * 2 for row in range(3)]


@pytest.mark.parametrize("given", [[], [10**6], ["a"], [True, False]])
def test_what_is_wrong_with_allowed_ids_is_told_with_the_row(generate: Any, given: Any) -> None:
    def allowed(row: int, tokens: Any) -> Any:
        return given if row == 2 else [20]

    # the longest row is the first one of its batch
    with pytest.raises((TypeError, ValueError), match=r"`prefix_allowed_tokens_fn` must give ids.* for prompt 2\b"):
        generate(["a", "b", "the king of all"], prefix_allowed_tokens_fn=allowed, max_new_tokens=2, batch_size=2)
    with pytest.raises(TypeError, match=r"`prefix_allowed_tokens_fn` must be a function"):
        generate("a", prefix_allowed_tokens_fn=7)


def test_the_own_model_is_there_without_a_name() -> None:
    try:
        own_model("shakespeare")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    pipe = pipeline("generate", dtype="float32")
    first = pipe("HAMLET.\nTo be", seed=5, max_new_tokens=12)
    assert first.startswith("HAMLET.\nTo be")
    assert pipe(["KING.", "HAMLET.\nTo be"], seed=5, max_new_tokens=12)[1] == first
    assert "".join(pipe.stream("HAMLET.\nTo be", seed=5, max_new_tokens=12)) == first


def test_text_comes_in_pieces(generate: Any) -> None:
    for options in ({}, {"return_full_text": False}, {"do_sample": True, "seed": 1}, {"prefix": "the "}):
        pieces = list(generate.stream("Who's there?", max_new_tokens=12, **options))
        assert len(pieces) > 2
        assert "".join(pieces) == generate("Who's there?", max_new_tokens=12, **options)


def test_a_stream_that_nobody_reads_ends(generate: Any) -> None:
    before = active_count()
    stream = generate.stream("the", max_new_tokens=50)
    next(stream)
    next(stream)
    stream.close()
    assert active_count() == before


def test_what_goes_wrong_in_a_stream_is_raised_where_it_is_read(generate: Any) -> None:
    def broken(values: Any, tokens: Any) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        list(generate.stream("the", processors=[broken]))
    with pytest.raises(ValueError, match="text is streamed of one row: `num_beams` 2"):
        generate.stream("the", num_beams=2)
    with pytest.raises(RowError, match="row 0: the text must be a str"):
        generate.stream(["the"])


def test_a_config_of_ones_own_counts_instead_of_the_files(tmp_path: Path) -> None:
    folder = write_decoder(tmp_path, task_specific_params={"text-generation": {"max_length": 11, "prefix": "a "}})
    pipe = pipeline("generate", model=folder, return_full_text=False)
    sizes = pipe.tokenizer.count("the"), pipe.tokenizer.count("a ")
    # the prefix does not count
    assert pipe.arrays(["the"], eos_token_id=None).tokens.row_lengths.tolist() == [
        11 - pipe.tokenizer.count("a the") + sizes[1]
    ]
    config = GenerationConfig(max_new_tokens=3)
    assert pipe.arrays(["the"], config=config).tokens.row_lengths[0] <= 3
    assert pipe.arrays(["the"], generation_config=config.replace(eos_token_id=None)).tokens.n_values <= 3


def test_spaces_before_punctuation_on_demand(generate: Any) -> None:
    stop = generate.tokenizer.token_to_id(".")
    space = generate.tokenizer.token_to_id("Ġ")
    options = {
        "prefix_allowed_tokens_fn": lambda row, tokens: [space if len(tokens) % 2 else stop],
        "max_new_tokens": 4,
        "return_full_text": False,
    }
    text = "a" if generate.tokenizer.count("a") % 2 else "aa"
    assert generate(text, **options) == " . ."
    assert generate(text, clean_up_tokenization_spaces=True, **options) == ".."
    assert generate(text, clean_up_tokenization_spaces=False, **options) == " . ."


def test_time_is_parted(generate: Any) -> None:
    texts, seconds = generate(TEXTS, max_new_tokens=10, timings=True)
    assert len(texts) == 4
    assert all(value > 0 for value in seconds.values())
    seconds = generate(TEXTS, max_new_tokens=10, timings=True, engine="device")[1]
    assert seconds["forward"] > seconds["choose"] > 0


def test_scores_are_those_of_generate(generate: Any) -> None:
    out = generate.arrays(TEXTS, max_new_tokens=5, num_beams=2)
    for number, text in enumerate(TEXTS):
        alone = generate.model.generate([generate.tokenizer.encode(text)], max_new_tokens=5, num_beams=2)
        np.testing.assert_allclose(out.scores[number], alone.scores[0], rtol=1e-4)
