# %% [markdown]
# # Gaussian shells
#
# Two thin rings hold nearly all of the likelihood, and nothing connects them. This is the standard test for samplers of the evidence (Feroz and Hobson 2008). The prior is uniform on the square from -6 to 6.
#
# It takes 6 seconds.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy import stats
from scipy.integrate import quad

import croupier as cr

RADIUS, WIDTH = 2.0, 0.1
CENTRES = np.array([[-3.5, 0.0], [3.5, 0.0]])


def log_likelihood(theta):  # (chains, 2)
    distance = np.linalg.norm(theta[:, None, :] - CENTRES, axis=2)
    return np.logaddexp(*stats.norm.logpdf(distance, RADIUS, WIDTH).T)


prior = [stats.uniform(-6, 12)] * 2
result = cr.evidence(log_likelihood, prior, seconds=20, rtol=0.02, rng=7)
print(result)

# %% [markdown]
# ## The known answer
#
# A ring has the integral of 2π r times a normal density of r, so the evidence is one integral over r, twice, divided by the area of the square. Both rings lie inside the square: the outermost point is five widths from the edge, and what lies beyond is below one part in a million.

# %%
ring = quad(lambda r: 2 * np.pi * r * stats.norm.pdf(r, RADIUS, WIDTH), 1, 3, epsabs=1e-12)[0]
known = np.log(2 * ring / 12**2)
away = abs(result.log_value - known) / result.log_stderr
print(f"known answer: {known:.5f} (quadrature); {away:.1f} standard errors away")

# %%
side = np.linspace(-6, 6, 300)
mesh = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
likelihood = np.exp(log_likelihood(mesh)).reshape(300, 300)
left.imshow(likelihood, extent=(-6, 6, -6, 6), origin="lower", cmap="Blues")
left.set(title="likelihood")
draws = result.posterior(2_000).points
right.scatter(*draws.T, s=3, color="#0072B2")
right.set(xlim=(-6, 6), ylim=(-6, 6), aspect="equal", title="draws from the posterior")
figure.savefig("gaussian_shells.png")
