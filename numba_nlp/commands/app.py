"""The sub-commands of ``numba-nlp``; this module needs typer (extra ``cli``).

Exit codes: 0 done, 1 a file, a vocabulary or a model is at fault, 2 the command line is, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import typer

from numba_nlp._command_line import Command
from numba_nlp.commands.cache import cache_app
from numba_nlp.commands.count import count_command
from numba_nlp.commands.decode import decode_command
from numba_nlp.commands.encode import encode_command
from numba_nlp.commands.info import info_command
from numba_nlp.commands.tasks import add_tasks
from numba_nlp.commands.warmup import warmup_command

__all__ = ["app"]

app = typer.Typer(
    name="numba-nlp",
    help="Turn files of texts into ids and back, count tokens, and run models over texts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("encode", cls=Command)(encode_command)
app.command("decode", cls=Command)(decode_command)
app.command("count", cls=Command)(count_command)
add_tasks(app)
app.command("info", cls=Command)(info_command)
app.command("warmup", cls=Command)(warmup_command)
app.add_typer(cache_app)
