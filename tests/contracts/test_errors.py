"""What every error must do: say it in another process as it was said in this one."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier import errors

ERRORS = {
    name: kind
    for name, kind in vars(errors).items()
    if inspect.isclass(kind) and issubclass(kind, Exception)
}
every = pytest.mark.parametrize("name", sorted(ERRORS))


def words(name: str) -> str:
    """Return the code that makes an error."""
    more = {
        "ArmError": ", arm='a', ticket=3, value=[2.5]",
        "MissingExtraError": ", 'numba', 'compiled'",
    }
    return f"{name}('it is broken'{more.get(name, '')})"


def made(name: str) -> Any:
    return eval(words(name), dict(vars(errors)))


def said(error: BaseException) -> tuple[Any, ...]:
    return type(error), str(error), error.args, getattr(error, "name", None), vars(error)


def test_every_error_is_public() -> None:
    public = {name for name in errors.__all__ if name[0].isupper()}  # and a function, text_of
    assert set(ERRORS) == public <= set(cr.__all__)


@every
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_survives_pickling(name: str, protocol: int) -> None:
    error = made(name)
    error.add_note("while it was drawn")
    assert said(pickle.loads(pickle.dumps(error, protocol))) == said(error)
    assert said(copy.copy(error)) == said(error)
    assert said(copy.deepcopy(error)) == said(error)


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        yield executor


@every
def test_an_error_comes_back_from_another_process(name: str, pool: ProcessPoolExecutor) -> None:
    code = f"from croupier.errors import *; raise {words(name)}"
    error = pool.submit(exec, code).exception(timeout=60)
    assert error is not None
    assert said(error) == said(made(name))


def test_an_arm_says_in_another_process_which_draw_was_wrong(pool: ProcessPoolExecutor) -> None:
    code = "import croupier as cr; cr.estimate({'a': lambda rng, n: [float('nan')] * n}, draws=9)"
    error = pool.submit(exec, code).exception(timeout=60)
    assert isinstance(error, cr.ArmError)
    assert (error.arm, error.ticket) == ("a", 0)
    assert np.isnan(error.value)


class Stubborn:
    """It can be pickled, but not unpickled."""

    def __init__(self, *, value: int) -> None:
        self.value = value

    def __reduce__(self) -> Any:
        return Stubborn, (self.value,)

    def __repr__(self) -> str:
        return f"<stubborn {self.value}>"


@pytest.mark.parametrize("value", [threading.Lock(), lambda: 1, Stubborn(value=3)])
def test_a_value_that_cannot_be_pickled_is_described(value: Any) -> None:
    error = cr.ArmError("is broken", arm="a", ticket=3, value=value)
    again = pickle.loads(pickle.dumps(error))
    assert again.value == repr(value)
    assert error.value is value
    assert (str(again), again.arm, again.ticket) == (str(error), "a", 3)


class Louder(cr.ArmError):
    """An error of the user's own."""


def test_an_error_of_ones_own_stays_what_it_is() -> None:
    error = copy.copy(Louder("is broken", arm="a"))
    assert type(error) is Louder
    assert str(error) == "arm 'a': is broken"
