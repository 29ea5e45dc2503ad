"""Compiler: which instructions, registers and spills nvcc and ptxas make of a statement."""
