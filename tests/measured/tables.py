"""What the measured tables leave to be said: device, harness, class, half and ideal work.

Every row of ``h200_tileops.csv``, ``public.csv`` and ``tilelang_*.csv`` that stands for
traced kernels becomes one `Measurement`.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tirlens.hardware import Device, load

HERE = Path(__file__).resolve().parent

# The devices of the tables that the catalogue has.
DEVICES = {
    "h200": "h200",
    "H200 SXM 141GB": "h200",
    "H100 SXM": "h100-sxm",
    "NVIDIA H100 80GB HBM3": "h100-sxm",
    "unstated (Hopper docs box)": "h100-sxm",
    "H100 (SGLang documentation)": "h100-sxm",
    "H800 SXM": "h800-sxm",
    "B200 (sm_100a)": "b200",
    "A100 80GB SXM": "a100-80-sxm",
    "A100 (unspecified)": "a100-80-sxm",
    "NVIDIA A100 80GB PCIe": "a100-80-pcie",
    "NVIDIA A100-PCIE-40GB": "a100-40-pcie",
    "NVIDIA L4": "l4",
    "MI210": "mi210-llmcompass",
    "Tesla P4": "p4",
    "Tesla P100-PCIE-16GB": "p100-pcie",
    "Tesla T4": "t4",
    "Tesla V100-PCIE-32GB": "v100-pcie",
    "RTX 3090": "rtx-3090",
    "RTX 2080 Ti": "rtx-2080-ti",
    "RTX 5090 at 400 W": "rtx-5090",
    "RTX A6000": "rtx-a6000",
    "A100 40GB SXM": "a100-40-sxm",
    "A100-PCIE-40GB under ncu": "a100-40-pcie-base-clock",
    "V100 under ncu": "v100-sxm2",
    "MI250X (one GCD)": "mi250x",
    "MI300X": "mi300x",
    "A100 80GB": "a100-80-pcie",
    "A40": "a40",
    "H100 PCIe": "h100-pcie",
    "L40": "l40",
    "MI210 (gpu-benches)": "mi210",
    "V100": "v100-sxm2",
    "RTX 4090": "rtx-4090",
    "GeForce RTX 3080": "rtx-3080",
    "Apple M2 Pro": "apple-m2-pro",
    "NVIDIA L40S": "l40s",
    "NVIDIA H100 PCIe": "h100-pcie",
    "NVIDIA H200": "h200",
    "NVIDIA B200": "b200",
    "NVIDIA A100-SXM4-80GB": "a100-80-sxm",
    "NVIDIA A100-SXM4-40GB": "a100-40-sxm",
    "NVIDIA A10G": "a10g",
}

# Tables of ``tirlens measure``, and the family of a kernel by a part of its file and call.
OWN = ("h100_sweep.csv", "h100_examples.csv")
_OWN_FAMILIES = {
    "split_k": "gemm",
    "matmul": "gemm",
    "gemm": "gemm",
    "attention_tilelang": "attention",
    "attention_sink": "attention",
    "block_causal": "attention",
    "flash_attention": "attention",
    "deepseek_mla": "mla_decode",
    "deepseek_v4": "sparse_attention",
    "linear_attention": "linear_attention",
    "gdn": "linear_attention",
    "kda": "linear_attention",
    "add(": "elementwise",
    "transpose": "transpose",
    "softmax": "softmax",
    "norm": "norm",
    "test_convert": "quant",
    "deepseek_mhc": "norm",
    "engram": "reduction",
}

# Boards that differ from their kind.
BOARDS = {
    "h200-1500-mhz": HERE / "h200_1500_mhz.toml",
    "mi210-llmcompass": HERE / "mi210_llmcompass.toml",
    "a100-40-pcie-base-clock": HERE / "a100_40_pcie_base_clock.toml",
    "rtx-a6000": HERE / "rtx_a6000.toml",
    "rtx-2080-ti": HERE / "rtx_2080_ti.toml",
    "a10g": HERE / "a10g.toml",
    "apple-m2-pro": HERE / "apple_m2_pro.toml",
}

# What the clock of a table measures besides the kernel.  NeuSight's runs from one event to the next
# on an idle device, torch's way to the launch between them: what two sizes of an operation leave at
# none is 17 us, and 37 us for the layer norm, which makes three tensors (its smallest kernels take
# 20 us more than others on each of five boards, too).  LLMCompass's are wall times, "20 to 30 us"
# of which are the launch: its smallest of the operation.
HARNESS_S = {"neusight": 17e-6, "neusight norm": 37e-6}

CLASSES = {
    "attention": "attention",
    "attention_bwd": "attention",
    "attention_fwd": "attention",
    "elementwise": "elementwise",
    "gemm": "tensor GEMM",
    "gemm_fp32": "SIMT GEMM",
    "gemm_fp4": "tensor GEMM",
    "gemm_fp8": "tensor GEMM",
    "gemm_simt": "SIMT GEMM",
    "gemv": "SIMT GEMM",
    "kernels": "elementwise",  # TileOPs: dropout and rotary embedding
    "linear_attention": "scan",
    "mamba": "scan",
    "mla_decode": "attention",
    "moe": "MoE",
    "norm": "reduction and norm",
    "quant": "elementwise",
    "reduction": "reduction and norm",
    "softmax": "reduction and norm",
    "sparse_attention": "attention",
    "stencil": "elementwise",
    "topk": "reduction and norm",
    "transpose": "elementwise",
}

TINY_S = 5e-6
# Sources that came when the constants stood.
NEVER_FITTED = ("tilelang_fp8", "tilelang_mamba2")
# What the sources of the table of tutorials begin with; they came when the constants stood, too.
TUTORIAL = "tutorial_"
# What the sources of ``boards.csv`` begin with: halved by kernel and device.
BOARD = "board_"
# Sources whose rows have set a constant: how much two warpgroups overlap, how long a saturated DRAM
# makes a load wait.
FITTED = ("tilelang_sink", "gpu_streams")
# Sources that tell neither their device nor their harness: their order is scored, not their times.
RANKED_ONLY = ("tilelang_docs",)
# Configurations that a tuner has timed.
SEARCHED = ("kernel_tuner", "inductor")
# Searches of which rates of load instructions and of a board have been set, or may be.
FITTED_SEARCHES = (
    ("CLBlast product", "RTX 3090"),
    ("CLBlast product", "RTX 2080 Ti"),
    ("convolution, shared or not", "RTX A6000"),
)
_TENSOR_FAMILIES = ("gemm", "attention", "mamba", "moe")


@dataclass(frozen=True)
class Measurement:
    """One measured kernel: what it is, how long it took, and the work that no schedule can save.

    `half` is ``fitted`` or ``held out``.  `problem` names the problem solved; rows of one problem
    differ in the kernel or its configuration.  `harness_s` is contained in `measured_s`.  `flop`
    and `bytes` are those of the operation, each input read and each output written once, `peak` the
    arithmetic class that does them; None where the table does not tell.
    """

    table: str
    row: int
    source: str
    device_id: str
    klass: str
    family: str
    half: str
    problem: str
    name: str
    measured_s: float
    harness_s: float
    flop: float | None
    bytes: float | None
    peak: str


def half_of(key: str) -> str:
    """The half that a key falls into, by its hash: nobody's choice, and the same for ever."""
    return "fitted" if hashlib.sha256(key.encode()).digest()[0] % 2 else "held out"


