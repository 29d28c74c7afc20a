"""The sub-command ``vocab-tools train``; needs typer (extra ``cli``)."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from numba_nlp.errors import NumbaNlpError, SourceFormatError
from vocab_tools.command_line import errors_in_one_line, in_flags, is_stdout, show_options, written_to

__all__ = ["BOTH_SPELLINGS", "train_command"]

#: Options may be spelled with underscores, as ``spm_train`` spells them.
BOTH_SPELLINGS = {"token_normalize_func": lambda name: name.replace("_", "-")}
_SPM = ("unigram", "word", "char")
_MODEL_TYPES = (*_SPM, "bpe", "wordpiece")
_COMMON = {"vocab_size", "num_threads", "errors"}
_WORDPIECE = {
    "min_frequency", "initial_alphabet", "limit_alphabet", "special_tokens", "unk_token", "continuing_subword_prefix",
    "max_input_chars_per_word", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase",
}  # fmt: skip
_BPE = {
    "kind", "cut", "num_symbols", "total_symbols", "min_frequency", "max_token_length", "initial_alphabet",
    "limit_alphabet", "special_tokens", "user_defined_symbols", "unk_token", "byte_fallback", "add_prefix_space",
    "continuing_subword_prefix", "end_of_word_suffix",
}  # fmt: skip
_LISTS = ("special_tokens", "control_symbols", "user_defined_symbols")
_PLUMBING = {
    "files", "input_files", "output", "model_prefix", "to", "model_type", "input_format", "dict_input", "column",
    "as_json",
}  # fmt: skip
#: What BPE is trained when no kind is given, by the format of the output.
_KIND_OF = {"sentencepiece": "sentencepiece", "subword-nmt": "subword-nmt", "fastbpe": "subword-nmt"}
_BPE_SPECIALS = ("<unk>", "<s>", "</s>")


def _flag(text: str) -> Any:
    return typer.Option(help=text)


def train_command(
    context: typer.Context,
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE...", help="As --input.")] = None,
    input_files: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", help="Text file (.gz too), Parquet or Arrow file; - is stdin; commas or repeat."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File or folder to write; - is stdout.")] = None,
    model_prefix: Annotated[str | None, _flag("The output without its suffix, which the format gives.")] = None,
    to: Annotated[str | None, _flag("Format of the output, as of convert; default: what its name tells.")] = None,
    model_type: Annotated[str, _flag("unigram, bpe, wordpiece, word or char.")] = "unigram",
    input_format: Annotated[str | None, _flag("text, words (a word and its count a line), parquet or arrow.")] = None,
    dict_input: Annotated[bool, typer.Option("--dict-input", help="The same as --input-format words.")] = False,
    column: Annotated[str, _flag("Column of Parquet and Arrow files.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="Write the report as JSON.")] = False,
    vocab_size: Annotated[int | None, _flag("Number of pieces.")] = None,
    num_threads: Annotated[int | None, _flag("Threads; the result does not depend on them.")] = None,
    errors: Annotated[str | None, _flag("Bytes that are not UTF-8: strict or replace.")] = None,
    kind: Annotated[
        str | None, _flag("bpe: byte-level, character, subword-nmt, sentencepiece; default: what the output is of.")
    ] = None,
    cut: Annotated[str | None, _flag("bpe: how words are cut (gpt2, llama3, ..., bert, whitespace, none).")] = None,
    num_symbols: Annotated[int | None, typer.Option("--symbols", "-s", help="subword-nmt: number of merges.")] = None,
    total_symbols: Annotated[bool | None, typer.Option("--total-symbols", help="Characters count too.")] = None,
    min_frequency: Annotated[int | None, _flag("bpe, wordpiece: rarer pairs do not merge.")] = None,
    max_token_length: Annotated[int | None, _flag("bpe: products are shorter than this.")] = None,
    initial_alphabet: Annotated[str | None, _flag("bpe, wordpiece: characters that are tokens in any case.")] = None,
    limit_alphabet: Annotated[int | None, _flag("bpe, wordpiece: most characters.")] = None,
    special_tokens: Annotated[list[str] | None, _flag("bpe, wordpiece: first tokens; commas or repeat.")] = None,
    unk_token: Annotated[str | None, _flag("bpe, wordpiece: the unknown token.")] = None,
    add_prefix_space: Annotated[bool | None, _flag("byte-level: a space goes before text.")] = None,
    continuing_subword_prefix: Annotated[str | None, _flag("wordpiece, character: mark inside words.")] = None,
    end_of_word_suffix: Annotated[str | None, _flag("character: mark at ends of words.")] = None,
    max_input_chars_per_word: Annotated[int | None, _flag("wordpiece: longer words are unknown.")] = None,
    clean_text: Annotated[bool | None, _flag("wordpiece: BERT's normaliser drops control characters.")] = None,
    handle_chinese_chars: Annotated[bool | None, _flag("wordpiece: Chinese characters are words.")] = None,
    strip_accents: Annotated[bool | None, _flag("wordpiece: accents go.")] = None,
    lowercase: Annotated[bool | None, _flag("wordpiece: text in lower case.")] = None,
    byte_fallback: Annotated[bool | None, _flag("Pieces of all bytes, for unknown characters.")] = None,
    user_defined_symbols: Annotated[list[str] | None, _flag("Pieces that are always whole; commas or repeat.")] = None,
    control_symbols: Annotated[list[str] | None, _flag("Pieces that text never has; commas or repeat.")] = None,
    character_coverage: Annotated[float | None, _flag("Share of characters that are pieces.")] = None,
    normalization_rule_name: Annotated[str | None, _flag("nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf or identity.")] = None,
    normalization_rule_tsv: Annotated[Path | None, _flag("Table of rules.")] = None,
    max_sentencepiece_length: Annotated[int | None, _flag("Most characters of a piece.")] = None,
    max_sentence_length: Annotated[int | None, _flag("Most bytes of a sentence.")] = None,
    seed_sentencepiece_size: Annotated[int | None, _flag("Pieces to begin with.")] = None,
    shrinking_factor: Annotated[float | None, _flag("Share of pieces that a round keeps.")] = None,
    num_sub_iterations: Annotated[int | None, _flag("Steps of a round.")] = None,
    split_by_whitespace: Annotated[bool | None, _flag("Pieces do not reach over white space.")] = None,
    split_by_unicode_script: Annotated[bool | None, _flag("Pieces are of one script.")] = None,
    split_by_number: Annotated[bool | None, _flag("Digits are a script.")] = None,
    split_digits: Annotated[bool | None, _flag("Each digit is a piece.")] = None,
    treat_whitespace_as_suffix: Annotated[bool | None, _flag("U+2581 stands behind words.")] = None,
    allow_whitespace_only_pieces: Annotated[bool | None, _flag("Runs of spaces may be pieces.")] = None,
    hard_vocab_limit: Annotated[bool | None, _flag("Too few pieces are an error.")] = None,
    use_all_vocab: Annotated[bool | None, _flag("word, char: all of them.")] = None,
    required_chars: Annotated[str | None, _flag("Characters that are pieces in any case.")] = None,
    unk_id: Annotated[int | None, _flag("Id of the unknown piece.")] = None,
    bos_id: Annotated[int | None, _flag("Id of the piece of beginnings; -1: none.")] = None,
    eos_id: Annotated[int | None, _flag("Id of the piece of ends; -1: none.")] = None,
    pad_id: Annotated[int | None, _flag("Id of the piece that fills rows; -1: none.")] = None,
    unk_piece: Annotated[str | None, _flag("The unknown piece.")] = None,
    bos_piece: Annotated[str | None, _flag("The piece of beginnings.")] = None,
    eos_piece: Annotated[str | None, _flag("The piece of ends.")] = None,
    pad_piece: Annotated[str | None, _flag("The piece that fills rows.")] = None,
    unk_surface: Annotated[str | None, _flag("What the unknown piece decodes to.")] = None,
    add_dummy_prefix: Annotated[bool | None, _flag("A space goes before text.")] = None,
    remove_extra_whitespaces: Annotated[bool | None, _flag("Spaces at ends and runs of them go.")] = None,
    input_sentence_size: Annotated[int | None, _flag("Sentences to draw; 0: all.")] = None,
    shuffle_input_sentence: Annotated[bool | None, _flag("Draw at random, else take the first.")] = None,
    seed: Annotated[int | None, _flag("Of the drawing.")] = None,
) -> None:
    """Make a vocabulary from text. Options without a model type are those of spm_train: unigram, word, char."""
    if model_type not in _MODEL_TYPES:
        raise typer.BadParameter(f"{model_type!r} is none of {', '.join(_MODEL_TYPES)}", param_hint="--model-type")
    given = {key: value for key, value in context.params.items() if key not in _PLUMBING and value is not None}
    options = _checked(given, model_type)
    paths = _paths([*map(str, files or []), *(input_files or [])])
    with errors_in_one_line():
        path, wanted = _target(output, model_prefix, to, model_type, kind)
        if path.is_file() and any(item.exists() and path.samefile(item) for item in paths):
            raise typer.BadParameter(f"{path} is an input and would be overwritten", param_hint="--output")
        source = _source(paths, "words" if dict_input else input_format, column)
        started = time.perf_counter()
        trained = _train(source, model_type, wanted, options, "trained" if is_stdout(path) else path.stem)
        from vocab_tools.training.command_output import write_trained

        with written_to(path) as place:
            written, read_with = write_trained(trained, place, wanted)
        facts = _facts(trained, model_type, wanted, [path] if is_stdout(path) else written)
        facts |= {"options": read_with, "seconds": round(time.perf_counter() - started, 3)}
        _report(facts, vocab_size, as_json, is_stdout(path))


def _checked(given: dict[str, Any], model_type: str) -> dict[str, Any]:
    """Options under the names of the trainer; one that the model type does not take is refused by its name."""
    from vocab_tools.training.unigram_options import TrainingOptions

    takes = _COMMON | {"bpe": _BPE, "wordpiece": _WORDPIECE}.get(model_type, set(TrainingOptions.names()))
    options: dict[str, Any] = {}
    for key, value in given.items():
        if key in _LISTS and not value:
            continue
        if key not in takes:
            flag = "--symbols" if key == "num_symbols" else f"--{key.replace('_', '-')}"
            raise typer.BadParameter(f"it does not apply to --model-type {model_type}", param_hint=flag)
        options[key] = [part for item in value for part in item.split(",")] if key in _LISTS else value
    if model_type not in _SPM and "num_threads" in options:
        options["n_threads"] = options.pop("num_threads")
    return options


def _paths(given: list[str]) -> list[Path]:
    if not given:
        raise typer.BadParameter("a file is needed, or - for the standard input", param_hint="--input")
    return [Path(part) for item in given for part in ([item] if Path(item).exists() else item.split(","))]


def _target(
    output: Path | None, prefix: str | None, to: str | None, model_type: str, kind: str | None
) -> tuple[Path, str]:
    from vocab_tools.converting.formats import format_named, format_of_target
    from vocab_tools.training.command_output import SUFFIXES

    if (output is None) == (prefix is None):
        raise typer.BadParameter("give --output, or --model-prefix", param_hint="--output")
    if output is not None and not is_stdout(output):
        return output, format_of_target(output) if to is None else format_named(to)
    # without more words a prefix means what it means for spm_train
    usual = "vocab.txt" if model_type == "wordpiece" else "sentencepiece"
    if model_type == "bpe" and kind not in (None, "sentencepiece"):
        usual = "subword-nmt" if kind == "subword-nmt" else "tokenizer.json"
    wanted = usual if to is None else format_named(to)
    if wanted not in SUFFIXES:
        raise typer.BadParameter(f"{wanted} is not trained", param_hint="--to")
    return output or Path(f"{prefix}{SUFFIXES[wanted]}"), wanted


def _source(paths: list[Path], input_format: str | None, column: str) -> Any:
    from vocab_tools.training.command_sources import INPUT_FORMATS, columns, input_format_of, words

    try:
        chosen = input_format or input_format_of(paths)
    except SourceFormatError as error:
        raise typer.BadParameter(str(error), param_hint="--input") from error
    if chosen not in INPUT_FORMATS:
        raise typer.BadParameter(f"{chosen!r} is none of {', '.join(INPUT_FORMATS)}", param_hint="--input-format")
    if chosen == "text":
        return paths
    return words(paths) if chosen == "words" else columns(paths, chosen, column)


def _usual_tokens(options: dict[str, Any], wanted: str) -> None:
    """Special tokens that the formats need, where none are asked for: else what is written could not be read."""
    if "unk_token" in options:
        options.setdefault("special_tokens", [options["unk_token"]])
    if "special_tokens" in options or options["kind"] == "subword-nmt":
        return
    if options["kind"] != "byte-level":
        options["special_tokens"] = _BPE_SPECIALS if wanted == "sentencepiece" else _BPE_SPECIALS[:1]
        options["unk_token"] = _BPE_SPECIALS[0]
    elif wanted == "merges.txt":
        options["special_tokens"] = ("<|endoftext|>",)


def _train(source: Any, model_type: str, wanted: str, options: dict[str, Any], name: str) -> Any:
    from vocab_tools.training import train_bpe, train_unigram, train_wordpiece

    common: dict[str, Any] = {"name": name, "progress": sys.stderr.isatty()}
    try:
        if model_type == "wordpiece":
            return train_wordpiece(source, **options, **common)
        if model_type == "bpe":
            options.setdefault("kind", _KIND_OF.get(wanted, "byte-level"))
            _usual_tokens(options, wanted)
            return train_bpe(source, **options, **common)
        return train_unigram(source, model_type=model_type, **options, **common)
    except NumbaNlpError:
        raise
    except ValueError as error:  # an option that is out of its range, or does not fit the corpus
        raise typer.BadParameter(in_flags(str(error))) from error


def _facts(trained: Any, model_type: str, wanted: str, written: list[Path]) -> dict[str, Any]:
    pieces = getattr(trained, "pieces", None) or trained.vocabulary
    facts: dict[str, Any] = {
        "model_type": model_type, "format": wanted, "paths": [str(path) for path in written],
        "vocab_size": len(pieces), "reached": getattr(trained, "reached", True),
    }  # fmt: skip
    if hasattr(trained, "merges"):
        facts["merges"] = len(trained.merges)
    return facts


def _report(facts: dict[str, Any], size: int | None, as_json: bool, beside: bool) -> None:
    """Say what was trained; on stderr where the vocabulary itself is on stdout."""
    if as_json:
        typer.echo(json.dumps(facts, ensure_ascii=False), err=beside)
        return
    n_pieces, where = facts["vocab_size"], ", ".join(facts["paths"])
    typer.echo(
        f"{facts['model_type']}: {n_pieces} pieces -> {where} ({facts['format']}, {facts['seconds']:.1f} s)", err=beside
    )
    show_options(facts["options"], err=beside)
    if not facts["reached"]:
        typer.echo("note: the corpus gives no more; the size asked for was not reached", err=beside)
    if size is not None and n_pieces > size:
        typer.echo(f"note: more than the {size} asked for: special tokens and characters alone are", err=beside)
