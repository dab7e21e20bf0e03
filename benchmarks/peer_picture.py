"""The picture of peers.csv: croupier's evaluations relative to other methods, problem by problem.

`make bench-peers` draws it; `python -m benchmarks.peer_picture` draws it again from the file.
"""

from __future__ import annotations

from benchmarks import report

PEERS = ("CubQMCBayesNetG", "CubQMCSobolG", "qmc_quad", "vegas")
MARKS = {"first": "o", "later": "s", "held out": "D"}


def main() -> None:
    from matplotlib import pyplot

    rows = report.read("peers")
    found = {(row["problem"], row["method"], row["rtol"]): row for row in rows}
    names = {row["problem"]: row["group"] for row in rows}
    order = sorted(names, key=lambda name: list(MARKS).index(names[name]))
    figure, panels = pyplot.subplots(1, 2, figsize=(11, 11), sharey=True, layout="constrained")
    for panel, rtol in zip(panels, ("0.01", "0.001"), strict=True):
        for k, method in enumerate(PEERS):
            for name in order:
                ours, theirs = (found.get((name, one, rtol)) for one in ("croupier", method))
                if ours is None or theirs is None:
                    continue
                solved = all(row["runs"] == row["reached"] for row in (ours, theirs))
                off = float(theirs["true error"] or "inf") > float(rtol)
                ratio = float(ours["evaluations"]) / float(theirs["evaluations"])
                if solved and ratio < 100:  # the others stopped at a wrong value
                    panel.plot(ratio, order.index(name), MARKS[names[name]], color=f"C{k}",
                               fillstyle="none" if off else "full", markersize=5)  # fmt: skip
            panel.plot([], [], "o", color=f"C{k}", label=method if rtol == "0.01" else None)
        panel.axvline(1, color="black", linewidth=0.8)
        panel.set_xscale("log")
        panel.set_xlabel(f"croupier's evaluations / theirs, rtol {rtol}")
        panel.grid(axis="y", linewidth=0.3)
    panels[0].set_yticks(range(len(order)), order, fontsize=8)
    panels[0].set_ylim(len(order) - 0.5, -0.5)
    figure.legend(fontsize=8, loc="outside lower center", ncols=len(PEERS))
    figure.suptitle(
        "Left of 1, croupier needs less. Squares and diamonds: later and held-out problems. Open: "
        "the median error\nof the other method is above the tolerance. Problems that one of both "
        "did not solve are missing.", fontsize=9,
    )  # fmt: skip
    figure.savefig(report.FOLDER / "peers.png", dpi=110)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
