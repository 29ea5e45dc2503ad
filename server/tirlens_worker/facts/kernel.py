"""A kernel: its signature, launch and tree, and how it was traced."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Tuple

from .compiled import Assembly, CompiledLaunch
from .expressions import Expr, Variable
from .lowered import LoweredLaunch
from .mappings import no_entries
from .operations import Buffer
from .source import Span
from .tree import Node


@dataclass(frozen=True)
class Launch:
    """The launch parameters in the source.

    `grid` and `threads` are the x, y, z extents (all empty: no thread bindings, so no GPU
    kernel).  `panel` and `panel_order` are tilelang's block rasterisation (T.use_swizzle).
    `shared_bytes` is the dynamic shared memory per block that the source states.
    """

    grid: Tuple[Expr, ...] = ()
    threads: Tuple[Expr, ...] = ()
    cluster: Tuple[Expr, ...] = ()
    panel: Optional[int] = None
    panel_order: str = "row"
    shared_bytes: Optional[int] = None


@dataclass(frozen=True)
class Caveat:
    """An assumption, or code that was not understood, at `span` (None: the whole kernel).

    `function` is the function whose cost is left out, if the message is about one.
    """

    message: str
    span: Optional[Span] = None
    function: Optional[str] = None


@dataclass(frozen=True)
class Built:
    """How a statement of the text built a kernel.

    `step` is the call that it makes: ``create_prim_func``, ``Schedule``, ``reorder``.
    The versions of a kernel have one `sequence` and ascending `number`; None for a kernel that is
    no version of a schedule.  `calls` is how often the graph `entry`, a Relax function of the
    module, calls the kernel with arrays of the shapes `arrays` (``float32[1, 784]``).  `same_as` is
    the earlier statement that built the same function.
    """

    step: str
    sequence: Optional[int] = None
    number: int = 0
    entry: str = ""
    calls: int = 1
    arrays: Tuple[str, ...] = ()
    same_as: Optional[Span] = None


@dataclass(frozen=True)
class Requirement:
    """A `feature` of GPUs that the source requires (``tcgen05``, ``tma``, ``mma.float8``).

    `span` is the first statement that requires it, None where that is not known.
    """

    feature: str
    span: Optional[Span] = None


@dataclass(frozen=True)
class ModelSizes:
    """Arguments and sizes of a kernel that are those of a language model, whose id is `model`.

    `values` are by the name of the parameter or dimension.  `is_chosen`: the user named the model;
    else it is the one that fits what is known of the kernel.
    """

    model: str
    values: Mapping[str, int] = field(default_factory=no_entries)
    is_chosen: bool = False


@dataclass(frozen=True)
class KernelFacts:
    """One kernel, traced with one set of arguments.

    `name` is the name of the PrimFunc, `definition` the name in the user's text (of the factory or
    function whose `def` is at `span`).  `call` is the Python expression that yields the kernel and
    `call_source` its origin (``directive``, ``option``, ``settings``, ``typecheck``, ``call-site``,
    ``defaults``, ``autotune``, ``module-level``, ``assumed``, ``captured``).  `variables` are the
    free shape variables in the order of their appearance.
    `target` is the target in the source, if any (``{"kind": "cuda", "arch": "sm_90"}``).
    `asks_for_device`: the program queried the GPU before it yielded the kernel.
    `sizes` are sizes of variables from the arrays in the call, `assumed` default sizes of variables
    that nothing determines.  `assumed_arguments` are the arguments of the call that are assumed, as
    expressions by parameter name.  `model` are those of the arguments and sizes that a language
    model gives.
    `fast_math`: nvcc compiles with ``--use_fast_math``.  `attributes` are the transformations that
    the kernel disables: ``tma``, ``warp_specialized`` (false).
    `built` is set for a kernel that a statement builds with the framework's API.
    `requires` are the features of GPUs that its own instructions need.
    `lowered` has the launch for each architecture that the kernel was lowered for, `refused` the
    error of the framework for each that it cannot be lowered for, `compiled` what the compiler made
    for each that it was compiled for, `assembly` that of LLVM for each processor; all are set
    later.
    """

    name: str
    definition: str
    span: Span
    framework: str
    framework_version: str
    call: str
    call_source: str
    variables: Tuple[Variable, ...]
    buffers: Tuple[Buffer, ...]
    launch: Launch
    body: Tuple[Node, ...]
    target: Mapping[str, Any] = field(default_factory=no_entries)
    attributes: Mapping[str, Any] = field(default_factory=no_entries)
    caveats: Tuple[Caveat, ...] = ()
    asks_for_device: bool = False
    sizes: Mapping[str, int] = field(default_factory=no_entries)
    assumed: Mapping[str, int] = field(default_factory=no_entries)
    assumed_arguments: Mapping[str, str] = field(default_factory=no_entries)
    model: Optional[ModelSizes] = None
    fast_math: bool = False
    lowered: Tuple[LoweredLaunch, ...] = ()
    refused: Mapping[str, str] = field(default_factory=no_entries)
    compiled: Tuple[CompiledLaunch, ...] = ()
    assembly: Tuple[Assembly, ...] = ()
    built: Optional[Built] = None
    requires: Tuple[Requirement, ...] = ()

    def ids_by_name(self) -> Dict[str, str]:
        """The ids of the arrays that lowered code mentions by a name that no other array has."""
        found: Dict[str, str] = {}
        for buffer in self.buffers:
            found[buffer.name] = "" if buffer.name in found else buffer.id
        return {name: identity for name, identity in found.items() if identity}

    def lowered_for(self, arch: str) -> Optional[LoweredLaunch]:
        """The lowered launch for an architecture; None if the kernel was not lowered for it."""
        return next((launch for launch in self.lowered if launch.arch == arch), None)

    def compiled_for(self, arch: str) -> Optional[CompiledLaunch]:
        """What the compiler made for an architecture; None if it was not compiled for it."""
        return next((launch for launch in self.compiled if launch.arch == arch), None)

    def assembly_for(self, processor: str) -> Optional[Assembly]:
        """What LLVM made for a processor; None if the kernel was not compiled for it."""
        return next((one for one in self.assembly if one.processor == processor), None)
