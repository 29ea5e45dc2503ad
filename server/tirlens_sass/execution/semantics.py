"""What integer instructions compute: as much as control flow depends on.

The meaning of the opcodes is that of the PTX instructions from which they are compiled (PTX ISA,
"Integer Arithmetic", "Logic and Shift", "Comparison and Selection", "Extended-Precision Integer
Arithmetic") and of the descriptions in NVIDIA's CUDA Binary Utilities. Floating point is not
evaluated but for the reciprocal in the division of integers.
"""

from . import bit_logic, integer_arithmetic, moves, stack_slots
from .evaluators import evaluate, is_evaluated

__all__ = ["bit_logic", "evaluate", "integer_arithmetic", "is_evaluated", "moves", "stack_slots"]
