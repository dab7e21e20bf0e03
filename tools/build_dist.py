"""Build the wheel and the source archive twice, and keep them only if the bytes are the same.

`python -m tools.build_dist` builds once from the working tree and once from a copy of the files
that git knows, in another folder, and writes the files to `dist`. A file that git does not know,
a time or a path that got into an archive makes the two differ.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"


def build(source: Path, target: Path) -> dict[str, str]:
    """Build both files from a folder, the wheel from the source archive; return their hashes."""
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--outdir",
        str(target),
        str(source),
    ]
    # Hatchling writes one fixed time into both files if no other time is given.
    surroundings = {k: v for k, v in os.environ.items() if k != "SOURCE_DATE_EPOCH"}
    subprocess.run(command, check=True, env=surroundings, stdout=subprocess.DEVNULL)
    files = sorted(target.iterdir())
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def copy_known_files(target: Path) -> None:
    """Copy every file that git knows."""
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    for name in filter(None, names):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name)


def main() -> None:
    """Build twice, compare, check the metadata, print the hashes."""
    with tempfile.TemporaryDirectory() as folder:
        first, copy, second = (Path(folder) / name for name in ("first", "copy", "second"))
        hashes = build(ROOT, first)
        copy_known_files(copy)
        again = build(copy, second)
        if hashes != again:
            sys.exit(
                f"two builds differ:\n{hashes}\n{again}\nIs there a file that git does not know?"
            )
        subprocess.run(
            [sys.executable, "-m", "twine", "check", "--strict", *map(str, first.iterdir())],
            check=True,
        )
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(first, DIST)
    for name, digest in hashes.items():
        print(f"{digest}  {name}")


if __name__ == "__main__":
    main()
