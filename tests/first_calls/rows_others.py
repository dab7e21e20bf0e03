"""First calls of evidence, strata, a continuum, families, ask and tell, the command line."""

import itertools
import json
import sys
from pathlib import Path

import numpy as np
from scipy import stats
from scipy.special import betaln, ndtri
from typer.testing import CliRunner

import croupier as cr
from croupier import cli
from croupier.importance import Family
from tests.first_calls.row import EITHER, row
from tests.first_calls.rows_estimate import TAIL, scaled, shifted


def conjugate(d):
    """The log of the likelihood of one observation 0.5 per coordinate, and the right answer."""
    return lambda theta: stats.norm.logpdf(0.5, theta, 0.5).sum(axis=1), d * stats.norm.logpdf(
        0.5, 0, np.sqrt(1.25)
    )


@row(conjugate(1)[1], within=0.05)
def evidence_of_a_normal(rng):
    return cr.evidence(conjugate(1)[0], stats.norm(0, 1), draws=20_000, rng=rng)


@row(conjugate(1)[1], within=0.01, stopped="tolerance")
def evidence_in_seconds_with_a_tolerance(rng):
    return cr.evidence(conjugate(1)[0], stats.norm(0, 1), seconds=10, rtol=0.01, rng=rng)


@row(conjugate(3)[1], within=0.05, stopped="tolerance")
def evidence_in_three_dimensions(rng):
    return cr.evidence(conjugate(3)[0], [stats.norm(0, 1)] * 3, seconds=10, rtol=0.05, rng=rng)


@row(conjugate(10)[1], within=0.05, stopped="tolerance")
def evidence_in_ten_dimensions(rng):
    return cr.evidence(conjugate(10)[0], [stats.norm(0, 1)] * 10, seconds=15, rtol=0.05, rng=rng)


@row(betaln(8, 14) - betaln(1, 1), within=0.02, stopped="tolerance")
def evidence_of_a_beta_binomial(rng):
    def log_likelihood(p):
        return 7 * np.log(p[:, 0]) + 13 * np.log1p(-p[:, 0])

    return cr.evidence(log_likelihood, stats.uniform(0, 1), seconds=10, rtol=0.02, rng=rng)


@row(np.log(stats.norm.pdf(3, 0, np.sqrt(4.01))), within=0.1, stopped="tolerance")
def evidence_with_two_modes(rng):
    def log_likelihood(theta):
        left, right = (stats.norm.logpdf(s, theta[:, 0], 0.1) for s in (-3.0, 3.0))
        return np.logaddexp(left, right) - np.log(2)

    return cr.evidence(log_likelihood, stats.norm(0, 2), seconds=10, rtol=0.05, rng=rng)


EDGES = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0])


def slice_of(low, high):
    return lambda rng, size: np.exp(ndtri(rng.uniform(low, high, size)))


@row(np.exp(0.5), within=0.01)
def six_strata(rng):
    strata = {f"{low:g}": slice_of(low, high) for low, high in itertools.pairwise(EDGES)}
    return cr.stratify(strata, np.diff(EDGES), draws=100_000, rng=rng)


@row(np.exp(0.5), within=0.1, warns=EITHER)
def six_strata_in_two_hundred_draws(rng):
    strata = {f"{low:g}": slice_of(low, high) for low, high in itertools.pairwise(EDGES)}
    return cr.stratify(strata, np.diff(EDGES), draws=200, rng=rng)


@row(1 / 9, within=0.05)
def strata_that_grow(rng):
    return cr.stratify(
        lambda x: x[:, 0] ** 8, over=[(0, 1)] * 2, splits="adaptive", draws=10_000, rng=rng
    )


def thirds():
    edges = np.array([0.0, 0.5, 0.8, 1.0])
    return {f"{low:g}": slice_of(low, high) for low, high in itertools.pairwise(edges)}


@row(np.exp(0.5), within=0.01)
def three_strata_and_a_second(rng):
    return cr.stratify(thirds(), [0.5, 0.3, 0.2], seconds=1, rng=rng)


@row(np.exp(0.5), within=0.01, stopped="tolerance")
def three_strata_and_a_tolerance(rng):
    return cr.stratify(thirds(), [0.5, 0.3, 0.2], draws=1_000_000, rtol=0.01, rng=rng)


@row(np.exp(0.5), within=0.02)
def three_strata_and_two_workers(rng):
    return cr.stratify(thirds(), [0.5, 0.3, 0.2], draws=50_000, workers=2, rng=rng)


@row(np.exp(0.5), warns=EITHER)
def three_strata_in_thirty_draws(rng):
    return cr.stratify(thirds(), [0.5, 0.3, 0.2], draws=30, rng=rng)


