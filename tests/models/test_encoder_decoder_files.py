"""Checkpoints of encoder-decoders: tied matrices under any name, what old ones hold, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import numba_nlp as nlp
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from tests.models.tiny import assert_same, draw_ids, make_reference, save, torch
from tests.models.tiny_pairs import END, START, VOCABULARY, settings_of, tiny_pair

safetensors_torch = pytest.importorskip("safetensors.torch", reason="needs safetensors")

from numba_nlp.models import create_model, save_model  # noqa: E402

Change = Callable[[dict[str, Any]], object]


def rewrite(folder: Path, change: Change, **config: Any) -> Path:
    """Change the tensors of a checkpoint, and values of its config.json (None: left out)."""
    tensors = safetensors_torch.load_file(folder / "model.safetensors")
    change(tensors)
    safetensors_torch.save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    values = {**json.loads((folder / "config.json").read_bytes()), **config}
    values = {name: value for name, value in values.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(values), encoding="utf-8")
    return folder


def again(theirs: Any, folder: Path) -> Any:
    """What transformers loads from a folder."""
    return type(theirs).from_pretrained(folder, attn_implementation="eager").eval()


def assert_equal_results(ours: Any, theirs: Any) -> None:
    ids, read = draw_ids(2, 9, VOCABULARY), draw_ids(2, 5, VOCABULARY, seed=2)
    # logits that are not scaled are up to 20, and their roundings with them
    tolerance = {"atol": 1e-4} if theirs.config.model_type == "t5" else {}
    with torch.no_grad():
        assert_same(ours(ids, None, read), theirs(ids, decoder_input_ids=read), **tolerance)


def move(old: str, new: str) -> Change:
    def change(tensors: dict[str, Any]) -> None:
        tensors[new] = tensors.pop(old)

    return change


@pytest.mark.parametrize("architecture", ["BartForConditionalGeneration", "T5ForConditionalGeneration"])
@pytest.mark.parametrize("name", ["encoder.embed_tokens", "decoder.embed_tokens", "lm_head"])
def test_shared_embeddings_under_any_name(architecture: str, name: str, tmp_path: Path) -> None:
    theirs, _ = tiny_pair(architecture, tmp_path)
    at = "model." if architecture.startswith("Bart") else ""
    rewrite(tmp_path, move(f"{at}shared.weight", f"{name if name == 'lm_head' else at + name}.weight"))
    assert_equal_results(nlp.load_model(tmp_path), theirs)


@pytest.mark.parametrize("tie", [False, None], ids=["untied", "tied"])
@pytest.mark.parametrize("scale", [False, None], ids=["new", "old"])
@pytest.mark.parametrize("shared", ["shared", "decoder.embed_tokens"])
def test_t5_with_an_output_matrix_of_its_own(tie: bool | None, scale: bool | None, shared: str, tmp_path: Path) -> None:
    """T5 1.1 and Flan say `tie_word_embeddings` false, by which they mean the scale too; transformers 5 writes both."""
    theirs, _ = tiny_pair("T5ForConditionalGeneration", tmp_path)

    def change(tensors: dict[str, Any]) -> None:
        move("shared.weight", f"{shared}.weight")(tensors)
        tensors["lm_head.weight"] = torch.randn_like(tensors[f"{shared}.weight"])

    rewrite(tmp_path, change, tie_word_embeddings=tie, scale_decoder_outputs=scale)
    ours = nlp.load_model(tmp_path)
    assert ours.output.weight is not None
    if shared == "shared":  # transformers draws random weights for shared.weight else
        assert_equal_results(ours, again(theirs, tmp_path))
    else:
        assert torch.equal(ours.tokens.weight, theirs.shared.weight)


@pytest.mark.parametrize("tie", [True, False])
def test_t5_saved_again_by_transformers(tie: bool, tmp_path: Path) -> None:
    theirs, ours = tiny_pair("T5ForConditionalGeneration", tmp_path, tie_word_embeddings=tie)
    assert (ours.settings.output_scale != 1) == tie
    save(again(theirs, tmp_path), tmp_path / "again")
    assert_equal_results(nlp.load_model(tmp_path / "again"), again(theirs, tmp_path / "again"))


@pytest.mark.parametrize("split", [False, True], ids=["shared", "split"])
def test_embeddings_that_nothing_ties(split: bool, tmp_path: Path) -> None:
    """Where config.json ties nothing, old checkpoints hold shared embeddings only, new ones one matrix a side."""
    theirs, ours = tiny_pair("MBartForConditionalGeneration", tmp_path, tie_word_embeddings=False)
    assert_equal_results(ours, theirs)

    def change(tensors: dict[str, Any]) -> None:
        if split:
            del tensors["model.shared.weight"]
        else:
            del tensors["model.encoder.embed_tokens.weight"], tensors["model.decoder.embed_tokens.weight"]

    ours = nlp.load_model(rewrite(tmp_path, change))
    if not split:
        theirs.model.encoder.embed_tokens.weight = theirs.model.shared.weight
        theirs.model.decoder.embed_tokens.weight = theirs.model.shared.weight
    assert_equal_results(ours, theirs)


def test_positions_and_bias_of_marian(tmp_path: Path) -> None:
    """Its converter may put learned positions in the place of sines, and leave out the bias of the logits."""
    theirs, ours = tiny_pair("MarianMTModel", tmp_path)
    assert ours.logits_bias is not None

    def change(tensors: dict[str, Any]) -> None:
        for side in ("encoder", "decoder"):
            tensors[f"model.{side}.embed_positions.weight"] = torch.randn(24, 24)
        tensors["final_logits_bias"] = torch.randn(1, VOCABULARY)

    rewrite(tmp_path, change)
    assert_equal_results(nlp.load_model(tmp_path), again(theirs, tmp_path))
    rewrite(tmp_path, lambda tensors: tensors.pop("final_logits_bias"))
    ours = nlp.load_model(tmp_path)
    assert ours.logits_bias is None
    assert_equal_results(ours, again(theirs, tmp_path))


@pytest.mark.parametrize(
    ("architecture", "extra"),
    [
        ("BartForConditionalGeneration", ["model.encoder.version", "model.decoder.version"]),
        ("M2M100ForConditionalGeneration", ["model.encoder.embed_positions.weights"]),
        ("T5ForConditionalGeneration", ["decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"]),
    ],
)
def test_what_old_checkpoints_hold(architecture: str, extra: list[str], tmp_path: Path) -> None:
    theirs, _ = tiny_pair(architecture, tmp_path)
    rewrite(tmp_path, lambda tensors: tensors.update({name: torch.ones(3) for name in extra}))
    assert_equal_results(nlp.load_model(tmp_path), theirs)
    rewrite(tmp_path, lambda tensors: tensors.update({"decoder.surplus": torch.ones(3)}))
    with pytest.raises(SourceFormatError, match=r"without a place in the model: 'decoder\.surplus'"):
        nlp.load_model(tmp_path)


def drop_prefix(tensors: dict[str, Any]) -> None:
    for name in list(tensors):
        tensors[name.removeprefix("model.")] = tensors.pop(name)


@pytest.mark.parametrize("architecture", ["BartForConditionalGeneration", "T5ForConditionalGeneration"])
def test_without_head_and_without_prefix(architecture: str, tmp_path: Path) -> None:
    theirs, _ = tiny_pair(architecture, tmp_path)
    bare = getattr(theirs, "model", None)
    ids, read = draw_ids(2, 9, VOCABULARY), draw_ids(2, 5, VOCABULARY, seed=2)
    ours = nlp.load_model(tmp_path, head="none")(ids, None, read)
    with torch.no_grad():
        if bare is not None:
            assert_same(ours, bare(ids, decoder_input_ids=read))
            rewrite(
                tmp_path, lambda tensors: tensors.update({n[6:]: tensors.pop(n) for n in list(tensors) if "." in n})
            )
            assert_same(nlp.load_model(tmp_path)(ids, None, read), theirs(ids, decoder_input_ids=read))
        else:
            torch.testing.assert_close(ours.encoder_last_hidden_state, theirs.encoder(ids)[0], rtol=1e-5, atol=1e-5)


def test_the_encoder_of_a_whole_t5(tmp_path: Path) -> None:
    """`architectures` says whether a model without head is the encoder alone; its checkpoint may hold a decoder."""
    theirs, _ = tiny_pair("T5ForConditionalGeneration", tmp_path)
    rewrite(tmp_path, lambda tensors: None, architectures=["T5EncoderModel"])
    ours = nlp.load_model(tmp_path)
    assert ours.decoder is None
    ids = draw_ids(2, 9, VOCABULARY)
    with torch.no_grad():
        expected = theirs.encoder(ids)[0]
    torch.testing.assert_close(ours(ids).last_hidden_state, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(ours.embed(ids), expected.mean(1), rtol=1e-5, atol=1e-5)
    assert_equal_results(nlp.load_model(tmp_path, head="conditional_generation"), theirs)
    with pytest.raises(ValueError, match="encoder alone: it takes no `decoder_input_ids`"):
        ours(ids, None, ids)
    with pytest.raises(ValueError, match="encoder alone, which generates nothing"):
        ours.new_cache(1, 4, source_positions=4)


@pytest.mark.parametrize(
    ("architecture", "config", "kind", "named"),
    [
        (
            "BartForConditionalGeneration",
            {"encoder_attention_heads": 5, "d_model": "24", "eos_token_id": [2, "x"], "pad_token_id": 60},
            SourceFormatError,
            [
                "`d_model` must be a whole number",
                "`eos_token_id` must be an id or a list",
                "`pad_token_id` 60 is not in",
            ],
        ),
        ("BartForConditionalGeneration", {"decoder_attention_heads": 5}, SourceFormatError, ["no multiple of"]),
        ("BartForConditionalGeneration", {"num_hidden_layers": 7}, SourceFormatError, ["two names of one value"]),
        ("MarianMTModel", {"activation_function": "snake"}, UnsupportedFeatureError, ["'snake' is not supported"]),
        ("T5ForConditionalGeneration", {"feed_forward_proj": "twice-gelu"}, UnsupportedFeatureError, ["'twice-gelu'"]),
        ("T5ForConditionalGeneration", {"feed_forward_proj": 3}, UnsupportedFeatureError, ["`feed_forward_proj` 3"]),
        (
            "T5ForConditionalGeneration",
            {"relative_attention_max_distance": 6, "relative_attention_num_buckets": 12},
            SourceFormatError,
            ["`relative_attention_max_distance` 6 must be above half"],
        ),
        ("M2M100ForConditionalGeneration", {"pad_token_id": -1}, SourceFormatError, ["`pad_token_id` must be a whole"]),
    ],
)
def test_configs_that_are_refused(
    architecture: str, config: dict[str, Any], kind: type[Exception], named: list[str], tmp_path: Path
) -> None:
    save(make_reference(architecture, **settings_of(architecture)), tmp_path)
    rewrite(tmp_path, lambda tensors: None, **config)
    with pytest.raises(kind) as caught:
        nlp.load_model(tmp_path)
    assert [text for text in named if text not in str(caught.value)] == []


def test_missing_parts_are_listed(tmp_path: Path) -> None:
    save(make_reference("BartModel", **settings_of("BartModel")), tmp_path)
    with pytest.raises(SourceFormatError, match=r"missing: 'classification_head.dense.weight', .*out_proj.bias'"):
        nlp.load_model(tmp_path, head="sequence_classification")


@pytest.mark.parametrize(
    ("config", "head"),
    [
        ({"model_type": "marian", "activation_function": "swish", "scale_embedding": True}, "conditional_generation"),
        ({"model_type": "t5", "feed_forward_proj": "gated-gelu"}, "conditional_generation"),
        ({"model_type": "bart"}, "sequence_classification"),
    ],
)
def test_new_models_are_read_by_transformers(config: dict[str, Any], head: str, tmp_path: Path) -> None:
    import transformers

    sizes = settings_of("T5" if config["model_type"] == "t5" else "Bart")
    save_model(create_model({**sizes, **config}, head=head), tmp_path)
    ours = nlp.load_model(tmp_path)
    (architecture,) = ours.config["architectures"]
    theirs = getattr(transformers, architecture).from_pretrained(tmp_path, attn_implementation="eager").eval()
    ids = draw_ids(2, 9, VOCABULARY)
    ids[:, -1] = END
    read = {} if head == "sequence_classification" else {"decoder_input_ids": torch.full((2, 1), START)}
    with torch.no_grad():
        assert_same(ours(ids, **read), theirs(ids, **read))


def test_calls_that_are_refused(tmp_path: Path) -> None:
    _, marian = tiny_pair("MarianMTModel", tmp_path / "marian")
    ids = draw_ids(2, 4, VOCABULARY)
    with pytest.raises(ValueError, match=r"`decoder_input_ids` is missing: .* first token, 0"):
        marian(ids)
    with pytest.raises(ValueError, match="as many rows as `input_ids`, 2, got 1"):
        marian(ids, None, [[0]])
    with pytest.raises(ValueError, match=r"`decoder_input_ids` has rows of 25 tokens, the model has 24"):
        marian(ids, None, draw_ids(2, 25, VOCABULARY))
    with pytest.raises(ValueError, match=r"`decoder_attention_mask` must have the shape .* \[2, 4\], got \[2, 3\]"):
        marian(ids, None, ids, torch.ones(2, 3))
    _, bart = tiny_pair("BartForSequenceClassification", tmp_path / "bart")
    with pytest.raises(ValueError, match="given without `decoder_input_ids`"):
        bart(ids, None, None, torch.ones(2, 4))
    with pytest.raises(ValueError, match="4 tokens wide; got `decoder_input_ids` of 3: leave them out"):
        bart(ids, None, ids[:, :3])
    config = json.loads((tmp_path / "bart" / "config.json").read_bytes())
    (tmp_path / "bart" / "config.json").write_text(json.dumps({**config, "decoder_start_token_id": None}))
    ids[:, -1] = END
    with pytest.raises(ValueError, match="no `decoder_start_token_id`: give `decoder_input_ids`"):
        nlp.load_model(tmp_path / "bart")(ids)
