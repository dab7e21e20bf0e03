"""Stores of the first schema: convert their contents to the present schema.

In the first schema a plan had no kind of table: `combine` named it, `weights` had the weights of
strata, and the settings of a mixture were the parameters of its policy. A call had the name of its
interval and, separately, `rho2`: the one number that an interval may have learned.
"""

from __future__ import annotations

from typing import Any

from croupier.data.plan import Plan

__all__ = ["call", "contents"]


def contents(first: dict[str, Any]) -> dict[str, Any]:
    """Return the plan of a store, and which arms learn, from those of the first schema."""
    now = {"log": False, **first, "table": Plan.table, "settings": {}}
    weights = now.pop("weights")
    if now["combine"] == "strata":
        now |= {"table": "strata", "settings": {"weights": weights}}
    if now["combine"] == "mixture":
        settings = dict(now["policy"])
        now |= {"table": "mixture", "policy": {"name": settings.pop("name")}, "settings": settings}
        now["learns"] = [False] * len(now["names"])
    return now


def call(first: dict[str, Any]) -> dict[str, Any]:
    """Return a call of a run from one of the first schema."""
    now = dict(first)
    interval, rho2, warnings = {"name": now["interval"]}, now.pop("rho2"), now.pop("doubts")
    if interval["name"] == "anytime":
        interval["rho2"] = rho2
    return {**now, "interval": interval, "warnings": warnings}
