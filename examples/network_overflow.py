# %% [markdown]
# # Two routers that fill up
#
# Packets arrive at a first router, which sends them to a second one. Each router sends packets more than four times as fast as they arrive. How likely is it that 15 packets are in the system at once, before it is empty again? The answer is less than one in a hundred million. Nobody knows a good change of the rates for such a network: the one that is best for a single queue fails here.
#
# `cr.splitting` needs the simulation alone: one step, the start, and how many packets there are. Paths that stay low are replaced by copies of paths that came higher. A draw is one replication of 400 paths, and it costs as many steps as it has simulated.
#
# It takes 4 seconds.

# %%
import matplotlib.pyplot as plt
import numpy as np

import croupier as cr

ARRIVAL, FIRST, SECOND, FULL = 0.1, 0.45, 0.45, 15  # the rates sum to 1


def step(rng, packets):
    """The next event of n systems: an arrival, or a packet that leaves a router. (n, 2)."""
    u = rng.random(len(packets))
    arrives = u < ARRIVAL
    moves = ~arrives & (u < ARRIVAL + FIRST) & (packets[:, 0] > 0)
    leaves = (u >= ARRIVAL + FIRST) & (packets[:, 1] > 0)
    return packets + np.column_stack((arrives * 1 - moves, moves * 1 - leaves))


def start(rng, n):
    return np.tile([1, 0], (n, 1))


def level(packets):
    """How many packets there are; -inf says that the system is empty, so this path has ended."""
    total = packets.sum(axis=1)
    return np.where(total == 0, -np.inf, total)


# %% [markdown]
# ## The run
#
# The budget is a number of steps. The 95 % interval reaches farther up than down, because a replication is a product of many fractions, and products are skewed.

# %%
overflow = cr.splitting(step, start, level, target=FULL)
result = cr.estimate([overflow], cost=4_000_000, keep_values=True, rng=7)
print(result)
low, high = result.interval
plain = result.value / result.stderr**2
print(f"{low:.2e} to {high:.2e}; plain paths for the same error: {plain:.0e}")

# %% [markdown]
# ## The known answer
#
# The probability h solves h = P h on the states with 1 to 14 packets: 119 linear equations.

# %%
states = [(a, b) for a in range(FULL) for b in range(FULL - a) if a + b]
number = {state: k for k, state in enumerate(states)}
equations, right = np.eye(len(states)), np.zeros(len(states))
for (a, b), k in number.items():
    idle = FIRST * (a == 0) + SECOND * (b == 0)
    after = {(a + 1, b): ARRIVAL, (a - 1, b + 1): FIRST * (a > 0), (a, b - 1): SECOND * (b > 0)}
    equations[k, k] -= idle
    for state, chance in after.items():
        if state in number:
            equations[k, number[state]] -= chance
        elif sum(state) == FULL:
            right[k] += chance
known = np.linalg.solve(equations, right)[number[1, 0]]
away = abs(result.value - known) / result.stderr
print(f"known answer: {known:.6e} (linear equations); {away:.1f} standard errors away")

# %%
figure, axes = plt.subplots(figsize=(7.6, 3.4), layout="constrained")
values = np.sort(result.arms["splitting"].values)
axes.semilogx(values, np.arange(1, len(values) + 1), "o", color="#999999", label="replications")
axes.axvspan(low, high, color="#0072B2", alpha=0.25, label="95 % interval of their mean")
axes.axvline(known, color="#D55E00", label="known answer")
axes.set(xlabel="probability of an overflow", ylabel="replications below")
axes.set_title("One replication is rough, their mean is not")
axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
figure.savefig("network_overflow.png")
