# %% [markdown]
# # Eight schools: do they differ?
#
# Eight schools coached their pupils for a test (Rubin 1981). Each school reports an effect and its standard error. Do the schools differ, or is there one common effect? The **evidence** of both models answers: the probability of the data, averaged over the prior.
#
# The model with differences has ten parameters: a common effect μ, a spread τ, and a standardised effect for each school. `cr.evidence` takes a likelihood and a prior, and no tuning.
#
# It takes 6 seconds.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy import stats
from scipy.integrate import quad

import croupier as cr

effects = np.array([28, 8, -3, 7, -1, 1, 18, 12.0])
errors = np.array([15, 10, 16, 11, 9, 11, 10, 18.0])
OF_MU, OF_TAU = stats.norm(0, 10), stats.halfnorm(scale=10)


def log_likelihood(theta):  # (chains, 10): mu, tau, eight standardised effects
    school = theta[:, :1] + theta[:, 1:2] * theta[:, 2:]
    return stats.norm.logpdf(effects, school, errors).sum(axis=1)


prior = [OF_MU, OF_TAU, *[stats.norm(0, 1)] * 8]
result = cr.evidence(log_likelihood, prior, seconds=20, rtol=0.02, rng=7)
print(result)

# %% [markdown]
# ## The known answer
#
# The effects of the schools can be integrated by hand: given μ and τ, an observed effect is normal with the variance τ² + error². With μ normal as well, only τ is left, and `quad` integrates over it.

# %%


def log_given(tau):
    """The log probability of the data, given tau: a normal vector with a common part."""
    covariance = np.diag(tau**2 + errors**2) + OF_MU.var()
    return stats.multivariate_normal(np.zeros(8), covariance).logpdf(effects)


top = log_given(0.0)
integral = quad(lambda tau: np.exp(log_given(tau) - top) * OF_TAU.pdf(tau), 0, 120, limit=200)[0]
known = top + np.log(integral)
away = abs(result.log_value - known) / result.log_stderr
print(f"known answer: {known:.5f} (quadrature); {away:.1f} standard errors away")

# %% [markdown]
# ## The answer
#
# Without differences τ is 0, and the evidence of that model is `log_given(0)`. A Bayes factor below 1 speaks for one common effect.

# %%
factor = np.exp(result.log_value - log_given(0.0))
print(f"Bayes factor for differences between the schools: {factor:.2f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.errorbar(effects, np.arange(8), xerr=errors, fmt="o", color="#0072B2", capsize=3)
left.set(yticks=range(8), yticklabels="ABCDEFGH", xlabel="effect ± standard error", ylabel="school")
left.axvline(0, color="#999999", linewidth=0.8)
taus = np.linspace(0.01, 30, 200)
density = np.exp([log_given(tau) - known for tau in taus]) * OF_TAU.pdf(taus)
right.plot(taus, OF_TAU.pdf(taus), "--", color="#999999", label="prior")
right.plot(taus, density, color="#0072B2", label="posterior")
right.set(xlabel="spread τ between the schools", ylabel="density", ylim=0)
right.legend(frameon=False)
figure.savefig("eight_schools.png")
