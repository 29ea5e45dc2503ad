"""The loops of TIRx's execution scopes, and the axes of the launch that they are bound to."""

from __future__ import annotations

import pytest

from tirlens_worker.facts import Loop, Node
from tirlens_worker.frameworks.state import exec_scopes
from tirlens_worker.frameworks.state.exec_scopes import ExecScopes, Index


def loops(nodes: tuple[Node, ...]) -> list[tuple[str | None, str, object]]:
    """The tag, variable and extent of nested loops."""
    found: list[tuple[str | None, str, object]] = []
    while nodes and isinstance(nodes[0], Loop):
        found.append((nodes[0].tag, nodes[0].var, nodes[0].extent))
        nodes = nodes[0].body
    return found


@pytest.mark.parametrize(
    ("indices", "expected"),
    [
        # ``x, y = T.thread_id([32, 5])`` is generated as threadIdx.x and threadIdx.y (0.27).
        (
            [(exec_scopes.THREAD, "x", 32), (exec_scopes.THREAD, "y", 5)],
            [("threadIdx.y", "y", 5), ("threadIdx.x", "x", 32)],
        ),
        (
            [(exec_scopes.WARP, "warp", 4), (exec_scopes.LANE, "lane", 32)],
            [("threadIdx.y", "warp", 4), ("threadIdx.x", "lane", 32)],
        ),
        ([(exec_scopes.THREAD, "x", 128)], [("threadIdx.x", "x", 128)]),
    ],
)
def test_first_axis_of_a_scope_is_the_fastest(
    indices: list[tuple[int, str, int]], expected: list[tuple[str, str, int]]
) -> None:
    scopes = ExecScopes(lambda name: name)
    axes: dict[int, int] = {}
    for scope, name, extent in indices:
        scopes.open(Index(name, scope, axes.setdefault(scope, 0), extent, ()))
        axes[scope] += 1
    assert loops(scopes.around(())) == expected
