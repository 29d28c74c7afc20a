"""Rows that end by their text: as transformers', by any decoder, and where transformers is wrong."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("transformers", reason="needs transformers (Python 3.11 or later)")

import numba_nlp as nlp  # noqa: E402
from numba_nlp.generation import GenerationConfig  # noqa: E402
from numba_nlp.generation.text_ends import TextEnds  # noqa: E402
from numba_nlp.generation.token_text import take_decoder  # noqa: E402
from tests.generation.text_models import LETTERS, TextPair, draw_prompt, make_text_pair  # noqa: E402
from tests.shared_data import shared  # noqa: E402


@pytest.fixture(scope="module", params=["GPT2LMHeadModel", "BartForConditionalGeneration"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TextPair:
    return make_text_pair(request.param, tmp_path_factory.mktemp("text"))


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> TextPair:
    return make_text_pair("GPT2LMHeadModel", tmp_path_factory.mktemp("text"))


def draw_options(pair: TextPair, generator: random.Random) -> dict[str, Any]:
    beams = generator.choice([1, 2, 3])
    stops = ["".join(generator.choices(LETTERS, k=generator.randint(1, 4))) for _ in range(generator.randint(1, 2))]
    options = {
        "num_beams": beams,
        "num_return_sequences": generator.choice([1, beams]),
        "max_new_tokens": generator.randint(2, 14),
        "eos_token_id": [pair.end, *generator.sample(pair.written, 1)],
        "suppress_tokens": pair.unwritten,
        "no_repeat_ngram_size": generator.choice([0, 2]),
        "stop_strings": stops,
    }
    if beams > 1:
        options["length_penalty"] = generator.choice([1.0, 0.0, 2.0])
        options["early_stopping"] = generator.choice([False, True, "never"])
    return options


@pytest.mark.usefixtures("each_engine")
def test_as_transformers(pair: TextPair) -> None:
    generator, ended = random.Random(1), 0
    for _ in range(40):
        ids, options = draw_prompt(pair, generator), draw_options(pair, generator)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = pair.theirs.generate(
                ids, attention_mask=torch.ones_like(ids), tokenizer=pair.their_tokenizer, **options
            )
        got = pair.ours.generate(ids, tokenizer=pair.our_tokenizer, **options).sequences
        assert torch.equal(got, expected), options
        assert torch.equal(pair.ours.generate(ids, tokenizer=pair.their_tokenizer, **options).sequences, expected)
        without = pair.ours.generate(ids, **options | {"stop_strings": None}).sequences
        ended += not torch.equal(without, got)
    assert ended > 5


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize(
    "options",
    [
        {"do_sample": True, "seed": 3},
        {"do_sample": True, "seed": 3, "num_return_sequences": 3},
        {"do_sample": True, "seed": 3, "num_beams": 3},
        {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 1.0, "num_return_sequences": 4},
    ],
    ids=["sampling", "several", "beams", "groups"],
)
def test_rows_end_where_their_text_does(gpt2: TextPair, options: dict[str, Any]) -> None:
    """No new text holds a stop string but at its end; rows that hold none go on to the greatest length."""
    ended = 0
    for number in range(6):
        ids = draw_prompt(gpt2, random.Random(number))
        settled = {"max_new_tokens": 12, "eos_token_id": None, "pad_token_id": gpt2.end, **options}
        out = gpt2.ours.generate(
            ids,
            suppress_tokens=[*gpt2.unwritten, gpt2.end],
            stop_strings=["a", "op"],
            decode=gpt2.our_tokenizer.decode,
            **settled,
        )
        for row in out.sequences[:, out.prompt_width :].tolist():
            tokens = [token for token in row if token != gpt2.end]
            prompt = gpt2.our_tokenizer.decode(ids[0])
            before = gpt2.our_tokenizer.decode(tokens[:-1])
            if "a" in before or "op" in before:
                pytest.fail(f"{before!r} after {prompt!r}")
            ended += len(tokens) < 12
    assert ended


def test_what_completes_a_stop_string(gpt2: TextPair) -> None:
    """The examples of transformers' documentation, and text of the prompt."""
    tokens = {"st": 0, "op": 1, "stop": 2, "opera": 3, "sto": 4, "pper": 5, "las": 6, "topper": 7, "s": 8, "to": 9}
    tokens |= {"pped": 10, "at": 11, "tion": 12, "": 13}
    texts = list(tokens)
    text = take_decoder(None, lambda ids: "".join(texts[token] for token in ids))
    assert text is not None
    ends = TextEnds(("stop",), text, np.array([1]))

    def last_ends(*row: str) -> bool:
        done = np.zeros(1, np.uint8)
        rows = np.array([[2, *(tokens[token] for token in row)]], np.int32)  # padding before, whose text does not count
        assert ends.mark_rows(rows, rows.shape[1], np.array([0], np.int32), done) == done[0]
        return bool(done[0])

    for row in (["st", "op"], ["stop"], ["st", "opera"], ["sto", "pper"], ["las", "topper"], ["s", "to", "pped"]):
        assert last_ends(*row), row
    for row in (["stop", "at"], ["st", "op", "at"], ["st", "opera", "tion"], ["st"], ["op"], ["stop", ""]):
        assert not last_ends(*row), row
    assert last_ends("st", *[""] * 20, "op")
    assert last_ends(*["at"] * 100, "stop", "stop")
    assert not last_ends(*["stop"] * 100, "at")


