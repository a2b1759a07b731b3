"""Which words modify others in your reviews, how strongly and for how long, in twelve lines.

python examples/baselines.py reviews.csv        # columns text and label; a few minutes for IMDB's 25,000
"""

import sys

import polars
from sklearn.model_selection import train_test_split

from rnnlens.baselines import ModifierConvolution

reviews = polars.read_csv(sys.argv[1])
train, test = train_test_split(reviews, test_size=0.1, random_state=0)
model = ModifierConvolution(modifiers="learn").fit(train["text"], train["label"])
print(f"{100 * model.score(test['text'], test['label']):.1f} % of {len(test)} held-out reviews")
for row in model.modifiers_.filter(polars.col("word").is_in(["not", "never", "very"])).iter_rows(named=True):
    print(f"{row['word']:8} strength {row['strength']:+.2f}, fades over {row['tau']:.1f} words")
print(model.modifiers_.head(20))
print(model.explain("not a very good film, and never good"))
