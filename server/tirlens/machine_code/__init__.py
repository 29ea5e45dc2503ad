"""The machine code of kernels: how often each instruction is executed, and for which line.

`executions` and `launches` need numpy, which the server of an editor may not have: they are
imported by those who count.
"""

from .lines import document_line, generated_line

__all__ = ["document_line", "generated_line"]
