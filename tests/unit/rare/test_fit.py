"""A fit finds the modes of weighted draws, and is not narrower than they are known."""

import numpy as np

from croupier.rare.fit import Slope, fitted


def test_three_clusters_become_three_components() -> None:
    rng = np.random.default_rng(7)
    centres = np.array([[4.0, 0.0], [-3.0, 3.0], [0.0, -5.0]])
    x = np.concatenate([rng.normal(c, 0.4, (80, 2)) for c in centres])
    found = fitted(x, np.zeros(len(x)), rng)
    for centre in centres:
        assert np.linalg.norm(found.means - centre, axis=1).min() < 0.3
    assert abs(found.shares.sum() - 1) < 1e-12


def test_weights_move_a_component() -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(0, 1, (500, 1)) + 3
    plain = fitted(x, np.zeros(500), rng)
    tilted = fitted(x, x[:, 0], rng)  # a weight e^x moves a unit normal by 1
    assert abs(plain.means[0, 0] - 3) < 0.2
    assert abs(tilted.means[0, 0] - 4) < 0.5


def test_few_draws_keep_a_width_near_one() -> None:
    rng = np.random.default_rng(7)
    root = fitted(np.array([[3.0, 0.0], [3.0, 0.1]]), np.zeros(2), rng).roots[0]
    assert 0.3 < np.sqrt(np.diag(root @ root.T))[1] < 1.5


def test_in_high_dimensions_the_mean_follows_the_slope_of_the_limit_state() -> None:
    d, rng = 60, np.random.default_rng(7)
    x = rng.normal(size=(4000, d))
    g = 2 - x[:, 0]
    fails = g < 0
    rough = fitted(x[fails], np.zeros(fails.sum()), rng)
    turned = fitted(x[fails], np.zeros(fails.sum()), rng, Slope(x[-1500:], g[-1500:]))
    assert np.linalg.norm(turned.means[0, 1:]) < 0.7 * np.linalg.norm(rough.means[0, 1:])
    assert turned.means[0, 0] > 2
