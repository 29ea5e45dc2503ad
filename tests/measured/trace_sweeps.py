"""Draw configurations from an auto-tuner's exhaustive searches: their rows and their facts.

    PYTHONPATH=server PYTHON_WITH_TVM tests/measured/trace_sweeps.py HUB

HUB is a checkout of https://github.com/AutoTuningAssociation/benchmark_hub (MIT licence), of which
the cache files that `SEARCHES` names are read.  All devices of a search get the same
configurations: of each device the `BEST` fastest, `FAST` of the fastest tenth and `OTHERS` of all,
drawn by a fixed seed.  It writes ``sweeps.csv`` and ``facts/sweeps.json.gz``.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "kernels")]

from factbook import TABLES, Factbook, extracted  # noqa: E402

SEED = 1
BEST, FAST, OTHERS = 5, 25, 40
COMMIT = "8eeb99e"
URL = "https://github.com/AutoTuningAssociation/benchmark_hub"
COLUMNS = (
    "source",
    "family",
    "op",
    "config",
    "dtype",
    "shape",
    "gpu",
    "latency_us",
    "timing",
    "url",
)


@dataclass(frozen=True)
class Search:
    """An exhaustive search on some boards.

    `files` are its cache files by board as `tables.DEVICES` has it, `names` the parameters that it
    varied, `make` what writes the kernel of a configuration, `shape` the problem's sizes.  `unlike`
    tells why the kernel that was measured on a board is another one than that, if it is.
    """

    name: str
    family: str
    files: Mapping[str, str]
    names: tuple[str, ...]
    make: Callable[[Mapping[str, int]], Any]
    shape: Mapping[str, int]
    dtype: str = "float32"
    unlike: Callable[[Mapping[str, int], str], str] = lambda config, gpu: ""


def searches() -> tuple[Search, ...]:
    import sweep_tvm
    from tuned_tvm import matmul

    older = "currently_unused/cachefiles/KernelTuner data/{}/{}.json.gz"
    newer = "cachefiles/{}_milo/{}.json.gz"
    places = ("block_size_x", "block_size_y", "tile_size_x", "tile_size_y")
    caching = (*places, "read_only", "use_padding")
    geforce = {"RTX 3090": "RTX_3090", "RTX 2080 Ti": "RTX_2080_Ti"}
    several = {
        "NVIDIA A100-PCIE-40GB": "A100",
        "RTX A6000": "A6000",
        "MI250X (one GCD)": "MI250X",
    }
    image = {"height": sweep_tvm.IMAGE, "width": sweep_tvm.IMAGE, "filter": sweep_tvm.FILTER}

    def files(pattern: str, kernel: str, boards: Mapping[str, str]) -> dict[str, str]:
        return {gpu: pattern.format(kernel, name) for gpu, name in boards.items()}

    return (
        Search(
            "CLBlast product",
            "gemm_simt",
            files(older, "gemm", geforce),
            (
                "MWG",
                "NWG",
                "KWG",
                "MDIMC",
                "NDIMC",
                "MDIMA",
                "NDIMB",
                "KWI",
                "VWM",
                "VWN",
                "STRM",
                "STRN",
                "SA",
                "SB",
            ),
            lambda config: matmul(4096, 4096, 4096, config),
            {"M": 4096, "N": 4096, "K": 4096},
        ),
        Search(
            "convolution",
            "stencil",
            files(older, "convolution", geforce),
            caching,
            sweep_tvm.convolution,
            image,
        ),
        Search(
            "convolution, shared or not",
            "stencil",
            files(newer, "convolution", several),
            (*caching, "use_shmem"),
            sweep_tvm.convolution,
            image,
            unlike=sweep_tvm.unlike,
        ),
        Search(
            "dedispersion",
            "reduction",
            files(newer, "dedispersion", several),
            (*places, "tile_stride_x", "tile_stride_y"),
            sweep_tvm.dedispersion,
            {
                "measures": sweep_tvm.MEASURES,
                "samples": sweep_tvm.SAMPLES,
                "channels": sweep_tvm.CHANNELS,
            },
            "uint8",
        ),
    )


Key = tuple[int, ...]


def measured_s(path: Path, names: Iterable[str]) -> dict[Key, float]:
    """The time of each configuration that ran."""
    cache = json.loads(gzip.decompress(path.read_bytes()))["cache"]
    return {
        tuple(row[name] for name in names): row["time"] * 1e-3
        for row in cache.values()
        if isinstance(row["time"], float)
    }


def drawn(times: Iterable[Mapping[Key, float]]) -> list[Key]:
    """The configurations of a search, the same on all its boards."""
    chosen: set[Key] = set()
    for seconds in times:
        chance = random.Random(SEED)
        by_time = sorted(seconds, key=lambda key: (seconds[key], key))
        chosen.update(by_time[:BEST])
        chosen.update(chance.sample(by_time[BEST : len(by_time) // 10], FAST))
        chosen.update(chance.sample(by_time[len(by_time) // 10 :], OTHERS))
    return sorted(chosen)


def main(hub: str) -> None:
    book = Factbook("sweeps.csv")
    rows: list[dict[str, str]] = []
    for search in searches():
        times = {
            gpu: measured_s(Path(hub) / file, search.names) for gpu, file in search.files.items()
        }
        for key in drawn(times.values()):
            config = dict(zip(search.names, key, strict=True))
            made: int | None = None
            for gpu, seconds in times.items():
                if key not in seconds:
                    continue
                if unlike := search.unlike(config, gpu):
                    book.skip(unlike)
                else:
                    if made is None:
                        made = book.number(extracted(search.make(config), search.name))
                    book.add(len(rows), [[made]])
                values = (
                    "kernel_tuner",
                    search.family,
                    search.name,
                    json.dumps(config),
                    search.dtype,
                    json.dumps(search.shape),
                    gpu,
                    f"{seconds[key] * 1e6:.6g}",
                    "mean of 32 runs, each between events",
                    f"{URL}/blob/{COMMIT}/{search.files[gpu].replace(' ', '%20')}",
                )
                rows.append(dict(zip(COLUMNS, values, strict=True)))
    with (TABLES / book.table).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(book.save(TABLES / "facts" / "sweeps.json.gz"))


if __name__ == "__main__":
    main(*sys.argv[1:])
