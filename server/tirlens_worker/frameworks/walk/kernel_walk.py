"""The walk over one function.

The walk is the same for all frameworks: `dialect` abstracts from their versions, `ops` accounts for
tile operations and intrinsics, and a class for each kind of statement translates it.
"""

from __future__ import annotations

from typing import Any, Mapping

from ..locations.spans import Locator
from ..passes.storage_compaction import Storage
from ..reading.accesses import Accesses
from ..reading.expression_cost import Readers
from ..reading.expressions import Expressions
from ..reading.handler_context import HandlerContext
from ..reading.index_counters import index_counters
from ..reading.regions import Regions
from ..state.kernel_state import KernelState
from .assignments import Assignments
from .blocks import Blocks
from .branches import Branches
from .builder import NodeBuilder, Nodes
from .calls import Calls
from .declarations import Declarations
from .induction import Induction
from .loops import ForLoops, LoopBodies
from .thread_loops import ThreadLoops
from .traversal import Traversal
from .while_loops import WhileLoops


def walk(
    body: Any,
    state: KernelState,
    expressions: Expressions,
    locator: Locator,
    storage: Mapping[str, Storage],
) -> Nodes:
    """The nodes of a function's whole body; `state` is complete afterwards.

    `storage` are the shapes and strides of arrays that the compiler compacts, by their names.
    """
    regions = Regions(state, expressions)
    expressions.find_region = regions.region
    readers = Readers(state, expressions, regions, Accesses(state, expressions, regions))
    context = HandlerContext(readers)
    builder = NodeBuilder(state, context, locator)
    traversal = Traversal(state, locator)
    branches = Branches(traversal, state, expressions, builder)
    threads = ThreadLoops(traversal, state, expressions, builder, locator)
    induction = Induction(state, expressions)
    bodies = LoopBodies(traversal, state, induction)
    Blocks(traversal, readers, builder, threads, locator, storage)
    ForLoops(traversal, state, expressions, builder, threads, bodies)
    WhileLoops(traversal, state, expressions, context, builder, branches, induction, bodies)
    Assignments(traversal, readers, builder)
    Calls(traversal, readers, context, builder, branches)
    Declarations(traversal, readers)
    state.properties.counters = index_counters(body)
    return state.bindings.add_scope_loops(traversal.nodes(body))
