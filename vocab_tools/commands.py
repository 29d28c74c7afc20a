"""The sub-commands of ``vocab-tools``; this module needs typer (extra ``cli``).

Exit codes: 0 done, 1 the source or the file is at fault, 2 the command line is.
"""

from __future__ import annotations

import inspect
import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from vocab_tools.command_line import Command, console, parse_values, refuse_overwriting
from vocab_tools.command_line import errors_in_one_line as _errors_in_one_line
from vocab_tools.comparing.command import compare_command
from vocab_tools.converting.command import convert_command
from vocab_tools.editing.command import extend_command, prune_command
from vocab_tools.plotting.command import plot_app
from vocab_tools.training.command import BOTH_SPELLINGS, train_command
from vocab_tools.verifying.command import verify_command

__all__ = ["app"]

app = typer.Typer(
    name="vocab-tools",
    help="Train, compile, convert, change, compare and look at vocabularies.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("convert", cls=Command)(convert_command)
app.command("compare", cls=Command)(compare_command)
app.command("prune", cls=Command)(prune_command)
app.command("extend", cls=Command)(extend_command)
app.command("verify", cls=Command)(verify_command)
app.add_typer(plot_app)
app.command("train", cls=Command, context_settings=BOTH_SPELLINGS)(train_command)


@app.command("compile", cls=Command)
def compile_command(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE...",
            help="A tokenizer.json, a .tiktoken or .model file, a vocab.txt, vocab.json and merges.txt, codes of "
            "subword-nmt, CLIP's bpe_simple_vocab_16e6.txt.gz, or a checkpoint: its folder, or its name on the hub.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The compiled file to write (.safetensors).")],
    family: Annotated[
        str | None,
        typer.Option(help="gpt2, roberta, openai-gpt, ctrl or clip; for vocab.json and merges.txt that do not tell."),
    ] = None,
    pattern: Annotated[
        str | None, typer.Option(help="Pre-token pattern by name or as a regular expression; for .tiktoken files.")
    ] = None,
    special_token: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT=ID", help="A special token of a .tiktoken file; may be repeated."),
    ] = None,
    do_lower_case: Annotated[
        bool | None, typer.Option(help="Whether text is put into lower case (default: it is); for vocab.txt.")
    ] = None,
    strip_accents: Annotated[
        bool | None, typer.Option(help="Whether accents are stripped (default: as lower case); for vocab.txt.")
    ] = None,
    tokenize_chinese_chars: Annotated[
        bool | None, typer.Option(help="Whether Chinese characters are words (default: they are); for vocab.txt.")
    ] = None,
    max_input_chars_per_word: Annotated[
        int | None, typer.Option(help="Longer words are unknown (default: 100); for vocab.txt.")
    ] = None,
    unk_token: Annotated[str | None, typer.Option(help="Token of unknown words, [UNK]; for vocab.txt.")] = None,
    sep_token: Annotated[str | None, typer.Option(help="Token behind a text, [SEP]; for vocab.txt.")] = None,
    pad_token: Annotated[str | None, typer.Option(help="Token that fills rows, [PAD]; for vocab.txt.")] = None,
    cls_token: Annotated[str | None, typer.Option(help="Token before a text, [CLS]; for vocab.txt.")] = None,
    mask_token: Annotated[str | None, typer.Option(help="Token of a gap, [MASK]; for vocab.txt.")] = None,
    merges: Annotated[int | None, typer.Option(help="How many codes to use; for codes of subword-nmt.")] = None,
    separator: Annotated[
        str | None, typer.Option(help="Mark of a token that its word goes on behind, @@; for codes of subword-nmt.")
    ] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="File of tokens and their frequencies; for codes of subword-nmt.")
    ] = None,
    vocabulary_threshold: Annotated[
        int | None, typer.Option(help="Rarer tokens of --vocabulary are not made; for codes of subword-nmt.")
    ] = None,
    special: Annotated[str | None, typer.Option(help="Special tokens in the text: raise, match or plain.")] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="Setting of a tokenizer.json to leave out: truncation or padding; may be repeated."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Keyword of a checkpoint's class, such as src_lang=en_XX; may be repeated."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the vocabulary.")] = None,
    allow_gaps: Annotated[bool, typer.Option("--allow-gaps", help="Accept ids that no piece has.")] = False,
    keep_source: Annotated[
        bool,
        typer.Option("--keep-source/--no-keep-source", help="Keep the files of the source in the output, packed."),
    ] = True,
) -> None:
    """Compile a vocabulary source to one file that loads in milliseconds."""
    refuse_overwriting(output, sources)
    special_tokens = _parse_special_tokens(special_token) if special_token else None
    settings = _parse_settings(setting or [])
    with _errors_in_one_line():
        from vocab_tools.compiler.api import compile as compile_source

        started = time.perf_counter()
        made = compile_source(
            # one path may be a checkpoint, or its name on the hub
            str(sources[0]) if len(sources) == 1 else sources,
            family=family,
            pattern=pattern,
            special_tokens=special_tokens,
            do_lower_case=do_lower_case,
            strip_accents=strip_accents,
            tokenize_chinese_chars=tokenize_chinese_chars,
            max_input_chars_per_word=max_input_chars_per_word,
            unk_token=unk_token,
            sep_token=sep_token,
            pad_token=pad_token,
            cls_token=cls_token,
            mask_token=mask_token,
            merges=merges,
            separator=separator,
            vocabulary=vocabulary,
            vocabulary_threshold=vocabulary_threshold,
            special=special,
            ignore=ignore,
            name=name,
            allow_gaps=allow_gaps,
            keep_source=keep_source,
            **settings,
        )
        made.save(output)
        seconds = time.perf_counter() - started
        n_merges = f", {made['merge_symbols'].size} merges" if "merge_symbols" in made else ""
        typer.echo(
            f"{made.metadata['name']}: {made.size} ids{n_merges} -> "
            f"{output} ({output.stat().st_size / 1e6:.1f} MB, {seconds:.1f} s)"
        )


