"""XLNet against transformers: every head, both streams, memory, masks, segments, switches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import numba_nlp as nlp
from tests.models.tiny import assert_rows_alone, assert_same, draw_ids, make_reference, pad, pair, save, torch

VOCABULARY = 60
SETTINGS = {
    "vocab_size": VOCABULARY,
    "d_model": 24,
    "n_layer": 2,
    "n_head": 3,
    "d_inner": 40,
    "num_labels": 5,
    "start_n_top": 3,
    "end_n_top": 2,
    "mem_len": None,
}
CLASSES = (
    "XLNetModel",
    "XLNetLMHeadModel",
    "XLNetForSequenceClassification",
    "XLNetForTokenClassification",
    "XLNetForQuestionAnsweringSimple",
    "XLNetForQuestionAnswering",
)
EVERYTHING = {"output_hidden_states": True, "output_attentions": True, "use_mems": True}


@pytest.fixture(scope="module", params=CLASSES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    settings = {**SETTINGS, "num_labels": 2 if "Question" in request.param else 5}
    return pair(request.param, tmp_path_factory.mktemp("xlnet"), **settings)


def pair_of(folder: Path, architecture: str = "XLNetLMHeadModel", **changes: Any) -> tuple[Any, Any]:
    return pair(architecture, folder, **{**SETTINGS, **changes})


def call(theirs: Any, *args: Any, **options: Any) -> Any:
    """Transformers, without its memory unless it is asked for."""
    with torch.no_grad():
        return theirs(*args, **{"use_mems": False, **options})


@pytest.mark.parametrize("width", [3, 7, 30])
def test_logits_states_attention_and_memory(both: tuple[Any, Any], width: int) -> None:
    theirs, ours = both
    ids = draw_ids(3, width, VOCABULARY)
    types = ids % 3
    assert_same(ours(ids, None, types, **EVERYTHING), call(theirs, ids, token_type_ids=types, **EVERYTHING))
    assert_same(ours(ids.tolist()), call(theirs, ids))


def test_a_single_token(tmp_path: Path) -> None:
    theirs, ours = pair_of(tmp_path)
    ids = draw_ids(2, 1, VOCABULARY)
    assert_same(ours(ids, **EVERYTHING), call(theirs, ids, **EVERYTHING))


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding(tmp_path: Path, side: str) -> None:
    theirs, ours = pair_of(tmp_path)
    ids, mask = pad(draw_ids(3, 9, VOCABULARY), [9, 4, 1], side=side)
    expected = call(theirs, ids, attention_mask=mask, output_hidden_states=True, output_attentions=True)
    got = ours(ids, mask, output_hidden_states=True, output_attentions=True)
    assert_same(got, expected, only=mask.bool())


@pytest.mark.parametrize("side", ["left", "right"])
def test_rows_alone(both: tuple[Any, Any], side: str) -> None:
    def run(ids: Any, mask: Any) -> Any:
        got = both[1](ids, mask)
        if got.start_top_index is None or side == "right" or mask is None:
            return got
        padding = (mask == 0).sum(1, keepdim=True)  # positions of answers count it
        return replace(got, start_top_index=got.start_top_index - padding, end_top_index=got.end_top_index - padding)

    assert_rows_alone(run, draw_ids(4, 12, VOCABULARY), [12, 5, 3, 8], side=side)


@pytest.mark.parametrize("summary", ["first", "mean", "cls_index"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_summaries(summary: str, side: str, tmp_path: Path) -> None:
    theirs, ours = pair_of(tmp_path, "XLNetForSequenceClassification", summary_type=summary, summary_activation="relu")
    ids = draw_ids(3, 7, VOCABULARY)
    assert_same(ours(ids), call(theirs, ids))
    assert_rows_alone(ours, ids, [7, 2, 4], side=side)


def test_summary_without_map_and_activation(tmp_path: Path) -> None:
    changes = {"summary_use_proj": False, "summary_activation": ""}
    theirs, ours = pair_of(tmp_path, "XLNetForSequenceClassification", **changes)
    ids = draw_ids(3, 7, VOCABULARY)
    assert_same(ours(ids), call(theirs, ids))


def orders(rows: int, width: int) -> Any:
    """A random order of factorisation for each row: a token sees those that come before it in the order."""
    generator = torch.Generator().manual_seed(3)
    place = torch.stack([torch.randperm(width, generator=generator) for _ in range(rows)])
    return (place[:, :, None] <= place[:, None, :]).float()


@pytest.mark.parametrize("past", [0, 4])
def test_both_streams(both: tuple[Any, Any], past: int) -> None:
    theirs, ours = both
    ids = draw_ids(3, 8, VOCABULARY)
    targets = torch.zeros(3, 4, 8)
    for row in range(3):
        targets[row, torch.arange(4), torch.tensor([7, 0, row + 1, 5])] = 1
    options = {"token_type_ids": ids % 2, "perm_mask": orders(3, 8), "target_mapping": targets, **EVERYTHING}
    if past:
        options["mems"] = [torch.randn(past, 3, 24) for _ in range(2)]
    expected, got = call(theirs, ids, **options), ours(ids, **options)
    attentions = [[weights for both_streams in each.attentions for weights in both_streams] for each in (got, expected)]
    for one, other in zip(*attentions, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    expected["attentions"] = None
    assert_same(replace(got, attentions=None), expected)


def test_streams_of_padded_rows(tmp_path: Path) -> None:
    theirs, ours = pair_of(tmp_path)
    ids = draw_ids(3, 8, VOCABULARY)
    perm = orders(3, 8)
    targets = torch.eye(8).expand(3, 8, 8)
    for row, length in enumerate([8, 5, 2]):
        alone = call(
            theirs,
            ids[row : row + 1, :length],
            perm_mask=perm[row : row + 1, :length, :length],
            target_mapping=targets[row : row + 1, :length, :length],
        ).logits
        mask = torch.zeros(3, 8)
        mask[row, :length] = 1
        got = ours(ids, mask, perm_mask=perm, target_mapping=targets).logits[row, :length]
        torch.testing.assert_close(got, alone[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        {"mem_len": 5},
        {"mem_len": 0},
        {"mem_len": 6, "reuse_len": 2},
        {"clamp_len": 3},
        {"attn_type": "uni"},
        {"attn_type": "uni", "same_length": True},
        {"ff_activation": "relu", "layer_norm_eps": 0.1},
        {"tie_word_embeddings": False},
    ],
    ids=str,
)
def test_switches_over_several_calls(changes: dict[str, Any], tmp_path: Path) -> None:
    theirs, ours = pair_of(tmp_path, **changes)
    ids = draw_ids(2, 12, VOCABULARY)
    expected_memory = memory = None
    for part in ids.split([5, 1, 4, 2], dim=1):
        expected = call(theirs, part, mems=expected_memory, token_type_ids=part % 2, **EVERYTHING)
        got = ours(part, None, part % 2, mems=memory, **EVERYTHING)
        assert_same(got, expected)
        expected_memory, memory = expected.mems, got.mems


def test_remembered_padding_is_masked(tmp_path: Path) -> None:
    ours = pair_of(tmp_path)[1]
    ids = draw_ids(3, 9, VOCABULARY)
    padded, mask = pad(ids, [9, 4, 6], side="left")
    kept = ours(padded[:, :6], mask[:, :6], use_mems=True).mems
    got = ours(padded[:, 6:], mask, mems=kept).logits
    for row, length in enumerate([9, 4, 6]):
        kept = ours(ids[row : row + 1, : length - 3], use_mems=True).mems
        alone = ours(ids[row : row + 1, length - 3 : length], mems=kept).logits[0]
        torch.testing.assert_close(got[row], alone, rtol=1e-5, atol=1e-5)


def test_a_row_without_tokens_is_finite(both: tuple[Any, Any]) -> None:
    ids = draw_ids(2, 6, VOCABULARY)
    mask = torch.ones_like(ids)
    mask[1] = 0
    got = both[1](ids, mask, perm_mask=torch.ones(2, 6, 6), output_attentions=True)
    for name, values in got.to_dict().items():
        assert all(torch.isfinite(each).all() for each in ([values] if torch.is_tensor(values) else values)), name


def test_gradients(tmp_path: Path) -> None:
    theirs = make_reference("XLNetLMHeadModel", **SETTINGS, dropout=0.0)
    ours = nlp.load_model(save(theirs, tmp_path), trainable=True)
    ids = draw_ids(2, 6, VOCABULARY)
    options = {"token_type_ids": ids % 2, "perm_mask": orders(2, 6), "target_mapping": torch.eye(6).repeat(2, 1, 1)}
    theirs(ids, **options).logits.sin().sum().backward()
    ours(ids, **options).logits.sin().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in ours.parameters())
    expected = theirs.get_input_embeddings().weight.grad
    torch.testing.assert_close(ours.tokens.weight.grad, expected, rtol=1e-4, atol=1e-4)


def test_shapes_are_checked(tmp_path: Path) -> None:
    ours = pair_of(tmp_path)[1]
    ids = draw_ids(2, 4, VOCABULARY)
    with pytest.raises(ValueError, match=r"`perm_mask` must be of the shape \[2, 4, 4\], got \[2, 4, 5\]"):
        ours(ids, perm_mask=torch.zeros(2, 4, 5))
    with pytest.raises(ValueError, match=r"`target_mapping` must be of the shape \[2, predictions, 4\], got"):
        ours(ids, target_mapping=torch.zeros(1, 1, 4))
    with pytest.raises(ValueError, match=r"`mems` must be 2 tensors of one shape \[memory, 2, 24\]"):
        ours(ids, mems=[torch.zeros(3, 2, 24)])


def test_rows_shorter_than_the_beam_are_refused(tmp_path: Path) -> None:
    ours = pair_of(tmp_path, "XLNetForQuestionAnswering")[1]
    with pytest.raises(ValueError, match="the 3 best starts and 2 best ends are asked of rows of 2 tokens"):
        ours(draw_ids(1, 2, VOCABULARY))


@pytest.mark.parametrize(
    "changes", [{"bi_data": True}, {"summary_type": "attn"}, {"summary_proj_to_labels": True}], ids=str
)
def test_what_is_not_supported_is_named(changes: dict[str, Any], tmp_path: Path) -> None:
    (name,) = changes
    with pytest.raises(ValueError, match=f"`{name}`"):
        pair_of(tmp_path, **changes)


@pytest.mark.parametrize("mems", [[1], [None, None], 1, torch.zeros(2, 3, 1, 24), [torch.zeros(3, 1, 24).long()] * 2])
def test_memory_of_other_things_is_refused(both: tuple[Any, Any], mems: Any) -> None:
    with pytest.raises(TypeError, match="`mems` must "):
        both[1](draw_ids(1, 4, VOCABULARY), mems=mems)


@pytest.mark.parametrize("name", ["attention_mask", "perm_mask", "target_mapping"])
def test_masks_of_no_numbers_are_refused(both: tuple[Any, Any], name: str) -> None:
    with pytest.raises(TypeError, match=f"`{name}` must be "):
        both[1](draw_ids(1, 1, VOCABULARY), **{name: [[None]]})
