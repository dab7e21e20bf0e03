"""Quick tests with the oldest and the newest versions of what croupier depends on.

`make test-versions` runs them on every Python from 3.11 to 3.14 that it finds, each in an
environment of its own below build/versions, and says which it skipped; ARGS="3.12" chooses some.
The oldest versions are the lower bounds of pyproject.toml, or the first with wheels for a Python.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOME = ROOT / "build" / "versions"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
#: How uv resolves the versions of an age, and options of pytest. The file that is left out turns
#: warnings into errors, and an old xarray warns about a new numpy.
AGES = {
    "oldest": ("lowest-direct", ["--ignore=tests/unit/data/test_log_scale.py"]),
    "newest": ("highest", []),
}
TOOLS = ("pytest>=8", "hypothesis", "mpmath", "psutil")

#: Something of every dependency: the loop, numpy, scipy, typer, rich, matplotlib, pandas, numba.
TESTS = (
    "tests/unit/running/test_estimate.py",
    "tests/unit/data",
    "tests/unit/cli",
    "tests/unit/results",
    "tests/unit/simulator/test_problems.py",
    "tests/contracts/test_combiners.py",
)


def interpreter(version: str) -> Path | None:
    """Return a Python of this version: on the PATH, or one of pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    folders = [*os.environ["PATH"].split(os.pathsep), *map(str, pyenv.glob(f"{version}*/bin"))]
    for folder in folders:
        found = shutil.which(f"python{version}", path=folder)
        # A shim of pyenv's may be there for a Python that is not switched on.
        if (
            found
            and not subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode
        ):
            return Path(found)
    return None


def run(*command: str | Path) -> None:
    """Run a command in the environment's own surroundings; raise if it fails."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX")
    surroundings = {name: value for name, value in os.environ.items() if name not in hidden}
    subprocess.run(command, check=True, cwd=ROOT, env=surroundings)


def check(uv: str, python: Path, version: str, age: str) -> None:
    """Install croupier with dependencies of one age, and test it."""
    folder = HOME / f"{version}-{age}"
    inside = folder / "bin" / "python"
    wanted = HOME / f"{version}-{age}.txt"
    HOME.mkdir(parents=True, exist_ok=True)
    resolution, options = AGES[age]
    run(uv, "pip", "compile", "-q", "pyproject.toml", "--extra", "all", "--resolution", resolution,
        "--only-binary", ":all:", "--python", python, "--upgrade", "-o", wanted)  # fmt: skip
    run(uv, "venv", "-q", "--clear", "--python", python, folder)
    run(uv, "pip", "install", "-q", "--python", inside, "-r", wanted, "-e", ".", *TOOLS)
    run(inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, *TESTS)
    run(folder / "bin" / "croupier", "demo", "--seconds", "0.5", "--picture", HOME / "demo.png")


def main() -> int:
    """Check every version; return 1 if one of them failed."""
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        print("uv is not installed: pip install uv", file=sys.stderr)
        return 1
    lines, failed = [], False
    for version in sys.argv[1:] or PYTHONS:
        python = interpreter(version)
        for age in AGES:
            if python is None:
                lines.append(f"Python {version}, {age} dependencies: skipped, no python{version}")
                continue
            print(f"Python {version}, {age} dependencies", flush=True)
            start = time.perf_counter()
            try:
                check(uv, python, version, age)
                said = "passed"
            except subprocess.CalledProcessError as error:
                said, failed = f"FAILED: {' '.join(map(str, error.cmd[:3]))} ...", True
            seconds = time.perf_counter() - start
            lines.append(f"Python {version}, {age} dependencies: {said} ({seconds:.0f} s)")
    print("\n".join(lines))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