def measurements(table: str) -> dict[int, Measurement]:
    """The rows of a table on devices of the catalogue, by their number from 0."""
    with (HERE / table).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if table == "h200_tileops.csv":
        return {number: _tileops(number, row) for number, row in enumerate(rows)}
    if table in OWN:
        return {number: _own(table, number, row) for number, row in enumerate(rows)}
    smallest: dict[tuple[str, str], float] = {}
    for row in rows:
        if row["source"] == "llmcompass_hw":
            key = row["op"], row["gpu"]
            smallest[key] = min(smallest.get(key, 1.0), float(row["latency_us"]) * 1e-6)
    return {
        number: _public(
            table,
            number,
            row,
            smallest.get((row["op"], row["gpu"]), 0.0)
            if row["source"] == "llmcompass_hw"
            else _harness_s(row),
        )
        for number, row in enumerate(rows)
        if row["gpu"] in DEVICES and row["latency_us"] and row["family"] in CLASSES
    }


def board(device_id: str) -> Device:
    """The board that rows were measured on."""
    return load(BOARDS.get(device_id, device_id))


def _harness_s(row: Mapping[str, str]) -> float:
    source = row["source"]
    return HARNESS_S.get(f"{source} {row['family']}", HARNESS_S.get(source, 0.0))


def _class(family: str, own_s: float) -> str:
    return "tiny" if own_s < TINY_S else CLASSES[family]


