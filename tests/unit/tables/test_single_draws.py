"""Single draws: the plain loop of one draw at a time is the ordinary run, only faster."""

from __future__ import annotations

import contextlib
import copy
import itertools
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import croupier as cr
from croupier.engines.perform import perform
from croupier.estimates.intervals import Anytime
from croupier.policies import REGISTRY, UCB1
from croupier.policies.base import sprint_of
from croupier.tables.base import restore
from tests.marks import slow

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]

SCALINGS = ["common", "per-arm"]
SPRINTERS = ["kl-ucb", "moss", "subgaussian-ucb", "tightest", "ucb-v", "ucb1"]

#: Draws in [0, 1) of the arm and ticket, which may be scaled to other bounds.
BOUNDS: dict[str, tuple[float, float]] = {
    "plain": (0.0, 1.0),
    "far": (1e9, 1e9 + 1),
    "tiny": (0.0, 2.0**-900),
    "huge": (-(2.0**900), 2.0**900),
}

ENOUGH = 10**9


def table_of(policy: Any = "ucb1", arms: int = 3, **settings: Any) -> cr.Allocator:
    settings = {"batch": "one", "bounds": (BOUNDS["plain"],) * arms, **settings}
    return cr.Allocator([f"arm {k}" for k in range(arms)], policy=policy, rng=7, **settings)


def value_of(batch: cr.Batch, bounds: tuple[float, float] = BOUNDS["plain"]) -> float:
    """Return the one draw of a batch; that of a later arm varies less."""
    spread = 1 / (1 + int(batch.arm.removeprefix("arm ")))
    low, high = bounds
    part = 0.5 + spread * (float(batch.rng().random()) - 0.5)
    return min(max((1 - part) * low + part * high, low), high)


def play(table: cr.Allocator, draws: int, of: Callable[..., float] = value_of) -> None:
    for _ in range(draws):
        batch = table.ask()
        assert batch is not None
        table.tell(batch, [of(batch)])


def walk(table: cr.Allocator, draws: int, of: Callable[..., float] = value_of) -> None:
    """Play the ordinary way: nothing is told in plain numbers."""
    for _ in range(draws):
        batch = table.ask(draws_left=ENOUGH)
        assert batch is not None
        table.tell(batch, cr.Draws(np.array([of(batch)])))


def fast(table: cr.Allocator) -> bool:
    """Tell whether the draws of a table take the fast way."""
    return table._single is not None


def bits_of(thing: Any) -> Any:
    return thing.tobytes() if isinstance(thing, np.ndarray) else thing


def all_of(table: cr.Allocator) -> dict[str, Any]:
    """Return all that a table knows, bit by bit."""
    ledger = {name: bits_of(value) for name, value in vars(table.ledger).items()}
    history = table.result().history
    rows = len(history)
    tails = {
        arm: (tail.inspected, np.concatenate(tail._parts).tobytes(), tail.shape().tobytes())
        for arm, tail in table._read().known.tails.items()
    }
    return {
        "ledger": ledger,
        "history": (rows, history._batches[:rows].tobytes(), history._moments[:rows].tobytes()),
        "tails": (list(tails), tails),
        "result": repr(table.result().to_dict()),
        "progress": repr(table.progress()),
    }


def assert_alike(quick: cr.Allocator, ordinary: cr.Allocator) -> None:
    assert not fast(ordinary)
    assert all_of(quick) == all_of(ordinary)
    # The next decision, and all that it is made from.
    for table in (quick, ordinary):
        batch = table.ask(draws_left=ENOUGH)
        table.tell(batch, cr.Draws([value_of(batch)]))
    assert all_of(quick) == all_of(ordinary)
    for name in ("pulls", "mean", "m2", "wins", "total", "unseen"):
        mine, other = (getattr(table._table.policy_state, name) for table in (quick, ordinary))
        assert bits_of(mine) == bits_of(other)
    one, two = quick._table, ordinary._table
    assert one.decisions == two.decisions
    assert one.pending.tobytes() == two.pending.tobytes()
    assert vars(one.tickets) == vars(two.tickets)
    assert one.known.components == two.known.components


# -- who sprints


