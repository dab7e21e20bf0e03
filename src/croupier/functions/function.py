"""Function: a user's function of points, called in one way with its own copy, and checked once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.errors import ArmError, CroupierError, text_of
from croupier.functions.compiled import each_point, is_compiled

__all__ = [
    "GRADIENT",
    "INTEGRAND",
    "LIMIT_STATE",
    "LOG_LIKELIHOOD",
    "Evaluated",
    "Function",
    "ProgramError",
    "Role",
    "Takes",
    "log_density_of",
    "shown",
    "transform_of",
]

#: How a function takes its points: all of them (n, d), one (d,), or one as a plain number.
Takes: TypeAlias = Literal["all", "one", "number"]

#: What is said of a function that returned None.
NO_NUMBERS: Final = "returned None, not numbers: check whether a return is missing"


class Role(NamedTuple):
    """What a function is for: its name in messages, and which values it may return.

    `noisy` says whether it may give different values at the same point.
    """

    name: str
    allowed: Callable[[Any], Any]
    way_out: str
    noisy: bool = True


def _not_nan(values: Floats) -> NDArray[np.bool_]:
    return np.asarray(~np.isnan(values))


def _below_infinity(values: Floats) -> NDArray[np.bool_]:
    return np.asarray(values < np.inf)


INTEGRAND: Final = Role(
    "f",
    np.isfinite,
    "All points lie inside of the bounds, none on a bound. If the integral exists without this "
    "point, return 0 there; otherwise choose bounds that leave it out",
)
LIMIT_STATE: Final = Role(
    "g",
    _not_nan,
    "Return a number; if the model cannot be evaluated there, on_failure= says what that means",
)
GRADIENT: Final = Role(
    "gradient", np.isfinite, "Return finite numbers, zeros where there is no derivative"
)
LOG_LIKELIHOOD: Final = Role(
    "log_likelihood",
    _below_infinity,
    "It must be finite, or -inf where the point is impossible; if it is inf, is its sign right?",
    noisy=False,
)


def log_density_of(argument: str) -> Role:
    """Return the role of the log density of a distribution that a user gives."""
    way_out = "It must be finite, or -inf where there is no density"
    return Role(f"the log density in {argument}=", _below_infinity, way_out, noisy=False)


def transform_of(argument: str) -> Role:
    """Return the role of a transform of the cube that a user gives."""
    return Role(f"the transform in {argument}=", np.isfinite, "Return finite numbers", noisy=False)


class Evaluated(NamedTuple):
    """Values at points, and the errors of the calls that failed: their values are NaN."""

    values: Floats
    failed: dict[int, Exception]


@dataclass(frozen=True)
class Function:
    """A user's function with one way to call it: points (n, d) to values (n, *shape).

    `shape` is () for one number per point and (m,) for m of them. A call that fails is repeated up
    to `retries` times: a licence or a network may be back. Points may have any shape (n, ...).
    `logical` says that the function returned True or False when it was tried.

    >>> f = Function(lambda x: x**2, "number", INTEGRAND)
    >>> f(np.array([[2.0], [3.0]]))
    array([4., 9.])
    """

    function: Callable[[Any], Any]
    takes: Takes
    role: Role
    shape: tuple[int, ...] = ()
    retries: int = 0
    logical: bool = False

    def __call__(self, x: Floats) -> Floats:
        """Return the values at points, checked; an error names the first point that failed."""
        values, failed = self.evaluated(x, most=1)
        for row, error in failed.items():
            raise self._named(error, x[row]) from error
        return values

    def evaluated(self, x: Floats, most: float = np.inf) -> Evaluated:
        """Return the values and the calls that failed; without retries, at most so many of these.

        A value that the role does not allow, such as NaN, is a failed call, too. A wrong shape or
        type is a mistake in the function, and is raised.
        """
        if not self.retries:
            return self._tried(x, most)
        values, failed = self._tried(x, np.inf)
        for _ in range(self.retries):
            for row in list(failed):
                again = self._tried(x[row : row + 1], 1)
                values[row] = again.values[0]
                del failed[row]
                if again.failed:
                    failed[row] = again.failed[0]
        return Evaluated(values, failed)

    def _tried(self, x: Floats, most: float) -> Evaluated:
        """Evaluate all points; where a call of several fails, each half of them again."""
        n, failed = len(x), dict[int, Exception]()
        if not n:  # a function may not know what to do with no points
            return Evaluated(np.empty((0, *self.shape)), failed)
        try:
            values = self.shaped(self._raw(x, failed, most), x)
        except CroupierError:
            raise
        except Exception as error:
            if n == 1:
                return Evaluated(np.full((1, *self.shape), np.nan), {0: error})
            first, rest = self._tried(x[: n // 2], most), x[n // 2 :]
            if len(first.failed) >= most:
                return Evaluated(np.resize(first.values, (n, *self.shape)), first.failed)
            second = self._tried(rest, most - len(first.failed))
            moved = {n // 2 + row: each for row, each in second.failed.items()}
            return Evaluated(np.concatenate((first.values, second.values)), first.failed | moved)
        allowed = self.role.allowed(values)
        if not allowed.all():
            rows = np.flatnonzero(~allowed.reshape(n, -1).all(axis=1))
            failed |= {row: NotAllowed(values[row]) for row in rows.tolist() if row not in failed}
            values = values.copy()
            values[rows] = np.nan
        return Evaluated(values, failed)

    def _raw(self, x: Floats, failed: dict[int, Exception], most: float) -> Any:
        """Return what the function makes of its own copy of the points.

        Calls with one point that fail are added to `failed`; their values are NaN.
        """
        own = np.array(x)
        if self.takes == "all":
            return self.function(own)
        if is_compiled(self.function) and self.takes == "one" and not self.shape:
            return each_point(self.function)(own)
        found: list[Any] = []
        points: Any = own if self.takes == "one" else own.ravel().tolist()
        nothing = np.full(self.shape, np.nan)
        for row, point in enumerate(points):
            try:
                found.append(_copied(self.function(point)))
            except CroupierError:
                raise
            except Exception as error:
                failed[row] = error
                found.append(nothing)
                if len(failed) >= most:
                    break
        return found + [nothing] * (len(x) - len(found))

    def shaped(self, raw: Any, x: Floats) -> Floats:
        """Return what a function returned as floats (n, *shape); refuse another shape or type.

        Axes of length 1 may be missing, or more than wanted.
        """
        values, wanted = numbers(raw, self.role), (len(x), *self.shape)
        if values.shape != wanted:
            if [k for k in values.shape if k != 1] != [k for k in wanted if k != 1]:
                raise ArmError(
                    f"{self.role.name} returned an array of shape {values.shape} for {len(x)} "
                    f"points of shape {x.shape[1:]}: return {wanted}",
                    arm=self.role.name,
                    value=raw,
                )
            values = values.reshape(wanted)
        return values.astype(float, copy=False)

    def _named(self, error: Exception, point: Any) -> ArmError:
        """Return the error of a failed call, with the name of the point."""
        name = self.role.name
        if not isinstance(error, NotAllowed):
            join = ":" if isinstance(error, ProgramError) else ""
            printed = f"{name}{join} {told(error)}, at the point {shown(point)}"
            return ArmError(printed, arm=name, value=error)
        bad = np.ravel(error.value)[~np.ravel(self.role.allowed(np.asarray(error.value)))][0]
        printed = f"{name} is {bad} at the point {shown(point)}. {self.role.way_out}"
        return ArmError(printed, arm=name, value=float(bad))


class NotAllowed(Exception):  # noqa: N818 - it is not raised, except as the cause of an ArmError
    """A call returned a value that is not allowed, such as NaN."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