@pytest.mark.usefixtures("each_engine")
def test_rows_of_a_batch_end_alone(gpt2: TextPair) -> None:
    """transformers goes on with a row that ended by a string if no token ends rows."""
    generator = random.Random(2)
    options = {"max_new_tokens": 12, "suppress_tokens": [*gpt2.unwritten, gpt2.end], "stop_strings": ["a", "s"]}
    wrong = 0
    for _ in range(8):
        ids = draw_prompt(gpt2, generator)
        got = gpt2.ours.generate(ids, eos_token_id=None, tokenizer=gpt2.our_tokenizer, **options)
        for number in range(len(ids)):
            one = ids[number : number + 1]
            alone = gpt2.ours.generate(one, eos_token_id=None, tokenizer=gpt2.our_tokenizer, **options).sequences[0]
            assert torch.equal(got.sequences[number, : len(alone)], alone)
            assert (got.sequences[number, len(alone) :] == gpt2.end).all()
        gpt2.theirs.generation_config.eos_token_id = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = gpt2.theirs.generate(
                ids, attention_mask=torch.ones_like(ids), tokenizer=gpt2.their_tokenizer, **options
            )
        gpt2.theirs.generation_config.eos_token_id = gpt2.end
        wrong += not torch.equal(theirs, got.sequences)
    assert wrong


def test_text_that_the_decoder_cleans_up() -> None:
    """transformers puts the texts of tokens together, "do n't", where the decoded text is "don't"."""
    text = take_decoder(None, lambda ids: "".join(["do", " n", "'t"][token] for token in ids).replace(" n't", "n't"))
    assert text is not None
    done = np.zeros(1, np.uint8)
    row = np.array([[0, 1, 2]], np.int32)
    assert TextEnds(("don't",), text, np.zeros(1, np.int64)).mark_rows(row, 3, np.zeros(1, np.int32), done) == 1


def test_ids_beyond_the_vocabulary(gpt2: TextPair) -> None:
    """A model may have more ids than its tokenizer: no text goes over them."""
    text = take_decoder(gpt2.our_tokenizer, None)
    assert text is not None
    a, beyond = gpt2.our_tokenizer.token_to_id("a"), gpt2.end + 5
    assert text.encoded(np.array([a, beyond, a, a], np.int32)) == b"aa"
    assert text.encoded(np.array([a, beyond], np.int32)) == b""


def test_refusals(gpt2: TextPair) -> None:
    with pytest.raises(ValueError, match=r"`stop_strings` \['x'\] are looked for in text: give `tokenizer`"):
        gpt2.ours.generate([[1]], stop_strings="x")
    assert GenerationConfig.from_dict({"stop_strings": ["x", "yz"]}).stop_strings == ("x", "yz")
    for wrong in ("", [], ["x", ""], [3], b"x"):
        with pytest.raises(ValueError, match="`stop_strings` must be a text or a list of them"):
            GenerationConfig(stop_strings=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`tokenizer` and `decode` are both given"):
        gpt2.ours.generate([[1]], stop_strings="x", tokenizer=gpt2.our_tokenizer, decode=str)
    with pytest.raises(TypeError, match="`tokenizer` has no method `decode`"):
        gpt2.ours.generate([[1]], stop_strings="x", tokenizer=3)
    with pytest.raises(TypeError, match="`decode` must give text for ids, got int"):
        gpt2.ours.generate([[1]], stop_strings="x", decode=len)


def test_a_real_vocabulary(gpt2: TextPair) -> None:
    """GPT-2's, with text that ends in the middle of tokens."""
    tokenizer = nlp.load_tokenizer(shared("vocab/gpt2"))
    text = take_decoder(tokenizer, None)
    assert text is not None
    ids = tokenizer.encode("The answer is 42.\n\nQuestion: naïve 日本語?").astype(np.int32)
    for stop in ("\n\n", "swer is", "日本", "語?", "Quest"):
        ends = TextEnds((stop,), text, np.zeros(1, np.int64))
        row, none = ids[None], np.zeros(1, np.int32)
        found = [ends.mark_rows(row, n, none, np.zeros(1, np.uint8)) for n in range(1, len(ids) + 1)]
        first = next(n for n in range(1, len(ids) + 1) if stop in tokenizer.decode(ids[:n]))
        assert np.flatnonzero(found).tolist() == [first - 1], stop