@row(stats.norm.sf(3), within=0.1)
def a_drift_between_0_and_6(rng):
    def tilted(rng, size, drift):
        z = rng.normal(drift, 1.0, size)
        return (z > 3) * np.exp(-drift * z + drift**2 / 2)

    return cr.estimate(cr.continuum(tilted, drift=(0.0, 6.0)), draws=10_000, rng=rng)


def beyond_four(rng, size, scale):
    z = rng.normal(0, scale, size)
    return (z > 4) * scale * np.exp(z**2 / 2 * (1 / scale**2 - 1))


@row(
    stats.norm.sf(4), within=0.5, warns=EITHER,
    holds=lambda result: not any("depend" in text for text in result.warnings),
)  # fmt: skip
def a_scale_with_rare_payoffs(rng):
    return cr.estimate(cr.continuum(beyond_four, scale=(1.0, 4.0)), draws=10_000, rng=rng)


@row(
    np.exp(0.5), within=0.02, warns=EITHER,
    holds=lambda result: sum(row.share for row in result.arms if row.name < "scale=0.8") < 0.1,
)  # fmt: skip
def a_scale_with_infinite_variances_below_one_half_root(rng):
    def cosh(rng, size, scale):
        z = rng.normal(0, scale, size)
        return np.cosh(z) * scale * np.exp(z**2 / 2 * (1 / scale**2 - 1))

    return cr.estimate(cr.continuum(cosh, scale=(0.3, 3.0)), draws=10_000, rng=rng)


def tilted_by(rng, size, drift):
    z = rng.normal(drift, 1.0, size)
    return (z > 3) * np.exp(-drift * z + drift**2 / 2)


@row(stats.norm.sf(3), within=0.1)
def a_drift_and_half_a_second(rng):
    return cr.estimate(cr.continuum(tilted_by, drift=(0.0, 6.0)), seconds=0.5, rng=rng)


@row(stats.norm.sf(3), within=0.05, stopped="tolerance")
def a_drift_and_a_tolerance(rng):
    return cr.estimate(cr.continuum(tilted_by, drift=(0.0, 6.0)), draws=10**6, rtol=0.05, rng=rng)


@row(stats.norm.sf(3), warns=EITHER)
def a_drift_in_two_hundred_draws(rng):
    return cr.estimate(cr.continuum(tilted_by, drift=(0.0, 6.0)), draws=200, rng=rng)


@row(TAIL, within=0.03)
def a_family_of_tilted_normals(rng):
    family = Family.tilted(lambda x: x[:, 0] > 1.5, shifts=[0, 1, 2])
    return family.estimate(draws=10_000, rng=rng)


def tilted_family():
    return Family.tilted(lambda x: x[:, 0] > 1.5, shifts=[0, 1, 2])


@row(TAIL, within=0.01, stopped="tolerance")
def a_family_and_a_tolerance(rng):
    return tilted_family().estimate(draws=1_000_000, rtol=0.01, rng=rng)


@row(TAIL, within=0.05)
def a_family_and_half_a_second(rng):
    return tilted_family().estimate(seconds=0.5, rng=rng)


@row(TAIL, warns=EITHER)
def a_family_in_fifty_draws(rng):
    return tilted_family().estimate(draws=50, rng=rng)


@row(TAIL, within=0.03)
def a_family_and_two_workers(rng):
    return tilted_family().estimate(draws=10_000, workers=2, rng=rng)


@row(TAIL, within=0.03)
def a_family_as_arms(rng):
    return cr.estimate(tilted_family().arms(), draws=20_000, rng=rng)


@row(9.25, within=0.05)
def a_family_of_own_proposals(rng):
    def log_density(x):
        return np.logaddexp(*(stats.norm(s, 0.5).logpdf(x) for s in (-3, 3))) - np.log(2)

    proposals = {"left": stats.norm(-3, 0.6), "right": stats.norm(3, 0.6), "wide": stats.norm(0, 3)}
    return Family(log_density, proposals, np.square, normalised=True).estimate(10_000, rng=rng)


@row(1 / 21, within=0.05)
def ten_equal_strata_of_a_steep_power(rng):
    def piece(k):
        return lambda rng, size: ((k + rng.random(size)) / 10) ** 20

    return cr.stratify({f"{k}": piece(k) for k in range(10)}, [0.1] * 10, draws=2_000, rng=rng)


@row(0.5, within=0.2, warns=EITHER)
def a_family_for_a_curved_target(rng):
    def log_density(x):
        return stats.norm.logpdf(x[:, 0]) + stats.norm.logpdf(x[:, 1], x[:, 0] ** 2 / 2, 0.5)

    proposals = {
        "wide": stats.multivariate_normal([0, 0], 4 * np.eye(2)),
        "right": stats.multivariate_normal([1.5, 1.5], np.eye(2)),
        "left": stats.multivariate_normal([-1.5, 1.5], np.eye(2)),
    }
    family = Family(log_density, proposals, lambda x: x[:, 1], normalised=True)
    return family.estimate(draws=5_000, rng=rng)