class ProgramError(Exception):
    """What a program did wrong; `printed` is the line or value that is wrong."""

    def __init__(self, message: str, printed: Any = None) -> None:
        super().__init__(message)
        self.printed = printed


def numbers(raw: Any, role: Role) -> NDArray[Any]:
    """Return what a function returned as an array of real numbers; refuse all else."""
    if raw is None or (isinstance(raw, list) and any(each is None for each in raw)):
        raise ArmError(f"{role.name} {NO_NUMBERS}", arm=role.name, value=raw)
    try:
        values = np.asarray(raw)
    except ValueError as error:
        raise ArmError(
            f"{role.name} returned no array of numbers: {error}", arm=role.name, value=raw
        ) from error
    if values.dtype.kind in "fiub":
        return values
    message = f"returned values of type {values.dtype}: return real numbers"
    if values.dtype.kind == "c":
        message = (
            "returned complex numbers: return its two parts at once, with "
            f"np.column_stack(({role.name}.real, {role.name}.imag))"
        )
    raise ArmError(f"{role.name} {message}", arm=role.name, value=raw)


def told(error: Exception) -> str:
    """Return what a function did instead of returning numbers."""
    if isinstance(error, ProgramError):
        return str(error)
    return f"raised {type(error).__name__}: {text_of(error)}"


def shown(point: Any) -> str:
    """Return the coordinates of a point, the first eight of many.

    >>> shown(np.array([0.5, 2.0]))
    '(0.5, 2)'
    """
    numbers = np.ravel(point)
    text = ", ".join(f"{each:.6g}" for each in numbers[:8])
    return f"({text}{', ...' if len(numbers) > 8 else ''})"


def _copied(value: Any) -> Any:
    """Return one number or a row of them, which do not change when a buffer is used again."""
    if np.size(value) == 1 and value is not None:
        return np.asarray(value).item()
    return value.copy() if isinstance(value, np.ndarray) else value
