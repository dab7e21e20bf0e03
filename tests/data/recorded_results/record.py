"""Write results.json: run it only where a run is meant to compute something else from now on.

python tests/data/recorded_results/record.py
"""

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


if __name__ == "__main__":
    import cases

    warnings.simplefilter("ignore")
    found = {}
    recorded = {"processor": cases.processor(), "results": found}
    for name, case in cases.CASES.items():
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            found[name] = cases.record_of(case(Path(folder)))
        print(f"{time.perf_counter() - began:6.2f} s  {name}", flush=True)
    (HERE / "results.json").write_text(json.dumps(recorded, indent=0) + "\n", encoding="utf-8")
