"""``MarianTokenizer``: two SentencePiece models, a list of tokens, and codes of languages before texts.

Pieces have the ids of ``vocab.json``. With ``separate_vocabs`` that list is of the source language,
``target_vocab.json`` of the target language, and ids are decoded with the latter. Nothing is done to punctuation:
transformers sets a normaliser of sacremoses up, but its tokenization does not call it.
"""

from __future__ import annotations

from typing import Any

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
from vocab_tools.checkpoints.settings import Settings
from vocab_tools.formats.description import TEXT_PLACE
from vocab_tools.formats.renumbered_model import RenumberedModel
from vocab_tools.formats.stages.post_processors import PAIR_PLACE, Template

__all__ = ["FAMILIES", "describe_marian"]

_DEFAULTS = {
    "unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>", "model_max_length": 512, "source_lang": None,
    "target_lang": None, "separate_vocabs": False, "sp_model_kwargs": None, "target": False,
}  # fmt: skip


def describe_marian(folder: Folder, settings: Settings, options: dict[str, Any]) -> RenumberedModel:
    """Read the checkpoint of a Marian model.

    Parameters
    ----------
    folder : Folder
        With ``source.spm``, ``target.spm``, ``vocab.json``, and perhaps ``target_vocab.json``.
    settings : Settings
    options : dict
        Keyword arguments of the class, defaults included; ``target``: texts are of the target language.

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
    separate, target = (setting_flag(place, options, key) for key in ("separate_vocabs", "target"))
    source_ids = read_vocabulary(folder, "vocab.json")
    target_ids = read_vocabulary(folder, "target_vocab.json") if separate else source_ids
    models = [read_model(folder, file) for file in ("source.spm", "target.spm")]

    tokens = python_tokens(place, settings, options, lambda added: with_added(source_ids, added))
    unknown_token = tokens.named.get("unk_token", "None")
    encoding = target_ids if target else source_ids
    unknown = unknown_id(folder.place("vocab.json"), source_ids, unknown_token)
    if encoding is not source_ids:
        unknown = unknown_id(folder.place("target_vocab.json"), encoding, unknown_token)
    eos = ending_id(place, tokens, encoding, unknown)

    size = 1 + max(*source_ids.values(), *target_ids.values(), *tokens.contents)
    by_id: list[str | None] = [None] * size
    for token, number in target_ids.items():
        by_id[number] = token
    for number, added in tokens.contents.items():
        by_id[number] = added.content
    return RenumberedModel(
        name=folder.name,
        source_format="marian",
        source_digest=folder.digest,
        model=models[target],
        ids={**encoding, **tokens.ids},
        unknown=unknown,
        # without separate vocabularies transformers decodes with the source's model, whatever the ids are of
        decoding=models[separate],
        tokens=by_id,
        language_codes=True,
        special_suffix=" ",
        marks_are_spaces=True,
        **renumbered_fields(place, options, tokens),
        inputs=input_settings(
            place,
            options,
            Template((TEXT_PLACE, eos), (0, 0)),
            Template((TEXT_PLACE, PAIR_PLACE, eos), (0, 1, 1)),
            tokens.id_of("pad_token", encoding, unknown),
        ),
    )


FAMILIES = (
    DirectFamily(
        names=("MarianTokenizer",),
        files={
            "source_spm": "source.spm",
            "target_spm": "target.spm",
            "vocab": "vocab.json",
            "target_vocab_file": "target_vocab.json",
        },
        defaults=_DEFAULTS,
        describe=describe_marian,
    ),
)
