"""What calls are given beside ids, as newcomers from transformers give it: taken, or refused with the way out."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")

import numba_nlp as nlp  # noqa: E402
from numba_nlp.errors import UnsupportedFeatureError  # noqa: E402
from numba_nlp.generation import GenerationConfig, describe, score  # noqa: E402
from numba_nlp.generation.arguments import settle_config  # noqa: E402
from numba_nlp.generation.option_checks import CHECKS, NEUTRAL_UNSUPPORTED  # noqa: E402
from numba_nlp.generation.option_names import CALL_KEYWORDS, PASSED_OVER  # noqa: E402
from numba_nlp.inputs import ModelInputs  # noqa: E402
from numba_nlp.models import create_model, own_model  # noqa: E402
from numba_nlp.models.inputs import _UNREAD  # noqa: E402
from tests.generation.test_edges import BART, GPT2, sharpened  # noqa: E402

SHORT = {"max_new_tokens": 4, "eos_token_id": None}


@pytest.fixture(scope="module")
def gpt2() -> Any:
    return sharpened(create_model(GPT2, head="language_model"))


@pytest.fixture(scope="module")
def bart() -> Any:
    return sharpened(create_model(BART, head="conditional_generation"))


def test_keys_of_transformers_are_known(gpt2: Any) -> None:
    """Each is an option, is refused where it changes tokens, or is passed over."""
    transformers = pytest.importorskip("transformers", reason="needs transformers (Python 3.11 or later)")
    theirs = {name for name in vars(transformers.GenerationConfig()) if not name.startswith("_")}
    assert theirs <= CHECKS.keys() | NEUTRAL_UNSUPPORTED.keys() | PASSED_OVER
    assert not PASSED_OVER & (CHECKS.keys() | NEUTRAL_UNSUPPORTED.keys())


def test_keys_that_change_no_token(gpt2: Any) -> None:
    expected = gpt2.generate([[5, 6]], **SHORT)
    passed_over = {
        "use_cache": True,
        "return_dict_in_generate": True,
        "output_scores": True,
        "synced_gpus": False,
        "cache_implementation": "static",
    }
    assert torch.equal(gpt2.generate([[5, 6]], **SHORT, **passed_over).sequences, expected.sequences)
    assert GenerationConfig().replace(**dict.fromkeys(PASSED_OVER, 3)) == GenerationConfig()
    score(gpt2, [[5]], [[6]], use_cache=True)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("logits_processor", "there is `processors`"),
        ("generation_config", "there is `config`"),
        ("inputs", "there is `input_ids`"),
        ("generator", "there is `seed`"),
        ("stopping_criteria", "`stop_sequences` of ids, or `stop_strings`"),
        ("device", r"`model.to\(device\)`"),
        ("num_beam", "is `num_beams` meant"),
        ("max_tokens", "is `max_new_tokens` meant|is `max_length` meant"),
        ("attention_masks", "is `attention_mask` meant"),
        ("streamr", "is `streamer` meant"),
    ],
)
def test_names_that_there_are_not(gpt2: Any, name: str, hint: str) -> None:
    with pytest.raises(TypeError, match=f"there is no option '{name}'.*{hint}.*there are: input_ids.*num_beams"):
        gpt2.generate([[5]], **{name: 1})


def test_the_list_of_keywords_is_that_of_generate() -> None:
    import inspect

    from numba_nlp.generation.calls import generate
    from numba_nlp.generation.scoring import _KEYWORDS

    def named(function: Any) -> list[str]:
        found = inspect.signature(function).parameters.values()
        return [one.name for one in found if one.kind is not one.VAR_KEYWORD and one.name != "model"]

    assert sorted(CALL_KEYWORDS) == sorted(named(generate))
    assert sorted(_KEYWORDS) == sorted(named(score))


def test_lengths_that_have_no_effect(gpt2: Any) -> None:
    from_file = create_model(GPT2, head="language_model")
    from_file.generation_config = {"max_new_tokens": 3, "eos_token_id": None, "min_new_tokens": 1}
    with pytest.warns(
        UserWarning, match=r"`max_length` 9 has no effect: `max_new_tokens` 3 .*`max_new_tokens=None`"
    ) as w:
        out = from_file.generate([[5, 6]], max_length=9)
    assert w[0].filename == __file__
    assert out.sequences.shape[1] == 5
    with pytest.warns(UserWarning, match="`min_length` 9 has no effect: `min_new_tokens` 1"):
        from_file.generate([[5, 6]], min_length=9)
    with pytest.warns(UserWarning, match="`max_length` 9 has no effect"):
        gpt2.generate([[5]], max_length=9, max_new_tokens=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert from_file.generate([[5, 6]], max_length=9, max_new_tokens=None).sequences.shape[1] == 9
        both = GenerationConfig(max_length=9, max_new_tokens=2)
        gpt2.generate([[5]], config=both)
        gpt2.generate([[5]], max_length=9)


def test_a_file_with_an_option_that_is_not_supported() -> None:
    model = create_model(GPT2, head="language_model")
    model.generation_config = {"guidance_scale": 2.0}
    message = r"generation_config.json: `guidance_scale` 2.0 .* out of the file, or .* keyword .*`guidance_scale=1.0`"
    for call in (lambda **options: model.generate([[5]], **options), model.describe):
        with pytest.raises(UnsupportedFeatureError, match=message):
            call()
        with pytest.raises(UnsupportedFeatureError, match="top_h"):
            call(guidance_scale=1.0, top_h=0.5)
        call(guidance_scale=1.0)
        call(guidance_scale=None)
        call(config=GenerationConfig())
    score(model, [[5]], [[6]])  # which it does not change


def test_configs_of_others(gpt2: Any) -> None:
    for wrong, way in [({"num_beams": 2}, r"GenerationConfig.from_dict\(config\)"), (3, "got builtins.int")]:
        with pytest.raises(TypeError, match=f"`config` must be a numba_nlp.*{way}"):
            gpt2.generate([[5]], config=wrong)
        with pytest.raises(TypeError, match="`config` must be"):
            score(gpt2, [[5]], [[6]], config=wrong)
    transformers = pytest.importorskip("transformers", reason="needs transformers (Python 3.11 or later)")
    theirs = transformers.GenerationConfig(num_beams=2, max_new_tokens=3)
    with pytest.raises(TypeError, match=r"GenerationConfig.from_dict\(config.to_dict\(\)\)"):
        gpt2.generate([[5]], config=theirs)
    ours = GenerationConfig.from_dict(theirs.to_dict())
    assert (ours.num_beams, ours.max_new_tokens) == (2, 3)
    assert dataclasses.replace(ours, num_beams=1, max_new_tokens=None) == GenerationConfig()


def test_describe_refuses_what_generate_refuses() -> None:
    sizes = {"vocab_size": 30, "hidden_size": 8, "num_attention_heads": 2}
    encoder = create_model({"model_type": "bert", **sizes}, head="masked_lm")
    for model in (encoder, create_model(GPT2, head="none")):
        for call in (model.generate, model.describe, lambda model=model: score(model, [[3]], [[4]])):
            with pytest.raises(ValueError, match=r"head '(none|masked_lm)' does not generate"):
                call()
    with pytest.raises(TypeError, match="no option 'num_beam'"):
        describe(create_model(GPT2, head="language_model"), num_beam=2)


# --- what tokenizers give ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(_UNREAD))
def test_what_no_model_reads(gpt2: Any, name: str) -> None:
    settle_config(gpt2, None, {name: [[1]]})
    score(gpt2, [[5]], [[6]], **{name: [[1]]})


def test_types_of_tokens(gpt2: Any, bart: Any) -> None:
    ids = [[5, 6, 7]]
    expected = bart.generate(ids, max_new_tokens=3).sequences
    assert torch.equal(bart.generate(ids, max_new_tokens=3, token_type_ids=[[0, 0, 0]]).sequences, expected)
    score(bart, ids, [[3]], token_type_ids=[[0, 0, 0]])
    gpt2.generate(ids, token_type_ids=None, max_new_tokens=1)
    with pytest.raises(ValueError, match=r"`token_type_ids`: gpt2 reads types .*return_token_type_ids=False"):
        gpt2.generate(ids, token_type_ids=[[0, 0, 0]])


def test_what_our_tokenizer_gives() -> None:
    folder = own_model("shakespeare")
    tok, model = nlp.load_tokenizer(folder), nlp.load_model(folder, dtype="float32")
    texts = ["To be, or not to be", "that"]
    more = {"return_length": True, "return_offsets_mapping": True, "return_special_tokens_mask": True}
    options = {"max_new_tokens": 5, "do_sample": False}
    padded = model.generate(**tok(texts, padding=True, pad_id=0, return_word_ids=True, **more), **options)
    ragged = model.generate(**tok(texts, **more), **options)
    assert torch.equal(padded.sequences[:, padded.prompt_width :], ragged.sequences[:, ragged.prompt_width :])
    first, second = tok(texts)["input_ids"], tok([" sleep", " is the question"])["input_ids"]
    expected = score(model, [row.tolist() for row in first], [row.tolist() for row in second])
    assert torch.equal(score(model, first, second).token_scores, expected.token_scores)


class Rows:
    """Rows that iterate, and are no sequence."""

    def __init__(self, *rows: list[int]) -> None:
        self.rows = rows

    def __iter__(self) -> Any:
        return iter(np.array(row, np.int32) for row in self.rows)


def test_rows_that_iterate(gpt2: Any, bart: Any) -> None:
    for rows in ([[5, 6, 7], [8]], [[5, 6], [8, 9]]):
        objects = np.empty(len(rows), object)
        objects[:] = [np.array(row) for row in rows]
        expected = gpt2.generate(rows, max_new_tokens=3).sequences
        for given in (Rows(*rows), objects, (row for row in rows)):
            assert torch.equal(gpt2.generate(given, max_new_tokens=3).sequences, expected)
        masked = gpt2.generate(Rows(*rows), Rows(*([1] * len(row) for row in rows)), max_new_tokens=3)
        assert torch.equal(masked.sequences, expected)
        prompts = [[2, *row] for row in rows]
        expected = bart.generate(rows, decoder_input_ids=prompts, max_new_tokens=3).sequences
        got = bart.generate(Rows(*rows), decoder_input_ids=Rows(*prompts), max_new_tokens=3).sequences
        assert torch.equal(got, expected)
    assert gpt2.generate(Rows(), max_new_tokens=3).sequences.shape[0] == 0
    hidden = gpt2.generate([[5, 6, 7], [8, 9]], [[0, 1, 1], [1, 1]], max_new_tokens=3)
    alone = gpt2.generate([[6, 7], [8, 9]], max_new_tokens=3)
    assert torch.equal(hidden.sequences[:, 3:], alone.sequences[:, 2:])
    with pytest.raises(ValueError, match="need no `attention_mask`: leave it out, or give rows of the same lengths"):
        gpt2.generate([[5, 6, 7], [8, 9]], [[1, 1, 1], [1]])


WRONG = [
    ("input_ids", ["ab", "abc"], TypeError, r"`input_ids` must be whole numbers, got text; tokenize first"),
    ("input_ids", "text", TypeError, "`input_ids` must be whole numbers, got text"),
    ("continuations", ["ab", "abc"], TypeError, r'got text; tokenize first: tok\(texts\)\["input_ids"\]'),
    ("continuations", np.array(["ab", "cd"]), TypeError, "`continuations` must be whole numbers, got text"),
    ("continuations", ModelInputs(input_ids=[[3]]), TypeError, r'got ModelInputs.*tok\(texts\)\["input_ids"\]'),
    ("input_ids", ModelInputs(input_ids=[[3]]), TypeError, r"got ModelInputs.*\(\*\*tok\(texts"),
    ("attention_mask", ModelInputs(input_ids=[[3]]), TypeError, "`attention_mask` must be.*a mapping"),
    ("continuation_mask", {"attention_mask": [[1]]}, TypeError, r'got dict.*tok\(texts\)\["attention_mask"\]'),
    ("continuations", [[3.5]], TypeError, "`continuations` must be whole numbers"),
    ("continuations", [[3.5], [3, 4]], TypeError, "row 0 of `continuations` must be whole numbers"),
    ("continuations", [[99]], ValueError, "`continuations` must be from 0 to 39"),
    ("continuations", [3], ValueError, r"`continuations` must be of the shape \[rows, width\]"),
    ("engine", "device", ValueError, "scores are computed by 'numba' or 'torch'"),
    ("continuation", [[3]], TypeError, "no option 'continuation' .*is `continuations` meant"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "kind", "message"), WRONG)
def test_what_score_refuses(gpt2: Any, name: str, value: Any, kind: type[Exception], message: str) -> None:
    arguments = {"input_ids": [[5, 6]], "continuations": [[7]], name: value}
    with pytest.raises(kind, match=message):
        score(gpt2, **arguments)


def sparse() -> Any:
    return torch.ones(1, 2, dtype=torch.int64).to_sparse()


def nested() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls them a prototype
        return torch.nested.nested_tensor([torch.ones(2, dtype=torch.int64), torch.ones(3, dtype=torch.int64)])


@pytest.mark.parametrize("name", ["input_ids", "attention_mask"])
@pytest.mark.parametrize(
    ("make", "way"), [(sparse, r"sparse_coo; give values.to_dense\(\)"), (nested, "a nested one; pad its rows")]
)
def test_tensors_that_are_not_dense(gpt2: Any, name: str, make: Any, way: str) -> None:
    given = {"input_ids": [[5, 6]], name: make()}
    for call in (gpt2, gpt2.generate):
        with pytest.raises(TypeError, match=f"`{name}` must be a dense tensor, got .*{way}"):
            call(**given)


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_length": 50}, "`min_length` 50 is more than rows may have: prompts have 2 tokens, rows at most 6"),
        ({"min_new_tokens": 9}, "`min_new_tokens` 9 is more .*; they end there.*`min_new_tokens=None`"),
        ({"temperature": 0.5}, "`temperature` 0.5 has no effect: `do_sample` is False"),
        ({"top_p": 0.9}, "`top_p` 0.9 has no effect"),
        ({"length_penalty": 2.0}, "`length_penalty` 2.0 has no effect: `num_beams` is 1"),
        ({"early_stopping": True}, "`early_stopping` True has no effect"),
    ],
    ids=str,
)
def test_options_that_cannot_do_anything_are_named(gpt2: Any, options: dict[str, Any], message: str) -> None:
    with pytest.warns(UserWarning, match=message) as said:
        gpt2.generate([[5, 6]], max_new_tokens=4, do_sample=False, **options)
    assert [warning.filename for warning in said] == [__file__]


def test_neutral_options_need_no_word(gpt2: Any) -> None:
    # warnings are errors here
    gpt2.generate([[5]], max_new_tokens=2, do_sample=False, temperature=1.0, top_k=0, top_p=1.0, early_stopping=False)
    gpt2.generate([[5]], max_new_tokens=2, do_sample=True, temperature=0.5, seed=3)
    gpt2.generate([[5]], max_new_tokens=2, num_beams=2, length_penalty=0.5, do_sample=False)


T5 = {
    "model_type": "t5", "vocab_size": 40, "d_model": 24, "d_kv": 12, "d_ff": 32, "num_layers": 2, "num_heads": 2,
    "decoder_start_token_id": 2,
}  # fmt: skip


@pytest.fixture(scope="module", params=["bart", "t5"])
def pair_model(request: pytest.FixtureRequest) -> Any:
    return sharpened(create_model(BART if request.param == "bart" else T5, head="conditional_generation"))


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("beams", [1, 3])
def test_what_the_decoder_begins_with_may_be_of_unlike_lengths(pair_model: Any, beams: int) -> None:
    """Each row gets the first token, and is what it is alone, whoever pads it."""
    options = {**SHORT, "num_beams": beams, "decoder_start_token_id": 2, "pad_token_id": 1}
    sources, begun = [[5, 6, 7], [8, 9, 3]], [[8, 9], [10]]
    together = pair_model.generate(sources, decoder_input_ids=begun, **options).sequences
    assert together[0, :3].tolist() == [2, 8, 9]
    assert together[1, 1:3].tolist() == [2, 10]
    for row, (source, some) in enumerate(zip(sources, begun, strict=True)):
        alone = pair_model.generate([source], decoder_input_ids=[some], **options).sequences
        assert torch.equal(together[row, 3:], alone[0, 1 + len(some) :])
    for padded, mask in (([[8, 9], [1, 10]], [[1, 1], [0, 1]]), ([[8, 9], [10, 1]], [[1, 1], [1, 0]])):
        given = {"decoder_input_ids": padded, "decoder_attention_mask": mask}
        assert torch.equal(pair_model.generate(sources, **given, **options).sequences, together)


def test_draws_depend_on_what_the_decoder_begins_with(bart: Any) -> None:
    options = {"do_sample": True, "seed": 1, "top_k": 0, "temperature": 2.0, "max_new_tokens": 8, "eos_token_id": None}
    sources = [[5, 6, 7]] * 2
    one = bart.generate(sources, decoder_input_ids=[[2, 9], [2, 11]], **options).sequences
    other = bart.generate(sources, decoder_input_ids=[[2, 11], [2, 9]], **options).sequences
    assert torch.equal(one, other[[1, 0]])
    alone = bart.generate(sources[:1], decoder_input_ids=[[2, 9]], **options).sequences
    assert torch.equal(one[:1], alone)
    assert not torch.equal(one[0, 2:], one[1, 2:])


@pytest.mark.usefixtures("each_engine")
def test_a_penalty_that_loses_all_rows(gpt2: Any) -> None:
    with pytest.raises(ValueError, match=r"`length_penalty` -12.0 makes all scores of prompt 0 lower than -1e\+09"):
        gpt2.generate([[5]], num_beams=3, length_penalty=-12.0, max_new_tokens=12, eos_token_id=None, do_sample=False)