def test_the_index_bandits_sprint_and_nobody_else() -> None:
    plan = cr.Plan(names=("a", "b"), seed=7, bounds=(BOUNDS["plain"],) * 2)
    policies = {name: REGISTRY[name].example() for name in REGISTRY if name != "mc-ucb"}
    offered = [n for n, p in policies.items() if sprint_of(p, p.start(plan)) is not None]
    assert sorted(offered) == SPRINTERS


@dataclass(frozen=True)
class Contrary(UCB1):
    """A bandit that chooses in a way of its own."""

    def choose(self, *_: Any) -> int:
        return 2


def test_a_bandit_that_chooses_in_its_own_way_does_not_sprint() -> None:
    table = table_of(Contrary())
    assert not fast(table)
    play(table, 5)
    assert table.ledger.count.tolist() == [0, 0, 5]


@pytest.mark.parametrize(
    "settings",
    [
        {"batch": "growing"}, {"width": 2}, {"unit": "cost"}, {"keep_values": True},
        {"objective": (1.0,)}, {"anytime": True}, {"policy": "auto"}, {"policy": "thompson"},
        {"policy": UCB1(payoff="variance")},
    ],
    ids=str,
)  # fmt: skip
def test_only_single_draws_of_cost_one_take_the_fast_way(settings: dict[str, Any]) -> None:
    assert fast(table_of())
    costs = {"cost_bounds": (BOUNDS["plain"],) * 3}
    assert not fast(table_of(**{"policy": "ucb1", **costs, **settings}))


# -- the same bits


def every_pair() -> list[Any]:
    """Return all cases; those that are not slow have every pair of two of the three settings."""
    cases = itertools.product(enumerate(SPRINTERS), enumerate(BOUNDS), enumerate(SCALINGS))
    sides: tuple[list[Any], list[Any]] = ([], [])
    for (i, name), (j, kind), (k, scaling) in cases:
        sides[(i + j + k) % 2].append((name, kind, scaling))
    return [*sides[0], *slow(*sides[1])]


@pytest.mark.parametrize(("name", "kind", "scaling"), every_pair())
def test_a_run_of_single_draws_is_the_ordinary_run(name: str, kind: str, scaling: str) -> None:
    low, high = BOUNDS[kind]
    bounds = ((low, high), (low, high), (low, low + 0.75 * (high - low)))

    def of(batch: cr.Batch) -> float:
        return value_of(batch, bounds[int(batch.arm[-1])])

    policy = replace(REGISTRY[name].example(), scaling=scaling)
    quick, ordinary = (table_of(policy, bounds=bounds) for _ in range(2))
    play(quick, 150, of)
    walk(ordinary, 150, of)
    assert fast(quick)
    assert all_of(quick) == all_of(ordinary)


@pytest.mark.parametrize("arms", [16, *slow(1, 2)])
def test_a_long_run_of_single_draws_is_the_ordinary_run(arms: int) -> None:
    quick, ordinary = table_of(arms=arms), table_of(arms=arms)
    play(quick, 6000)
    walk(ordinary, 6000)
    assert_alike(quick, ordinary)


def test_draws_without_a_range_sprint_too() -> None:
    def wild(batch: cr.Batch) -> float:
        return float(batch.rng().standard_cauchy())

    policy = REGISTRY["subgaussian-ucb"].example()
    quick, ordinary = table_of(policy, bounds=()), table_of(policy, bounds=())
    play(quick, 1500, wild)
    walk(ordinary, 1500, wild)
    assert fast(quick)
    assert_alike(quick, ordinary)
    assert np.nanmax([tail.shape()[0] for tail in quick._read().known.tails.values()]) > 0.5


special = st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, 2.0**1000, np.inf, np.nan])
ordinary_or_not = st.one_of(st.floats(0, 1), special, st.floats(-1e150, 1e150))


