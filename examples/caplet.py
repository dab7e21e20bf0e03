# %% [markdown]
# # The caplet of the paper
#
# Neufeld, György, Schuurmans and Szepesvári (2014) price a caplet on an interest rate that follows Cox, Ingersoll and Ross. Their 16 arms are importance samplers: each draws the Brownian motion with another drift θ. Which drift is best depends on the strike. Here the arms share 200 000 draws, once as the paper uses them, and once as a **mixture** that weights all draws by all densities.
#
# It takes 12 seconds, and most of them compile the paths. It needs numba: `pip install ".[compiled]"`.

# %%
import matplotlib.pyplot as plt
import numpy as np

import croupier as cr
from croupier.paper import Caplet

caplet = Caplet(strike=0.08)
result = cr.estimate(caplet.arms(), draws=200_000, rng=7)
print(result)

# %%
mixture = caplet.family().estimate(draws=200_000, rng=7)
gain = (result.stderr / mixture.stderr) ** 2
print(f"The mixture: {mixture.value:.6f} ± {mixture.stderr:.6f}, worth {gain:.1f} times the draws.")

# %% [markdown]
# ## The known answer
#
# The price of the Euler chain, and the variance of every arm, follow from numerical integration over the rate, step by step.

# %%
exact = caplet.exact()
for name, run in (("arms", result), ("mixture", mixture)):
    away = abs(run.value - exact.price) / run.stderr
    print(f"known answer: {exact.price:.6f} (quadrature); {away:.1f} standard errors away ({name})")

# %%
thetas = np.arange(16) / 10
variances = np.array([row.variance for row in sorted(result.arms, key=lambda row: row.name)])
order = np.argsort([f"theta={theta:g}" for theta in thetas])
draws = np.array([result.arms[f"theta={theta:g}"].draws for theta in thetas])

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(thetas, exact.variances, color="black", linewidth=1, label="exact")
left.plot(thetas[order], variances, "o", color="#0072B2", label="found by the run")
left.set(xlabel="drift θ", ylabel="variance of a draw", yscale="log")
left.legend(frameon=False)
right.bar(thetas, draws / draws.sum(), width=0.08, color="#0072B2")
right.set(xlabel="drift θ", ylabel="share of the draws")
figure.savefig("caplet.png")
