"""Compiler: the instructions, registers and spills that nvcc and ptxas make of statements.

Input: the tree of a kernel with its thread mappings.  Output: the same tree with the instructions
of one thread for operations, addresses, predicates and loop control, and with the load and store
instructions that remain of the accesses of the program, after vectorization, reuse and hoisting
(`compile_statements`).  The registers of a thread and the cost of spills follow from that tree and
the device (`register_pressure`, `temporary_registers`, `spills`).
"""

from .statements import compile_statements

__all__ = ["compile_statements"]
