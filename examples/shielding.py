# %% [markdown]
# # Radiation through a shield
#
# Particles enter a shield that is six mean free paths thick. After each flight a particle is absorbed, or it is scattered forward or backward. How many reach the other side? About one in a hundred, so a simulation of nature wastes most of its time. Shielding codes use tricks, and each trick is an arm here:
#
# - `nature`: as it happens.
# - `weights`: no particle is absorbed; its weight shrinks instead. At each collision the arm counts the chance that the next flight leaves the shield, without waiting for it. Russian roulette ends particles of little weight.
# - `stretched`: the same, and flights forward are longer than in nature, flights backward shorter. The weight pays for that. How much to stretch is the question.
#
# The cost of a draw is its number of flights.
#
# It takes 4 seconds.

# %%
import numpy as np
from scipy.linalg import expm

import croupier as cr

THICK, SCATTERED = 6.0, 0.5  # in mean free paths; the chance that a collision scatters


def nature(rng, size):
    place, direction = np.zeros(size), np.ones(size)
    values, flights, alive = np.zeros(size), np.zeros(size), np.arange(size)
    while alive.size:
        flights[alive] += 1
        place[alive] += direction[alive] * rng.exponential(1, alive.size)
        values[alive[place[alive] > THICK]] = 1.0
        inside = alive[(place[alive] > 0) & (place[alive] < THICK)]
        alive = inside[rng.random(inside.size) < SCATTERED]
        direction[alive] = rng.choice([-1.0, 1.0], alive.size)
    return cr.Draws(values, flights)


def stretched(stretch):
    """Flights with the rate 1 - stretch × direction instead of 1; stretch 0 changes nothing."""

    def draw(rng, size):
        place, direction, weight = np.zeros(size), np.ones(size), np.ones(size)
        values, flights, alive = np.full(size, np.exp(-THICK)), np.zeros(size), np.arange(size)
        while alive.size:
            flights[alive] += 1
            ahead = direction[alive]
            rate = 1 - stretch * ahead
            length = rng.exponential(1, alive.size) / rate
            inside = length < np.where(ahead > 0, THICK - place[alive], place[alive])
            alive, ahead, rate, length = (x[inside] for x in (alive, ahead, rate, length))
            place[alive] += ahead * length
            weight[alive] *= SCATTERED * np.exp((rate - 1) * length) / rate
            values[alive] += weight[alive] * np.exp(place[alive] - THICK) / 2
            # Russian roulette: one in two survives, with twice the weight.
            light = weight[alive] < np.exp(-(THICK - place[alive])) / 4
            survives = ~light | (rng.random(alive.size) < 0.5)
            weight[alive[light]] *= 2
            alive = alive[survives]
            direction[alive] = rng.choice([-1.0, 1.0], alive.size)
        return cr.Draws(values, flights)

    return draw


arms = {"nature": nature, "weights": stretched(0.0)}
arms |= {f"stretched {s}": stretched(s) for s in (0.2, 0.4, 0.6)}
result = cr.estimate(arms, cost=3_000_000, rng=7)
print(result)

# %% [markdown]
# ## The known answer
#
# The streams forward and backward obey two linear differential equations. With a matrix exponential they connect both sides of the shield. Nothing enters from behind, and that gives the part that gets through.

# %%
lost, turned = 1 - SCATTERED / 2, SCATTERED / 2
through = expm(THICK * np.array([[-lost, turned], [-turned, lost]]))
known = np.linalg.det(through) / through[1, 1]
away = abs(result.value - known) / result.stderr
print(f"known answer: {known:.6e} (matrix exponential); {away:.1f} standard errors away")

# %%
figure = result.plot()
figure.savefig("shielding.png")
figure
