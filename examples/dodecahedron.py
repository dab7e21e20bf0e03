# %% [markdown]
# # Will the network hold?
#
# The dodecahedron is the standard network of the reliability literature: 20 nodes, 30 links. Each link fails with a probability of 1 %, independently of the others. How likely is it that two opposite nodes lose their connection? The answer is about two in a million.
#
# Mostly the connection is lost because all three links of one of the two nodes fail. So there are three proposals: more failures at the first node, more failures at the second, and more failures everywhere. Their mixture weights every draw by all three densities.
#
# It takes 4 seconds.

# %%
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np

from croupier.importance import Family

FAILS = 0.01

# The corners of a dodecahedron: (±1, ±1, ±1) and the cyclic shifts of (0, ±1/φ, ±φ).
golden = (1 + np.sqrt(5)) / 2
cube = [(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]
planes = [
    np.roll((0, i / golden, j * golden), s) for s in range(3) for i in (-1, 1) for j in (-1, 1)
]
corners = np.array([*cube, *planes])
links = [
    (a, b)
    for a, b in combinations(range(20), 2)
    if np.isclose(np.linalg.norm(corners[a] - corners[b]), 2 / golden)
]
source, target = 0, 7  # opposite corners of the cube
# From the source to the target, layer by layer: the enumeration below is then short.
layer = corners @ corners[target]
links.sort(key=lambda link: sorted(layer[list(link)], reverse=True))
assert len(links) == 30
assert np.allclose(corners[source], -corners[target])


def cut(down):
    """Whether the two nodes are apart; `down` is (n, 30), 1 for a link that failed."""
    reached = np.zeros((len(down), 20), bool)
    reached[:, source] = True
    while True:
        before = reached.sum()
        for link, (a, b) in enumerate(links):
            joined = (reached[:, a] | reached[:, b]) & (down[:, link] == 0)
            reached[:, a] |= joined
            reached[:, b] |= joined
        if reached.sum() == before:
            return ~reached[:, target]


# %% [markdown]
# ## The proposals
#
# A proposal is a pair of functions: one draws points, the other returns the log of their probability.

# %%


def links_fail(probability):
    def sample(rng, size):
        return (rng.random((size, 30)) < probability).astype(float)

    def log_probability(down):
        return down @ np.log(probability) + (1 - down) @ np.log1p(-probability)

    return sample, log_probability


def around(node):
    """Most failures at the links of the node, some at the links of its neighbours."""
    near = {node}.union(*(link for link in links if node in link))
    return np.array([0.8 if node in link else 0.1 if near & {*link} else FAILS for link in links])


proposals = {
    "at the source": links_fail(around(source)),
    "at the target": links_fail(around(target)),
    "everywhere": links_fail(np.full(30, 0.25)),
}
model = links_fail(np.full(30, FAILS))
family = Family(model[1], proposals, cut, normalised=True)
result = family.estimate(draws=30_000, proportions="equal", rng=7)
print(result)

# %% [markdown]
# ## The known answer
#
# There are 2³⁰ states of the links, but few states matter: add one link after the other, and remember only how the nodes that still have open links are connected. This sums over all states exactly.

# %%


def unreliability(q):
    last = {node: max(i for i, link in enumerate(links) if node in link) for node in range(20)}
    states = {(): 1.0}  # the groups of nodes that are open -> probability
    lost = 0.0
    for i, (a, b) in enumerate(links):
        following = {}
        for groups, chance in states.items():
            parts = [set(group) for group in groups]
            for node in (a, b):
                if not any(node in part for part in parts):
                    parts.append({node})
            for joined, p in ((False, q), (True, 1 - q)):
                new = [set(part) for part in parts]
                if joined:
                    whole = set().union(*(part for part in new if part & {a, b}))
                    new = [part for part in new if not part & {a, b}] + [whole]
                if any({source, target} <= part for part in new):
                    continue  # connected, whatever the other links do
                # A node without open links is forgotten, unless it is one of the two.
                closed = {n for n in (a, b) if last[n] == i and n not in (source, target)}
                new = [part - closed for part in new]
                ends = [part for part in new if part & {source, target}]
                alive = all(any(last[n] > i for n in part) for part in ends)
                if not alive:
                    lost += chance * p
                    continue
                key = tuple(sorted(tuple(sorted(part)) for part in new if part))
                following[key] = following.get(key, 0.0) + chance * p
        states = following
    return lost + sum(states.values())


known = unreliability(FAILS)
away = abs(result.value - known) / result.stderr
print(f"known answer: {known:.6e} (enumeration); {away:.1f} standard errors away")

# %%
middle = corners @ np.linalg.qr(np.column_stack([corners[target], [1, 0, 0.4], [0, 1, 0]]))[0]
flat = middle[:, :2] / (4 - middle[:, 2:])
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for a, b in links:
    left.plot(*flat[[a, b]].T, color="#999999", linewidth=1.2, zorder=1)
left.scatter(*flat.T, s=40, color="#56B4E9", zorder=2)
left.scatter(*flat[[source, target]].T, s=110, color="#D55E00", zorder=3)
left.set_aspect("equal")
left.axis("off")
left.set_title("Are the two large nodes connected?")
chances = np.geomspace(1e-3, 0.2, 12)
right.loglog(chances, [unreliability(q) for q in chances], color="black", label="enumeration")
right.errorbar(FAILS, result.value, 2 * result.stderr, fmt="o", color="#0072B2", label="croupier")
right.set(xlabel="chance that a link fails", ylabel="chance that the connection is lost")
right.legend(frameon=False)
figure.savefig("dodecahedron.png")
