"""The time of one block, node by node of the kernel's tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .node import CostNode, Leaf


class TimedNode:
    """The time that one block spends in a node of the tree.

    Attributes
    ----------
    node : CostNode or None
        The node; None for the root, which holds the kernel's body.
    own_s : float
        Seconds in the node itself, over all of its executions in one block.
    startup_s : float
        The part of `own_s` that a loop around the node takes once, whatever its trip count.
    children : tuple of TimedNode
        The times of the nodes inside.
    total_s : float
        `own_s` and the times of all nodes inside.
    """

    __slots__ = ("children", "node", "own_s", "startup_s", "total_s")

    def __init__(
        self,
        node: CostNode | None,
        own_s: float,
        children: tuple[TimedNode, ...] = (),
        startup_s: float = 0.0,
    ) -> None:
        self.node = node
        self.own_s = own_s
        self.startup_s = startup_s
        self.children = children
        children_s = 0.0
        for child in children:
            children_s += child.total_s
        self.total_s = own_s + children_s

    def scale(self, factor: float) -> TimedNode:
        """Return this node with `factor` times its time and that of every node inside."""
        if factor == 1.0:
            return self
        children = tuple([child.scale(factor) for child in self.children])
        return TimedNode(self.node, self.own_s * factor, children, self.startup_s * factor)


def timed_tree(nodes: Iterable[CostNode], time_s: Callable[[Leaf], float]) -> TimedNode:
    """Return the tree of times in which only statements take time.

    Parameters
    ----------
    nodes
        The body of a kernel.
    time_s
        The time of a statement in seconds.
    """

    def time_node(node: CostNode) -> TimedNode:
        if isinstance(node, Leaf):
            return TimedNode(node, time_s(node))
        return TimedNode(node, 0.0, tuple(time_node(child) for child in node.children))

    return TimedNode(None, 0.0, tuple(time_node(node) for node in nodes))
