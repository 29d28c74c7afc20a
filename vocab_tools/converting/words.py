"""WordPiece between ``vocab.txt`` and ``tokenizer.json``; codes between subword-nmt and fastBPE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba_nlp.errors import ConversionError
from vocab_tools.converting.formats import Opened, Written
from vocab_tools.formats.bert_vocab import WordPieceDescription
from vocab_tools.formats.character_description import CharacterDescription
from vocab_tools.formats.description import TEXT_PLACE
from vocab_tools.formats.fastbpe_codes import SEPARATOR, parse_fastbpe
from vocab_tools.formats.reading import read_text
from vocab_tools.formats.writers.json_text import tokenizer_bytes
from vocab_tools.formats.writers.text_files import codes_bytes, fastbpe_bytes, words_bytes
from vocab_tools.formats.writers.tokenizer_json import words_document

__all__ = ["codes_to_fastbpe", "fastbpe_to_codes", "json_to_words", "words_to_json"]


def words_to_json(source: Opened) -> Written:
    """BERT's ``tokenizer.json``, as transformers writes it."""
    assert isinstance(source.description, WordPieceDescription), "the reader gives nothing else"
    made = words_document(source.description)
    # an empty line, or one that stands twice, leaves an id to nothing
    gaps = None in source.description.pieces
    return Written({"": tokenizer_bytes(made)}, {"allow_gaps": True} if gaps else {})


def json_to_words(source: Opened) -> Written:
    """A ``vocab.txt``, with the options that say what the file does not."""
    description = source.description
    if not isinstance(description, WordPieceDescription):
        raise ConversionError(
            f"{source.where}: a vocab.txt holds WordPiece only; of this model it would lose merges, scores or stages"
        )
    written: dict[str, Any] = {
        "do_lower_case": (description.lowercase, True),
        "strip_accents": (_accents(description), None),
        "tokenize_chinese_chars": (description.handle_chinese_chars, True),
        "max_input_chars_per_word": (description.max_input_chars_per_word, 100),
    }
    contents = {token.id: token.content for token in description.added_tokens}
    single = () if description.inputs is None else description.inputs.single.ids
    if len(single) == 3 and single[1] == TEXT_PLACE:
        written |= {"cls_token": (contents.get(single[0]), "[CLS]"), "sep_token": (contents.get(single[2]), "[SEP]")}
    written["unk_token"] = (description.pieces[description.unknown], "[UNK]")
    if description.inputs is not None and description.inputs.pad_id is not None:
        written["pad_token"] = (contents.get(description.inputs.pad_id), "[PAD]")
    options = {key: value for key, (value, default) in written.items() if value != default}
    return Written({"": words_bytes(description)}, options)


def _accents(description: WordPieceDescription) -> bool | None:
    """None where accents go with the case."""
    return None if description.strip_accents == description.lowercase else description.strip_accents


def codes_to_fastbpe(source: Opened) -> Written:
    """Codes of fastBPE; the frequencies that it writes down, and never uses, are not known and 0."""
    description = _codes(source)
    if description.suffix_is_symbol:
        raise ConversionError(
            f"{source.where}: codes of version 0.1 (no version line) would lose their order of merges: in them the end "
            "of a word is a symbol by itself, which fastBPE does not have; learn them again with a newer subword-nmt"
        )
    if description.separator != SEPARATOR:
        raise ConversionError(
            f"{source.where}: the separator {description.separator!r} would be lost, fastBPE always writes "
            f"{SEPARATOR!r}"
        )
    merges = description.merges
    if any("\n" in part or " " in part for merge in merges for part in merge):
        raise ConversionError(f"{source.where}: a symbol holds a space or a line end, which no line of codes can")
    counts = (0,) * len(merges)
    return Written({"": fastbpe_bytes(merges, counts)}, _vocabulary(source), ("frequencies of pairs are written as 0",))


def fastbpe_to_codes(source: Opened) -> Written:
    """Codes of subword-nmt, version 0.2."""
    description = _codes(source)
    path = source.paths[0]
    found = parse_fastbpe(path, read_text(path)[0])
    # subword-nmt takes CR for the end of a line, and spaces off the ends of one
    odd = [merge for merge in description.merges if any(part != part.strip() or "\r" in part for part in merge)]
    if odd:
        raise ConversionError(
            f"{source.where}: the merge {odd[0]!r} has white space at its ends, which subword-nmt takes off a line"
        )
    notes = ("frequencies of pairs have no place in codes of subword-nmt",) if any(found.counts) else ()
    return Written({"": codes_bytes(description.merges)}, _vocabulary(source), notes)


def _codes(source: Opened) -> CharacterDescription:
    assert isinstance(source.description, CharacterDescription), "the readers of codes give nothing else"
    return source.description


def _vocabulary(source: Opened) -> dict[str, Any]:
    """The same file of tokens and frequencies serves both."""
    options = {key: source.options[key] for key in ("vocabulary_threshold",) if key in source.options}
    if "vocabulary" in source.options:
        options["vocabulary"] = str(Path(source.options["vocabulary"]))
    return options
