"""A tilelang kernel lowered for one architecture by tilelang's own passes.

Lowering ends with CUDA source and needs neither a GPU nor a compiler: the target is data, and
device code is not compiled (``enable_device_compile=False``).

Sources: tilelang ``engine/lower.py`` (lower), ``jit/kernel.py`` (the pass context of a
compilation), ``contrib/nvcc.py`` (the names of architectures).
"""

from __future__ import annotations

import importlib
import re
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set

from ...facts import (
    LoweredLaunch,
    LoweredRoutes,
    MatrixInstruction,
    MatrixProduct,
    Move,
    SharedArray,
    TileLoad,
)
from ..compile_options import PASS_CONFIGS
from ..ir import dialect
from .lowered_ir import DeviceFunction, MoveKey, shared_array_sizes

_MAX_MESSAGE_LINES = 4
_MAX_MESSAGE_LENGTH = 400
# The pass that gives all shared arrays of a kernel one allocation.
_MERGING_PASS = "MergeSharedMemoryAllocations"
# A target as JSON, which a message replaces by its architecture.
_TARGET = re.compile(r'target=\{(?:[^{}]|\{[^{}]*\})*"arch":"(\w+)"(?:[^{}]|\{[^{}]*\})*\}')


class LoweringError(Exception):
    """The framework does not lower the kernel for this target; the message is the framework's."""


def lower(prim_func: Any, target: Mapping[str, Any]) -> LoweredLaunch:
    """The launch of `prim_func` as tilelang lowers it for `target`.

    A function of several kernels has the most threads and the most shared memory of any.

    Raises:
        LoweringError: the framework raises an error, or yields no kernel.
    """
    unmerged = UnmergedArrays()
    functions = _device_functions(prim_func, target, unmerged)
    kernels = [DeviceFunction(function) for function in functions]
    if not kernels:
        raise LoweringError("the lowered code has no kernel")
    register_requests = [kernel.registers for kernel in kernels if kernel.registers is not None]
    families: List[Optional[MatrixInstruction]] = [
        kernel.matrix_instruction for kernel in kernels if kernel.matrix_instruction
    ]
    moves: Dict[MoveKey, Set[int]] = {}
    for kernel in kernels:
        for key, widths in kernel.moves.items():
            moves.setdefault(key, set()).update(widths)
    return LoweredLaunch(
        arch=str(target.get("arch", "")),
        threads=max(kernel.threads for kernel in kernels),
        shared_bytes=max(kernel.shared_bytes for kernel in kernels),
        registers_per_thread=max(register_requests, default=None),
        matrix_instruction=families[0] if families else None,
        moves=tuple(
            Move(buffer, mode, route, tuple(sorted(widths)))
            for (buffer, mode, route), widths in sorted(moves.items())
        ),
        routes=_routes(kernels, unmerged),
    )


class UnmergedArrays:
    """The shared arrays ahead of the pass that puts all of them into one.

    `sizes` are their elements by name, and `filled_from` the names of the arrays that each global
    array is loaded into.
    """

    def __init__(self) -> None:
        self.sizes: Dict[str, int] = {}
        self.filled_from: Dict[str, Set[str]] = {}

    def read(self, module: Any) -> None:
        """Add the arrays of `module`."""
        self.sizes.update(shared_array_sizes(module))
        for _, function in module.functions.items():
            for load in DeviceFunction(function).loads if hasattr(function, "body") else ():
                self.filled_from.setdefault(load.buffer, set()).add(load.shared)

    def with_names(self, loads: Iterable[TileLoad]) -> Set[TileLoad]:
        """`loads` of lowered code with the names of the arrays before they were merged.

        Versions before 0.1.10 leave only the merged one.  Where a global array is then loaded in
        several ways, it is not known into which array each way is.
        """
        merged: Dict[str, Set[TileLoad]] = {}
        found: Set[TileLoad] = set()
        for load in loads:
            if load.shared in self.filled_from.get(load.buffer, (load.shared,)):
                found.add(load)
            else:
                merged.setdefault(load.buffer, set()).add(load)
        for buffer, same in merged.items():
            if len(same) == 1:
                load = same.pop()
                found.update(
                    TileLoad(buffer, name, load.route, load.by_producer)
                    for name in self.filled_from[buffer]
                )
        return found


def _routes(kernels: Sequence[DeviceFunction], unmerged: UnmergedArrays) -> LoweredRoutes:
    loads = unmerged.with_names(load for kernel in kernels for load in kernel.loads)
    products = {product for kernel in kernels for product in kernel.products}
    return LoweredRoutes(
        loads=tuple(sorted(loads, key=lambda load: (load.buffer, load.shared, load.route))),
        products=tuple(MatrixProduct(*product) for product in sorted(products)),
        shared_arrays=tuple(SharedArray(*pair) for pair in sorted(unmerged.sizes.items())),
    )


def _device_functions(
    prim_func: Any, target: Mapping[str, Any], unmerged: UnmergedArrays
) -> List[Any]:
    """The lowered device functions; `unmerged` receives their shared arrays."""
    tvm = importlib.import_module("tvm")
    engine = importlib.import_module("tilelang.engine.lower")
    tvm_target = tvm.target.Target(
        dict(target, arch=exact_architecture(str(target.get("arch", ""))))
    )
    options: Mapping[Any, Any] = dialect.attributes(prim_func).get(PASS_CONFIGS) or {}
    config = {str(key): value for key, value in options.items()}
    try:
        # Passes read the target of the context, code generators that of the argument.
        instruments = [_shared_array_instrument(unmerged)]
        context = tvm.transform.PassContext(opt_level=3, config=config, instruments=instruments)
        with context, tvm_target:
            lowered = engine.lower(prim_func, target=tvm_target, enable_device_compile=False)
    except Exception as error:
        raise LoweringError(message(str(error)) or type(error).__name__) from error
    return [function for _, function in lowered.device_mod.functions.items()]


def _shared_array_instrument(unmerged: UnmergedArrays) -> Any:
    """Reads shared arrays ahead of the pass that puts all of them into one."""
    instrument = importlib.import_module("tvm.ir.instrument")

    class Reader:
        """What TVM calls ahead of each pass."""

        def run_before_pass(self, module: Any, info: Any) -> None:
            if str(info.name).endswith(_MERGING_PASS):
                unmerged.read(module)

    return instrument.pass_instrument(Reader)()


def exact_architecture(arch: str) -> str:
    """The architecture with the suffix that tilelang adds from sm_90 on: ``sm_90a``."""
    digits = arch.partition("_")[2]
    return arch + "a" if digits.isdigit() and int(digits) >= 90 else arch


def message(text: str) -> str:
    """The readable part of an error of the framework: the text after the failed check."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    start = next((i for i, line in enumerate(lines) if " is false: " in line), None)
    if start is not None:
        words = lines[start].partition(" is false: ")[2]
        # A single word is not meaningful without the checked condition.
        lines[start] = words if " " in words else lines[start]
    relevant = [line for line in lines[start or 0 :] if not line.startswith(("File ", "Traceback"))]
    joined = _TARGET.sub(r"target=\1", " ".join(relevant[:_MAX_MESSAGE_LINES]))
    if len(joined) <= _MAX_MESSAGE_LENGTH:
        return joined
    return joined[: _MAX_MESSAGE_LENGTH - 3] + "..."