def _tileops(number: int, row: Mapping[str, str]) -> Measurement:
    folder = Path(row["kernel_file"]).parent.name
    factory = row["factory"].removeprefix("_make_")
    measured_s = float(row["latency_us"]) * 1e-6
    dtype = "float8" if "float8" in row["dtype"] or "e4m3" in row["dtype"] else "float16"
    tensor = any(word in row["kernel_file"] for word in _TENSOR_FAMILIES)
    # The elementwise templates share one file and are split by template.
    shared = "elementwise/_base" in row["kernel_file"]
    return Measurement(
        table="h200_tileops.csv",
        row=number,
        source="tileops",
        device_id="h200-1500-mhz",
        klass=_class(folder, measured_s),
        family=f"tileops/{factory if folder == 'elementwise' else folder}",
        half=half_of(row["factory"] if shared else row["kernel_file"]),
        problem=f"{row['kernel_file']} {row['workload']} {row['static']}",
        name=row["workload"],
        measured_s=measured_s,
        harness_s=0.0,
        flop=float(row["algorithmic_flop"] or 0),
        bytes=float(row["algorithmic_bytes"] or 0),
        peak=f"tensor.{dtype}" if tensor else "fp32",
    )


def _own(table: str, number: int, row: Mapping[str, str]) -> Measurement:
    """A kernel that this project has measured: a tile configuration of the sweep, or an example.

    The time of a product per iteration of its loop has confirmed a constant: the sweep is fitted.
    """
    place = f"{row['file']} {row['call']}"
    family = next(name for part, name in _OWN_FAMILIES.items() if part in place)
    measured_s = float(row["measured_s"])
    is_sweep = table == "h100_sweep.csv"
    return Measurement(
        table=table,
        row=number,
        source=table.removesuffix(".csv"),
        device_id=DEVICES[row["measured_device"]],
        klass=_class(family, measured_s),
        family=f"{table.removesuffix('.csv')}/{family}",
        half="fitted" if is_sweep else "held out",
        problem=f"{row['kernel']} {row['call'].partition('block')[0]}",
        name=row["call"],
        measured_s=measured_s,
        harness_s=0.0,
        flop=None,
        bytes=None,
        peak="",
    )


def _public(table: str, number: int, row: Mapping[str, str], harness_s: float) -> Measurement:
    source, family = row["source"], row["family"]
    # The operation of a library's row is its problem, that of a single kernel its name.
    problem = family if source in ("tirx_kernels", "tilelang_docs") else row["op"]
    shape = json.loads(row["shape"] or "{}")
    measured_s = float(row["latency_us"]) * 1e-6
    flop, moved, peak = _ideal(row, shape)
    return Measurement(
        table=table,
        row=number,
        source=source,
        device_id=DEVICES[row["gpu"]],
        klass=("ranked only" if source in RANKED_ONLY else _class(family, measured_s - harness_s)),
        family=f"{source}/{family}",
        half=_public_half(row),
        problem=f"{problem} {row['shape']} {row['dtype']}",
        name=f"{row['op']} {row['config'] if source in SEARCHED else row['shape']}",
        measured_s=measured_s,
        harness_s=harness_s,
        flop=flop,
        bytes=moved,
        peak=peak,
    )


def _public_half(row: Mapping[str, str]) -> str:
    """Single kernels are split by kernel, libraries by kind of kernel and device.

    The sustained rates of several device files come from NeuSight's elementwise kernels and fp32
    products: all of those count as fitted.
    """
    source, family = row["source"], row["family"]
    if source == "neusight" and family in ("elementwise", "gemm_fp32"):
        return "fitted"
    if source in FITTED:
        return "fitted"
    if source == "kernel_tuner":
        return "fitted" if (row["op"], row["gpu"]) in FITTED_SEARCHES else "held out"
    if source in NEVER_FITTED or source.startswith(TUTORIAL):
        return "held out"
    if source.startswith(BOARD):
        return half_of(f"{source} {row['op']} {row['gpu']}")
    return half_of(
        row["op"] if source in ("tirx_kernels", "inductor") else f"{source} {family} {row['gpu']}"
    )


