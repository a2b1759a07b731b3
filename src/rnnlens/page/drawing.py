"""A Plotly figure as the page wants it: what stands above the panels as text of the page, the rest as data."""

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
# Their names are placed for a width, and would cover each other in a narrower figure: on a phone these scroll.
PLACED = ("modifiers", "modifiers_norm", "subspace", "toy_state_space", "toy_spectra", "toy_mode_angles")


@dataclass(frozen=True)
class Drawing:
    """name: unique in the page. title, subtitle: safe markup. height: in pixels. data: for Plotly, without its
    template. placed: whether it must not become narrow."""

    name: str
    title: Markup
    subtitle: Markup
    height: int
    data: dict[str, Any]

    @property
    def placed(self) -> bool:
        return self.name in PLACED


def drawing(name: str, figure: Figure) -> Drawing:
    """Take title and subtitle out of a figure, and the room they took."""
    data = json.loads(figure.to_json())
    layout = data["layout"]
    told = layout.pop("meta", None) or {"title": "", "subtitle": "", "top": 60}
    for key in ("title", "template"):
        layout.pop(key, None)
    margin = layout.setdefault("margin", {})
    margin["t"] = max(ROOM, margin.get("t", 60) - told["top"] + ROOM)
    height = layout.pop("height", None) or 480
    height += ROOM - told["top"]
    return Drawing(name, page_markup(told["title"]), page_markup(told["subtitle"]), height, data)


def template() -> dict[str, Any]:
    """The template that all figures share."""
    import plotly.io

    return plotly.io.templates["plotly_white"].to_plotly_json()


def page_markup(text: str) -> Markup:
    """Plotly's markup as HTML: the few tags that figures use stay, all else is text."""
    parts = re.split(r"(</?(?:sub|sup|b|i)>|<br>)", text)
    kept = [(" " if part == "<br>" else part) if k % 2 else escape(unescape(part)) for k, part in enumerate(parts)]
    return Markup("".join(kept))
