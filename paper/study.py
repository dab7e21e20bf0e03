"""What the three studies share: their policies, and a loop over parts that can be continued."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from croupier.policies import VarianceThompson
from croupier.views.progress import counting, interactive

__all__ = ["DEFAULT", "PAPER", "Watch", "measure_missing"]

#: The four policies that the paper compares, and the default of croupier as a fifth.
PAPER: Final = ("ucb1", "ucb-v", "kl-ucb", "thompson")
DEFAULT: Final = VarianceThompson.name

#: True for a bar, False for nothing, a function that is given a line per part; None is a bar in a
#: terminal and the log "croupier" elsewhere.
Watch: TypeAlias = bool | Callable[[str], None] | None

AnyPart = TypeVar("AnyPart")

_log = logging.getLogger("croupier")


def measure_missing(
    out: str | Path,
    missing: Sequence[AnyPart],
    total: int,
    parts: str,
    measure: Callable[[AnyPart, Callable[[int], None]], None],
    progress: Watch = None,
    *,
    units: int = 1,
    name: Callable[[AnyPart], object] = str,
) -> None:
    """Measure the parts of a study that are missing, one after the other.

    `measure` writes a part into the folder `out`. It calls the function that it is given with the
    work that is done, and a part is `units` of work. `parts` is what the parts are called.

    >>> said = []
    >>> measure_missing("out", "bc", 3, "letters", lambda part, count: count(1), said.append)
    >>> said
    ['1 of 3 letters are there already', '2 of 3 letters: b', '3 of 3 letters: c']
    """
    done = total - len(missing)
    shown = progress is True or (progress is None and interactive())

    def say(line: str) -> None:
        if callable(progress):
            progress(line)
        elif progress is None and not shown:
            _log.info(line)

    if 0 < done < total:
        say(f"{done} of {total} {parts} are there already")
    try:
        with counting(units * len(missing), parts, shown) as count:
            for part in missing:
                measure(part, count)
                done += 1
                say(f"{done} of {total} {parts}: {name(part)}")
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"stopped after {done} of {total} {parts}; what is done is in {out}, "
            "and the same command goes on from there"
        ) from None
