"""Checks of arguments: each error names the argument and the value."""

from __future__ import annotations

import math
import numbers
import operator
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import cache, wraps
from typing import Any, ParamSpec, TypeAlias, TypeVar, get_args

from croupier.errors import PlanError, UnknownArgumentError

__all__ = [
    "Range",
    "arguments_suggested",
    "choice",
    "component_names",
    "count_of",
    "fraction_of",
    "known_settings",
    "names_of",
    "positive",
    "range_of",
    "seed_of",
    "share_of",
    "shares_of",
    "unique_names",
    "weights_of",
]

Range: TypeAlias = tuple[float, float]

_Arguments = ParamSpec("_Arguments")
_Returned = TypeVar("_Returned")


def names_of(name: str, value: object) -> tuple[str, ...]:
    """Return the names of the arms: strings, at least one, no two equal."""
    if (
        isinstance(value, str)
        or not isinstance(value, tuple | Sequence)
        or not all(isinstance(one, str) for one in value)
    ):
        way = ""
        if isinstance(value, Sequence) and any(map(callable, value)):
            way = "; functions are drawn from by cr.estimate, and here the names of arms are enough"
        raise PlanError(f"{name} must be a sequence of strings, got {value!r}{way}")
    if not value:
        raise PlanError("there are no arms: give at least one")
    unique_names(value)
    return tuple(value)


def component_names(value: object) -> tuple[str, ...]:
    """Return the names of the components of a vector: strings, no two equal.

    >>> component_names(["price", "delta"])
    ('price', 'delta')
    """
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise PlanError(f"names must be a sequence, one name per component, got {value!r}")
    if not all(isinstance(name, str) for name in value) or len({*value}) < len(value):
        raise PlanError(f"names must be different strings, one per component, got {value!r}")
    return tuple(value)


def unique_names(names: Sequence[str]) -> None:
    """Refuse two arms with the same name."""
    if len(set(names)) < len(names):
        name, times = Counter(names).most_common(1)[0]
        raise PlanError(
            f"{times} arms are named {name!r}: give each its own name, in a mapping "
            "{'one': f, 'two': g}, or with cr.Arm(f, name='one')"
        )


def choice(name: str, value: object, allowed: Any) -> None:
    """Refuse a value that is not one of the values of a Literal."""
    if value not in (options := _options(allowed)):
        raise PlanError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}")


_options = cache(get_args)


#: What other libraries call our arguments; the first one that a function has is suggested.
_ELSEWHERE = {
    "seed": "rng", "random_state": "rng", "n": "draws", "samples": "draws", "n_samples": "draws",
    "neval": "draws", "maxeval": "draws", "max_evals": "draws", "limit": "below draws",
    "maxcall": "draws", "maxiter": "draws", "threshold": "below", "dlogz": "rtol",
    "ndim": "dimensions", "n_dim": "dimensions", "pool": "executor", "cores": "workers",
    "time": "seconds", "budget": "seconds", "n_jobs": "workers", "processes": "workers",
    "tol": "rtol", "epsrel": "rtol", "epsabs": "atol", "level": "confidence",
}  # fmt: skip

_OVER = "give the distribution as over=, for example multivariate_normal(mean, cov)"
_NO_CHAINS = "leave it out: croupier chooses its chains itself; give draws= or seconds="

#: What other libraries have, and how it is said here.
_INSTEAD = {
    "integrate": {"args": "give f(x) alone, such as lambda x: f(x, a)"},
    "probability": {
        **dict.fromkeys(("mean", "cov", "dist", "distribution", "marginals", "prior"), _OVER),
        **dict.fromkeys(("d", "dim", "ndim", "n_dim"), "give over=d for d standard normal numbers"),
    },
    "evidence": {
        **dict.fromkeys(("nlive", "n_live", "chains", "nwalkers", "tune"), _NO_CHAINS),
        "bounds": "give prior=[st.uniform(low, high - low), ...]",
    },
}


def known_settings(function: str, given: Collection[str], known: Collection[str]) -> None:
    """Refuse a keyword that a function does not know, as Python does, and suggest the right one.

    >>> known_settings("evidence", ["draw"], ["draws", "cost"])
    Traceback (most recent call last):
    croupier.errors.UnknownArgumentError: evidence() got an unexpected keyword
    argument 'draw': did you mean 'draws'?
    """
    for name in given:
        if name not in known:
            from difflib import get_close_matches

            usual = [each for each in _ELSEWHERE.get(name, "").split() if each in known]
            like = usual or get_close_matches(name, known, n=1)
            hint = f"did you mean {like[0]!r}?" if like else ""
            hint = _INSTEAD.get(function, {}).get(name, hint)
            raise UnknownArgumentError(
                f"{function}() got an unexpected keyword argument {name!r}{': ' * bool(hint)}{hint}"
            )


