"""The commands by name. Heavy packages are imported only by the commands that need them."""

from __future__ import annotations

import os
import sys

from cyclopts import App, CycloptsError, Group, MissingArgumentError, Parameter, UnusedCliTokensError
from cyclopts.exceptions import UnknownOptionError

from rnnlens.cli.analysis import analyze, demo, toy
from rnnlens.cli.auditing import audit
from rnnlens.cli.flags import checked, convert_strictly
from rnnlens.cli.networks import info, prepare, probe, train
from rnnlens.cli.people import agree
from rnnlens.cli.sharing import export, figures, report
from rnnlens.cli.studies import baselines, reproduce, sweep
from rnnlens.common.errors import UsageError, quoted
from rnnlens.common.version import __version__

app = App(
    name="rnnlens",
    version=__version__,
    help="Open a trained recurrent network and see how it uses context.\n\n"
    "Start with `rnnlens demo`: it analyzes a packaged network within a minute, offline, and writes a page to open in "
    "a browser. Then analyze your own reviews:\n\n"
    "1. `rnnlens prepare reviews.csv --out corpora/mine`\n"
    "2. `rnnlens train corpora/mine --start zoo:reviews-gru --out runs/mine`\n"
    "3. `rnnlens analyze runs/mine --corpus corpora/mine`\n"
    "4. open `runs/mine/report.html`\n\n"
    "`rnnlens COMMAND --help` lists the options of a command. To analyze a network trained elsewhere, use "
    "`rnnlens.from_torch` in Python.",
    help_format="markdown",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(converter=convert_strictly, negative_iterable=()),
)

for title, commands in {
    "See it work": (demo, toy),
    "From reviews to an explanation": (prepare, train, analyze, probe, audit, info),
    "Show and share": (report, figures, export),
    "Beside people": (agree,),
    "Studies of many networks": (baselines, sweep, reproduce),
}.items():
    group = Group.create_ordered(title)
    for place, command in enumerate(commands):
        app.command(checked(command), group=group, sort_key=place)
app["--help"].group = app["--version"].group = (Group.create_ordered("Options"),)


def run(arguments: list[str] | None = None) -> None:
    """Run a command; a mistake in its arguments is a UsageError."""
    try:
        app(arguments, exit_on_error=False, print_error=False, help_on_error=False)
        sys.stdout.flush()
    except CycloptsError as error:
        help_command = " ".join(("rnnlens", *(error.command_chain or ()), "--help"))
        raise UsageError(f"{_said(error)} (see `{help_command}`)") from error
    except BrokenPipeError:  # the reader of the output, such as `head`, closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _said(error: CycloptsError) -> str:
    if isinstance(error, UnusedCliTokensError):
        return f"unexpected {', '.join(map(quoted, error.unused_tokens or ()))}: put a name with spaces in quotes"
    if isinstance(error, UnknownOptionError) and " " in (text := error.token.keyword or error.token.value):
        return f"{quoted(text)} begins with a dash and was taken for an option: write -- before it, after all options"
    if isinstance(error, MissingArgumentError) and error.argument is not None and not error.unused_tokens:
        where = " ".join(("rnnlens", *(error.command_chain or ())))
        if error.keyword is None and not error.argument.tokens:
            return f"{error.argument.name} is missing: `{where}` needs it"
    return " ".join(str(error).split())
