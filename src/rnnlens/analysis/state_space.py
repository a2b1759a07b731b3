"""The data of Fig. 1a: state space in principal components of the visited states."""

from __future__ import annotations

from typing import Any

import torch

from rnnlens.analysis.locate import Location
from rnnlens.dynamics.view import principal_view


def state_space(location: Location, reviews: dict[str, list[tuple[str, float]]]) -> dict[str, Any]:
    """The line, slow points, visited states, the initial state and the paths of the probe reviews."""
    network, points, line = location.network, location.points, location.line
    states = location.states.to(line.h_star)
    view = principal_view(states, line.knots[-1] - line.knots[0])
    paths = {}
    for name, words in reviews.items():
        shown, ids, last = network.word_ids([word for word, _ in words])
        path = network.states(ids.unsqueeze(0))[0]
        path = torch.cat([path[:1], path[1:][last]])
        paths[name] = {"words": shown, "path": view(path), "logits": network.logit(path).tolist()}
    slow = points.states[points.converged] if bool(points.converged.any()) else points.states
    some = slow[torch.linspace(0, len(slow) - 1, min(300, len(slow))).long()]
    visited = states[torch.linspace(0, len(states) - 1, min(300, len(states))).long()]
    return {
        "variance": view.variance,
        "line": {"path": view(line.knots), "logits": line.logits.tolist()},
        "slow_points": {"at": view(some), "logits": network.logit(some).tolist()},
        "visited": {"at": view(visited), "logits": network.logit(visited).tolist()},
        "h0": view(network.h0.detach()),
        "h_star": view(line.h_star),
        "reviews": paths,
    }
