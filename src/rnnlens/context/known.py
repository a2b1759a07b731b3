"""Well-known English modifiers and neutral words, which claims and figures use if they are in the vocabulary."""

NEGATORS = ("not", "never", "no", "don't", "didn't", "isn't", "hardly")
INTENSIFIERS = ("very", "extremely", "absolutely", "definitely", "really", "highly")
NEUTRAL = ("the", "a", "of", "movie")
KNOWN = (*NEGATORS, *INTENSIFIERS, *NEUTRAL)
FEW = ("not", "never", "hardly", "very", "extremely", "definitely")  # for figures with little room
