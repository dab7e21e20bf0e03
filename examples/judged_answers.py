# %% [markdown]
# # How good is the model? Few human labels, many scores of a judge
#
# A language model has answered 20 000 questions. Another model, the judge, gives every answer a score from 0 to 1, which costs almost nothing. People can say whether an answer is right, but each label costs money, and there is money for 600 of them. What fraction of the answers is right?
#
# The scores of the judge are not to be trusted as they are: this judge is too friendly. But they sort the answers into **strata**. Within a stratum the labels are more alike than over all, and croupier sends people where they learn most: to the scores in the middle.
#
# The answers, scores and labels here are made up by a random generator, so that the right answer is known.
#
# It takes 3 seconds.

# %%
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import croupier as cr

rng = np.random.default_rng(2026)
ability = rng.normal(0.8, 1.5, 20_000)
right = rng.random(ability.size) < 1 / (1 + np.exp(-2.5 * ability))
score = 1 / (1 + np.exp(-(1.1 * ability + 0.8 + rng.normal(0, 0.8, ability.size))))

# %% [markdown]
# ## The strata
#
# A stratum is a range of scores. An arm asks a person to label an answer that is picked at random from its stratum. The weight of a stratum is its known part of all answers.

# %%
edges = np.array([0.0, 0.4, 0.6, 0.75, 0.9, 1.0])
stratum = np.digitize(score, edges[1:-1])


def people_label(answers):
    def draw(rng, size):
        return right[rng.choice(answers, size)]

    return draw


names = [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
members = [np.flatnonzero(stratum == k) for k in range(len(names))]
strata = {name: people_label(answers) for name, answers in zip(names, members, strict=True)}
weights = [answers.size / score.size for answers in members]
result = cr.stratify(strata, weights, draws=600, rng=7)
print(result)

# %% [markdown]
# ## The known answer
#
# All 20 000 labels are known here, so the right answer is their mean.

# %%
known = right.mean()
away = abs(result.value - known) / result.stderr
print(f"known answer: {known:.4f} (enumeration); {away:.1f} standard errors away")
simple = known * (1 - known) / 600
print(f"Labels without strata need {simple / result.stderr**2:.1f} times as many for this error.")
print(f"The mean score of the judge is {score.mean():.4f}.")

# %%
figure, (left, other) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
rows = [result.arms[name] for name in names]
left.bar(names, [row.mean for row in rows], yerr=[2 * (row.stderr or 0) for row in rows], capsize=3)
left.plot(
    names, [right[answers].mean() for answers in members], "k_", markersize=18, label="all labels"
)
left.set(xlabel="score of the judge", ylabel="fraction that is right")
left.legend(frameon=False)
other.bar(names, [row.draws for row in rows], label="labels that croupier asked for")
other.plot(
    names, 600 * np.array(weights), "k_", markersize=18, label="in proportion to the answers"
)
other.set(xlabel="score of the judge", ylabel="labels", ylim=(0, 320))
other.legend(frameon=False)
for axes in (left, other):
    axes.tick_params(axis="x", labelrotation=25)
figure.savefig("judged_answers.png")
