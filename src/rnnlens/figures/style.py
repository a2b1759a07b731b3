"""The look that all figures share, and how to save one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rnnlens.artifacts import atomic_file
from rnnlens.errors import RnnlensError, quoted

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# The paper's colours: grey for plain words, blue for intensifiers, orange for negators; then others that the
# colour-blind can tell apart (Okabe and Ito).
GREY, BLUE, ORANGE = "#718096", "#2b6cb0", "#c05621"
COLOURS = (GREY, BLUE, ORANGE, "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid", "dash")
SYMBOLS = ("circle", "triangle-up", "triangle-down", "square", "diamond", "x", "cross", "star")


def styled(figure: Figure, title: str, x: str, y: str) -> Figure:
    """Title, axis names and a quiet background."""
    figure.update_layout(
        template="plotly_white", title={"text": title, "x": 0.02}, xaxis_title=x, yaxis_title=y,
        font={"family": "Helvetica, Arial, sans-serif", "size": 14}, margin={"l": 60, "r": 20, "t": 60, "b": 50},
        legend={"orientation": "h", "y": -0.2}, hovermode="closest",
    )  # fmt: skip
    return figure


def write_figure(figure: Figure, path: Path | str) -> Path:
    """Save a figure by its suffix: .html stands alone; .svg, .pdf and .png need the extra `rnnlens[images]`."""
    path = Path(path)
    kind = path.suffix.lower().lstrip(".")
    if kind not in ("html", "svg", "pdf", "png"):
        raise RnnlensError(
            f"cannot save a figure as {quoted(str(path))}: expected a name ending in html, svg, pdf or png"
        )
    with atomic_file(path) as temporary:
        if kind == "html":
            figure.write_html(temporary, include_plotlyjs=True)
        else:
            try:
                temporary.write_bytes(figure.to_image(format=kind, width=900, height=480, scale=2))
            except (ValueError, RuntimeError) as error:
                raise RnnlensError(
                    f"cannot draw {quoted(str(path))}: {str(error).strip().splitlines()[0]:.160} "
                    "(pictures need `pip install rnnlens[images]` and a Chrome or Chromium; .html needs neither)"
                ) from error
    return path
