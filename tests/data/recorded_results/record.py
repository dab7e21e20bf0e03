"""Write both results.json: run it only where a run is meant to compute something else from now on.

python tests/data/recorded_results/record.py
"""

import gzip
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

HERE = Path(__file__).parent
OLD = HERE / "schema_1"
sys.path.insert(0, str(HERE))


def unpacked(name: str, folder: str) -> Path:
    path = Path(folder) / name
    path.write_bytes(gzip.decompress((OLD / f"{name}.gz").read_bytes()))
    return path


if __name__ == "__main__":
    import cases

    import croupier as cr

    warnings.simplefilter("ignore")
    found = {}
    recorded = {"processor": cases.processor(), "results": found}
    for name, case in cases.CASES.items():
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            found[name] = cases.record_of(case(Path(folder)))
        print(f"{time.perf_counter() - began:6.2f} s  {name}", flush=True)
    (HERE / "results.json").write_text(json.dumps(recorded, indent=0) + "\n", encoding="utf-8")

    old = json.loads((OLD / "results.json").read_text("utf-8"))
    for name in old["opened"]:
        with tempfile.TemporaryDirectory() as folder:
            result = cr.open_run(unpacked(name, folder)).result()
            old["opened"][name] = cases.record_of(result)
    for name in old["resumed"]:
        with tempfile.TemporaryDirectory() as folder:
            result = cases.RESUMED[name](unpacked(name, folder))
            old["resumed"][name] = cases.record_of(result)
    (OLD / "results.json").write_text(json.dumps(old, indent=0) + "\n", encoding="utf-8")
