# %% [markdown]
# # A queue that overflows
#
# Customers arrive at a counter at the rate λ and are served at the rate μ > λ (an M/M/1 queue). How likely is it that the queue reaches 25 customers before it is empty again, if it starts with one? The answer is about three in a hundred million, so a plain simulation never sees it.
#
# Importance sampling simulates with other rates. Which? Theory says: exchange λ and μ. croupier does not know that. It gets six choices, plain simulation among them, and finds out. A draw costs as many steps as its queue took.
#
# It takes 4 seconds.

# %%
import warnings

import numpy as np

import croupier as cr

ARRIVAL, SERVICE, FULL = 1.0, 2.0, 25
UP = ARRIVAL / (ARRIVAL + SERVICE)  # the chance that the next event is an arrival


def with_chance(up):
    """An arm: simulate with the chance `up` of an arrival, and weight by the likelihood ratio."""

    def draw(rng, size):
        length, log_weight, steps = np.ones(size, int), np.zeros(size), np.zeros(size)
        busy = np.arange(size)
        while busy.size:
            arrives = rng.random(busy.size) < up
            length[busy] += np.where(arrives, 1, -1)
            log_weight[busy] += np.where(arrives, np.log(UP / up), np.log((1 - UP) / (1 - up)))
            steps[busy] += 1
            busy = busy[(length[busy] > 0) & (length[busy] < FULL)]
        return cr.Draws(np.where(length == FULL, np.exp(log_weight), 0.0), steps)

    return draw


chances = (UP, 0.55, 0.6, 1 - UP, 0.72, 0.8)
arms = {f"up {chance:.2f}": with_chance(chance) for chance in chances}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", cr.CroupierWarning)  # the table shows them
    result = cr.estimate(arms, cost=3_000_000, rng=7)
print(result)

# %% [markdown]
# The table warns about the plain arm. It has never seen an overflow, so its draws do not vary. That does not make it a good arm, and croupier gives it little weight.

# %% [markdown]
# ## The known answer
#
# The length of the queue is a random walk, and the gambler's ruin has a closed form.

# %%
ratio = SERVICE / ARRIVAL
known = (ratio - 1) / (ratio**FULL - 1)
away = abs(result.value - known) / result.stderr
print(f"known answer: {known:.6e} (closed form); {away:.1f} standard errors away")

# %%
figure = result.plot()
figure.savefig("queue_overflow.png")
figure
