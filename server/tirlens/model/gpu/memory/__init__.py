"""Memory hierarchy: which bytes L1 and L2 serve, and which DRAM moves.

Input: the statements with their thread mappings, their accesses to global memory, the shape of the
launch and the cache sizes of the device.  Output: the same statements with their `Traffic`.
"""

from .traffic import compute_traffic

__all__ = ["compute_traffic"]
