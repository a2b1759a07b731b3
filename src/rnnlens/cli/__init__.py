"""The command line: parse, call, print. Heavy packages are imported only by the commands that need them."""

from __future__ import annotations

import os
import sys

from cyclopts import App, CycloptsError, Group, Parameter

from rnnlens.cli.analysis import analyze, demo, toy
from rnnlens.cli.auditing import audit
from rnnlens.cli.flags import checked, convert_strictly
from rnnlens.cli.networks import info, prepare, probe, train
from rnnlens.cli.people import agree
from rnnlens.cli.sharing import export, figures, report
from rnnlens.cli.studies import baselines, reproduce, sweep, validate
from rnnlens.common.errors import UsageError, exit_code_of
from rnnlens.common.version import __version__

app = App(
    name="rnnlens",
    version=__version__,
    help="Open a trained recurrent network and see how it uses context.\n\n"
    "Start with `rnnlens demo`: it analyzes a packaged network within a minute, offline, and writes a page to open in "
    "a browser. Then analyze your own reviews:\n\n"
    "1. `rnnlens prepare reviews.csv --out corpora/mine`\n"
    "2. `rnnlens train corpora/mine --out runs/mine`\n"
    "3. `rnnlens analyze runs/mine --corpus corpora/mine`\n"
    "4. open `runs/mine/report.html`\n\n"
    "`rnnlens COMMAND --help` lists the options of a command. To analyze a network trained elsewhere, use "
    "`rnnlens.from_torch` in Python.",
    help_format="markdown",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(converter=convert_strictly),
)

for title, commands in {
    "See it work": (demo, toy),
    "From reviews to an explanation": (prepare, train, analyze, probe, audit, info),
    "Show and share": (report, figures, export),
    "Beside people": (agree,),
    "Studies of many networks": (baselines, sweep, reproduce, validate),
}.items():
    group = Group.create_ordered(title)
    for place, command in enumerate(commands):
        app.command(checked(command), group=group, sort_key=place)
app["--help"].group = app["--version"].group = (Group.create_ordered("Options"),)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Exit codes: 0 success, 1 failure, 2 bad usage; an error is one line."""

    def command() -> None:
        try:
            app(arguments, exit_on_error=False, print_error=False, help_on_error=False)
            sys.stdout.flush()
        except CycloptsError as error:
            help_command = " ".join(("rnnlens", *(error.command_chain or ()), "--help"))
            raise UsageError(f"{' '.join(str(error).split())} (see `{help_command}`)") from error
        except BrokenPipeError:  # the reader of the output, such as `head`, closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    sys.exit(exit_code_of(command))
