"""BART, Marian, Pegasus, mBART, M2M100 and T5 against transformers: every head, masks, states, attention."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.models.tiny import CLOSE, assert_same, draw_ids, pad, torch
from tests.models.tiny_pairs import END, PADDING, VOCABULARY, tiny_pair

CLASSES = (
    "BartModel",
    "BartForConditionalGeneration",
    "BartForSequenceClassification",
    "BartForQuestionAnswering",
    "MarianModel",
    "MarianMTModel",
    "PegasusModel",
    "PegasusForConditionalGeneration",
    "MBartModel",
    "MBartForConditionalGeneration",
    "MBartForSequenceClassification",
    "MBartForQuestionAnswering",
    "M2M100Model",
    "M2M100ForConditionalGeneration",
    "T5Model",
    "T5EncoderModel",
    "T5ForConditionalGeneration",
    "T5ForSequenceClassification",
    "T5ForTokenClassification",
    "T5ForQuestionAnswering",
)
#: Classes whose decoder reads the source where it is given nothing.
SHIFTING = ("Bart", "MBart", "T5ForSequence", "T5ForQuestion")
ENCODERS = ("T5EncoderModel", "T5ForTokenClassification")
ALL = {"output_hidden_states": True, "output_attentions": True}


@pytest.fixture(scope="module", params=CLASSES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    return tiny_pair(request.param, tmp_path_factory.mktemp("pair"))


def draw_source(rows: int, width: int, *, seed: int = 1) -> Any:
    """Ids whose rows end with the token that ends a row."""
    ids = draw_ids(rows, width, VOCABULARY, seed=seed)
    ids[:, -1] = END
    return ids


def name_of(model: Any) -> str:
    return type(model).__name__


def reads(theirs: Any, rows: int, width: int) -> dict[str, Any]:
    """What the decoder of a model is given: nothing where it reads the source or is not there."""
    if name_of(theirs) in ENCODERS or "Sequence" in name_of(theirs):
        return {}
    return {"decoder_input_ids": draw_ids(rows, width, VOCABULARY, seed=7)}


@pytest.mark.parametrize(("width", "read"), [(1, 1), (7, 3), (24, 24)])
def test_logits_states_and_attention(both: tuple[Any, Any], width: int, read: int) -> None:
    theirs, ours = both
    ids, more = draw_source(3, width), reads(theirs, 3, read)
    with torch.no_grad():
        assert_same(ours(ids, **more, **ALL), theirs(ids, **more, **ALL))
        if name_of(theirs).startswith(SHIFTING):
            assert_same(ours(ids.numpy(), **ALL), theirs(ids, **ALL))


def test_padding_at_the_right(both: tuple[Any, Any]) -> None:
    """transformers agrees wherever there are tokens, in the order: encoder, decoder, decoder to encoder."""
    theirs, ours = both
    lengths = [9, 4, 1]
    ids, mask = pad(draw_ids(3, 9, VOCABULARY), lengths, side="right", padding=PADDING)
    for row, length in enumerate(lengths):
        ids[row, length - 1] = END
    more = reads(theirs, 3, 6)
    tokens = mask.bool()
    read = tokens
    if more:
        more["decoder_input_ids"], more["decoder_attention_mask"] = pad(
            more["decoder_input_ids"], [2, 6, 3], side="right", padding=PADDING
        )
        read = more["decoder_attention_mask"].bool()
    with torch.no_grad():
        expected = theirs(ids, attention_mask=mask, **more, **ALL)
        got = ours(ids, mask, **more, **ALL)
        quick = ours(ids, mask, **more)
    compared = 0
    for name, values in got.to_dict().items():
        one_field = expected[name]
        pairs = zip(values, one_field, strict=True) if isinstance(values, tuple) else ((values, one_field),)
        for one, other in pairs:
            where = tokens if name.startswith("encoder_") or name_of(theirs) in ENCODERS else read
            if one.dim() == 4:
                where = where[:, None, :, None].expand_as(one)
            elif one.shape[:2] != where.shape:
                where = torch.ones(one.shape[0], dtype=torch.bool)
            torch.testing.assert_close(one[where], other[where], rtol=1e-5, atol=1e-5, msg=lambda m, n=name: f"{n} {m}")
            compared += 1
        if name in quick.to_dict() and not isinstance(values, tuple):
            torch.testing.assert_close(getattr(quick, name), values, rtol=1e-5, atol=1e-5)
    assert compared > 3


@pytest.mark.parametrize("filler", [PADDING, 5], ids=["padding", "filler"])
@pytest.mark.parametrize("sides", [("right", "right"), ("left", "left"), ("right", "left")], ids="-".join)
def test_rows_alone(both: tuple[Any, Any], sides: tuple[str, str], filler: int) -> None:
    """A padded batch gives each row what the row alone gives, whatever stands in the padding."""
    theirs, ours = both
    lengths, read_lengths = [8, 3, 1, 5], [2, 6, 4, 1]
    ids = draw_source(4, 8)
    for row, length in enumerate(lengths):
        ids[row, length - 1] = END
    padded, mask = pad(ids, lengths, side=sides[0], padding=filler)
    more = reads(theirs, 4, 6)
    given = {}
    if more:
        read, read_mask = pad(more["decoder_input_ids"], read_lengths, side=sides[1], padding=filler)
        given = {"decoder_input_ids": read, "decoder_attention_mask": read_mask}
    together = ours(padded, mask, **given)
    for row, length in enumerate(lengths):
        one = {"decoder_input_ids": more["decoder_input_ids"][row : row + 1, : read_lengths[row]]} if more else {}
        with torch.no_grad():
            alone = theirs(ids[row : row + 1, :length], **one)
        compared = 0
        for name, got in together.to_dict().items():
            expected = alone[name][0]
            encodes = name.startswith("encoder_") or not more
            row_mask = (mask if encodes else read_mask)[row].bool()
            if got.dim() == 3 or name.endswith("_logits"):
                got = got[row][row_mask]  # noqa: PLW2901
            else:
                got = got[row]  # noqa: PLW2901
            torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}")
            compared += 1
        assert compared


def test_a_row_without_tokens_is_finite(both: tuple[Any, Any]) -> None:
    theirs, ours = both
    ids, more = draw_source(2, 6), reads(theirs, 2, 3)
    mask = torch.ones_like(ids)
    mask[1] = 0
    if "Sequence" in name_of(theirs):
        with pytest.raises(ValueError, match=r"row 1 has no token that ends it \(2\)"):
            ours(ids, mask)
        return
    if more:
        more["decoder_attention_mask"] = torch.tensor([[1, 1, 1], [0, 0, 0]])
    for name, values in ours(ids, mask, **more, **ALL).to_dict().items():
        assert all(torch.isfinite(each).all() for each in ([values] if torch.is_tensor(values) else values)), name


def test_gradients_reach_every_parameter(both: tuple[Any, Any], tmp_path: Path) -> None:
    import numba_nlp as nlp

    theirs = both[0]
    theirs.save_pretrained(tmp_path)
    ours = nlp.load_model(tmp_path, trainable=True)
    result = ours(draw_source(2, 20), **reads(theirs, 2, 20))
    parts = [result.logits, result.last_hidden_state, result.start_logits, result.end_logits]
    sum(part.square().sum() for part in parts if part is not None).backward()
    without = [name for name, parameter in ours.named_parameters() if parameter.grad is None]
    assert without == []


@pytest.mark.parametrize(
    ("architecture", "changes"),
    [
        ("BartForConditionalGeneration", {"scale_embedding": True, "activation_function": "relu"}),
        ("BartForConditionalGeneration", {"tie_word_embeddings": False}),
        ("MarianMTModel", {"activation_function": "swish", "scale_embedding": True, "d_model": 30}),
        ("MarianMTModel", {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 50}),
        (
            "MarianMTModel",
            {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 50, "tie_word_embeddings": False},
        ),
        ("PegasusForConditionalGeneration", {"activation_function": "relu", "scale_embedding": True}),
        ("M2M100ForConditionalGeneration", {"scale_embedding": False, "pad_token_id": 2, "eos_token_id": 1}),
        ("T5ForConditionalGeneration", {"feed_forward_proj": "gated-gelu"}),
        ("T5ForConditionalGeneration", {"feed_forward_proj": "gated-silu", "num_decoder_layers": None}),
        ("T5ForConditionalGeneration", {"feed_forward_proj": "gelu", "layer_norm_epsilon": 0.1}),
        ("T5ForConditionalGeneration", {"relative_attention_num_buckets": 5, "relative_attention_max_distance": 3}),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_switches(architecture: str, changes: dict[str, Any], tmp_path: Path) -> None:
    theirs, ours = tiny_pair(architecture, tmp_path, **changes)
    ids = draw_ids(2, 20, VOCABULARY)
    more = {"decoder_input_ids": draw_ids(2, 20, 50, seed=2)}
    # Products of two maps in every layer magnify roundings: transformers itself is up to 6e-5 from its float64 then.
    tolerance = {"atol": 1e-4} if "gated" in changes.get("feed_forward_proj", "") else {}
    with torch.no_grad():
        assert_same(ours(ids, **more), theirs(ids, **more), **tolerance)


@pytest.mark.parametrize("architecture", ["BartForSequenceClassification", "MBartForSequenceClassification"])
@pytest.mark.parametrize("full", [False, True], ids=["no mask", "full mask"])
def test_classifiers_whose_padding_ends_rows(architecture: str, full: bool, tmp_path: Path) -> None:
    """Where padding and the last token have one id, a row gives alone what it gives among padded ones."""
    theirs, ours = tiny_pair(architecture, tmp_path, pad_token_id=END)
    ids, lengths = draw_ids(3, 8, VOCABULARY), [8, 5, 3]
    for row, length in enumerate(lengths):
        ids[row, length - 1] = END
    padded, mask = pad(ids, lengths, side="right", padding=END)
    together = ours(padded, mask).logits
    for row, length in enumerate(lengths):
        alone = ids[row : row + 1, :length]
        with torch.no_grad():
            expected = theirs(alone).logits
        got = ours(alone, torch.ones_like(alone) if full else None).logits
        torch.testing.assert_close(got, expected, **CLOSE)
        torch.testing.assert_close(together[row : row + 1], expected, **CLOSE)
