"""croupier ask and tell: a run whose draws are made by hand, by a queue, or by another language."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console

from croupier.checks import choice, count_of
from croupier.cli import options as opt
from croupier.cli.terminal import NOTHING_LEFT, WAIT, errors_in_one_line, print_answer
from croupier.errors import ArmError, CroupierError, PlanError, StoreError

if TYPE_CHECKING:
    from croupier.data.draws import Batch
    from croupier.running.allocator import Allocator

__all__ = ["ask", "tell"]

#: Another command may have the store for a moment: wait this many seconds for it.
_PATIENCE: Final = 10.0


def ask(
    path: Annotated[Path, typer.Argument(help="The store of the run; the first ask makes it.")],
    arms: Annotated[
        list[str] | None,
        typer.Option("--arm", help="The name of an arm, for the first ask.", show_default=False),
    ] = None,
    draws: opt.Draws = None,
    cost: opt.Cost = None,
    policy: opt.Policy = None,
    combine: opt.Combine = None,
    width: opt.Width = None,
    batch: opt.Batch = None,
    seed: opt.Seed = None,
    log: Annotated[bool, typer.Option("--log", help="The values are logs of draws.")] = False,
    anytime: Annotated[
        bool,
        typer.Option("--anytime", help="An interval that holds at every look, so you may stop."),
    ] = False,
    lost: Annotated[
        bool, typer.Option("--lost", help="Print the batches that are out once more.")
    ] = False,
    ticket: Annotated[
        int | None, typer.Option(help="With --lost: only this ticket.", show_default=False)
    ] = None,
    seed_bits: Annotated[int, typer.Option(min=16, max=64, help="Bits of a seed.")] = 31,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
) -> None:
    """Print the next batch of a run: its ticket, size, seed and arm.

    The first ask makes the store and needs the names of the arms. Give --draws or --cost, the
    whole budget, with every ask. A line is "ticket size seed arm"; a batch of more than 10,000
    draws has several lines, and their values are told together, in this order. The first batches
    are a hundredth of --draws, unless --batch says more. Draw `size` values
    from `seed`, and tell them. Exit code 4: wait, and tell an older ticket first. Exit code 5: the
    budget is used up.

    Examples:
    croupier ask run.db --arm naive --arm tilted --width 4 --rng 7 --draws 1e4

    croupier ask run.db --draws 1e4

    croupier ask run.db --lost
    """
    with errors_in_one_line():
        if batch is None and draws is not None and draws >= 200 and not path.exists():
            batch = str(count_of("draws", draws) // 100)  # an ask and a tell take a second of CPU
        first = {
            "rng": seed, "policy": policy, "combine": combine, "width": width, "log": log or None,
            "anytime": anytime or None, "batch": int(batch) if batch and batch.isdigit() else batch,
        }  # fmt: skip
        given = {name: value for name, value in first.items() if value is not None}
        unit = "draws" if cost is None else "cost"
        with _table(path, arms, given, unit) as table:
            if lost:
                out = table.out if ticket is None else (table.ask_lost(ticket),)
                for each in out:
                    table.ask_lost(each.ticket)
                    _print(each, seed_bits, as_json)
                return
            if ticket is not None:
                raise PlanError("--ticket goes with --lost: which lost batch is printed again")
            asked = _next(table, draws, cost)
            if asked is not None:
                _print(asked, seed_bits, as_json)
                return
            waits = table.tickets.waiting
        Console(stderr=True).print(
            "wait: tell an older ticket first" if waits else "the budget is used up"
        )
        raise typer.Exit(WAIT if waits else NOTHING_LEFT)


def _next(table: Allocator, draws: float | None, cost: float | None) -> Batch | None:
    progress = table.progress()
    if len(table.out) >= table.width:
        return None
    return table.ask(
        None if draws is None else count_of("draws", draws) - progress.draws,
        None if cost is None else cost - progress.cost,
    )


def _table(path: Path, arms: list[str] | None, given: dict[str, Any], unit: str) -> Allocator:
    """Return the table of a store: the one in it, or a new one."""
    from croupier.estimates.intervals import Anytime
    from croupier.running.allocator import Allocator
    from croupier.store.reading import open_run

    def made() -> Allocator:
        if not path.exists():
            if not arms:
                raise PlanError(f"there is no store {path}: name the arms, --arm a --arm b")
            return Allocator(arms, store=path, unit=unit, **given)
        status = open_run(path).status
        plan = status.plan
        if arms is not None and set(arms) != set(plan.names):
            raise PlanError(
                f"the arms of {path} are {', '.join(plan.names)}, not {', '.join(arms)}"
            )
        if given:
            raise PlanError(f"{path} has its own {', '.join(given)}: these belong to the first ask")
        return Allocator(plan, store=path, anytime=status.interval == Anytime.name)

    from croupier.store.lock import owner_of
    from croupier.store.place import resolved

    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return made()
        except StoreError:
            if time.monotonic() > until or owner_of(resolved(path)) is None:
                raise
            time.sleep(0.05)


def _print(batch: Batch, seed_bits: int, as_json: bool) -> None:
    """Print the calls of a batch, with the seeds that a program as arm would get."""
    rng, left = batch.rng(), batch.size
    while left:
        size = min(left, batch.chunk)
        seed = int(rng.integers(2**seed_bits, dtype="uint64"))
        printed = {"ticket": batch.ticket, "size": size, "seed": seed, "arm": batch.arm}
        typer.echo(json.dumps(printed) if as_json else " ".join(map(str, printed.values())))
        left -= size


def tell(
    path: opt.StorePath,
    ticket: Annotated[int, typer.Argument(help="The ticket that ask has printed.")],
    values: Annotated[
        str, typer.Argument(help="A file with one draw per line; - is the standard input.")
    ],
    output: Annotated[
        str, typer.Option("--format", help="lines (or CSV), json or binary, as programs print.")
    ] = "lines",
    as_json: opt.Json = False,
) -> None:
    """Tell the draws of a ticket. Tickets may arrive in any order.

    A line has one value, or d values for a vector; where the budget is a cost, the last number of
    a line is the cost of the draw. Numbers are separated by spaces or commas. A first line of
    names is skipped. The answer is stored when the command returns. A second answer for the same
    ticket is refused: the first one counts.

    Examples:
    croupier tell run.db 0 values.csv

    ./simulate 100 1234 | croupier tell run.db 3 -
    """
    with errors_in_one_line():
        from croupier.functions.program_answers import Output

        choice("format", output, Output)
        printed = _read(values)
        if not path.exists():
            raise PlanError(f"there is no store {path}: croupier ask makes it")
        with _table(path, None, {}, "draws") as table:
            batch = table.ask_lost(ticket)
            draws = _draws(table, batch, printed, output)
            table.tell(batch, *draws)
            result = table.result()
        if as_json:
            print_answer(Console(highlight=False), result, as_json=True)
        else:
            from croupier.views import table_content

            line = f"ticket {ticket}: {table_content.line(result.as_summary())}"
            Console(highlight=False).print(line, markup=False, soft_wrap=True)


def _read(values: str) -> bytes:
    if values == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(values).read_bytes()
    except OSError as error:
        raise CroupierError(
            f"cannot read {values}: {error.strerror or error}; give a file with one draw per line, "
            "or - and the draws on the standard input"
        ) from error


def _draws(table: Allocator, batch: Batch, printed: bytes, output: Any) -> tuple[Any, Any]:
    """Return the values of a batch, and their costs if the budget is a cost."""
    from croupier.functions.function import ProgramError
    from croupier.functions.program_answers import Answer, draws_of

    costs = table.plan.unit != "draws"
    components: int | None = None
    if output == "lines":
        printed = _without_title(printed)
        width = len(printed.partition(b"\n")[0].replace(b",", b" ").split())
        components = width - costs if width - costs > 1 else None
    elif output == "binary":
        width = len(printed) // 8 // batch.size
        components = width - costs if width - costs > 1 else None
    try:
        draws = draws_of(Answer(output, components, costs, logs=False), printed, batch.size)
    except ProgramError as error:
        message = f"the file {error}; the ticket is still out"
        raise ArmError(message, arm=batch.arm, ticket=batch.ticket, value=error.printed) from None
    return (draws.values, draws.costs) if costs else (draws, None)


def _without_title(printed: bytes) -> bytes:
    """Return CSV without a first line of names, and without quotes."""
    title, _, rest = printed.replace(b"\r\n", b"\n").partition(b"\n")
    cells = title.replace(b'"', b"").replace(b",", b" ").split()
    named = bool(cells) and all(cell[:1].isalpha() and not _number(cell) for cell in cells)
    return rest if named and rest.strip() else printed.replace(b"\r\n", b"\n")


def _number(cell: bytes) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
