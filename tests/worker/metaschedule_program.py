"""Scores of schedules by MetaSchedule's own interface, in an environment with apache-tvm."""

from __future__ import annotations

import json
import logging
import sys
from types import ModuleType

# TVM parses all its intrinsics for a context, for a minute; none is used here.
sys.modules["tvm.s_tir.tensor_intrin"] = ModuleType("tvm.s_tir.tensor_intrin")

import tvm
from tvm.s_tir import meta_schedule as ms
from tvm.script import ir as I
from tvm.script import tirx as T

from tirlens import metaschedule

N = 1 << 20
lines: list[str] = []


class Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        lines.append(record.getMessage())


logging.getLogger("tirlens.metaschedule").addHandler(Lines())
logging.getLogger("tirlens.metaschedule").setLevel("INFO")


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
        for i in T.grid(N):
            with T.sblock("scale"):
                vi = T.axis.remap("S", [i])
                B[vi] = A[vi] * T.float32(2)


def scheduled(threads: int):
    """The kernel in blocks of so many threads."""
    schedule = tvm.s_tir.Schedule(Module)
    (loop,) = schedule.get_loops(schedule.get_sblock("scale"))
    outer, inner = schedule.split(loop, [None, threads])
    schedule.bind(outer, "blockIdx.x")
    schedule.bind(inner, "threadIdx.x")
    return schedule


def main() -> None:
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_90"})
    context = ms.TuneContext(Module, target=target, task_name="scale", num_threads=1)
    # 2048 threads are more than a block may have, 8 leave lanes of a warp idle.
    schedules = [scheduled(threads) for threads in (256, 8, 2048)]
    candidates = [ms.MeasureCandidate(one, []) for one in schedules]
    model = metaschedule.cost_model()
    scores = [float(one) for one in model.predict(context, candidates)]
    results = [ms.runner.RunnerResult([time_s], None) for time_s in (2e-5, 1e-5)]
    model.update(context, candidates[:2], results)
    keep = metaschedule.postproc("h100-sxm")
    keep._initialize_with_tune_context(context)
    kept = [bool(keep.apply(one)) for one in schedules]
    print(json.dumps({"scores": scores, "kept": kept, "lines": lines}))


main()