@given(
    st.lists(ordinary_or_not, min_size=1, max_size=30),
    st.sets(st.integers(0, 30)),
    st.booleans(),
)
@example([0.0, -0.0, -0.0, 1.0], set(), False)
def test_whatever_is_told_and_whenever_it_is_read(
    values: list[float], reads: set[int], clip: bool
) -> None:
    policy = UCB1(bounds=(0.0, 1.0), clip=clip)
    quick, ordinary = table_of(policy, bounds=()), table_of(policy, bounds=())
    for k, value in enumerate(values):
        errors = []
        for table, budget in ((quick, {}), (ordinary, {"draws_left": ENOUGH})):
            batch = table.ask(**budget)
            try:
                table.tell(batch, [value])
                errors.append(None)
            except cr.ArmError as error:
                errors.append((str(error), repr(error.value)))
                table.tell(batch, [0.5])
        assert errors[0] == errors[1]
        if k in reads:
            assert repr(quick.progress()) == repr(ordinary.progress())
            assert quick.progress().value == ordinary.progress().value
    assert_alike(quick, ordinary)


def test_reading_in_between_changes_nothing() -> None:
    quick, ordinary = table_of(), table_of()
    for k in range(24):
        play(quick, k % 4)
        walk(ordinary, k % 4)
        assert quick.progress().draws == quick.ledger.draws
        if k:
            assert all_of(quick) == all_of(ordinary)
    assert fast(quick)
    assert_alike(quick, ordinary)


def test_what_was_handed_out_does_not_change_when_the_run_goes_on(
    bits: Callable[..., Any],
) -> None:
    table = table_of()
    play(table, 20)
    result, progress = table.result(), table.progress()
    then = bits(result)
    play(table, 20)
    assert bits(result) == then
    assert table.progress().draws == 40
    with pytest.raises(cr.PlanError, match="progress at ticket 20 is out of date"):
        progress.value  # noqa: B018


def test_a_copy_and_a_table_from_another_process_go_on_alike() -> None:
    table = table_of()
    play(table, 20)
    twins = [copy.deepcopy(table), pickle.loads(pickle.dumps(table))]
    for each in (table, *twins):
        play(each, 20)
    for each in (table, *twins):
        assert fast(each)
        walk(ordinary := table_of(), 40)
        assert_alike(each, ordinary)


@pytest.mark.parametrize("number", [0.5, np.float64(0.5), 1, True, 0], ids=repr)
@pytest.mark.parametrize("form", [list, tuple, np.array])
def test_a_number_may_come_in_any_plain_form(number: Any, form: Callable[..., Any]) -> None:
    quick, ordinary = table_of(), table_of()
    for _ in range(10):
        quick.tell(quick.ask(), form([number]))
        ordinary.tell(ordinary.ask(draws_left=ENOUGH), cr.Draws([float(number)]))
    assert fast(quick)
    assert_alike(quick, ordinary)


@pytest.mark.parametrize(
    "kind", [np.float16, np.float32, np.int8, np.uint64, np.longdouble, object]
)
def test_an_array_of_any_type_is_told_as_ever(kind: Any) -> None:
    quick, ordinary = table_of(), table_of()
    seen = []
    for table, budget in ((quick, {}), (ordinary, {"draws_left": ENOUGH})):
        batch = table.ask(**budget)
        try:
            table.tell(batch, np.array([0.7], kind))
            seen.append(None)
        except cr.ArmError as error:
            seen.append(str(error))
            table.tell(batch, [0.5])
    assert seen[0] == seen[1]
    assert_alike(quick, ordinary)


# -- leaving it


def restored(table: cr.Allocator) -> None:
    twin = table_of()
    walk(twin, table.progress().tickets)
    batch = twin.ask(draws_left=ENOUGH)
    arm = cr.Arm(lambda rng, size: np.array([0.25]), name=batch.arm)
    digest = table.digest
    restore(table, perform(table.plan, arm, batch, digest))


def told_by_outcome(table: cr.Allocator) -> None:
    batch = table.ask()
    arm = cr.Arm(lambda rng, size: np.array([0.25]), name=batch.arm)
    table.tell(perform(table.plan, arm, batch, table.digest))


def refused(table: cr.Allocator) -> None:
    batch = table.ask()
    with pytest.raises(cr.ArmError, match="returned nan"):
        table.tell(batch, [np.nan])
    table.tell(batch, [0.25])


def looked_at(table: cr.Allocator) -> None:
    table.interval = Anytime()
    play(table, 200)
    assert table.interval.rho2 is not None


