"""A Plotly figure for the page: title and subtitle as HTML, the rest as data."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import escape, unescape
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

ROOM = 14  # pixels above the panels, where the title was


@dataclass(frozen=True)
class Drawing:
    """A figure of the page.

    name: unique in the page. title, subtitle: safe markup. height: in pixels. data: for Plotly, without its template.
    """

    name: str
    title: Markup
    subtitle: Markup
    height: int
    data: dict[str, Any]

    @property
    def turns(self) -> bool:
        """Whether it has three dimensions; on a phone it does not turn, so that the page can be scrolled."""
        return "scene" in self.data["layout"]


def drawing(name: str, figure: Figure) -> Drawing:
    """Move title and subtitle out of a figure and remove their space from its margin."""
    data = json.loads(figure.to_json())
    layout = data["layout"]
    heading = layout.pop("meta", None) or {"title": "", "subtitle": "", "top": 60}
    for key in ("title", "template"):
        layout.pop(key, None)
    margin = layout.setdefault("margin", {})
    margin["t"] = max(ROOM, margin.get("t", 60) - heading["top"] + ROOM)
    height = layout.pop("height", None) or 480
    height += ROOM - heading["top"]
    return Drawing(name, page_markup(heading["title"]), page_markup(heading["subtitle"]), height, data)


def template() -> dict[str, Any]:
    """The template that all figures share."""
    import plotly.io

    return plotly.io.templates["plotly_white"].to_plotly_json()


def page_markup(text: str) -> Markup:
    """Plotly's markup as HTML: the few tags that figures use are kept, everything else is escaped."""
    parts = re.split(r"(</?(?:sub|sup|b|i)>|<br>)", text)
    kept = [(" " if part == "<br>" else part) if k % 2 else escape(unescape(part)) for k, part in enumerate(parts)]
    return Markup("".join(kept))
