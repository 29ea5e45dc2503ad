"""Execute the kernels of a source tree by brute force and compare every count.

    python tests/equality/run.py --python INTERPRETER FOLDER... [--json FILE] [--limit N]

Point it at a checkout of a real project and at an interpreter that has its framework.  Each kernel
is traced (with smaller arguments where it is big), executed by the reference executor of this
folder in the framework's own process, and counted by TIRLens: operations by kind and type, FLOP by
class, issued bits of every global and shared array by direction, distinct bytes, the sectors and
passes of one warp, formulas of kernels with shape variables at three sizes.  Equality, without a
tolerance.  The exit status is 1 if anything differs.  An interrupt (Ctrl+C) ends the run with what
has been seen so far.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
SERVER = TESTS.parent / "server"
sys.path[:0] = [str(SERVER), str(TESTS)]

from equality.compare import UnknownCountError, compared, differences  # noqa: E402
from tirlens import pipeline, source  # noqa: E402
from tirlens_worker.codec import from_json, to_json  # noqa: E402
from tirlens_worker.facts import KernelFacts  # noqa: E402


@dataclass
class Tally:
    """What happened so far; kernels of one structure count once."""

    files: int = 0
    tried: int = 0
    duplicates: int = 0
    executed: int = 0
    equal: int = 0
    #: Equal where all that conditions on data may choose is executed.
    bounds: int = 0
    points: int = 0
    #: Distinct kernels by the quantities that they have something of.
    compared: Counter[str] = field(default_factory=Counter)
    differing: Counter[str] = field(default_factory=Counter)
    #: Kernels of which the model itself says that a count is a bound.
    flagged: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    unflagged: list[str] = field(default_factory=list)
    examples: dict[str, list[str]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    ended: Counter[int] = field(default_factory=Counter)


def requests(folders: list[str], limit: int | None) -> Iterator[Any]:
    """What to ask about each file that has kernels."""
    found = [Path(folder) for folder in folders]
    paths = sorted(
        path for one in found for path in ([one] if one.is_file() else one.rglob("*.py"))
    )
    for number, path in enumerate(paths[:limit]):
        text = path.read_text(encoding="utf-8", errors="replace")
        kernels = source.read(text)
        if kernels.kernels:
            yield pipeline.request(number, str(path), text, kernels, pipeline.Options())


def executed(python: str, asked: Iterator[Any], limit_s: int) -> Iterator[dict[str, Any]]:
    """The records of the framework's process."""
    with tempfile.TemporaryFile("w+") as lines:
        for request in asked:
            lines.write(json.dumps(to_json(request)) + "\n")
        lines.seek(0)
        with subprocess.Popen(
            command(python, limit_s), stdin=lines, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    yield json.loads(line)
            finally:
                process.kill()


def command(python: str, limit_s: int) -> list[str]:
    """The command of the framework's process, in which a kernel may take `limit_s` seconds."""
    return [python, str(TESTS / "equality/worker.py"), str(SERVER), str(TESTS), str(limit_s)]


def take(record: dict[str, Any], tally: Tally) -> dict[str, Any] | None:
    """Adds one record; what to keep of it."""
    if record.get("end"):
        tally.files += 1
        tally.ended[record["status"]] += 1
        return None
    if "facts" not in record:
        tally.refused[record["refused"]] += 1
        return None
    tally.tried += 1
    if record["hash"] in tally.seen:
        tally.duplicates += 1
        return None
    tally.seen.add(record["hash"])
    name = f"{record['path']}: {record['kernel']}: {record['call']}"
    facts = from_json(KernelFacts, record["facts"])
    if "counted" not in record:
        reason = _shape(record["refused"])
        if reason.startswith("depends on data") and not _flagged(facts, record["sizes"]):
            tally.unflagged.append(name)
        tally.refused[reason] += 1
        tally.examples.setdefault(reason, []).append(name + record.get("detail", ""))
        return {"name": name, "refused": record["refused"]}
    said = _flagged(facts, record["sizes"])
    assumed = record["counted"]["assumed"]
    if assumed and not said:
        tally.unflagged.append(name)
    tally.executed += 1
    tally.points += record["counted"]["points"]
    try:
        found = differences(facts, record)
    except UnknownCountError as error:
        reason = f"unknown to the model: {error}"
        tally.refused[reason] += 1
        tally.examples.setdefault(reason, []).append(name)
        return {"name": name, "refused": reason}
    tally.equal += not found and not assumed
    tally.bounds += not found and assumed
    tally.compared.update(set(compared(facts, record)) - set(found))
    for quantity, text in found.items():
        bound = said or quantity.endswith("inexact)")
        (tally.flagged if bound else tally.differing)[quantity] += 1
        tally.examples.setdefault(quantity, []).append(f"{name}: {text}")
    return {"name": name, "differs": found}


def _flagged(facts: KernelFacts, sizes: dict[str, int]) -> bool:
    """Whether the model says that something in the kernel depends on data."""
    from tirlens.model.counting.counts import count

    counts = count(facts, sizes)
    return bool(counts.caveats or counts.needs)


def _shape(reason: str) -> str:
    return re.sub(r"\d+", "#", reason.splitlines()[0])[:90] if reason else reason


def show(tally: Tally, examples: int) -> None:
    def row(name: str, value: object) -> None:
        print(f"{name:44} {value}")

    row("files with kernels", tally.files)
    row("kernels traced", tally.tried)
    row("  distinct", tally.tried - tally.duplicates)
    row("  executed", tally.executed)
    row("  equal in every count", tally.equal)
    row("  equal as upper bounds, for data decide", tally.bounds)
    row("points executed", f"{tally.points:,}")
    row("ends of processes", dict(tally.ended))
    print("equal, by quantity, where a kernel has something of it:")
    for quantity, number in sorted(tally.compared.items()):
        row("  " + quantity, number)
    print("differing, by quantity:")
    for quantity, number in tally.differing.most_common():
        row("  " + quantity, number)
        for example in tally.examples[quantity][:examples]:
            print("      " + example)
    print("differing where the model says that it is a bound:")
    for quantity, number in tally.flagged.most_common():
        row("  " + quantity, number)
        for example in tally.examples[quantity][:examples]:
            print("      " + example)
    print("not executed, by reason:")
    for reason, number in tally.refused.most_common():
        row("  " + reason, number)
        for example in tally.examples.get(reason, [])[:examples]:
            print("      " + example)
    row("depends on data and is not flagged", len(tally.unflagged))
    for name in tally.unflagged[:20]:
        print("      " + name)


def main(arguments: argparse.Namespace) -> int:
    tally = Tally()
    kept: list[dict[str, Any]] = []
    asked = requests(arguments.folder, arguments.limit)
    with contextlib.suppress(KeyboardInterrupt):
        for record in executed(arguments.python, asked, arguments.seconds):
            print(
                f"\r{record['path'][-50:]:50} {tally.equal} of {tally.executed} equal ",
                end="",
                file=sys.stderr,
            )
            found = take(record, tally)
            if found is not None:
                kept.append(found)
    print(file=sys.stderr)
    show(tally, arguments.examples)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(kept, indent=1))
    return 1 if tally.differing else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--python", required=True, help="interpreter with the framework")
    parser.add_argument("--limit", type=int, default=None, help="files at most")
    parser.add_argument("--seconds", type=int, default=3, help="processor time for a kernel")
    parser.add_argument("--examples", type=int, default=2, help="kernels shown for each row")
    parser.add_argument("--json", help="write one record a kernel here")
    sys.exit(main(parser.parse_args()))