LEAVING: dict[str, Callable[[cr.Allocator], None]] = {
    "a budget": lambda table: table.tell(table.ask(draws_left=5), [0.25]),
    "a budget of cost": lambda table: table.tell(table.ask(cost_left=5.0), [0.25]),
    "no budget": lambda table: table.ask(draws_left=0),
    "Draws": lambda table: table.tell(table.ask(), cr.Draws([0.25])),
    "an outcome": told_by_outcome,
    "a restored outcome": restored,
    "a bad draw": refused,
    "another interval": looked_at,
    "another batch": lambda table: table.tell(cr.Batch(*table.ask()), [0.25]),
}


@pytest.mark.parametrize("after", [0, 1, 40])
@pytest.mark.parametrize("way", LEAVING)
def test_leaving_the_fast_way_is_as_if_there_had_been_none(way: str, after: int) -> None:
    quick, ordinary = table_of(), table_of()
    play(quick, after)
    walk(ordinary, after)
    for table in (quick, ordinary):
        LEAVING[way](table)
    assert not fast(quick)
    play(quick, 40)
    walk(ordinary, 40)
    assert_alike(quick, ordinary)


@pytest.mark.parametrize("read", [False, True])
def test_a_batch_that_is_out_is_missed_on_the_fast_way_too(read: bool) -> None:
    quick, ordinary = table_of(), table_of()
    play(quick, 30)
    walk(ordinary, 30)
    batches = [quick.ask(), ordinary.ask(draws_left=ENOUGH)]
    assert batches[0] == batches[1]
    if read:
        assert all_of(quick) == all_of(ordinary)
        assert "the draws of ticket 30 are missing" in quick.result().warnings[-1]
    for table in (quick, ordinary):
        with pytest.raises(cr.PlanError, match=r"1 batches are out \(tickets 30\)"):
            table.ask()
        table.tell(batches[0], [0.25])
    assert_alike(quick, ordinary)


BAD: dict[str, tuple[Any, ...]] = {
    "NaN": ([np.nan],),
    "infinite": ([-np.inf],),
    "too far": ([2.0**1000],),
    "outside": ([1.5],),
    "two": ([0.1, 0.2],),
    "none": ([],),
    "nothing": (),
    "a number": (0.5,),
    "text": (["x"],),
    "a vector": ([[0.5, 0.5]],),
    "a component": ([[0.5]],),
    "costs": ([0.5], [1.0]),
    "complex": ([1j],),
    "a huge whole number": ([10**40],),
}


@pytest.mark.parametrize("after", [1, 20])
@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("owner", ["arms", "policy", "nobody"])
def test_errors_are_the_same_fast(kind: str, after: int, owner: str) -> None:
    bounds = (BOUNDS["plain"],) * 3 if owner == "arms" else ()
    policy: Any = UCB1(bounds=(0, 1)) if owner == "policy" else "ucb1"
    if owner == "nobody":
        policy = REGISTRY["subgaussian-ucb"].example()
    quick, ordinary = table_of(policy, bounds=bounds), table_of(policy, bounds=bounds)
    play(quick, after)
    walk(ordinary, after)
    seen = []
    for table, budget in ((quick, {}), (ordinary, {"draws_left": ENOUGH})):
        batch = table.ask(**budget)
        try:
            table.tell(batch, *BAD[kind])
            seen.append("taken")
        except cr.CroupierError as error:
            seen.append((type(error), str(error), repr(getattr(error, "value", None))))
            table.tell(batch, [0.5])
        with pytest.raises(
            cr.PlanError,
            match=f"ticket {after} was told already, and its first answer counts; no ticket is out",
        ):
            table.tell(batch, [0.5])
        with pytest.raises(cr.PlanError, match="ticket 99 was never asked for; no ticket is out"):
            table.tell(cr.Batch(99, "arm 0", 1, 7), [0.5])
    assert seen[0] == seen[1]
    assert (seen[0] == "taken") == (kind in ("outside",) and owner == "nobody")
    assert_alike(quick, ordinary)


def test_a_draw_outside_of_its_own_arms_bounds_is_refused_fast() -> None:
    table = table_of(bounds=((0.0, 1.0), (0.0, 1.0), (0.25, 0.5)))
    play(table, 2)
    batch = table.ask()
    assert batch.arm == "arm 2"
    for bad in (0.125, 0.75):
        message = rf"arm 'arm 2', ticket 2: returned {bad}, outside of its bounds \(0.25, 0.5\)"
        with pytest.raises(cr.ArmError, match=message):
            table.tell(batch, [bad])


