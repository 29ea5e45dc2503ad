"""What an operation of TT-NN computes and moves, from its shapes and attributes.

The figures are those of Tenstorrent's performance report (tenstorrent/tt-perf-report 1.4.1): a
product of M x K x N has 2 M K N FLOP, each operand in DRAM is moved once, and an element of a
block float counts without its part of the exponent that 16 elements share (6% of BFP8's bytes).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tirlens.measured.records import Tensor

#: The cores of a product whose program config is sharded in DRAM: one for each port or channel.
_DRAM_SHARDED_CORES = {"wormhole": 12, "blackhole": 8}
_DRAM_SHARDED = "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig"
_SHORT_TYPES = {"FLOAT32": "FP32", "BFLOAT16": "BF16", "BFLOAT8_B": "BFP8", "BFLOAT4_B": "BFP4"}
_CONVOLUTIONS = ("OptimizedConvNew", "Conv2d")


@dataclass(frozen=True, slots=True)
class Work:
    """What is known of one operation.

    Attributes
    ----------
    description
        Its sizes and settings, as the performance report writes them behind the op code.
    fidelity
        The math fidelity with the types of operands and result.
    cores
        The cores that compute, where these are not those of the row.
    """

    description: str | None = None
    fidelity: str | None = None
    flop: int | None = None
    dram_bytes: int | None = None
    cores: int | None = None


def work_of(
    name: str,
    attributes: str,
    fidelity: str,
    architecture: str | None,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    active_experts: int | None = None,
) -> Work:
    """The work of one operation; what its row does not say is None.

    Parameters
    ----------
    attributes, fidelity
        The cells ``ATTRIBUTES`` and ``MATH FIDELITY``.
    active_experts
        Experts that a sparse product computes for each batch of its first operand, where its
        attributes do not have ``nnz``.
    """
    if "Matmul" in name:
        return _product(name, attributes, fidelity, architecture, inputs, outputs, active_experts)
    if any(word in name for word in _CONVOLUTIONS):
        return _convolution(attributes, fidelity, inputs, outputs)
    types = ", ".join(_short(tensor) for tensor in inputs[:2] if tensor.dtype)
    result = f" => {_short(outputs[0])}" if outputs and outputs[0].dtype else ""
    halo = _halo(attributes) if "HaloDeviceOperation" in name else None
    return Work(halo, (types + result).strip() or None)


def setting(attributes: str, name: str) -> str | None:
    """The value of ``name=...`` or ``'name': '...'`` in attributes, without what follows it."""
    found = re.search(rf"\b{name}(?:_?'\s*:\s*'?|\s*=\s*)", attributes)
    if found is None:
        return None
    depth = 0
    for end in range(found.end(), len(attributes)):
        char = attributes[end]
        if char in "([{":
            depth += 1
        elif char in ")]}" and depth:
            depth -= 1
        elif not depth and char in ";,')]}":
            break
    else:
        end = len(attributes)
    return attributes[found.end() : end].strip() or None


def _product(
    name: str,
    attributes: str,
    fidelity: str,
    architecture: str | None,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    active_experts: int | None,
) -> Work:
    operands = (*inputs[:2], *outputs[:1])
    cores = _DRAM_SHARDED_CORES.get(family(architecture)) if _DRAM_SHARDED in attributes else None
    words = _fidelity_text(fidelity, operands)
    shapes = [tensor.shape for tensor in operands if tensor.shape and len(tensor.shape) == 4]
    if len(shapes) < 3:
        return Work("unknown shape", words, cores=cores)
    left, right = shapes[:2]
    m, k, n = left[2], left[3], right[3]
    if "SparseMatmul" in name:
        active, dense = _batches(attributes, left, right, active_experts)
        text = f"active={'?' if active is None else active}/{dense} x {m} x {k} x {n}"
        if active is None:
            return Work(text, words, cores=cores)
        elements = (m * k * active, k * n * active, m * n * active)
        return Work(text, words, 2 * m * k * n * active, _dram_bytes(operands, elements), cores)
    batch = max(left[0], right[0]) * max(left[1], right[1])
    text = f"{m} x {k} x {n}" if batch == 1 else f"b={{{batch}}} x {m} x {k} x {n}"
    elements = tuple(math.prod(shape) for shape in shapes)
    return Work(text, words, 2 * m * k * n * batch, _dram_bytes(operands, elements), cores)


def _batches(
    attributes: str, left: Sequence[int], right: Sequence[int], active_experts: int | None
) -> tuple[int | None, int]:
    """The batches that a sparse product computes, and those of its dense counterpart."""
    left_batch, right_batch = left[0] * left[1], right[0] * right[1]
    left_sparse = setting(attributes, "is_input_a_sparse") == "true"
    right_sparse = setting(attributes, "is_input_b_sparse") != "false"
    if left_sparse and right_sparse:
        groups, dense = 1, right_batch
    elif left_sparse:
        groups = max(1, left_batch // right_batch) if right_batch else left_batch
        dense = groups * right_batch
    else:
        groups = left_batch
        dense = groups * right_batch if right_sparse else max(left_batch, right_batch)
    stated = setting(attributes, "nnz")
    if stated is not None and stated.isdecimal() and len(stated) < 20:
        return int(stated), dense
    return (None if active_experts is None else active_experts * groups), dense


def _convolution(
    attributes: str, fidelity: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
) -> Work:
    words = _fidelity_text(fidelity, (*inputs[:2], *outputs[:1]))
    blocks = setting(attributes, "per_core_out_matrix_height_ntile") or "x"
    blocks += "|" + (setting(attributes, "act_block_h_ntiles") or "x")
    for name, mark in (("enable_act_double_buffer", "ADB"), ("enable_split_reader", "SR")):
        if setting(attributes, name) == "true":
            blocks += f" {mark}"
    found = re.search(r"\bwindow_hw\s*=\s*\(\s*(\d{1,9})\s*[;,]\s*(\d{1,9})\s*\)", attributes)
    shapes = [tensor.shape for tensor in (*outputs[:1], *inputs[:2]) if tensor.shape]
    if found is None or len(shapes) < 3:
        return Work(f"unknown shape [ABH={blocks}]", words)
    result, image, weights = shapes
    m, k, n = result[-2], image[-1] * int(found[1]) * int(found[2]), weights[-1]
    return Work(f"{m} x {k} x {n} [ABH={blocks}]", words, 2 * m * k * n)


def _halo(attributes: str) -> str:
    def words(name: str) -> str:
        return re.sub(r";\s*", ",", setting(attributes, name) or "x")

    layout = (setting(attributes, "memory_layout") or "x").rpartition("::")[2]
    padding = words("padding").replace(",", ", ")
    return (
        f"w={words('window_hw')} s={words('stride_hw')} p={padding} d={words('dilation_hw')}"
        f" | {layout}"
    )


def family(architecture: str | None) -> str:
    """``wormhole`` or ``blackhole``; the performance report takes Wormhole where none is named."""
    return "blackhole" if (architecture or "").lower().startswith("blackhole") else "wormhole"


def _fidelity_text(fidelity: str, operands: Sequence[Tensor]) -> str | None:
    if not fidelity or len(operands) < 3:
        return fidelity or None
    left, right, result = map(_short, operands)
    return f"{fidelity} {left} x {right} => {result}"


def _short(tensor: Tensor) -> str:
    return _SHORT_TYPES.get(tensor.dtype or "", tensor.dtype or "?")


def _dram_bytes(operands: Sequence[Tensor], elements: Sequence[int]) -> int:
    """The bytes of the operands that are in DRAM."""
    return sum(
        count * _bits(tensor.dtype) // 8
        for tensor, count in zip(operands, elements, strict=True)
        if "DRAM" in (tensor.memory or "")
    )


def _bits(dtype: str | None) -> int:
    found = re.search(r"\d{1,3}", dtype or "")
    return int(found[0]) if found else 32
