"""How often an instruction is executed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Executions:
    """How often one instruction is executed.

    Parameters
    ----------
    warps
        Executions by warps of a block, on average over the blocks.
    threads
        Executions by threads of a block for which its guard holds; None if that depends on data.
    loops
        The loops around it whose trip counts depend on data, from the outside in, by their index in
        `Function.loops`: the counts are those of one iteration of each.
    is_conditional
        Whether a branch that depends on data decides: the counts are an upper bound.
    by_warp
        Executions by each warp of a block; one number where all warps do the same.
    """

    warps: float
    threads: float | None
    loops: tuple[int, ...] = ()
    is_conditional: bool = False
    by_warp: tuple[float, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether nothing depends on data."""
        return not self.loops and not self.is_conditional
