"""The figures of each stage of the model of CPUs, nest by nest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from figures.held import assert_held, line
from figures.kernels import FOLDER, KERNELS, HeldKernel
from tirlens.hardware import load
from tirlens.hardware.spec import Device
from tirlens.model.analyze import workload_of
from tirlens.model.cpu.compiler import Nest, compile_loops
from tirlens.model.cpu.compiler.vector_width import width_of
from tirlens.model.cpu.in_core import CoreTime, time_core
from tirlens.model.cpu.kernel_time import busiest_share, parallel_iterations
from tirlens.model.cpu.memory import TransferTime, time_transfers

_DEVICES = ("x86-avx512", "x86-avx2", "arm-neoverse")


@pytest.mark.parametrize(
    "kernel",
    [kernel for kernel in KERNELS if kernel.name.startswith("cpu-")],
    ids=lambda kernel: kernel.name,
)
def test_cpu_stages(kernel: HeldKernel) -> None:
    workload = workload_of(kernel.facts, kernel.bindings)
    assert workload is not None
    lines: list[str] = []
    for name in _DEVICES:
        device = load(name)
        compiled = compile_loops(workload.tree, workload.buffers, workload.shapes, device)
        cores = min(max(map(parallel_iterations, compiled.nests), default=1), device.sm_count)
        core_times = [
            time_core(nest, device, busiest_share(nest, device)) for nest in compiled.nests
        ]
        instructions = [10.0] * len(compiled.nests)
        transfers = time_transfers(compiled, instructions, device, cores)
        lines.append(f"# {name}")
        for nest, core, transfer in zip(compiled.nests, core_times, transfers, strict=True):
            lines += _figures(nest, core, transfer, device)
        lines.append("")
    assert_held(FOLDER / "stages" / f"{kernel.name}.txt", "\n".join(lines))


def _figures(nest: Nest, core: CoreTime, transfer: TransferTime, device: Device) -> Iterator[str]:
    yield line(
        of="nest",
        loops=[(loop.var, loop.kind, loop.trip_count) for loop in nest.outer_loops],
        loop=nest.loop and (nest.loop.var, nest.loop.kind, nest.loop.trip_count),
        is_vectorized=nest.is_vectorized,
    )
    for statement in nest.statements:
        width = width_of(statement, nest, device)
        yield "  " + line(
            of="statement",
            executions=statement.executions,
            width=(width.elements, width.registers, width.kind),
            clk=core.statement_clk.get(id(statement.node)),
        )
        for address in statement.addresses:
            yield "    " + line(
                of=f"{address.mode} {address.buffer}",
                bytes=address.access_bytes,
                array_bytes=address.array_bytes,
                offset_bytes=address.offset_bytes,
                terms=address.terms,
                path=address.path,
            )
    figures = {name: value for name, value in vars(core).items() if name != "statement_clk"}
    yield "  " + line(of="core", **figures)
    yield "  " + line(of="transfers", **vars(transfer))
