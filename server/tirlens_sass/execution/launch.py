"""The launch of a kernel: what its threads can know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# Bank 0 by the first compute capability with each layout: the offsets of the sizes of a block, of
# the grid, and of the first parameter. Source: nvcc's code of kernels that read them.
_LAYOUTS = ((100, 0x360, 0x370, 0x380), (90, 0x0, 0xC, 0x210), (0, 0x0, 0xC, 0x160))


@dataclass(frozen=True)
class Launch:
    """A launch.

    Parameters
    ----------
    grid, block
        The blocks of the grid and the threads of a block, in x, y and z.
    parameters
        The 32-bit words of the parameters by their offset in bytes among the parameters. Others
        are not known.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    parameters: Mapping[int, int] = field(default_factory=dict[int, int])

    @property
    def blocks(self) -> int:
        """The blocks of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]


def constant_bank(launch: Launch, architecture: str) -> dict[int, int]:
    """The words of constant bank 0 that the launch determines, by offset in bytes."""
    capability = int("".join(filter(str.isdigit, architecture)) or 0)
    _, block, grid, first = next(one for one in _LAYOUTS if capability >= one[0])
    words = {first + offset: word for offset, word in launch.parameters.items()}
    for axis in range(3):
        words[block + 4 * axis] = launch.block[axis]
        words[grid + 4 * axis] = launch.grid[axis]
    return words
