"""Figure 3, compiled: the moments of the draws that were finished by a deadline, run by run."""

from __future__ import annotations

from typing import Any

from croupier.data.central_moments import merge_moments
from croupier.simulator.compiling import compiled, inlined
from croupier.simulator.randomness import streams
from croupier.simulator.sampling import draw

__all__ = ["alone", "moments_at"]

_merge = inlined(merge_moments)


@compiled
def alone(sampling: Any, keys: Any, times: Any, pulls: Any) -> None:
    """Write how many draws each arm, drawn alone, has finished at every time."""
    arms = len(sampling.parameters)
    for run in range(len(keys)):
        s = streams(keys[run], arms + 1)
        for k in range(arms):
            spent, count = 0.0, 0
            _, cost = draw(s[k], k, sampling)
            for mark in range(len(times)):
                while spent + cost <= times[mark]:
                    spent += cost
                    count += 1
                    _, cost = draw(s[k], k, sampling)
                pulls[run, mark, k] = count


@compiled
def moments_at(sampling: Any, keys: Any, pulls: Any, out: Any) -> None:
    """Write cost, mean, M2, M3 and M4 of the first draws of every arm, as many as were pulled.

    The j-th draw of an arm is the same for every policy, so the pulls say it all.
    """
    arms = len(sampling.parameters)
    for run in range(len(keys)):
        s = streams(keys[run], arms + 1)
        for k in range(arms):
            count, cost = 0, 0.0
            moments = (0.0, 0.0, 0.0, 0.0)
            for mark in range(pulls.shape[1]):
                while count < pulls[run, mark, k]:
                    value, paid = draw(s[k], k, sampling)
                    moments = _merge(float(count), moments, 1.0, (value, 0.0, 0.0, 0.0))
                    cost += paid
                    count += 1
                out[run, mark, k, 0] = cost
                for i in range(4):
                    out[run, mark, k, i + 1] = moments[i]
