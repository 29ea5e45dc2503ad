"""What the row of a matrix product on Tensix cores says of its operands and program configuration.

Source of the names: tenstorrent/tt-metal, ``ttnn/cpp/ttnn/operations/matmul``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tirlens.math_fidelity import fidelity_of
from tirlens.measured.advice.fidelity_need import sustained_flop_per_s
from tirlens.measured.advice.question import Executions, Question
from tirlens.measured.records import Operation


def products(question: Question) -> Iterator[Executions]:
    """The matrix products that ran on Tensix cores."""
    for kernel in question.kernels:
        if "Matmul" in kernel.operation.name and kernel.has_feature("tensix"):
            yield kernel


def is_sparse(operation: Operation) -> bool:
    """Whether only the batches with elements that are not zero are computed."""
    return "SparseMatmul" in operation.name


def is_dram_sharded(operation: Operation) -> bool:
    """Whether each core reads the weights of the DRAM bank beside it."""
    return "DRAMShardedProgramConfig" in operation.attributes.get("ATTRIBUTES", "")


def lacks_program_config(operation: Operation) -> bool:
    """Whether the row says that the caller gave no program configuration."""
    found = re.search(
        r"\bprogram_config'?\s*[:=]\s*'?std::nullopt", operation.attributes.get("ATTRIBUTES", "")
    )
    return found is not None


def block_setting(operation: Operation, name: str) -> int | None:
    """A number of the program configuration: ``in0_block_w``, ``out_subblock_h``."""
    found = re.search(rf"\b{name}\s*=\s*(\d{{1,9}})\b", operation.attributes.get("ATTRIBUTES", ""))
    return int(found[1]) if found else None


def fidelity(operation: Operation) -> str | None:
    """The math fidelity; None where the row names none."""
    try:
        return fidelity_of(operation.attributes.get("MATH FIDELITY", ""))
    except ValueError:
        return None


def types(operation: Operation) -> tuple[str, str, str] | None:
    """The types of activations, weights and result; None where one is not known."""
    if len(operation.inputs) < 2 or not operation.outputs:
        return None
    first, second, result = (
        tensor.dtype for tensor in (*operation.inputs[:2], operation.outputs[0])
    )
    return (first, second, result) if first and second and result else None


def available_cores(kernel: Executions) -> int | None:
    """The cores that the operation could have used: those of its row, else of the device."""
    text = kernel.operation.attributes.get("AVAILABLE WORKER CORE COUNT", "").partition(".")[0]
    if text.isdecimal() and len(text) < 7 and int(text) > 0:
        return int(text)
    return kernel.device.sm_count if kernel.device else None


def roofline_s(kernel: Executions) -> float | None:
    """The time of FLOP or DRAM bytes on the cores it uses, at sustained rates; None if unknown."""
    operation, device = kernel.operation, kernel.device
    operands, name = types(operation), fidelity(operation)
    if device is None or operands is None or name is None or kernel.flop is None:
        return None
    rate = sustained_flop_per_s(device, operands, name)
    if rate is None or operation.cores is None:
        return None
    products_s = kernel.flop / (rate * operation.cores / device.sm_count)
    return max(products_s, kernel.dram_s or 0.0)
