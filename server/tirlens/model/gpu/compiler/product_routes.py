"""The matrix instruction of a product, and why it is not the widest one of the device.

A product is tcgen05 where its result is in tensor memory, wgmma on sm_90 where B is in shared
memory, it has 64 rows and whole warpgroups, and mma.sync otherwise (``SelectInst``, ``CheckWgmma``
in ``src/cuda/op/gemm.cc`` of tilelang).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Gemm, MatrixInstruction

from ...counting.kernel_counts import AccessCount
from ...tree.context import WARPGROUP
from ...tree.node import Leaf
from ...tree.route import Route
from ...tree.thread_mapping import SHARED_SCOPES
from .matrix_instructions import WGMMA_ROWS
from .routed_kernel import RoutedKernel

_TENSOR_MEMORY = "shared.tmem"
_INSTRUCTION_NAMES: Mapping[MatrixInstruction, str] = {"mma": "mma.sync", "rdna_wmma": "wmma"}


def instruction_name(instruction: MatrixInstruction) -> str:
    """The name of a family of matrix instructions: ``mma.sync``, ``wgmma``."""
    return _INSTRUCTION_NAMES.get(instruction, instruction)


def product_route(leaf: Leaf, product: Gemm, kernel: RoutedKernel) -> Route:
    """The instruction of a product: as written, else that of the lowered code, else by the rules.

    Where tilelang chooses ``mma.sync`` on a device with a wider one, it has the reason.
    """
    wanted = _widest_instruction(kernel.device)
    if not kernel.is_tilelang or product.instruction is not None:
        return Route(instruction=product.instruction or wanted)
    reason = _reason_against(wanted, leaf, product)
    chosen = _lowered_instruction(leaf, kernel) or ("mma" if reason else wanted)
    if chosen != "mma" or wanted == "mma":
        return Route(instruction=chosen)
    version = kernel.facts.framework_version
    why = reason or f"tilelang {version} does not use it for this product"
    return Route(instruction=chosen, lost=f"{instruction_name(wanted)}: {why}")


def _widest_instruction(device: Device) -> MatrixInstruction:
    for name in ("tcgen05", "wgmma", "mfma", "simdgroup"):
        if name in device.features:
            return name
    return "mma"


def _reason_against(wanted: MatrixInstruction, leaf: Leaf, product: Gemm) -> str:
    """Why tilelang does not use the widest instruction of a device; empty if it does."""
    operands = [entry for entry in leaf.count.accesses if entry.access.route == "mma"]
    results = [entry for entry in operands if entry.access.mode != "read"]
    reads = [entry for entry in operands if entry.access.mode == "read"]
    if wanted == "tcgen05":
        if any(entry.buffer.scope != _TENSOR_MEMORY for entry in results):
            return "the result is in registers, and tcgen05 adds to tensor memory (T.alloc_tmem)"
        if len(reads) > 1 and reads[1].buffer.scope not in SHARED_SCOPES:
            return "B is not in shared memory"
        return ""
    if wanted != "wgmma":
        return ""
    if len(reads) > 1 and reads[1].buffer.scope not in SHARED_SCOPES:
        return "B is in registers, and wgmma reads it from shared memory"
    rows = product.m_n_k[0] if product.m_n_k else None
    if isinstance(rows, int) and rows < WGMMA_ROWS:
        return f"{rows} rows, and wgmma multiplies {WGMMA_ROWS}"
    if leaf.threads % WARPGROUP:
        return f"{leaf.threads} threads are no whole warpgroups of {WARPGROUP}"
    return _type_reason(reads, results, product)


def _type_reason(
    reads: Sequence[AccessCount], results: Sequence[AccessCount], product: Gemm
) -> str:
    """Why wgmma does not multiply these types, or does not have them transposed as they are."""
    if not reads or not results:
        return ""
    operand, result = reads[0].buffer.dtype, results[0].buffer.dtype
    is_float8 = operand.startswith("float8")
    with_float32 = operand in ("float16", "bfloat16", "tfloat32", "float32") or is_float8
    known = {
        "float16": operand == "float16" or is_float8,
        "float32": with_float32,
        "int32": operand in ("int8", "uint8"),
    }
    if not known.get(result, False):
        return f"wgmma does not add products of {operand} to {result}"
    if operand not in ("float16", "bfloat16") and product.transposes not in (None, (False, True)):
        return f"wgmma multiplies {operand} only where A and B are contiguous along k"
    return ""


def _lowered_instruction(leaf: Leaf, kernel: RoutedKernel) -> MatrixInstruction | None:
    """The instruction of a product in the lowered code; None where that does not tell."""
    if kernel.lowered is None:
        return None
    routes = kernel.lowered.routes
    if routes is None or len({one.instruction for one in routes.products}) < 2:
        family: MatrixInstruction | None = kernel.lowered.matrix_instruction
        return family
    results = {
        kernel.buffer_of(entry).id for entry in leaf.count.accesses if entry.access.mode != "read"
    }
    found: list[MatrixInstruction] = [
        one.instruction for one in routes.products if kernel.ids.get(one.accumulator) in results
    ]
    return found[0] if len(set(found)) == 1 else None
