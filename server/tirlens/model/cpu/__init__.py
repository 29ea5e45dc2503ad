"""CPU code: what the compiler makes of the loops, how long a core computes, where its lines are.

`kernel` puts it together: `nests` finds the innermost loops and which of them run in vectors,
`core` the clocks with all data in L1, `caches` the lines that come from behind each cache,
`timing` the time, and `verdict` what bounds it.

Constants whose source is "looked at" were set by the kernels of that name in docs/cpu.md; those of
a machine are in its device file, where ``tirlens devices --detect --calibrate`` measures them.
"""

from .attributed import cores_at_work, kernel, weighted
from .verdict import verdict

__all__ = ["cores_at_work", "kernel", "verdict", "weighted"]
