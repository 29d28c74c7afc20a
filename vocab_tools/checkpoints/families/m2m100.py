"""``M2M100Tokenizer``: a SentencePiece model, a list of tokens, and languages as tokens behind that list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numba_nlp.errors import SourceFormatError
from vocab_tools.checkpoints.family import DirectFamily
from vocab_tools.checkpoints.files import Folder
from vocab_tools.checkpoints.model_settings import input_settings, setting_flag
from vocab_tools.checkpoints.python_tokens import (
    check_sampling,
    ending_id,
    python_tokens,
    read_model,
    read_vocabulary,
    renumbered_fields,
    unknown_id,
    with_added,
)
from vocab_tools.checkpoints.settings import AddedTokenOptions, Settings
from vocab_tools.formats.description import TEXT_PLACE
from vocab_tools.formats.renumbered_model import RenumberedModel
from vocab_tools.formats.stages.post_processors import PAIR_PLACE, Template

__all__ = ["FAMILIES", "LANGUAGES", "describe_m2m100"]

_LANGUAGES = (
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu "
    "hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt "
    "ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"
)
#: Languages by the name of their set, in the order of their ids.
LANGUAGES = {
    "m2m100": tuple(_LANGUAGES.split()),
    "wmt21": ("en", "ha", "is", "ja", "cs", "ru", "zh", "de"),
}
#: The last one: ids behind those of the languages that some models have without a meaning.
_DEFAULTS = {
    "bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>",
    "src_lang": None, "tgt_lang": None, "target": False, "language_codes": "m2m100", "sp_model_kwargs": None,
    "num_madeup_words": 8,
}  # fmt: skip


def describe_m2m100(folder: Folder, settings: Settings, options: dict[str, Any]) -> RenumberedModel:
    """Read the checkpoint of an M2M100 model.

    Parameters
    ----------
    folder : Folder
        With ``sentencepiece.bpe.model`` and ``vocab.json``.
    settings : Settings
    options : dict
        Keyword arguments of the class, defaults included. ``target``: texts are of the language ``tgt_lang``, whose
        token comes before them; else of ``src_lang``, which is ``"en"`` when it is missing.

    Returns
    -------
    RenumberedModel

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        A file is missing or breaks its form, or a setting is not reproduced.
    """
    place = str(folder.path)
    check_sampling(place, options["sp_model_kwargs"])
    set_name, made_up = options["language_codes"], options["num_madeup_words"]
    if not isinstance(set_name, str) or set_name not in LANGUAGES:
        raise SourceFormatError(f"{place}: language_codes must be 'm2m100' or 'wmt21', got {set_name!r:.80}")
    if type(made_up) is not int or not 0 <= made_up < 1 << 20:
        raise SourceFormatError(f"{place}: num_madeup_words must be a small number, got {made_up!r:.80}")
    vocabulary = read_vocabulary(folder, "vocab.json")
    model = read_model(folder, "sentencepiece.bpe.model")
    languages = {code: len(vocabulary) + number for number, code in enumerate(LANGUAGES[set_name])}
    of_language = {f"__{code}__": number for code, number in languages.items()}
    target = setting_flag(place, options, "target")
    chosen = _language(place, options, languages, target)

    unknown_token = str(options["unk_token"])
    unknown = unknown_id(folder.place("vocab.json"), vocabulary, unknown_token)
    decoder = {number: token for token, number in vocabulary.items()}

    def all_tokens(added: Mapping[int, AddedTokenOptions]) -> dict[str, int]:
        listed: dict[str, int] = {}
        for number in range(len(vocabulary)):
            listed[added[number].content if number in added else decoder.get(number, unknown_token)] = number
        return with_added(listed, added)

    tokens = python_tokens(place, settings, options, all_tokens)
    known = {**vocabulary, **of_language}
    eos = ending_id(place, tokens, known, unknown)

    by_id = dict(decoder)
    by_id.update({number: token for token, number in of_language.items()})
    by_id.update({number: token.content for number, token in tokens.contents.items()})
    size = max(1 + max(by_id), len(vocabulary) + len(languages) + made_up)
    return RenumberedModel(
        name=folder.name,
        source_format="m2m100",
        source_digest=folder.digest,
        model=model,
        ids={**known, **tokens.ids},
        unknown=unknown,
        decoding=model,
        # an id that is no token is read as the unknown one
        tokens=[by_id.get(number, unknown_token) for number in range(size)],
        language_codes=False,
        special_suffix="",
        marks_are_spaces=False,
        **renumbered_fields(place, options, tokens),
        inputs=input_settings(
            place,
            options,
            Template((chosen, TEXT_PLACE, eos), (0, 0, 0)),
            Template((chosen, TEXT_PLACE, PAIR_PLACE, eos), (0, 0, 1, 1)),
            tokens.id_of("pad_token", known, unknown),
        ),
    )


def _language(place: str, options: Mapping[str, Any], languages: Mapping[str, int], target: bool) -> int:
    """Id of the language that comes before texts."""
    option = "tgt_lang" if target else "src_lang"
    language = options[option]
    if language is None and target:
        raise SourceFormatError(f"{place}: texts of the target language need tgt_lang=, such as tgt_lang='fr'")
    language = "en" if language is None else language
    if not isinstance(language, str) or language not in languages:
        some = ", ".join(sorted(languages))
        raise SourceFormatError(f"{place}: {option}={language!r:.80} is no language of this model; it has {some}")
    return languages[language]


FAMILIES = (
    DirectFamily(
        names=("M2M100Tokenizer",),
        files={"vocab_file": "vocab.json", "spm_file": "sentencepiece.bpe.model"},
        defaults=_DEFAULTS,
        describe=describe_m2m100,
    ),
)
