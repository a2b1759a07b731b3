"""The files of figures: html by Plotly; svg, pdf and png by kaleido in a local browser, without network requests."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from rnnlens.common.replacing import FIGURE_MARKS

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PNG_HEADER = 8 + 4 + 4 + 13 + 4  # bytes: signature; length, type, content and checksum of the first chunk


def offline_page() -> Any:
    """The page in which kaleido draws, with plotly.js from the installed package and without MathJax. (By default
    kaleido loads MathJax from the network; these figures have no formulas.)"""
    import kaleido
    import plotly

    script = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    return kaleido.PageGenerator(plotly=script.as_uri(), mathjax=False)


def offline_browser() -> Any:
    """The browser that kaleido starts, but one that finds no host: by itself it asks for updates, accounts and a start
    page."""
    from choreographer.browsers.chromium import Chromium

    class Offline(Chromium):
        def get_cli(self) -> list[str]:
            return [*super().get_cli(), "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"]

    return Offline


def offline() -> dict[str, Any]:
    """Options of kaleido with which nothing is asked of the network."""
    return {"page_generator": offline_page(), "browser_cls": offline_browser()}


def picture(figure: Figure, kind: str) -> bytes:
    """The bytes of a svg, pdf or png file."""
    import kaleido

    size = {"width": figure.layout.width or 900, "height": figure.layout.height or 480}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The kopts argument is ignored")  # when a shared browser runs
        return kaleido.calc_fig_sync(figure.to_dict(), opts={"format": kind, "scale": 2, **size}, kopts=offline())


def html(figure: Figure) -> bytes:
    """The bytes of a self-contained html file."""
    return str(figure.to_html(include_plotlyjs=True, div_id="figure")).encode()


def marked(data: bytes, kind: str) -> bytes:
    """The bytes of a figure's file with the mark by which `replacing` knows that rnnlens wrote it, where the format has
    a place for it: in the head of html, after the drawing of svg, before the last lines of pdf (byte offsets in a pdf
    point only to what comes before), after the header of png."""
    mark = FIGURE_MARKS[kind]
    if kind == "png":
        chunk = (len(mark) - 4).to_bytes(4, "big") + mark + crc32(mark).to_bytes(4, "big")
        return data[:PNG_HEADER] + chunk + data[PNG_HEADER:]
    if kind == "svg":
        return data + mark
    before, place, after = data.rpartition(b"startxref") if kind == "pdf" else data.partition(b"</head>")
    return before + mark + place + after if place else data + mark


@contextmanager
def shared_browser() -> Iterator[None]:
    """Use one browser for all pictures. If it cannot start, the first call of `write_figure` raises the error."""
    server = None
    with suppress(Exception):  # kaleido or a browser is missing
        import kaleido

        kaleido.start_sync_server(silence_warnings=True, **offline())
        server = kaleido
    try:
        yield
    finally:
        if server is not None:
            server.stop_sync_server(silence_warnings=True)
