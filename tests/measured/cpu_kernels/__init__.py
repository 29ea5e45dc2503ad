"""TVMScript kernels for CPUs: workloads in several schedules, to be measured and predicted.

Each module's `kernels` yields ``(workload, schedule, PrimFunc)``.  A workload is a computation
with its sizes, so that its schedules can be ranked.  Needs tvm.
"""
