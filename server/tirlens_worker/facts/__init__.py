"""The facts of a kernel: what the worker extracts from its IR and sends to the server.

Facts depend on no device and no editor.  They are a tree of loops, branches and statements.  Each
extent, index and guard is an expression over the loop variables and shape variables of the kernel,
so that a model evaluates them for any sizes without the framework.

`expressions` says what an expression is.  The package runs on Python 3.8 and imports only the
standard library.
"""

from __future__ import annotations

from .compiled import (
    MEMORY_CLOCKS,
    Assembly,
    CompiledLaunch,
    ExecutedInstructions,
    LineClocks,
    LocalAccess,
    Pipe,
)
from .expressions import Expr, Variable
from .kernel import Built, Caveat, KernelFacts, Launch, ModelSizes, Requirement
from .lowered import LoweredLaunch, LoweredRoutes, MatrixProduct, Move, SharedArray, TileLoad
from .mappings import no_entries
from .operations import Access, AccessMode, Arith, Buffer, Route, Signal, SignalKind, Useful
from .source import Span
from .statements import (
    THREADS_TOGETHER,
    Annotate,
    Atomic,
    Barrier,
    BarrierKind,
    Call,
    Copy,
    Evaluate,
    Executor,
    Fill,
    Gemm,
    Load,
    Map,
    MatrixInstruction,
    Mma,
    Reduce,
    RegisterRequest,
    Scan,
    Shuffle,
    Statement,
    Store,
    Transpose,
    WarpPolicy,
)
from .tree import Branch, BranchKind, Let, Loop, LoopKind, Node, While

__all__ = [
    "MEMORY_CLOCKS",
    "THREADS_TOGETHER",
    "Access",
    "AccessMode",
    "Annotate",
    "Arith",
    "Assembly",
    "Atomic",
    "Barrier",
    "BarrierKind",
    "Branch",
    "BranchKind",
    "Buffer",
    "Built",
    "Call",
    "Caveat",
    "CompiledLaunch",
    "Copy",
    "Evaluate",
    "ExecutedInstructions",
    "Executor",
    "Expr",
    "Fill",
    "Gemm",
    "KernelFacts",
    "Launch",
    "Let",
    "LineClocks",
    "Load",
    "LocalAccess",
    "Loop",
    "LoopKind",
    "LoweredLaunch",
    "LoweredRoutes",
    "Map",
    "MatrixInstruction",
    "MatrixProduct",
    "Mma",
    "ModelSizes",
    "Move",
    "Node",
    "Pipe",
    "Reduce",
    "RegisterRequest",
    "Requirement",
    "Route",
    "Scan",
    "SharedArray",
    "Shuffle",
    "Signal",
    "SignalKind",
    "Span",
    "Statement",
    "Store",
    "TileLoad",
    "Transpose",
    "Useful",
    "Variable",
    "WarpPolicy",
    "While",
    "no_entries",
]
