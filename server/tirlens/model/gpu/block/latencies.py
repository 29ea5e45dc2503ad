"""Latencies of instructions and barriers, in clocks of the SM.

They are those of an NVIDIA GPU since Volta.  Sources: Z. Jia et al., "Dissecting the NVIDIA Volta
GPU Architecture via Microbenchmarking" (dependent issue 4 clocks, shared-memory load about 20 to
30, an atomic operation there no more, shuffle about 23), W. Luo et al., "Benchmarking and
Dissecting the Nvidia Hopper GPU Architecture" (special functions 18 to 40, wgmma 128 for n = 256),
latencies measured on a B300 (ademeure/QuickRunCUDA@dd82488,
``justifications/24_latency_table.md``; "B300" below).
"""

from __future__ import annotations

from collections.abc import Mapping

# From an instruction to one that needs its result (Volta 4; B300 4.2).
# Architecture: NVIDIA since Volta.
DEPENDENT_CLOCKS = 4.0
# A load from shared memory (Volta 20 to 30; B300 29).
# Architecture: NVIDIA since Volta.
SHARED_CLOCKS = 30.0
# A shuffle and the operation on its result (Volta 23 and 4; B300 26 for the shuffle).
# Architecture: NVIDIA since Volta.
SHUFFLE_CLOCKS = 27.0
# A barrier of a block whose warps arrive together: 22 and 2 for each warp on a B300, here of four.
# Architecture: NVIDIA since Volta.
BARRIER_CLOCKS = 30.0
# Arrivals, fences and commits, which do not wait.  An estimate between the issue of one dependent
# instruction and the 9 clocks of a fence within the block (B300).
# Architecture: NVIDIA since Volta.
ARRIVAL_CLOCKS = 5.0
# The wait for a full buffer of a pipeline and the release of the empty one: two round trips to the
# barriers in shared memory, of 30 clocks each.  An estimate of what other warps do not overlap: an
# arrival and the wait for it take 123 one after the other (B300).
# Architecture: NVIDIA since Hopper.
BUFFER_HANDOVER_CLOCKS = 60.0
# From the end of one iteration's wgmma instructions to the start of the next one's, where one
# warpgroup issues, waits and starts again.  The H200 rows of `tests/measured` with one consumer
# take 0.575 us for 128 x 128 x 64, of which the instructions are 0.28.
# Architecture: NVIDIA Hopper.
WGMMA_RESTART_CLOCKS = 460.0
# The same of mma.sync.  An estimate: a chain of eight m16n8k16, each of `MMA_CLOCKS`.
# Architecture: NVIDIA since Ampere.
MMA_SYNC_RESTART_CLOCKS = 250.0
# From the start of a product by tcgen05 to its end, besides the time for which it occupies the
# tensor cores: 132 to 148 on a B200 (SemiAnalysisAI, microbench-blackwell@9a068d8,
# umma_latency/fit_results.csv).
# Architecture: NVIDIA Blackwell, data centre.
TCGEN05_CLOCKS = 148.0
# An m16n8k16 on the accumulators of the one before.  An estimate: the 32 clocks for which it
# occupies the tensor cores of an SM since Ampere, and some; 21 on a B300.
# Architecture: NVIDIA since Ampere.
MMA_CLOCKS = 35.0
# A fill of registers: two dependent instructions.
# Architecture: NVIDIA since Volta.
FILL_CLOCKS = 8.0
# An atomic operation on global memory: 318 to a lane and 790 to the 32 lanes of a warp (B300,
# ``justifications/15_atomics.md``).  An estimate between the two, as many warps have some lanes.
# Architecture: NVIDIA since Volta.
ATOMIC_CLOCKS = 600.0
# An instruction in a chain of dependent ones, by unit: 4 as above, of special functions 15 to 42
# (B300; exp2 15, tanh 18, sin 24, rcp 42).  Of conversions 12 is an estimate: they share that unit
# and have no table to look up.
# Architecture: NVIDIA since Volta.
CHAIN_CLOCKS: Mapping[str, float] = {"fma": 4.0, "int": 4.0, "sfu": 24.0, "cvt": 12.0}
# The longest chain of one element.  An estimate: a longer one is of several values, which do not
# depend on each other.
# Architecture: NVIDIA since Volta.
CHAIN_LIMIT_CLOCKS = 400.0