def _ideal(
    row: Mapping[str, str], shape: Mapping[str, Any]
) -> tuple[float | None, float | None, str]:
    """Operations, bytes and their arithmetic class, from the operation and its shape."""
    family, operation = row["family"], row["op"].removeprefix("torch ")
    if row["source"] == "neusight" and family != "gemm_fp32":
        elements = shape["rows"] * shape["cols"]
        arrays = 3 if operation in ("add", "mul", "div", "pow") else 2
        flop = {"softmax": 5, "ln": 8}.get(operation, 1) * elements
        return flop, 4 * arrays * elements, "fp32"
    if family == "gemm_fp32":
        # NeuSight writes a product as (M, N) @ (N, K).
        batch, m, n, k = shape["B"], shape["M"], shape["N"], shape["K"]
        return 2 * batch * m * n * k, 4 * batch * (m * n + n * k + m * k), "fp32"
    if row["source"] == "llmcompass_hw" and family != "gemm":
        elements = shape.get("n") or shape["M"] * shape["N"]
        return elements, 4 * elements, "fp32"
    if row["source"] == "tilelang_fp8":
        m, n, k = shape["M"], shape["N"], shape["K"]
        return 2 * m * n * k, m * n + n * k + m * k, "tensor.float8"
    if row["source"] == "tilelang_mamba2":
        return _chunk_scan(shape)
    if row["source"] == "tilelang_sink":
        # Half of the scores are masked; queries and outputs, keys and values of fewer heads.
        rows, heads = shape["batch"] * shape["seq_len"] * shape["dim"], shape["heads"]
        return (
            2 * heads * shape["seq_len"] * rows,
            4 * rows * (heads + shape["kv_heads"]),
            "tensor.bfloat16",
        )
    if row["source"].startswith((TUTORIAL, BOARD)):
        return _tutorial_ideal(row, shape)
    if row["source"] == "gpu_streams":
        arrays = {"init": 1, "read": 1, "triad": 3}.get(row["op"], 2)
        return 0, 8 * arrays * shape["elements"], "fp64"
    if family in ("gemm", "gemv") and "K" in shape:
        m, n, k = shape.get("M", 1), shape["N"], shape["K"]
        peak = "tensor.float16" if family == "gemm" else "fp32"
        return 2 * m * n * k, 2 * (m * n + n * k + m * k), peak
    return None, None, ""


def _chunk_scan(shape: Mapping[str, int]) -> tuple[float, float, str]:
    """Mamba2's chunk scan: its benchmark's own operation count; halves, each array once."""
    tokens = shape["batch"] * shape["seq_len"]
    channels, chunk, state = shape["heads"] * shape["dim"], shape["chunk"], shape["state"]
    flop = tokens * channels * chunk + 2 * tokens * channels * state
    products = tokens * shape["groups"] * (chunk + state)
    steps = 2 * tokens * shape["heads"]
    states = tokens // chunk * channels * state
    return flop, 2 * (products + steps + states + 2 * tokens * channels), "tensor.float16"


def _tutorial_ideal(row: Mapping[str, str], shape: Mapping[str, int]) -> tuple[float, float, str]:
    """A tutorial's step: the operations and bytes of its problem."""
    family = row["family"]
    width = {"uint8": 1, "float16": 2, "bfloat16": 2, "float64": 8}.get(row["dtype"], 4)
    if family == "attention_fwd":
        rows = shape["batch"] * shape["heads"] * shape["dim"]
        queries, keys = shape["seq_q"], shape["seq_kv"]
        return 4 * rows * queries * keys, 4 * rows * (queries + keys), "tensor.float16"
    if "mask" in shape:
        taps = shape["mask"] ** (2 if "height" in shape else 1)
        elements = math.prod(shape.values()) // shape["mask"]
        return 2 * taps * elements, 2 * width * elements, "fp32"
    if "K" in shape:
        m, n, k = shape["M"], shape.get("N", 1), shape["K"]
        vector = "int32" if row["dtype"] == "uint32" else "fp32"
        peak = f"tensor.{row['dtype']}" if family == "gemm" else vector
        return 2 * m * n * k, width * (m * n + n * k + m * k), peak
    if "bytes" in shape:
        return 0, 2 * shape["bytes"], "fp32"
    elements = math.prod(shape.values())
    if family == "stencil":
        return 10 * elements, 2 * width * elements, "fp64"
    arrays = {"reduction": 1, "transpose": 2, "softmax": 2, "norm": 2}.get(family, 3)
    if row["op"].startswith("torch ") or row["op"] == "grey":
        arrays = 4 if row["op"] == "grey" else 2
    return elements, arrays * width * elements, "fp32"