def test_another_batch_under_the_same_ticket_is_refused_fast() -> None:
    table = table_of()
    assert table.ask().arm == "arm 0"
    with pytest.raises(cr.PlanError, match=r"ticket 0 .*'arm 0'.*'arm 1'"):
        table.tell(cr.Batch(0, "arm 1", 1, 7), [0.5])


# -- interrupts

ROOMS = {
    "croupier.tables.single_draws", "croupier.running.allocator", "croupier.tables.independent",
    "croupier.tables.arm_books", "croupier.tables.books", "croupier.tables.tickets",
    "croupier.data.ledger", "croupier.data.history", "croupier.data.extremes",
    "croupier.policies.payoffs", "croupier.policies.bounded", "croupier.policies.base",
    "croupier.policies.indices",
}  # fmt: skip


class Interrupt:
    """Raises KeyboardInterrupt before the n-th instruction of croupier's own code."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __enter__(self) -> Interrupt:
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: Any, event: str, _: object) -> Any:
        if frame.f_globals["__name__"] not in ROOMS:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self._trace


def interrupted(doing: Callable[[cr.Allocator], Any], stride: int) -> Iterator[cr.Allocator]:
    """Interrupt what is done at a table after 12 draws, at one instruction after the other."""
    after = 0
    while True:
        after += stride
        table = table_of()
        play(table, 8)
        _ = table.ledger
        play(table, 4)
        with Interrupt(after) as interrupt, contextlib.suppress(KeyboardInterrupt):
            doing(table)
        if interrupt.left > 0:  # there was nothing left to interrupt
            assert after > 10 * stride
            return
        yield table


@pytest.fixture(autouse=True)
def _no_tracing() -> Iterator[None]:
    before = sys.gettrace()
    yield
    sys.settrace(before)


@pytest.mark.parametrize("stride", [3, *slow(1)])
def test_an_interrupt_in_tell_neither_loses_nor_doubles_a_draw(stride: int) -> None:
    times = set()
    after = 0
    walk(ordinary := table_of(), 12)
    ordinary.tell(ordinary.ask(draws_left=ENOUGH), cr.Draws([0.375]))
    walk(ordinary, 30)
    expected = all_of(ordinary)
    while True:
        after += stride
        table = table_of()
        play(table, 12)
        batch = table.ask()
        with Interrupt(after) as interrupt, contextlib.suppress(KeyboardInterrupt):
            table.tell(batch, [0.375])
        if interrupt.left > 0:
            break
        assert table.result().draws == table.progress().tickets
        told = table.progress().tickets - 12
        assert told in (0, 1)
        times.add(told)
        if not told:
            table.tell(batch, [0.375])
        play(table, 30)
        assert fast(table)
        assert all_of(table) == expected
    assert after > 100
    assert times == {0, 1}  # before the draw was noted, and after


@pytest.mark.parametrize("stride", [79, *slow(17)])
@pytest.mark.parametrize(
    "doing",
    [
        lambda table: table.ledger,
        lambda table: table.progress().value,
        lambda table: table.result(),
        lambda table: setattr(table, "interval", Anytime(rho2=None)),
    ],
    ids=["ledger", "progress", "result", "leaving"],
)
def test_an_interrupt_while_draws_are_booked_neither_loses_nor_doubles_one(
    doing: Callable[[cr.Allocator], Any], stride: int
) -> None:
    walk(ordinary := table_of(), 42)
    expected = all_of(ordinary)
    for table in interrupted(doing, stride):
        assert table.result().draws == table.progress().draws == 12
        if isinstance(table.interval, Anytime):
            continue
        play(table, 30)
        assert all_of(table) == expected


def test_an_interrupt_in_ask_leaves_the_answer_as_it_is() -> None:
    play(same := table_of(), 12)
    expected = all_of(same)
    for table in interrupted(lambda table: table.ask(), 1):
        if not table.out:
            assert all_of(table) == expected
            play(table, 1)
            assert table.result().draws == 13
        else:  # nobody has the batch: it is missed, and said to be
            assert table.result().draws == 12
            assert "the draws of ticket 12 are missing" in table.result().warnings[-1]
