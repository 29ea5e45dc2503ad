"""What the best known structure for the job of a kernel reaches on a device.

job         what the kernel computes, in sizes: a product, an attention, or one pass over its bytes
structures  kernels that do such a job, a module for each kind of job
reach       the fastest of them by the model
"""

from tirlens.headroom.reach import Reachable, reachable

__all__ = ["Reachable", "reachable"]
