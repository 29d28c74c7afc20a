"""Languages by code and name, and what each family of translators is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from numba_nlp.errors import RowError
from numba_nlp.pipelines import pipeline
from numba_nlp.pipelines.language_names import find_language, languages_by_code
from numba_nlp.pipelines.languages import choose_code
from vocab_tools.checkpoints.families.m2m100 import LANGUAGES
from vocab_tools.checkpoints.languages import MBART50_LANGUAGES, NLLB_LANGUAGES

M2M100 = LANGUAGES["m2m100"]


@pytest.mark.parametrize("codes", [M2M100, MBART50_LANGUAGES, NLLB_LANGUAGES], ids=["m2m100", "mbart50", "nllb"])
def test_all_languages_of_the_families_have_names(codes: tuple[str, ...]) -> None:
    unnamed = [code for code in codes if find_language(code.split("_")[0]) is None]
    assert unnamed == []
    for code in codes:
        assert choose_code("target_language", code, codes, "it") == code
        language = find_language(code.split("_")[0])
        assert language is not None
        same = [one for one in codes if find_language(one.split("_")[0]) == language]
        for given in (*language.codes, *language.names, language.name.upper()):
            if len(same) == 1:
                assert choose_code("target_language", given, codes, "it") == code
            elif given not in codes:
                with pytest.raises(ValueError, match="is ambiguous"):
                    choose_code("target_language", given, codes, "it")


def test_no_code_or_name_is_of_two_languages() -> None:
    languages = list(dict.fromkeys(languages_by_code().values()))
    for kind in ("codes", "names"):
        listed = [one.casefold() for language in languages for one in getattr(language, kind)]
        assert len(listed) == len(set(listed))
    assert all(2 <= len(code) <= 3 for language in languages for code in language.codes)


@pytest.mark.parametrize(
    ("given", "codes", "expected"),
    [
        ("Simplified Chinese", NLLB_LANGUAGES, "zho_Hans"),
        ("zh_Hant", NLLB_LANGUAGES, "zho_Hant"),
        ("Chinese", M2M100, "zh"),
        ("cmn", MBART50_LANGUAGES, "zh_CN"),
        ("ENG_latn", NLLB_LANGUAGES, "eng_Latn"),
        ("pt_BR", MBART50_LANGUAGES, "pt_XX"),
        ("Farsi", NLLB_LANGUAGES, "pes_Arab"),
        ("no", NLLB_LANGUAGES, "nob_Latn"),
        ("ar", NLLB_LANGUAGES, "arb_Arab"),
        (">>fra<<", ["fra", "fra_Latn"], "fra"),
        ("French", ["fra", "fra_Latn"], "fra"),
        ("__fr__", M2M100, "fr"),
    ],
)
def test_what_is_meant(given: str, codes: Any, expected: str) -> None:
    assert choose_code("source_language", given, codes, "this model") == expected


def test_what_is_not_meant() -> None:
    with pytest.raises(ValueError, match=r"`source_language` 'Chinese' is ambiguous: it has 'zho_Hans', 'zho_Hant'"):
        choose_code("source_language", "Chinese", NLLB_LANGUAGES, "it")
    with pytest.raises(ValueError, match=r"'Klingon' is no language of it; it has .*de \(German\)"):
        choose_code("source_language", "Klingon", M2M100, "it")
    with pytest.raises(ValueError, match=r"'Welsh' \(Welsh\) is no language of it; it has en_XX \(English\)$"):
        choose_code("source_language", "Welsh", ["en_XX"], "it")


torch = pytest.importorskip("torch", reason="needs torch")
from tests.pipelines.text_folders import open_pipeline  # noqa: E402

_T5 = {
    f"translation_en_to_{code}": {"prefix": f"translate English to {name}: ", "max_length": length}
    for code, name, length in (("de", "German", 4), ("fr", "French", 6))
}


def test_t5_is_told_by_words(folders: Any) -> None:
    pipe = open_pipeline("translate", folders("t5", task_specific_params=_T5))
    read = pipe.tokenizer.count
    out = pipe.arrays(["the king"], target_language="French", eos_token_id=None)
    assert out.source_tokens[0] == read("translate English to French: the king", add_special_tokens=True)
    named = open_pipeline("translation_en_to_de", folders("t5", task_specific_params=_T5))
    assert named("the king") == pipe("the king", source_language="English", target_language="deu")
    # the lengths of the task
    rows = [named.arrays(["the king"]).texts[0], pipe("translate English to German: the king", prefix="", max_length=4)]
    assert rows[0] == rows[1]
    with pytest.raises(ValueError, match="are missing: the model has translation_en_to_de, translation_en_to_fr; say"):
        pipe("the king")
    with pytest.raises(ValueError, match="`source_language` is missing: T5 is told"):
        pipe("the king", target_language="it")
    other = pipe.arrays(["the king"], source_language="Italian", target_language="es").source_tokens[0]
    assert other == read("translate Italian to Spanish: the king", add_special_tokens=True)
    with pytest.raises(ValueError, match="`target_language` 'Klingon' is no code of ISO 639"):
        pipe("the king", source_language="en", target_language="Klingon")


def test_marian_is_told_by_codes(folders: Any) -> None:
    pipe = open_pipeline("translate", folders("marian"), max_new_tokens=5)
    expected = pipe(">>fra<< the king")
    assert pipe("the king", target_language="fr") == expected == pipe("the king", tgt_lang="French", src_lang="en")
    assert pipe(["the king"], target_language=">>ell<<") == [pipe(">>ell<< the king")]
    with pytest.raises(RowError, match=r"row 1: the model has several targets.* does not begin with one; .*>>ell<<"):
        pipe([">>fra<< a", "the king"])
    with pytest.raises(RowError, match=r"row 0: .* the text begins with '>>xx<<', which is none"):
        pipe(">>xx<< the king")
    with pytest.raises(RowError, match=r"row 0: the text begins with '>>fra<<', and `target_language` 'el' is given"):
        pipe(">>fra<< a", target_language="el")
    with pytest.raises(ValueError, match=r"'de' \(German\) is no language of this model; it has ell \(Greek\), fra"):
        pipe("a", target_language="de")
    with pytest.raises(TypeError, match="`src_lang` and `source_language` are one option"):
        pipe("a", src_lang="en", source_language="en")


def test_a_code_stands_before_each_part(folders: Any) -> None:
    pipe = open_pipeline("translate", folders("marian"), max_new_tokens=4)
    text = "The king is here. " * 60
    out = pipe.arrays([">>fra<< " + text], chunk=True)
    assert out.n_chunks[0] >= 4
    assert out.chunk_starts[0] == len(">>fra<< ")
    assert out.texts == pipe.arrays([text], target_language="fra", chunk=True).texts


def test_a_model_of_one_pair_says_which(folders: Any, tmp_path: Path) -> None:
    folder = folders("marian", _name_or_path="Helsinki-NLP/opus-mt-en-es")
    vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    for code in (">>fra<<", ">>ell<<"):
        vocabulary[code.strip("<>")] = vocabulary.pop(code)
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    # its tokenizer's settings say that it translates to Greek
    pipe = pipeline("translate", model=tmp_path, max_new_tokens=4)
    expected = pipe("the king")
    assert pipe("the king", source_language="English", target_language="ell") == expected
    with pytest.raises(ValueError, match="`target_language` 'fr': this model translates en to el only"):
        pipe("the king", target_language="fr")
    with pytest.raises(ValueError, match="`source_language` 'de': this model translates en to el only"):
        pipeline("translation_de_to_el", model=tmp_path)
    assert pipe("the king", target_language="fr", pair=["en", "fr"]) == expected
    with pytest.raises(ValueError, match="`pair` must be two languages"):
        pipe("the king", pair=["en"])
    # without them, the name that the config keeps
    (tmp_path / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    again = pipeline("translate", model=tmp_path, tokenizer=pipe.tokenizer, max_new_tokens=4)
    assert again("the king", target_language="Spanish") == expected
    with pytest.raises(ValueError, match="`target_language` 'fr': this model translates en to es only"):
        again("the king", target_language="fr")


@pytest.mark.parametrize("name", ["mbart", "mbart50", "m2m_100", "nllb"])
def test_languages_that_are_missing(folders: Any, name: str) -> None:
    pipe = open_pipeline("translate", folders(name), max_new_tokens=4)
    with pytest.raises(ValueError, match=r"`source_language` is missing; the model has .*\(English\)"):
        pipe("the king", target_language="fr")
    if name == "mbart":  # its decoder begins with one
        assert pipe("the king", source_language="en") == pipe("the king", source_language="en", target_language="fr")
    else:
        with pytest.raises(ValueError, match="`target_language` is missing"):
            pipe("the king", source_language="en")
    # the token of the source, and nothing else, is another one
    pairs = [{"source_language": source, "target_language": "fr"} for source in ("en", "de")]
    first, second = (pipe.tokenize(["the king"], 0, pipe.take_options(pipe.options, pair)).ids[0] for pair in pairs)
    differing = first != second
    assert differing.sum() == 1
    names = {"mbart": "{}_XX", "mbart50": "{}_XX", "m2m_100": "__{}__", "nllb": "{}_Latn"}
    assert pipe.tokenizer.id_to_token(int(first[differing][0])) == names[name].format("eng" if name == "nllb" else "en")


def test_the_target_that_the_checkpoint_writes_first(folders: Any) -> None:
    pipe = open_pipeline("translate", folders("mbart50"), max_new_tokens=5)
    french = pipe.tokenizer.token_to_id("fr_XX")
    pipe.model.generation_config["forced_bos_token_id"] = french
    asked = pipe("the king", source_language="en", target_language="fr")
    assert pipe("the king", source_language="en") == asked
