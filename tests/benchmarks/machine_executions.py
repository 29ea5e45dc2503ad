"""Do the instructions of real kernels find their loops, and do they do the work that is counted?

    python tests/benchmarks/machine_executions.py collect FOLDER --tree TREE... [--devices ID...]
        [--framework tilelang-0.1.15] [--share I/N] [--most N]
    python tests/benchmarks/machine_executions.py table FOLDER [--json FILE]

`collect` analyses the kernel files of source trees, has the framework generate their CUDA source
and NVIDIA's tools compile and disassemble it, and keeps for each kernel one compressed file below
FOLDER with the facts, the source with its lines and the listing. What is there is not made again,
and `--share 0/2` and `1/2` divide the files between two processes. `table` reads them one by one.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import lzma
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.environments import environment
from tirlens import pipeline, source, worker_client
from tirlens.hardware import load as find_device
from tirlens.machine_code.executions import KernelCode, count_kernels
from tirlens.model.analyze import analyze
from tirlens.pipeline.generation_request import generation_request
from tirlens_sass import matrix_operations, read
from tirlens_worker import codec
from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import Analyze, Compiler, GeneratedCode, Result

_TOOLCHAIN = "nvidia_cuda_nvcc-13.5.37"
# A size that nothing determines; and a device, on which counts do not depend.
_ANY_SIZE, _COUNTED_FOR = 4096, "a100-80-sxm"
# Of one file, so that a few long ones do not outweigh the rest.
_MOST_KERNELS = 3


def collect(arguments: argparse.Namespace) -> None:
    """Keep what the compiler makes of the kernels below the trees."""
    part, parts = map(int, arguments.share.split("/"))
    files = [path for tree in arguments.tree for path in sorted(Path(tree).rglob("*.py"))]
    # In an order that does not depend on the names, so that a part of it is a sample.
    random.Random(0).shuffle(files)
    asyncio.run(_collect(files[part::parts], arguments))


async def _collect(files: Sequence[Path], arguments: argparse.Namespace) -> None:
    python = environment(arguments.framework)
    interpreter = worker_client.find_interpreter(files[0], setting=str(python))
    client = worker_client.WorkerClient(interpreter)
    kept = 0
    try:
        for number, path in enumerate(files):
            print(f"{number + 1}/{len(files)} {kept} {path}", file=sys.stderr, flush=True)
            for device in arguments.devices:
                folder = Path(arguments.folder, device)
                stem = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:12]
                done = folder / f"{stem}.done"
                if done.exists():
                    kept += len(list(folder.glob(f"{stem}-*.json.xz")))
                    continue
                folder.mkdir(parents=True, exist_ok=True)
                try:
                    async for index, record in _records(client, path, device):
                        packed = lzma.compress(json.dumps(record).encode())
                        (folder / f"{stem}-{index}.json.xz").write_bytes(packed)
                        kept += 1
                except Exception as error:
                    print(f"  {type(error).__name__}: {error}", file=sys.stderr)
                done.touch()
            if kept >= arguments.most:
                return
    finally:
        await client.close()


async def _records(
    client: worker_client.WorkerClient, path: Path, device: str
) -> AsyncIterator[tuple[int, dict[str, object]]]:
    text = path.read_text(encoding="utf-8", errors="replace")
    found = source.read(text, path)
    if not found.kernels:
        return
    options = pipeline.Options(device=device, force_device=True, time_limit_s=60.0)
    first = pipeline.analysis_request(1, str(path.absolute()), text, found, options)
    result: Result = await client.analyze(first)
    request = generation_request(first, result, found, options, ["sass"], _compiler())
    if request is None:
        return
    number = 0
    for kernel in request.kernels:
        if number >= _MOST_KERNELS:
            return
        one: Analyze = replace(request, kernels=(kernel,))
        answer: Result = await client.analyze(one)
        for code in answer.generated:
            facts = next(
                (
                    facts
                    for facts in result.kernels
                    if (facts.definition, facts.name, facts.call)
                    == (code.kernel, code.name, code.call)
                ),
                None,
            )
            if facts is not None and any(one.language == "sass" for one in code.texts):
                yield (
                    number,
                    {
                        "file": str(path),
                        "facts": codec.to_json(facts),
                        "code": codec.to_json(code),
                    },
                )
                number += 1
            else:
                why = code.error or code.resources_error
                print(f"  {code.kernel}: {why[:150]}", file=sys.stderr)


def _compiler() -> Compiler:
    """The tools of the test environment; nothing is stored."""
    root = environment(_TOOLCHAIN).parent.parent
    tools = next(root.glob("lib/python*/site-packages/nvidia/cu*/bin"))
    return Compiler(nvcc=str(tools / "nvcc"), nvdisasm=str(tools / "nvdisasm"))


def table(arguments: argparse.Namespace) -> None:
    """Print how many kernels found their loops, by device, and how far the work is off."""
    done = Path(arguments.json) if arguments.json else None
    rows: dict[str, list[dict[str, Any]]] = {}
    if done is not None and done.exists():
        rows = json.loads(done.read_text())
    for path in sorted(Path(arguments.folder).rglob("*.json.xz")):
        key = str(path.relative_to(arguments.folder))
        if key not in rows:
            rows[key] = list(_rows(path))
            if done is not None:
                done.write_text(json.dumps(rows))
    by_device: dict[str, list[dict[str, Any]]] = {}
    for key, found in rows.items():
        by_device.setdefault(Path(key).parent.name, []).extend(found)
    for device, found in sorted(by_device.items()):
        _print(device, found)
    _print("all", [row for found in by_device.values() for row in found])


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    record = json.loads(lzma.decompress(path.read_bytes()))
    facts = codec.from_json(KernelFacts, record["facts"])
    code = codec.from_json(GeneratedCode, record["code"])
    texts = {text.language: text for text in code.texts}
    bindings = {variable.name: _ANY_SIZE for variable in facts.variables}
    bindings |= {**facts.assumed, **facts.sizes}
    listing = read(texts["sass"].text)
    began = time.process_time()
    kernels = count_kernels(listing, facts, texts["cuda"].text, texts["cuda"].lines, bindings)
    seconds = time.process_time() - began
    launched = [kernel.launch for kernel in kernels if kernel.launch is not None]
    grid = sum(launch.blocks for launch in launched)
    expected = _counted_work(facts, bindings) if len(launched) == len(kernels) else {}
    found: defaultdict[str, float] = defaultdict(float)
    for kernel in kernels:
        if kernel.launch is not None:
            for name, amount in _executed_work(kernel).items():
                found[name] += amount * kernel.launch.blocks
    for number, kernel in enumerate(kernels):
        yield {
            "file": record["file"],
            "kernel": kernel.name,
            "known": kernel.known_share,
            "exact": kernel.is_exact,
            "reason": kernel.reason,
            "loops": [loop.reason for loop in kernel.data_loops],
            "blocks": grid,
            "seconds": seconds if number == 0 else 0.0,
            # All kernels of one function together.
            "expected": expected if number == 0 else {},
            "found": dict(found) if number == 0 else {},
            "all_known": all(one.known_share == 1.0 for one in kernels),
        }


def _executed_work(kernel: KernelCode) -> dict[str, float]:
    """What the instructions of a block do, by kind; a kind that is not known is left out."""
    work: defaultdict[str, float] = defaultdict(float)
    unknown: set[str] = set()
    for part in kernel.functions:
        for one, count in zip(part.function.instructions, part.executions, strict=True):
            matrix = matrix_operations(one)
            if matrix is None:
                unknown.add("tensor FLOP")
            elif matrix:
                work["tensor FLOP"] += matrix * count.warps
            for access in one.memory:
                kind = f"{access.space} {access.direction} bytes"
                if access.space != "global" or count.warps == 0:
                    continue
                if access.bytes_per_lane is None or count.threads is None:
                    unknown.add(kind)
                else:
                    work[kind] += access.bytes_per_lane * count.threads
    return {kind: amount for kind, amount in work.items() if kind not in unknown}


def _counted_work(facts: KernelFacts, bindings: dict[str, int]) -> dict[str, float]:
    """The same by the counting library, of the whole launch."""
    report = analyze(facts, find_device(_COUNTED_FOR), bindings)
    work: dict[str, float] = {}
    tensor = sum(
        amount or 0
        for name, amount in (report.flop_by_class or {}).items()
        if name.startswith("tensor.")
    )
    if tensor:
        work["tensor FLOP"] = tensor
    for kind, amount in (
        ("global load bytes", report.global_bytes.read),
        ("global store bytes", report.global_bytes.write),
    ):
        if amount:
            work[kind] = amount
    return work


def _print(device: str, rows: Sequence[dict[str, Any]]) -> None:
    shares = [row["known"] for row in rows]
    print(f"{device}: {len(rows)} kernels")
    for least in (1.0, 0.95, 0.5):
        reached = sum(share >= least for share in shares)
        print(f"  at least {least:.0%} of instructions known: {reached / max(1, len(rows)):.1%}")
    print(f"  every block evaluated or alike: {sum(row['exact'] for row in rows)}")
    print(f"  CPU seconds: {sum(row['seconds'] for row in rows):.1f}")
    reasons = Counter(row["reason"] for row in rows if row["reason"])
    loops = Counter(reason or "one loop" for row in rows for reason in row["loops"])
    for title, counter in (("not evaluated", reasons), ("loops by data", loops)):
        for reason, count in counter.most_common(6):
            print(f"  {title}: {count:5} {reason}")
    for kind in ("tensor FLOP", "global load bytes", "global store bytes"):
        ratios = sorted(
            row["found"][kind] / row["expected"][kind]
            for row in rows
            if row["all_known"] and kind in row["found"] and kind in row["expected"]
        )
        if ratios:
            near = sum(abs(ratio - 1) <= 0.01 for ratio in ratios) / len(ratios)
            middle, tenth = ratios[len(ratios) // 2], ratios[len(ratios) // 10]
            most = ratios[-1 - len(ratios) // 10]
            print(
                f"  {kind} over counted: {len(ratios)} kernels, within 1 % {near:.1%},"
                f" p10 {tenth:.3f}, median {middle:.3f}, p90 {most:.3f}"
            )


def main() -> None:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    collecting = commands.add_parser("collect")
    collecting.add_argument("folder")
    collecting.add_argument("--tree", nargs="+", required=True)
    collecting.add_argument("--devices", nargs="+", default=["a100-80-sxm", "h100-sxm"])
    collecting.add_argument("--framework", default="tilelang-0.1.15")
    collecting.add_argument("--share", default="0/1")
    collecting.add_argument("--most", type=int, default=1_000_000)
    collecting.set_defaults(run=collect)
    showing = commands.add_parser("table")
    showing.add_argument("folder")
    showing.add_argument("--json")
    showing.set_defaults(run=table)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
