"""Components: densities, scouts, and draws that are dealt in the right proportions."""

import numpy as np
import pytest

from croupier.distributions.mixture import Mixture
from croupier.rare.components import Frozen, dealt, mixture_of, scout_widths, scouts


@pytest.mark.parametrize("d", [1, 2, 10, 100, 1000])
def test_scouts_are_as_far_from_nominal_as_they_should_be(d: int) -> None:
    found = [d * ((s * s - 1) / 2 - np.log(s)) for s in scout_widths(d)]
    assert np.allclose(found, [0, 2, 6], atol=1e-6)


def test_every_piece_of_a_deal_has_its_due_of_each_component() -> None:
    shares = np.array([0.6, 0.3, 0.1])
    own = dealt(shares, 1000)
    assert np.bincount(own).tolist() == [600, 300, 100]
    for start in range(0, 1000, 100):
        assert np.abs(np.bincount(own[start : start + 100], minlength=3) - 100 * shares).max() <= 2


def test_a_mixture_comes_back_from_plain_data() -> None:
    mixture = mixture_of(Mixture.normal(np.ones(2), 0.5), 2, 0.9)
    x = np.random.default_rng(7).normal(size=(4, 2))
    again = Frozen.of(mixture.arrays())
    assert again.modes == 1
    assert np.array_equal(again.mixture.log_density(x), mixture.mixture.log_density(x))
    assert mixture.shares.sum() == pytest.approx(1)
    assert len(mixture.mixture) == 1 + len(scouts(2))
