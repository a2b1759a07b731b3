"""Figures as svg, pdf and png: drawn by kaleido in a local browser that fetches no script."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def offline_page() -> Any:
    """The page that kaleido draws in: plotly.js from the installed package. (By default kaleido adds MathJax, from a
    host on the net; our figures have no formulas.)"""
    import kaleido
    import plotly

    script = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    return kaleido.PageGenerator(plotly=script.as_uri(), mathjax=False)


def picture(figure: Figure, kind: str) -> bytes:
    """The bytes of a svg, pdf or png file."""
    import kaleido

    size = {"width": figure.layout.width or 900, "height": figure.layout.height or 480}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The kopts argument is ignored")  # by the shared browser
        return kaleido.calc_fig_sync(
            figure.to_dict(), opts={"format": kind, "scale": 2, **size}, kopts={"page_generator": offline_page()}
        )


@contextmanager
def shared_browser() -> Iterator[None]:
    """One browser for all pictures, if one can be started; if none can, the first picture says what is missing."""
    server = None
    with suppress(Exception):  # not installed, or without a browser: `write_figure` says which
        import kaleido

        kaleido.start_sync_server(silence_warnings=True, page_generator=offline_page())
        server = kaleido
    try:
        yield
    finally:
        if server is not None:
            server.stop_sync_server(silence_warnings=True)
