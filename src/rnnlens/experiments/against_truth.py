"""One network, or several together, against the truth of their language: everything that `validate` tells of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rnnlens.context.documents import Borne, in_documents
from rnnlens.context.modifiers import kind_of
from rnnlens.context.scope import falls_to, fitted
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.truth import Truth
from rnnlens.experiments.alternatives import alternatives, mean_valence, recommended
from rnnlens.experiments.scoring import LEARNABLE, above, agreement, kinds, nearer, reaches, score_words


def scored(
    corpus: Corpus, truth: Truth, measured: list[dict[str, Any]], data: dict[str, np.ndarray], valences: np.ndarray,
    alone: np.ndarray,
) -> dict[str, Any]:  # fmt: skip
    """One network, or the mean of several, against the truth; valences (W,): a sparse regression's; alone (M,): the
    score by documents without networks."""

    def mean(name: str) -> np.ndarray:
        return np.mean([one[name] for one in measured], 0)

    ids, reaching = measured[0]["ids"], measured[0]["reaching"]
    assert corpus.vocab.counts is not None
    counts = corpus.vocab.counts[ids]
    strengths, lasting = (np.stack([one[name] for one in measured]) for name in ("strength", "lasting"))
    sizes = {name: mean(name) for name in ("norm_fixed", "norm_nearest", "interaction", "score")}
    sizes |= {"sure": recommended(strengths, lasting, counts), **alternatives(strengths, lasting, counts)}
    usual = float(fitted(torch.from_numpy(mean("usual"))))
    borne = in_documents(corpus, ids, usual, mean_valence(lasting), sizes["sure"], valences)
    sizes["documents"] = borne.score
    strength, share, positive, negative = mean("strength"), mean("share"), mean("positive"), mean("negative")
    kind = [kind_of(*row) for row in zip(share.tolist(), positive.tolist(), negative.tolist(), strict=True)]
    reach = torch.from_numpy(mean("reach"))

    def of_words(tau: np.ndarray) -> np.ndarray:
        found = np.full(len(corpus.vocab), np.nan)
        found[reaching] = tau
        return found[ids]

    taus = {
        "reach": of_words(falls_to(reach).numpy()), "reach_usual": of_words(np.full(len(reaching), usual)),
        "reach_over_pads": of_words(falls_to(torch.from_numpy(mean("reach_over_pads"))).numpy()),
        "documents": of_words(borne.reaches(reaching, fitted(reach).numpy())),
    }  # fmt: skip
    found = score_words(truth, ids, counts, {**sizes, **data}, strength, kind, taus["reach"])
    positives = np.isin(ids, truth.modifiers)
    rows, factors = np.flatnonzero(positives), positives & (truth.shift[ids] == 0)
    found["barcode"] = agreement(share[factors], truth.share[ids[factors]], counts[factors])
    for name in ("reach_usual", "reach_over_pads"):
        found[name] = reaches(taus[name][rows], truth.tau[ids[rows]], counts[rows])
    ranks = {name: np.argsort(np.argsort(-np.abs(sizes[name]), kind="stable"), kind="stable") + 1
             for name in ("sure", "documents")}  # fmt: skip
    return {
        **found,
        "documents": {
            **_borne_out(truth, borne, counts, taus["documents"]),
            **{f"above_{name}": above(sizes["documents"], other, positives)
               for name, other in {"norm": sizes["norm_fixed"], "sure": sizes["sure"], "alone": alone}.items()},
            "reach_above_usual": nearer(
                taus["documents"][rows], taus["reach_usual"][rows], truth.tau[ids[rows]], counts[rows]
            ),
        },
        "edges": {part: _edge(mean(part), truth.edge) for part in ("beginning", "ending")},
        "found": {
            "kind": [truth.kinds[i] for i in ids[rows]], "called": [kind[i] for i in rows],
            "count": counts[rows].tolist(), "rank": ranks["sure"][rows].tolist(),
            "rank_in_documents": ranks["documents"][rows].tolist(),
            "share": truth.share[ids[rows]].tolist(), "found_share": strength[rows].tolist(),
            "share_in_documents": borne.strength[rows].tolist(),
            "tau": truth.tau[ids[rows]].tolist(), "found_tau": taus["reach"][rows].tolist(),
            "tau_in_documents": taus["documents"][rows].tolist(),
        },
    }  # fmt: skip


def _borne_out(truth: Truth, borne: Borne, counts: np.ndarray, tau: np.ndarray) -> dict[str, Any]:
    """What documents bear out of the networks' findings, against the truth."""
    ids, strength = borne.ids, borne.strength
    positive = np.isin(ids, truth.modifiers)
    factors = positive & (truth.shift[ids] == 0)
    called = [kind_of(s, s, -s) for s in strength[factors].tolist()]
    return {
        "share": borne.share, "fade": borne.fade,
        "strength": agreement(strength[factors], truth.share[ids[factors]], counts[factors]),
        "kinds": kinds(called, [truth.kinds[i] for i in ids[factors]], counts[factors] >= LEARNABLE),
        "reach": reaches(tau[positive], truth.tau[ids[positive]], counts[positive]),
    }  # fmt: skip


def _edge(gain: np.ndarray, edge: np.ndarray) -> dict[str, Any]:
    """The gain of words at an edge against the truth's weights."""
    true = np.append(edge, np.ones(max(0, len(gain) - len(edge))))[: len(gain)]
    return {
        "gain": gain.tolist(), "true": true.tolist(), "error": float(np.abs(gain - true).mean()),
        "correlation": float(np.corrcoef(gain, true)[0, 1]),
    }  # fmt: skip
