"""The command line: parse, call, print. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import os
import sys

from cyclopts import App, CycloptsError, Group, Parameter

from rnnlens.cli.analysis import analyze, demo, toy
from rnnlens.cli.auditing import audit
from rnnlens.cli.flags import checked, whole_numbers_whole
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
    "Start with `rnnlens demo`: it takes a packaged network apart, within a minute and without a download, and writes "
    "a page to open in a browser. Then your own reviews:\n\n"
    "1. `rnnlens prepare reviews.csv --out corpora/mine`\n"
    "2. `rnnlens train corpora/mine --out runs/mine`\n"
    "3. `rnnlens analyze runs/mine --corpus corpora/mine`\n"
    "4. open `runs/mine/report.html`\n\n"
    "`rnnlens COMMAND --help` says what a command takes. A network trained elsewhere comes in through Python: "
    "`rnnlens.from_torch`.",
    help_format="markdown",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(converter=whole_numbers_whole),
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
    """Run the command line: exit code 0 fine, 1 failed, 2 bad usage; errors are one line."""

    def command() -> None:
        try:
            app(arguments, exit_on_error=False, print_error=False, help_on_error=False)
            sys.stdout.flush()
        except CycloptsError as error:
            asked = " ".join(("rnnlens", *(error.command_chain or ()), "--help"))
            raise UsageError(f"{' '.join(str(error).split())} (see `{asked}`)") from error
        except BrokenPipeError:  # who reads this, such as `head`, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    sys.exit(exit_code_of(command))