def arguments_suggested(
    function: Callable[_Arguments, _Returned],
) -> Callable[_Arguments, _Returned]:
    """Let a function with named arguments suggest the right name where a call has a wrong one.

    >>> @arguments_suggested
    ... def estimate(arms, *, draws=None, rng=None): ...
    >>> estimate([], seed=3)
    Traceback (most recent call last):
    croupier.errors.UnknownArgumentError: estimate() got an unexpected keyword
    argument 'seed': did you mean 'rng'?
    """
    name, code = function.__name__, function.__code__
    positional = code.co_argcount
    known = code.co_varnames[: positional + code.co_kwonlyargcount]

    @wraps(function)
    def checked(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Returned:
        known_settings(name, kwargs, known)
        if len(args) > positional:
            raise TypeError(
                f"{name}() takes {', '.join(known[:positional])} without a name, and everything "
                f"else by its name, such as {known[positional]}={args[positional]!r:.40}"
            )
        return function(*args, **kwargs)

    return checked


def fraction_of(name: str, value: object) -> float:
    """Return a number strictly between 0 and 1."""
    number = _number(name, value)
    if not 0 < number < 1:
        raise PlanError(f"{name} must lie between 0 and 1, got {value!r}")
    return number


def share_of(name: str, value: object) -> float:
    """Return a number of at least 0 and below 1."""
    number = _number(name, value)
    if not 0 <= number < 1:
        raise PlanError(f"{name} must be at least 0 and below 1, got {value!r}")
    return number


def count_of(name: str, value: object) -> int:
    """Return a whole number of at least 1; a float such as 1e6 is a whole number, too.

    >>> count_of("draws", 1e6)
    1000000
    """
    number = _number(name, value)
    if not (number >= 1 and number.is_integer()):
        raise PlanError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(number)


def seed_of(name: str, value: Any) -> int:
    """Return a whole number of at least 0, of any size; a float is refused, as it loses digits.

    >>> seed_of("seed", 2**200) == 2**200
    True
    """
    try:
        seed = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        seed = -1
    if seed < 0:
        raise PlanError(f"{name} must be a non-negative integer, got {value!r}")
    return seed


def positive(name: str, value: object, *, zero: bool = False) -> float:
    """Return a finite number above zero, or, with `zero`, of at least zero."""
    number = _number(name, value)
    if not (number > 0 or (zero and number == 0)) or math.isinf(number):
        raise PlanError(
            f"{name} must be a {'number of at least' if zero else 'finite number above'} 0, "
            f"got {value!r}"
        )
    return number


def range_of(name: str, value: Any, *, logs: bool = False) -> Range | None:
    """Return finite bounds (low, high) with low < high, or None if they are not known.

    With `logs` the low end may be -inf, the log of zero.
    """
    if value is None:
        return None
    try:
        low, high = (float(bound) for bound in value)
    except (TypeError, ValueError, OverflowError):
        raise PlanError(f"{name} must be a pair (low, high), got {value!r}") from None
    finite = math.isfinite(low) or (logs and low == -math.inf)
    if not (finite and math.isfinite(high) and low < high):
        raise PlanError(f"{name} must be finite with low < high, got {value!r}")
    return low, high


def weights_of(name: str, value: Sequence[float] | None) -> tuple[float, ...] | None:
    """Return one non-negative weight per component, not all zero."""
    if value is None:
        return None
    try:
        weights = tuple(positive(name, weight, zero=True) for weight in value)
    except TypeError:
        raise PlanError(f"{name} must be a sequence of weights, got {value!r}") from None
    if not any(weights):
        raise PlanError(f"{name} must have a weight above 0, got {value!r}")
    return weights


def shares_of(name: str, value: Sequence[float] | None) -> tuple[float, ...] | None:
    """Return weights above 0 that sum to 1, or None if they are not known.

    A small rounding error of the sum, as of single precision, is corrected.

    >>> shares_of("weights", [0.25, 0.75])
    (0.25, 0.75)
    """
    weights = weights_of(name, value)
    if weights is None:
        return None
    if not all(weights):
        raise PlanError(
            f"{name} must be above 0, got {value!r}: leave out the entries with weight 0"
        )
    total = math.fsum(weights)
    if abs(total - 1) > 1e-6:
        raise PlanError(
            f"{name} must sum to 1, got a sum of {total:.9g}: divide each weight by this sum"
        )
    return weights if abs(total - 1) < 1e-12 else tuple(weight / total for weight in weights)


def _number(name: str, value: object) -> float:
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise PlanError(f"{name} must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise PlanError(f"{name} is too large for a floating-point number, got {value!r}") from None
