"""How well the model ranks the configurations of one product that a tuner has measured.

    PYTHONPATH=server PYTHON_WITH_TVM tests/measured/tuned.py CACHE DEVICE [NUMBER]

CACHE is a cache file of Kernel Tuner for CLBlast's GEMM (``gemm/RTX_3090.json.gz`` and others of
https://github.com/AutoTuningAssociation/benchmark_hub, MIT licence; not part of this repository),
DEVICE an id of the catalogue or a device file.  NUMBER configurations, 240 unless told, are drawn
by a fixed seed and traced as `kernels/tuned_tvm.py` has them.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "kernels")]

import metrics  # noqa: E402
import tuned_tvm  # noqa: E402
from factbook import extracted  # noqa: E402

from tirlens.hardware import load  # noqa: E402
from tirlens.model import analyze  # noqa: E402

SEED = 1
# The products of all these cache files.
SIZE = 4096


def main(arguments: Sequence[str]) -> None:
    cache, device_id, *rest = arguments
    device = load(device_id)
    measured = json.loads(gzip.decompress(Path(cache).read_bytes()))["cache"]
    known = sorted(key for key, row in measured.items() if isinstance(row["time"], float))
    random.Random(SEED).shuffle(known)
    predicted_s: list[float] = []
    measured_s: list[float] = []
    for key in known[: int(rest[0]) if rest else 240]:
        function = tuned_tvm.matmul(SIZE, SIZE, SIZE, measured[key])
        report = analyze(extracted(function, "gemm"), device)
        if report.time_s is not None:
            predicted_s.append(report.time_s)
            measured_s.append(measured[key]["time"] * 1e-3)
    errors = metrics.errors(predicted_s, measured_s)
    tau = metrics.kendall_tau(predicted_s, measured_s)
    if errors is None or tau is None:
        sys.exit("no configuration has a predicted time")
    best = metrics.top_one(predicted_s, measured_s)
    print(
        f"{errors.number} configurations on {device.id}: tau {tau:.3f}, best time over that of the "
        f"one chosen {best:.1%}, MAPE {errors.mape:.1%}, median {errors.median:.1%}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
