"""Text in pieces: final ones, that together are the text of all tokens."""

from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")

import numba_nlp as nlp  # noqa: E402
from numba_nlp.generation import TextPiece, TextStreamer  # noqa: E402
from numba_nlp.models import create_model  # noqa: E402
from tests.shared_data import shared  # noqa: E402

BYTES = [bytes([value]) for value in range(256)]
GPT2 = {"model_type": "gpt2", "vocab_size": 256, "n_embd": 24, "n_layer": 1, "n_head": 3, "n_positions": 64}


def decode_bytes(ids: np.ndarray) -> str:
    """Ids are bytes."""
    assert ids.dtype == np.int32
    return bytes(ids.astype(np.uint8)).decode("utf-8", "replace")


@pytest.fixture(scope="module")
def model() -> Any:
    return create_model(GPT2, head="language_model")


def collect(**settings: Any) -> tuple[TextStreamer, list[tuple[int, str]]]:
    pieces: list[tuple[int, str]] = []
    return TextStreamer(on_text=lambda row, text: pieces.append((row, text)), **settings), pieces


def test_characters_are_whole() -> None:
    streamer, pieces = collect(decode=decode_bytes)
    content = "aé日😀".encode()
    streamer.put(torch.tensor([[content[0]]]))
    for value in content[1:]:
        streamer.put(torch.tensor([value]))
    assert [text for _, text in pieces] == ["a", "é", "日", "😀"]
    streamer.put(torch.tensor([0xE2]))
    streamer.put(torch.tensor([0x82]))
    assert len(pieces) == 4
    streamer.end()
    assert pieces[4:] == [(0, "\ufffd")]


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("skip_prompt", [False, True])
@pytest.mark.parametrize("options", [{}, {"do_sample": True, "num_return_sequences": 2}], ids=["greedy", "sampled"])
def test_pieces_are_the_text(model: Any, skip_prompt: bool, options: dict[str, Any]) -> None:
    """Of rows that are padded, and that end at other times than the others."""
    for seed in range(4):
        streamer, pieces = collect(decode=decode_bytes, skip_prompt=skip_prompt)
        prompts = [[72, 101, 0xC3], [0xA9]]
        out = model.generate(
            prompts, streamer=streamer, max_new_tokens=20, seed=seed, eos_token_id=list(range(0, 256, 9)), **options
        )
        for number, row in enumerate(out.sequences.numpy()):
            new = row[out.prompt_width :]
            ends = np.flatnonzero(new % 9 == 0)
            new = new[: ends[0] + 1] if ends.size else new
            prompt = prompts[number // (len(out.sequences) // 2)]
            expected = decode_bytes(np.array([*([] if skip_prompt else prompt), *new], np.int32))
            assert "".join(text for place, text in pieces if place == number) == expected
        assert all(text for _, text in pieces)


@pytest.mark.usefixtures("each_engine")
def test_in_another_thread(model: Any) -> None:
    streamer = TextStreamer(decode=decode_bytes, timeout=60)
    for _ in range(2):  # it may be used again
        worker = threading.Thread(
            target=model.generate, args=([[65, 66]],), kwargs={"streamer": streamer, "max_new_tokens": 5}
        )
        worker.start()
        pieces = list(streamer)
        worker.join()
        assert isinstance(pieces[0], TextPiece)
        assert {piece.row for piece in pieces} == {0}
        out = model.generate([[65, 66]], max_new_tokens=5)
        assert "".join(piece.text for piece in pieces) == decode_bytes(out.sequences[0].numpy().astype(np.int32))


@pytest.mark.usefixtures("each_engine")
def test_who_waits_is_told_of_an_exception(model: Any) -> None:
    streamer = TextStreamer(decode=decode_bytes, timeout=60)

    def fail(values: Any, tokens: Any) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError):
        model.generate([[65]], streamer=streamer, processors=[fail])
    with pytest.raises(RuntimeError, match="the generation failed: KeyError") as caught:
        list(streamer)
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(ValueError, match="`max_length`"):
        model.generate([[65, 66]], streamer=streamer, max_length=1)
    with pytest.raises(RuntimeError, match="`max_length`"):
        list(streamer)
    with pytest.raises(TimeoutError):
        list(TextStreamer(decode=decode_bytes, timeout=0.01))
    model.generate(torch.zeros((0, 1), dtype=torch.int64), streamer=streamer)
    assert list(streamer) == []


