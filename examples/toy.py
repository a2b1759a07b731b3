"""How a network negates and emphasises, in library calls: the paper's Section 4 and Supplement A in one sitting.

python examples/toy.py [RUN]        # RUN: a run of `rnnlens toy`; without it, one is trained first (two minutes)
"""

import sys

import torch

import rnnlens
from rnnlens.context import after, effects, word_inputs
from rnnlens.experiments.toy import train_toy

# A network that has learnt: words count −2 … +2, `extremely` doubles the next one, `not` flips the next four.
run = rnnlens.load(sys.argv[1]) if len(sys.argv) > 1 else train_toy("runs/toy", resume=True)
network = run.network.requires_grad_(False)
for phrase in ("good", "extremely good", "not good", "not the the the good", "not the the the the good"):
    print(f"{phrase:28} reads {network.read(phrase)[-1][1]:+.2f}")

# Left alone, the state comes to rest on a line: slow points, one for every value of the running sum.
states = rnnlens.visited_states(network, rnnlens.toy_corpus(train=1, validation=500, seed=1).validation, n=2_000)
points = rnnlens.find_fixed_points(network, states, mode="slow")
line = rnnlens.fit_line_attractor(network, points)
print(f"\n{line}\nintegration eigenvalue {line.integration_eigenvalue.real:.4f}")

# Modifiers push the state off the line, and there the same words do something else.
words = ["awful", "bad", "good", "awesome"]
valence = word_inputs(network, words)
print(f"\n{'context':22}{'off the line':>13}  effects of {', '.join(words)}")
for context in ("", "extremely", "extremely the", "not", "not the the the", "not the the the the"):
    h = after(network, line.h_star, context.split())[-1]
    shown = " ".join(f"{x:+6.2f}" for x in effects(network, h, valence))
    print(f"{context or '(nothing)':22}{line.distance(h):13.2f}  {shown}")

# To first order that is J_inp at the deflected state: the expansion predicts the full update.
contexts = ("", "extremely", "not", "not the the the")
states = torch.stack([after(network, line.h_star, context.split())[-1] for context in contexts])
quality = rnnlens.linear_quality(network, states, valence)
print(f"\nlinear expansion: agreement {quality.agreement:.3f}, mean ratio {quality.ratio:.3f} (paper 0.918)")

# The deflection lives in a few linear modes: take them out of the state, and the modifier is gone.
slow = points.states[points.converged]
for context in ("extremely", "not the the the"):
    path = after(network, network.h0, context.split())
    h_star = slow[(slow - path[1]).norm(dim=1).argmin()]
    removal = rnnlens.mode_removal(network, path[-1], h_star, valence, kind="orthogonal", most=3)
    modes = removal.modes
    print(f"\n{context}: what is left of its effect")
    for k, unit in enumerate(removal.units, start=1):
        first = modes.units[unit][0]
        print(
            f"  without {k} mode{'s' if k > 1 else ' '} {removal.remaining[k]:5.2f}"
            f"   random modes {removal.random[:, k].median():5.2f}   rotated network "
            f"{removal.rotated[:, k].median():5.2f}   (λ {modes.eigenvalues[first]:.2f}, "
            f"τ {modes.timescales[first]:.1f} steps)"
        )