@app.command("inspect", cls=Command)
def inspect_command(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="SOURCE...", help="As of compile, or a compiled vocabulary (.safetensors)."),
    ],
    longest: Annotated[int, typer.Option(min=0, help="How many of the longest pieces to show.")] = 8,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Option for reading the source, as of compile; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write the result as JSON.")] = False,
) -> None:
    """Show what a vocabulary holds."""
    options = parse_values(option or [], "--option")
    with _errors_in_one_line():
        from numba_nlp.vocabulary import Vocabulary
        from vocab_tools.compiler.api import compile as compile_source
        from vocab_tools.inspecting import contents, tables

        if len(sources) == 1 and sources[0].suffix == ".safetensors" and not sources[0].is_dir():
            if options:
                raise typer.BadParameter("a compiled vocabulary takes none", param_hint="--option")
            vocabulary = Vocabulary.load(sources[0])
        else:
            vocabulary = compile_source(str(sources[0]) if len(sources) == 1 else sources, **options)
        listed = contents(vocabulary, longest)
        if as_json:
            typer.echo(json.dumps(listed, ensure_ascii=False))
            return
        output = console()
        for table in tables(listed):
            output.print(table)


def _parse_settings(given: list[str]) -> dict[str, Any]:
    from vocab_tools.compiler.api import compile as compile_source

    named = inspect.signature(compile_source).parameters
    settings: dict[str, Any] = {}
    for setting in given:
        name, equals, value = setting.partition("=")
        if not equals or not name.isidentifier():
            raise typer.BadParameter(f"{setting!r} is not NAME=VALUE", param_hint="--setting")
        if name in named:
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter(f"{name!r} has an option of its own, {option}", param_hint="--setting")
        try:
            settings[name] = json.loads(value)
        except json.JSONDecodeError:
            settings[name] = value
    return settings


def _parse_special_tokens(entries: list[str]) -> dict[str, int]:
    tokens: dict[str, int] = {}
    for entry in entries:
        text, equals, number = entry.rpartition("=")
        if not equals or not text or not number.isascii() or not number.isdigit():
            raise typer.BadParameter(f"expected TEXT=ID, got {entry!r}", param_hint="--special-token")
        if text in tokens:
            raise typer.BadParameter(f"{text!r} is given twice", param_hint="--special-token")
        tokens[text] = int(number)
    return tokens
