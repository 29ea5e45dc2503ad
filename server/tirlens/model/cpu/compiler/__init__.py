"""Compiler: the loop nests that LLVM makes of a kernel, and the vectors that it uses."""