def test_streamers_of_transformers_are_given_tensors(model: Any) -> None:
    class Puts:
        values: list[torch.Tensor] = []  # noqa: RUF012

        def put(self, value: torch.Tensor) -> None:
            self.values.append(value)

        def end(self) -> None:
            self.values.append(torch.tensor(-1))

    out = model.generate([[65, 66]], streamer=Puts(), max_new_tokens=3)
    assert [value.tolist() for value in Puts.values] == [[[65, 66]], *out.sequences[0, 2:, None].tolist(), -1]


def test_a_decoder_that_changes_its_text() -> None:
    def decode(ids: Any) -> str:
        return "".join(chr(token) for token in ids).replace("ab", "x")

    streamer, _ = collect(decode=decode)
    streamer.put(torch.tensor([[97]]))
    with pytest.raises(ValueError, match=r"changed text that was given already: 'a' .* raise `hold_back`"):
        streamer.put(torch.tensor([98]))
    streamer, pieces = collect(decode=decode, hold_back=1)
    for token in ([[97]], [98], [99]):
        streamer.put(torch.tensor(token))
    streamer.end()
    assert pieces == [(0, "x"), (0, "c")]


def test_refusals() -> None:
    with pytest.raises(TypeError, match="needs `tokenizer`, or a function"):
        TextStreamer()
    with pytest.raises(ValueError, match="`hold_back` must be at least 0"):
        TextStreamer(decode=decode_bytes, hold_back=-1)
    with pytest.raises(TypeError, match="the pieces go to `on_text`"):
        iter(collect(decode=decode_bytes)[0]).__next__()


#: One of each decoder.
VOCABULARIES = (
    "bert/bert_base_cased.json",
    "clip",
    "mistral/mistral03.json",
    "sentencepiece/hf_test_sentencepiece.model",
    "t5/spiece.model",
)


@pytest.mark.parametrize("name", VOCABULARIES)
def test_settled_text_of_our_tokenizers(name: str) -> None:
    """Whatever ids follow, text that is said to stay does; of text that is read as such, nearly all of it does."""
    tokenizer = nlp.load_tokenizer(shared(f"vocab/{name}"))
    generator = random.Random(name)
    text = "He said: 'I don't know.' They 've come , haven't they ? Naïve façades, 日本語; it 's 10.5 % !"
    known = tokenizer.encode(text).tolist()
    frequent = [token for token in known for _ in range(9)]
    for number in range(12):
        ids = np.array([generator.choice(frequent) for _ in range(12)], np.int32) if number else np.array(known)
        for place in generator.sample(range(len(ids)), len(ids) // 3 if number else 0):
            while True:  # any ids, those of bytes and special ones among them
                token = generator.randrange(min(tokenizer.vocab_size, 600 if number % 2 else 10**9))
                try:
                    tokenizer.id_to_bytes(token)
                except nlp.UnknownTokenError:
                    continue
                ids[place] = token
                break
        ids = ids.astype(np.int32)
        for skip in (False, True):
            texts = [tokenizer.decode(ids[:n], skip_special_tokens=skip) for n in range(len(ids) + 1)]
            for n, decoded in enumerate(texts):
                settled = tokenizer.settled_length(ids[:n], decoded, skip_special_tokens=skip)
                front = decoded[:settled]
                for later in texts[n:]:
                    assert later.startswith(front), (ids[:n], decoded, later)
        if not number:
            assert settled > len(texts[-1]) - 12
