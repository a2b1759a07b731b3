"""Short sentences that a network which understands negation reads as people do. None of them is ever trained on.

`CHOOSING` may be used to choose settings. `JUDGED` and `litotes()` judge the networks that were chosen: they were
written down before the first training of the recipe. A sentence is right if its logit is on the given side; those of
`litotes()`, such as "The food was not awful.", need only be at least neutral (a probability of positive above 1/3),
and their counterparts, such as "The food was not great.", must be negative.
"""

from __future__ import annotations

from itertools import product

CHOOSING = {  # sentence → whether it is positive
    "not terrible": True,
    "not boring at all": True,
    "never dull": True,
    "wasn't bad": True,
    "isn't bad at all": True,
    "not a boring moment": True,
    "I was not bored": True,
    "it never gets dull": True,
    "you won't be disappointed": True,
    "I have no complaints": True,
    "without a doubt excellent": True,
    "there is nothing wrong with it": True,
    "it doesn't disappoint": True,
    "nobody could dislike this": True,
    "the acting is not bad": True,
    "not the worst": True,
    "not nice": False,
    "never funny": False,
    "wasn't tasty": False,
    "isn't fun at all": False,
    "not a good moment": False,
    "I was not happy": False,
    "it never gets better": False,
    "you won't enjoy it": False,
    "I have no good memories": False,
    "there is nothing good in it": False,
    "it doesn't work": False,
    "nobody could enjoy this": False,
    "the acting is not good": False,
    "hardly the best": False,
    "far from perfect": False,
    "I don't recommend it": False,
}

JUDGED = {
    "not bad": True,
    "never boring": True,
    "I was not disappointed": True,
    "not a bad film at all": True,
    "not good": False,
    "wasn't good": False,
    "never good": False,
    "hardly good": False,
}

PAPER = (  # from the most positive to the most negative
    "This movie is extremely awesome. I definitely like it.",
    "This movie is awesome. I like it.",
    "This movie is not awesome. I don't like it.",
)

SUBJECTS = (
    "The food", "The service", "The movie", "The book", "The hotel", "The music", "The acting", "The staff",
    "The camera", "The ending",
)  # fmt: skip
NEGATIONS = ("was not", "wasn't", "is not")
BAD = (
    "awful", "terrible", "horrible", "bad", "disappointing", "boring", "dull", "poor", "worthless", "unpleasant",
)  # fmt: skip
GOOD = (
    "great", "good", "excellent", "wonderful", "amazing", "enjoyable", "impressive", "pleasant", "interesting",
    "satisfying",
)  # fmt: skip


def litotes() -> list[str]:
    """300 sentences such as "The food was not awful."."""
    return [f"{subject} {negation} {word}." for subject, negation, word in product(SUBJECTS, NEGATIONS, BAD)]


def denials() -> list[str]:
    """300 sentences such as "The food was not great."."""
    return [f"{subject} {negation} {word}." for subject, negation, word in product(SUBJECTS, NEGATIONS, GOOD)]
