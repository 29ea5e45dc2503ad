"""Reads machine code of NVIDIA's GPUs (SASS), as ``nvdisasm -c -g -hex`` prints it.

>>> from tirlens_sass import read
>>> listing = read(LISTING)
>>> listing.architecture
'sm_80'
>>> kernel = listing.kernels[0]
>>> load = kernel.instructions[1]
>>> load.full_name, load.memory
('LDG.E', (MemoryAccess(space='global', direction='load', bytes_per_lane=4),))
>>> load.registers.writes, load.registers.reads
((Registers(file='R', first=5, count=1),), (Registers(file='R', first=2, count=2),))
>>> load.control.stall_cycles, load.control.write_barrier
(2, 2)
>>> kernel.instructions[2].control.waits
(2,)
>>> [(len(loop.blocks), loop.depth) for loop in kernel.loops]
[(1, 1)]

`README.md` in this folder says what is read, for which architectures, and how it is tested.
"""

from .arithmetic import matrix_operations, scalar_operations
from .control_flow import Block, Loop, callee_of, is_slow_path
from .encoding import Control, Encoding
from .instruction import Guard, Instruction, SourceLine
from .listing import Function, Listing, ListingError, read
from .memory import MemoryAccess
from .opcodes import OPCODES, UNITS, Opcode
from .operands import NamedRegister, Operand
from .registers import Registers, RegisterUse

__all__ = [
    "OPCODES",
    "UNITS",
    "Block",
    "Control",
    "Encoding",
    "Function",
    "Guard",
    "Instruction",
    "Listing",
    "ListingError",
    "Loop",
    "MemoryAccess",
    "NamedRegister",
    "Opcode",
    "Operand",
    "RegisterUse",
    "Registers",
    "SourceLine",
    "callee_of",
    "is_slow_path",
    "matrix_operations",
    "read",
    "scalar_operations",
]
