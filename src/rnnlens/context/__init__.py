"""How a network uses context: the effects of words at a state, and how modifiers change them."""

from rnnlens.context.attribution import Attribution, attribute
from rnnlens.context.barcodes import Barcode, barcode, component_barcodes, state_barcode
from rnnlens.context.bilinear import Bilinear, fit_bilinear
from rnnlens.context.blank import BlankInput, blank_input
from rnnlens.context.class_probes import ClassProbes
from rnnlens.context.class_strength import class_strengths
from rnnlens.context.class_table import ClassStrengths
from rnnlens.context.decay import fit_exponential
from rnnlens.context.dose_response import Dose, Steering, dose_response
from rnnlens.context.edges import Beginning, Ending, beginning, ending
from rnnlens.context.effective_attention import EffectiveAttention, effective_attention
from rnnlens.context.effects import after, effects, linear_effects, word_inputs
from rnnlens.context.finding import find_modifiers
from rnnlens.context.impulse import Impulse, Timescales, impulse, timescales
from rnnlens.context.linear_quality import LinearQuality, linear_quality
from rnnlens.context.mode_removal import ModeRemoval, mode_removal
from rnnlens.context.modifiers import Modifiers
from rnnlens.context.negation import negation_form
from rnnlens.context.perturbation import Difference, Perturbations, Reviews, compare_logits, final_logits, perturb
from rnnlens.context.probe_reviews import probe_phrases, probe_reviews
from rnnlens.context.probes import Probes
from rnnlens.context.subspace import Subspace, fit_subspace, project_out, steer

__all__ = [
    "Attribution", "Barcode", "Beginning", "Bilinear", "BlankInput", "ClassProbes", "ClassStrengths",
    "Difference", "Dose", "EffectiveAttention", "Ending", "Impulse", "LinearQuality", "ModeRemoval",
    "Modifiers", "Perturbations", "Probes", "Reviews", "Steering", "Subspace", "Timescales", "after",
    "attribute", "barcode", "beginning", "blank_input", "class_strengths", "compare_logits",
    "component_barcodes", "dose_response", "effective_attention", "effects", "ending", "final_logits",
    "find_modifiers", "fit_bilinear", "fit_exponential", "fit_subspace", "impulse", "linear_effects",
    "linear_quality", "mode_removal", "negation_form", "perturb", "probe_phrases", "probe_reviews",
    "project_out", "state_barcode", "steer", "timescales", "word_inputs",
]  # fmt: skip
