"""``CTRLTokenizer``: BPE over characters, with ``@@`` behind what goes on within a word."""

from __future__ import annotations

import dataclasses

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from vocab_tools.checkpoints.files import Folder
from vocab_tools.checkpoints.python_tokens import (
    input_settings,
    is_set,
    python_tokens,
    read_vocabulary,
    with_added,
)
from vocab_tools.checkpoints.settings import Settings
from vocab_tools.formats import character_vocab
from vocab_tools.formats.character_description import CharacterDescription
from vocab_tools.formats.description import TEXT_PLACE
from vocab_tools.formats.stages.post_processors import PAIR_PLACE, Template

__all__ = ["FILES", "OPTIONS", "describe_ctrl"]

FILES = ("vocab.json", "merges.txt")
OPTIONS: tuple[str, ...] = ()
_DEFAULTS = {"unk_token": "<unk>"}


def describe_ctrl(folder: Folder, settings: Settings, *, name: str | None = None) -> CharacterDescription:
    """Read the checkpoint of a CTRL model.

    Parameters
    ----------
    folder : Folder
        With ``vocab.json`` and ``merges.txt``.
    settings : Settings
    name : str, optional

    Returns
    -------
    CharacterDescription

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        A file is missing or breaks its form, or a setting is not reproduced.
    """
    place = str(folder.path)
    values = settings.values
    vocabulary = read_vocabulary(folder, "vocab.json")
    tokens = python_tokens(place, settings, _DEFAULTS, lambda added: with_added(vocabulary, added))
    unknown_token = tokens.named.get("unk_token", "None")
    if unknown_token not in vocabulary:
        raise SourceFormatError(f"{folder.place('vocab.json')}: the vocabulary lacks {unknown_token!r}, the unk_token")
    if is_set(place, values, "clean_up_tokenization_spaces"):
        raise UnsupportedFeatureError(
            f"{place}: clean_up_tokenization_spaces is not supported for this tokenizer class; set it to false"
        )
    unknown = vocabulary[unknown_token]
    added = tokens.added_tokens(place)
    # in the order of transformers, which looks added tokens up first
    known = {**vocabulary, **tokens.ids}
    merges = character_vocab.ctrl_merges(folder.text("merges.txt"))
    kinds = character_vocab.checked_kinds(known, added, True, folder.place("vocab.json"))
    inputs = input_settings(
        place,
        settings,
        Template((TEXT_PLACE,), (0,)),
        Template((TEXT_PLACE, PAIR_PLACE), (0, 0)),
        tokens.id_of("pad_token", vocabulary, unknown),
    )
    described = character_vocab.ctrl_description(
        known, merges, name or folder.name, folder.digest, unknown, kinds, added
    )
    policy = "plain" if is_set(place, values, "split_special_tokens") else "match"
    return dataclasses.replace(described, inputs=inputs, special_policy=policy, special_search="transformers")
