"""Conversations: DialoGPT's convention, what is left out, and what rows may be.

The pipeline of transformers went with its version 4.42; what it did (each turn and its end, one behind the other, the
reply the text behind them) is done here by transformers' own tokenizer and generate.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch")

from numba_nlp.errors import RowError, UnsupportedFeatureError
from numba_nlp.pipelines import Conversation, pipeline
from tests.models.tiny import torch, transformers
from tests.pipelines.decoder_folders import write_decoder
from tests.pipelines.text_folders import write_checkpoint

TALKS = [["the fox"], ["the fox", "a thing", "don't read"], ["the", "quick", "brown", "fox", "a b?"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_decoder(tmp_path_factory.mktemp("gpt2"))


@pytest.fixture(scope="module")
def converse(folder: Path) -> Any:
    return pipeline("conversational", model=folder)


@pytest.mark.parametrize("options", [{"max_new_tokens": 8}, {"max_length": 60, "num_beams": 3, "min_new_tokens": 2}])
def test_replies_are_those_of_transformers(converse: Any, folder: Path, options: dict[str, Any]) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    expected = []
    for talk in TALKS:
        ids = torch.tensor([[token for turn in talk for token in [*tokenizer.encode(turn), tokenizer.eos_token_id]]])
        with torch.no_grad():
            row = model.generate(ids, attention_mask=torch.ones_like(ids), pad_token_id=0, **options)[0]
        expected.append(tokenizer.decode(row[ids.shape[1] :], skip_special_tokens=True))
    found = converse(TALKS, **options)
    assert [talk.reply for talk in found] == expected
    assert [talk.left_out for talk in found] == [0, 0, 0]
    assert converse(TALKS[1], **options).reply == expected[1]


def test_all_forms_of_a_conversation(converse: Any) -> None:
    turns = [{"role": role, "content": text} for role, text in (("user", "the"), ("assistant", "a"), ("user", "fox"))]
    talk = Conversation().add_user("the").add_reply("a").add_user("fox")
    expected = converse(talk, max_new_tokens=5)
    assert isinstance(expected, Conversation)
    assert expected.turns[:3] == talk.turns
    assert expected.turns[3] == ("assistant", expected.reply)
    assert expected.replies == ("a", expected.reply)
    for row in (["the", "a", "fox"], turns, tuple(turns), list(talk)):
        assert converse(row, max_new_tokens=5) == expected
    assert converse([turns, talk], max_new_tokens=5) == [expected, expected]
    assert expected.to_list()[:3] == turns
    one = converse("the", max_new_tokens=5)
    assert one.turns[0] == ("user", "the")
    assert converse([["the"]], max_new_tokens=5) == [one]
    assert len(talk) == 3
    assert Conversation()


def test_a_conversation_goes_on(converse: Any) -> None:
    talk = converse("the fox", max_new_tokens=4, min_new_tokens=4)
    again = converse(talk.add_user("a thing"), max_new_tokens=4, min_new_tokens=4)
    assert again.turns[:2] == talk.turns
    assert len(again.replies) == 2


def test_turns_are_left_out_whole(converse: Any) -> None:
    turns = [f"turn {number} " + "the " * (number % 3) for number in range(13)]
    sizes = [converse.tokenizer.count(turn) + 1 for turn in turns]
    for room in (1, 6, 25):
        out = converse.arrays([turns], max_length=50, min_length_for_response=room)
        cut = int(out.left_out[0])
        # theory: the fewest turns that leave so many tokens of 50
        assert sum(sizes[cut:]) <= 50 - room < sum(sizes[cut - 1 :])
        assert out.prompt_tokens[0] == sum(sizes[cut:])
        assert out.conversations[0].left_out == cut
        assert len(out.conversations[0]) == 14
        assert out.replies[0] == converse(turns[cut:], max_length=50, min_length_for_response=room).reply
    # by the positions of the model, of which the last token of a reply needs none
    cut = converse(turns, max_new_tokens=20).left_out
    assert sum(sizes[cut:]) <= 65 - 20 < sum(sizes[cut - 1 :])


def test_a_last_turn_that_does_not_fit(converse: Any) -> None:
    turn = "the " * 40
    size = converse.tokenizer.count(turn) + 1
    with pytest.raises(
        RowError, match=rf"row 1: the last turn has {size} tokens with its end, and there are 33 beside the 32"
    ):
        converse(["a", ["b", "c", turn]])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([{"role": "system", "content": "a"}], "role of turn 0 .* got 'system'; these models know no instructions"),
        ([{"role": "user", "text": "a"}], "turn 0 of the conversation must have 'role' and 'content'"),
        ([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "with a turn of the assistant"),
        (Conversation(), "the conversation has no turn"),
        (["a", "b", "  "], "turn 2 of the conversation is empty"),
        (["a", 5], "turn 1 of the conversation must be a str"),
    ],
)  # fmt: skip
def test_what_is_no_conversation(converse: Any, row: Any, message: str) -> None:
    with pytest.raises(RowError, match=f"row 0: .*{message}"):
        converse([row])


def test_models_without_an_end_of_turns_and_others_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeatureError, match="needs a model with a token that ends turns"):
        pipeline("converse", model=write_decoder(tmp_path / "gpt", "openai-gpt"))
    with pytest.raises(UnsupportedFeatureError, match="this bart has the head 'conditional_generation'"):
        pipeline("converse", model=write_checkpoint("bart", tmp_path / "bart"))
    blender = tmp_path / "blenderbot"
    blender.mkdir()
    (blender / "config.json").write_text('{"model_type": "blenderbot"}', encoding="utf-8")
    with pytest.raises(UnsupportedFeatureError, match="the family 'blenderbot' are not supported"):
        pipeline("converse", model=blender)
    with pytest.raises(ValueError, match="`num_return_sequences` 2: a conversation goes on with one reply"):
        pipeline("converse", model=write_decoder(tmp_path / "gpt2"), num_beams=2, num_return_sequences=2)
