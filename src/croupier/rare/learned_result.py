"""Found: what a run shows that has learned g: its modes, what matters, and its warnings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from croupier.data.draws import Floats
from croupier.distributions.normal import log_standard_normal
from croupier.estimates.estimate import Estimate
from croupier.rare.components import scout_widths, scouts
from croupier.rare.corrected import SCOUTING, Correction
from croupier.rare.learned_phase import LearnedPhase
from croupier.rare.learning import LOOKED_THROUGH
from croupier.rare.rare_result import ProbabilityResult, apart, facts_of, reliability
from croupier.rare.slices import slices_of
from croupier.results.result import Result

__all__ = ["Found"]

#: An error above this share of the value is warned of.
_LARGE_ERROR: Final = 0.5

#: A surrogate whose errors are this many times as large as it says is not to be trusted alone.
_DOUBTFUL: Final = 2.5


@dataclass(frozen=True)
class Found:
    """What learning and fresh calls have found, as plain data for a result.

    `failing` are pairs of points in normal space and in the coordinates of the user; `failed` is
    what a result says of calls that failed.
    """

    learned: LearnedPhase
    correction: Correction
    failing: Sequence[tuple[Floats, Floats]]
    failed: Mapping[str, Any]

    def warnings(self) -> list[str]:
        """Return what may be wrong with the answer."""
        answer, n = self.correction.answer(), len(self.correction)
        calls, kappa = self.learned.calls, self._kappa
        error, warned = math.sqrt(answer.variance), self.learned.warnings()
        if not self.learned.learning.failures:
            warned.append(
                f"g was never below its limit in {calls + n} calls: the interval says how probable "
                "a failure could still be; is the sign of g right?"
            )
        elif not self.correction.failures or not answer.mean > 0:
            warned.append(
                f"no fresh call says that g is below its limit ({self.correction.failures} of {n} "
                "failed): the interval begins at 0; give a larger budget"
            )
        elif error > _LARGE_ERROR * answer.mean:
            warned.append(
                f"the error is {100 * error / answer.mean:.0f} % of the value, after {calls} calls "
                f"for learning and {n} for the estimate: give a larger budget"
            )
        if answer.mean + 2 * error >= 1:
            warned.append(
                "g may be below its limit everywhere: is its sign right? A failure is g < below"
            )
        if surprises := self.correction.surprises:
            warned.append(
                f"{surprises} of {n} fresh calls had an outcome that the surrogate gave a chance "
                "below 1 %: g has a part that was not learned; give a larger budget"
            )
        if kappa >= _DOUBTFUL:
            warned.append(
                f"the errors of the surrogate are {kappa:.2g} times as large as it says: g jumps "
                "or is noisy; give a larger budget"
            )
        modes, d = self.modes(), self.learned.learning.d
        if d > LOOKED_THROUGH and apart(modes):
            warned.append(
                f"modes in different directions of {d} dimensions were found, and another one may "
                "be missing: compare with another seed, or give a larger budget or starts="
            )
        learning = self.learned.learning
        if learning.overlooks(answer.mean):
            warned.append(
                f"no call was made in a half space with the probability {learning.unseen:.2g}, "
                "which is far above the value: give a larger budget"
            )
        return warned

    @property
    def _kappa(self) -> float:
        surrogate = self.learned.learning.surrogate
        return 1.0 if surrogate is None else surrogate.kappa

    def modes(self) -> list[dict[str, Any]]:
        """Return the fitted components with failing points, the one that explains most first."""
        mixture, shares = self.learned.learning.mixture, self._explains()
        parts = [pair for pair in self.failing if len(pair[0])]
        if not mixture.modes or not parts:
            return []
        z, x = (np.concatenate(column) for column in zip(*parts, strict=True))
        own = mixture.mixture.component_log_densities(z)[:, : mixture.modes].argmax(axis=1)
        away = np.square(z).sum(axis=1)
        found = []
        for k in np.unique(own):
            mine = np.flatnonzero(own == k)
            nearest = int(mine[away[mine].argmin()])
            distance = math.sqrt(float(away[nearest]))
            found.append(
                {
                    "share": float(mixture.shares[k] + mixture.shares[mixture.modes + k]),
                    "explains": float(shares[k]),
                    "mean": mixture.mixture.means[k].tolist(),
                    "design_point": x[nearest].tolist(),
                    "design_point_normal": z[nearest].tolist(),
                    "distance": distance,
                }
            )
        return sorted(found, key=lambda each: -each["explains"])

    def _explains(self) -> Floats:
        stages, K = self.correction.stages, self.learned.learning.mixture.modes
        latest = stages[-1].stage.explains
        return latest if len(latest) == K else np.zeros(K)

    def finish(self, result: Result, seen: Estimate) -> ProbabilityResult:
        """Return the result with what was found."""
        from scipy.special import ndtr

        modes, n = self.modes(), len(self.correction)
        calls, d = self.learned.calls, self.learned.learning.d
        form: dict[str, Any] = {"importance": None, "form": None}
        z: Floats | None = None
        if modes:
            first = min(modes, key=lambda each: each["distance"])
            z = np.array(first["design_point_normal"])
            form["importance"] = (z * z / max(float(z @ z), 1e-300)).tolist()
            form["form"] = float(ndtr(-first["distance"]))
        details: dict[str, Any] = {
            "search": {
                "calls": calls,
                "rounds": 0,
                "widths": list(scout_widths(d)),
                "epochs": len(self.correction.stages),
                "ended_on_budget": False,
                "surrogate": self._kappa,
                "learned": True,
                "components": modes,
                **self._could_hide(modes),
                **form,
            },
            **reliability(seen),
            "effective_hits": seen.pooled.few.hits.tolist() if seen.pooled.few else None,
            "covariance": np.diag(seen.pooled.variance).tolist(),
        }
        facts = facts_of(details, f"{calls:,} for learning, {n:,} for the estimate", None)
        if form["form"] is not None:
            factors = np.array2string(np.array(form["importance"]), precision=2, threshold=8)
            facts += [
                ("importance factors", f"{factors} of the squared distance, at the design point"),
                ("FORM", f"{form['form']:.3g}, the first-order guess from the design point alone"),
            ]
        centre = np.zeros(d) if z is None else z
        details |= {
            "facts": facts,
            "shown": ["estimate"],
            "slices": slices_of(self.learned.learning, centre),
            **self.failed,
        }
        return ProbabilityResult.detailed(result, details)

    def _could_hide(self, modes: Sequence[dict[str, Any]]) -> dict[str, float | None]:
        """Return the probability of a small region that 19 of 20 runs would have hit.

        The region is at the distance of the nearest design point, and the draws of the scouts may
        hit it: those among the fresh calls.
        """
        if not modes:
            return {"could_hide": None, "at_distance": None}
        distance, d = min(each["distance"] for each in modes), self.learned.learning.d
        there = np.zeros((1, d))
        there[0, 0] = distance
        ratio = np.exp(scouts(d).log_density(there) - log_standard_normal(there))[0]
        hits = SCOUTING * len(self.correction) * float(ratio)
        return {"could_hide": min(1.0, math.log(20) / hits), "at_distance": distance}
