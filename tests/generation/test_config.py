"""Options: where they come from, what they may be, and what is refused."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from numba_nlp.generation import GenerationConfig
from numba_nlp.generation.option_checks import CHECKS, NEUTRAL_UNSUPPORTED


def model(family: str, config: dict[str, Any], generation_config: dict[str, Any] | None = None) -> Any:
    return SimpleNamespace(family=family, config=config, generation_config=generation_config)


def test_every_option_is_checked():
    assert list(CHECKS) != []
    assert {field.name for field in dataclasses.fields(GenerationConfig)} == set(CHECKS)


def test_defaults_are_those_of_transformers():
    transformers = pytest.importorskip("transformers", reason="needs transformers (Python 3.11 or later)")
    theirs = transformers.GenerationConfig()
    defaults = theirs._get_default_generation_params()
    for field in dataclasses.fields(GenerationConfig):
        if field.name in ("max_length", "stop_sequences"):  # 20 more than the prompt; ours alone
            continue
        assert hasattr(theirs, field.name), field.name
        expected = defaults.get(field.name, getattr(theirs, field.name))
        if field.type == "bool" and expected is None:
            expected = False
        assert field.default == expected, field.name
    for name, neutral in NEUTRAL_UNSUPPORTED.items():
        assert hasattr(theirs, name), name
        assert defaults.get(name, getattr(theirs, name)) in neutral


def test_lists_become_tuples():
    config = GenerationConfig(eos_token_id=[1, 2], bad_words_ids=[[3], [4, 5]], suppress_tokens=range(2))
    assert config.eos_token_id == config.eos_ids == (1, 2)
    assert config.bad_words_ids == ((3,), (4, 5))
    assert config.suppress_tokens == (0, 1)
    assert hash(config) == hash(config.replace())
    assert GenerationConfig(eos_token_id=7).eos_ids == (7,)
    assert GenerationConfig().eos_ids == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_beams": 0}, "`num_beams` must be a whole number of at least 1, got 0"),
        ({"num_beams": True}, "`num_beams` must be a whole number"),
        ({"num_beams": 2.0}, "`num_beams` must be a whole number"),
        ({"temperature": 0.0}, r"`temperature` must be a number of at least 1e-30 \(.*`do_sample`\), got 0.0"),
        ({"temperature": 1e-45}, "`temperature` .*, got 1e-45"),
        ({"temperature": float("nan")}, "`temperature`"),
        ({"repetition_penalty": 1e-40}, "`repetition_penalty` must be a number of at least 1e-30, got 1e-40"),
        ({"repetition_penalty": 0.0}, "`repetition_penalty` must be a number of at least 1e-30, got 0.0"),
        (
            {"repetition_penalty": 1e-20, "temperature": 1e-20, "do_sample": True},
            "`temperature` 1e-20 times `repetition_penalty` 1e-20 must be at least 1e-30",
        ),
        ({"pad_token_id": 2**31}, "`pad_token_id` must be a whole number of at most 2147483647, got 2147483648"),
        ({"top_k": 2**31}, "`top_k` must be a whole number of at most 2147483647, got 2147483648"),
        ({"max_new_tokens": 2**40}, "`max_new_tokens` must be a whole number of at most 2147483647, got 1099511627776"),
        (
            {"eos_token_id": [2**31]},
            "`eos_token_id` must be token ids in a list: whole numbers from 0 to 2147483647, got",
        ),
        (
            {"stop_sequences": [[2**31]]},
            r"`stop_sequences` .* \(whole numbers from 0 to 2147483647\), none of them empty",
        ),
        ({"top_p": 1.5}, "`top_p` must be a probability"),
        ({"top_k": -1}, "`top_k`"),
        ({"early_stopping": "always"}, "`early_stopping` must be True, False or 'never', got 'always'"),
        ({"do_sample": 1}, "`do_sample` must be True or False"),
        ({"eos_token_id": []}, "`eos_token_id` must hold a token id"),
        ({"eos_token_id": "2"}, "`eos_token_id`"),
        ({"bad_words_ids": [[]]}, "`bad_words_ids` must be a list of lists"),
        ({"bad_words_ids": [3]}, "`bad_words_ids`"),
        ({"suppress_tokens": [-1]}, "`suppress_tokens`"),
        ({"num_return_sequences": 2}, "set `do_sample=True`, or `num_beams` to at least 2"),
        ({"num_return_sequences": 4, "num_beams": 3}, "more than `num_beams` 3"),
        ({"num_beams": 4, "num_beam_groups": 3, "diversity_penalty": 1.0}, "no multiple"),
        ({"num_beams": 4, "num_beam_groups": 2}, "`diversity_penalty` above 0"),
        ({"diversity_penalty": 1.0}, "`num_beam_groups` to at least 2"),
        ({"forced_eos_token_id": 2, "suppress_tokens": [1, 2]}, "no token would be left"),
        ({"length_penalty": float("inf")}, "`length_penalty` must be a finite number"),
    ],
)
def test_refused(options, message):
    with pytest.raises(ValueError, match=message):
        GenerationConfig(**options)


def test_replace():
    config = GenerationConfig(num_beams=3).replace(length_penalty=2.0, guidance_scale=None)
    assert (config.num_beams, config.length_penalty) == (3, 2.0)
    with pytest.raises(TypeError, match="no option 'beams'"):
        config.replace(beams=2)
    with pytest.raises(UnsupportedFeatureError, match=r"`top_h` 0.5 is not supported"):
        config.replace(top_h=0.5)


def test_the_generation_config_wins():
    config = {"num_beams": 9, "eos_token_id": 1}
    got = GenerationConfig.from_model(model("t5", config, {"num_beams": 2, "transformers_version": "5", "x": 1}))
    assert (got.num_beams, got.eos_token_id, got.pad_token_id) == (2, None, None)


def test_old_files():
    """Options are in config.json, and special tokens of the family where it says nothing."""
    config = {"num_beams": 4, "early_stopping": True, "bos_token_id": None, "max_length": 142, "d_model": 8}
    got = GenerationConfig.from_model(model("bart", config))
    assert (got.num_beams, got.early_stopping, got.max_length) == (4, True, 142)
    assert (got.bos_token_id, got.eos_token_id, got.forced_eos_token_id, got.decoder_start_token_id) == (None, 2, 2, 2)
    forced = {"force_bos_token_to_be_generated": True, "bos_token_id": 7}
    assert GenerationConfig.from_model(model("bart", forced)).forced_bos_token_id == 7


@pytest.mark.parametrize(
    "family", ["bart", "gpt2", "m2m_100", "marian", "mbart", "pegasus", "t5", "xlnet", "openai-gpt"]
)
def test_special_tokens_of_families(family):
    transformers = pytest.importorskip("transformers", reason="needs transformers (Python 3.11 or later)")
    kind = transformers.AutoConfig.for_model(family)
    theirs = transformers.GenerationConfig.from_model_config(kind)
    ours = GenerationConfig.from_model(model(family, {}))
    for name in ("pad", "bos", "eos", "decoder_start", "forced_eos", "forced_bos"):
        assert getattr(ours, f"{name}_token_id") == getattr(theirs, f"{name}_token_id"), name


def test_files_that_are_wrong():
    with pytest.raises(UnsupportedFeatureError, match=r"generation_config.json: `penalty_alpha` 0.6 is not supported"):
        GenerationConfig.from_model(model("gpt2", {}, {"penalty_alpha": 0.6, "top_k": 4}))
    with pytest.raises(SourceFormatError, match=r"config.json: `num_beams` must be"):
        GenerationConfig.from_model(model("gpt2", {"num_beams": "4"}))
