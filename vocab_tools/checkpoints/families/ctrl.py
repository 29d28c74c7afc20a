"""``CTRLTokenizer``: BPE over characters, with ``@@`` behind what goes on within a word."""

from __future__ import annotations

import dataclasses
from typing import Any

from vocab_tools.checkpoints.family import DirectFamily
from vocab_tools.checkpoints.files import Folder
from vocab_tools.checkpoints.model_settings import input_settings
from vocab_tools.checkpoints.python_tokens import (
    python_tokens,
    read_vocabulary,
    text_fields,
    unknown_id,
    with_added,
)
from vocab_tools.checkpoints.settings import Settings
from vocab_tools.formats import character_vocab
from vocab_tools.formats.character_description import CharacterDescription
from vocab_tools.formats.description import TEXT_PLACE
from vocab_tools.formats.stages.post_processors import PAIR_PLACE, Template

__all__ = ["FAMILIES", "describe_ctrl"]

_DEFAULTS = {"unk_token": "<unk>"}


def describe_ctrl(folder: Folder, settings: Settings, options: dict[str, Any]) -> CharacterDescription:
    """Read the checkpoint of a CTRL model.

    Parameters
    ----------
    folder : Folder
        With ``vocab.json`` and ``merges.txt``.
    settings : Settings
    options : dict
        Keyword arguments of the class, defaults included.

    Returns
    -------
    CharacterDescription

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        A file is missing or breaks its form, or a setting is not reproduced.
    """
    place = str(folder.path)
    vocabulary = read_vocabulary(folder, "vocab.json")
    tokens = python_tokens(place, settings, options, lambda added: with_added(vocabulary, added))
    unknown_token = tokens.named.get("unk_token", "None")
    unknown = unknown_id(folder.place("vocab.json"), vocabulary, unknown_token)
    added = tokens.added_tokens(place)
    # in the order of transformers, which looks added tokens up first
    known = {**vocabulary, **tokens.ids}
    merges = character_vocab.ctrl_merges(folder.text("merges.txt"))
    kinds = character_vocab.checked_kinds(known, added, True, folder.place("vocab.json"))
    inputs = input_settings(
        place,
        options,
        Template((TEXT_PLACE,), (0,)),
        Template((TEXT_PLACE, PAIR_PLACE), (0, 0)),
        tokens.id_of("pad_token", vocabulary, unknown),
    )
    described = character_vocab.ctrl_description(known, merges, folder.name, folder.digest, unknown, kinds, added)
    return dataclasses.replace(
        described,
        inputs=inputs,
        **text_fields(place, options),
        special_search="transformers",
    )


FAMILIES = (
    DirectFamily(
        names=("CTRLTokenizer",),
        files={"vocab_file": "vocab.json", "merges_file": "merges.txt"},
        defaults=_DEFAULTS,
        describe=describe_ctrl,
    ),
)
