"""Compiler: the loop nests that LLVM makes of a kernel, and the vectors that it uses.

Full unrolling, loop vectorization with interleaved access groups, vector widths, and the
elimination of loads and stores follow LLVM's passes.
"""

from .executed_code import executed_code
from .loop_nests import CompiledKernel, Nest, compile_loops

__all__ = ["CompiledKernel", "Nest", "compile_loops", "executed_code"]