@row(TAIL, best="shifted")
def sixty_batches_asked_and_told(rng):
    table = cr.Allocator(["scaled", "shifted"], rng=rng)
    draw = {"scaled": scaled, "shifted": shifted}
    for _ in range(60):
        batch = table.ask()
        table.tell(batch, draw[batch.arm](batch.rng(), batch.size))
    return table.result()


def croupier(*arguments):
    sys.modules.pop("arms", None)  # as in a new process
    done = CliRunner().invoke(cli.app, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


@row(0.7468241328124271, within=1e-3, stopped="tolerance")
def the_sample_of_croupier_init(rng):
    croupier("init")
    return cr.Result.from_dict(json.loads(croupier("run", "arms.toml", "--rng", rng, "--json")))


@row(0.7468241328124271, within=0.01)
def a_python_file_on_the_command_line(rng):
    croupier("init")
    said = croupier("run", "arms.py:antithetic", "--draws", 20_000, "--rng", rng, "--json")
    return cr.Result.from_dict(json.loads(said))


@row(stats.norm.sf(3), within=0.2)
def a_limit_state_on_the_command_line(rng):
    Path("arms.py").write_text("def g(x):\n    return 3 - x[:, 0]\n")
    Path("rare.toml").write_text(
        '[probability]\npython = "arms.py:g"\nover = 2\n\n[run]\ndraws = 3000\n'
    )
    return cr.Result.from_dict(json.loads(croupier("run", "rare.toml", "--rng", rng, "--json")))


@row(np.sin(1.0) ** 2, within=1e-3, holds=lambda result: result.draws == 20_000)
def an_integral_on_the_command_line_that_is_resumed(rng):
    Path("arms.py").write_text(
        "import numpy as np\n\ndef f(x):\n    return np.cos(x).prod(axis=1)\n"
    )
    Path("box.toml").write_text(
        '[integrate]\npython = "arms.py:f"\nover = [[0, 1], [0, 1]]\n\n[run]\nseed = 1\n'
    )
    croupier("run", "box.toml", "--draws", 10_000, "--rng", rng, "--store", "run.db")
    croupier("resume", "run.db", "box.toml", "--draws", 20_000)
    croupier("export", "run.db", "--json", "run.json")
    return cr.Result.from_dict(json.loads(Path("run.json").read_text()))


ROOT = Path(__file__).parents[2]
README, TUTORIAL, GUIDE = ROOT / "README.md", ROOT / "docs/tutorial.md", ROOT / "docs/guide.md"


def page(path, seed, containing, name="result"):
    """Run the blocks of a page with a seed, up to the one with this text; return a result of it."""
    space = {"__name__": "page"}
    for block in path.read_text("utf-8").split("```python\n")[1:]:
        code = block.partition("```")[0].replace("rng=7", f"rng={seed}")
        exec(compile(code, str(path), "exec"), space)
        if containing in code:
            return space[name]
    raise AssertionError(f"no block of {path.name} has {containing!r}")


@row(TAIL, best="shifted", share=0.98, within=3e-3)
def the_readme_in_draws(rng):
    return page(README, rng, "draws=1_000_000, rng=")


@row(TAIL, within=0.01, stopped="tolerance")
def the_readme_in_seconds(rng):
    return page(README, rng, "seconds=5, rtol=0.01")


LOSSES = np.arange(1, 60)
EXCESS = float(
    stats.poisson.pmf(LOSSES, 3)
    @ (1.5 * LOSSES * stats.gamma.sf(10, LOSSES + 1) - 15 * stats.gamma.sf(10, LOSSES))
)


@row(EXCESS, best="both", within=0.01)
def the_tutorial_in_draws(rng):
    return page(TUTORIAL, rng, "draws=400_000, rng=")


@row(EXCESS, best="both", within=0.01)
def the_tutorial_in_seconds(rng):
    return page(TUTORIAL, rng, "seconds=1, rng=", "timed")


@row(EXCESS, stopped="tolerance", within=0.006)
def the_tutorial_with_a_tolerance(rng):
    return page(TUTORIAL, rng, "seconds=30, rtol=0.005", "precise")


@row(np.e - 1, best="antithetic", within=0.01)
def the_guide_in_draws(rng):
    return page(GUIDE, rng, '"antithetic": antithetic}, draws=10_000')


@row(1.0, best="cheap", share=0.9, within=0.05)
def the_guide_in_cost(rng):
    return page(GUIDE, rng, "cost=10_000, rng=", "per_cost")
