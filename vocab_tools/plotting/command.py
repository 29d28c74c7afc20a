"""The sub-commands of ``vocab-tools plot``; need typer (extra ``cli``) and matplotlib (extra ``plot``)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from numba_nlp.errors import UnsupportedFeatureError
from vocab_tools.command_line import Command, errors_in_one_line, parse_values, refuse_overwriting, source_of

__all__ = ["plot_app"]

plot_app = typer.Typer(
    name="plot",
    help="Draw figures of vocabularies, as .svg or .png.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_Vocabulary = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="As of compile, or a compiled vocabulary; several files of one vocabulary with commas between.",
    ),
]


def _figure_name(path: Path) -> Path:
    from vocab_tools.plotting.drawing import check_figure_name

    try:
        return check_figure_name(path)
    except UnsupportedFeatureError as error:
        raise typer.BadParameter(str(error)) from error


_Output = Annotated[
    Path, typer.Option("--output", "-o", callback=_figure_name, help="The figure to write, .svg or .png.")
]
_Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="NAME=VALUE", help="Option for reading the source, as of compile; may be repeated."
    ),
]
_Title = Annotated[str, typer.Option(help="What stands above the figure.")]


def _written(output: Path) -> None:
    typer.echo(f"{output} ({output.stat().st_size / 1e3:.0f} kB)")


def _tokenizer(source: str, option: list[str] | None, output: Path) -> Any:
    from numba_nlp.loading import load_tokenizer

    given = source_of(source)
    refuse_overwriting(output, given if isinstance(given, list) else [given])
    return load_tokenizer(given, **parse_values(option or [], "--option"))


@plot_app.command("lengths", cls=Command)
def lengths_command(
    source: _Vocabulary,
    output: _Output,
    unit: Annotated[str, typer.Option(help="character or byte.")] = "character",
    option: _Options = None,
    title: _Title = "",
) -> None:
    """How many pieces have each length."""
    if unit not in ("character", "byte"):
        raise typer.BadParameter(f"{unit!r} is neither character nor byte", param_hint="--unit")
    with errors_in_one_line():
        from vocab_tools.plotting.figures import draw_lengths
        from vocab_tools.plotting.histograms import lengths_of

        draw_lengths(lengths_of(_tokenizer(source, option, output), unit), output, title)
        _written(output)


@plot_app.command("frequencies", cls=Command)
def frequencies_command(
    source: _Vocabulary,
    output: _Output,
    corpus: Annotated[list[str], typer.Option(help="A text file; - is the standard input; may be repeated.")],
    option: _Options = None,
    title: _Title = "",
) -> None:
    """How often tokens occur in a corpus, by rank."""
    refuse_overwriting(output, corpus)
    with errors_in_one_line():
        from vocab_tools.plotting.figures import draw_frequencies
        from vocab_tools.plotting.histograms import rank_frequency_of

        draw_frequencies(rank_frequency_of(_tokenizer(source, option, output), corpus), output, title)
        _written(output)


@plot_app.command("fertility", cls=Command)
def fertility_command(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Vocabularies to compare; as of compile, or compiled; several files of one with commas between.",
        ),
    ],
    output: _Output,
    corpus: Annotated[
        list[str],
        typer.Option(
            metavar="[LABEL=]FILE", help="A text file, such as one language; may be repeated. Default label: its name."
        ),
    ],
    per: Annotated[str, typer.Option(help="Tokens per word, or per byte.")] = "word",
    title: _Title = "",
) -> None:
    """Tokens per word or byte of texts, such as one text in many languages."""
    if per not in ("word", "byte"):
        raise typer.BadParameter(f"{per!r} is neither word nor byte", param_hint="--per")
    corpora: dict[str, str] = {}
    for entry in corpus:
        label, equals, path = entry.partition("=")
        if not equals or Path(entry).exists():
            label, path = Path(entry).stem, entry
        if label in corpora:
            raise typer.BadParameter(f"the label {label!r} is there twice; write LABEL=FILE", param_hint="--corpus")
        corpora[label] = path
    refuse_overwriting(output, list(corpora.values()))
    with errors_in_one_line():
        from vocab_tools.plotting.figures import draw_fertility
        from vocab_tools.plotting.histograms import fertility_of

        tokenizers: dict[str, Any] = {}
        for source in sources:
            tokenizer = _tokenizer(source, None, output)
            name = tokenizer.vocabulary.metadata["name"]
            # two files may have one name
            tokenizers[name if name not in tokenizers else source] = tokenizer
        draw_fertility(fertility_of(tokenizers, corpora), output, per, title)
        _written(output)


@plot_app.command("merges", cls=Command)
def merges_command(
    source: _Vocabulary,
    word: Annotated[str, typer.Argument(metavar="WORD", help="A word, or a short text.")],
    output: _Output,
    steps: Annotated[bool, typer.Option("--steps", help="A table of the steps in place of a tree.")] = False,
    option: _Options = None,
    title: _Title = "",
) -> None:
    """How the tokens of a word are merged of its characters, by BPE; numbers are the order of the merges."""
    with errors_in_one_line():
        from vocab_tools.editing.opening import open_vocabulary
        from vocab_tools.plotting.figures import draw_merge_steps, draw_tree
        from vocab_tools.plotting.merge_steps import merge_steps
        from vocab_tools.plotting.trees import merge_tree

        given = source_of(source)
        refuse_overwriting(output, given if isinstance(given, list) else [given])
        opened = open_vocabulary(given, parse_values(option or [], "--option"))
        tree = merge_tree(opened, word)
        if steps:
            draw_merge_steps(merge_steps(tree), output, title)
        else:
            draw_tree(tree, output, title)
        _written(output)


@plot_app.command("trie", cls=Command)
def trie_command(
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="The words.")],
    output: _Output,
    title: _Title = "",
) -> None:
    """The trie of some words; filled nodes end one."""
    if not all(words):
        raise typer.BadParameter("a word is empty", param_hint="WORD")
    with errors_in_one_line():
        from vocab_tools.plotting.figures import draw_tree
        from vocab_tools.plotting.trees import trie_of

        draw_tree(trie_of(words), output, title, notes_beside=True)
        _written(output)


@plot_app.command("lattice", cls=Command)
def lattice_command(
    source: _Vocabulary,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A short text.")],
    output: _Output,
    option: _Options = None,
    title: _Title = "",
) -> None:
    """All pieces of a Unigram model that a text may be cut into, with their scores, and the best way."""
    with errors_in_one_line():
        from vocab_tools.plotting.figures import draw_lattice
        from vocab_tools.plotting.lattices import lattice_of

        draw_lattice(lattice_of(_tokenizer(source, option, output), text), output, title)
        _written(output)
