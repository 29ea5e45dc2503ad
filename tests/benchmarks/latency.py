"""How long an editor waits: p50 and p95 of the answers of the real server.

    python tests/benchmarks/latency.py [--rounds N]

Prints `initialize` from the start of the process, save to hints with a warm worker (a TVMScript
file of 5 kernels, a tilelang file; after an edit of one kernel and after one that all depend on)
and to the lenses with their advice, the first lenses after a file is opened, and hovers while an
analysis runs, each beside its target. Then the answers in a file of 5,000 lines with 500 hints
while the worker is busy, beside those of an idle server that knows them.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support import responses
from support.environments import environment
from support.rpc import Client, elapsed_ms

EXAMPLES = Path(__file__).parents[1] / "examples"
# Between the last key and the save, as a person has it; a debounced reading of the text fits in.
PAUSE_S = 0.3
_REFRESH = "workspace/inlayHint/refresh"
SHARES = (0.5, 0.95, 0.99)


def initialize_ms() -> float:
    began = time.perf_counter()
    with Client() as client:
        client.initialize()
        return (time.perf_counter() - began) * 1e3


def save_ms(client: Client, uri: str, text: str, version: int) -> tuple[float, float]:
    """Save a text that was never seen: until its hints are here, and until its lenses are.

    The hints are asked for when the server says that there are others, the lenses, which have the
    advice, when it says that it is ready.
    """
    ready, refreshes = client.states(uri).count("ready"), client.requests.count(_REFRESH)
    client.replace(uri, version, text)
    time.sleep(PAUSE_S)
    began = time.perf_counter()
    client.save(uri)
    client.wait(lambda: client.requests.count(_REFRESH) > refreshes)
    if not client.hints(uri):
        raise SystemExit(f"no hints for {uri}: {client.diagnostics(uri)}")
    hints_ms = (time.perf_counter() - began) * 1e3
    client.wait_ready(uri, ready + 1)
    client.lenses(uri)
    return hints_ms, (time.perf_counter() - began) * 1e3


def first_lenses_ms(client: Client, folder: Path, text: str, number: int) -> float:
    """Open a file that was never seen and get its lenses, from a server that is warm."""
    path = folder / f"opened_{number}.py"
    began = time.perf_counter()
    uri = client.open(path, text)
    if not client.lenses(uri):
        raise SystemExit(f"no lenses for {path}")
    taken_ms = (time.perf_counter() - began) * 1e3
    client.wait_ready(uri)
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    return taken_ms


def one_edited(text: str, word: str, number: int) -> str:
    """The text with another number in one kernel."""
    assert word in text
    return text.replace(word, re.sub(r"\d(?=\D*$)", str(number + 4), word), 1)


def all_changed(text: str, word: str, number: int) -> str:
    """The text with another import, on which each of its kernels may depend."""
    return text.replace("\n\n", f"\n\nimport math as _{number}\n", 1)


def hovers_ms(client: Client, uri: str, text: str, version: int) -> list[float]:
    """Hovers from a save to the end of its analysis."""
    ready = client.states(uri).count("ready")
    line = client.hints(uri)[0][0]
    client.replace(uri, version, text)
    client.save(uri)
    found: list[float] = []
    while client.states(uri).count("ready") == ready:
        found.append(elapsed_ms(lambda: client.hover(uri, line, 8)))
    return found


def long_file(rounds: int) -> None:
    """The answers in a long file, beside those of an idle server in the same run."""
    with tempfile.TemporaryDirectory() as folder:
        times = responses.measure(environment("tvm-0.27.0.post1"), Path(folder), 10 * rounds)
    print(f"\n{'5,000 lines, 500 hints, busy worker':<36} {'p50':>9} {'p95':>9} {'p99':>9}", end="")
    print(f"   {'idle: p50':>9} {'p95':>9} {'p99':>9}")
    for name, found in times.items():
        both = [(responses.quantile(each, q)) for each in (found.ours, found.idle) for q in SHARES]
        print(f"{name:<36}", *(f"{each:9.2f}" for each in both))


def show(name: str, times_ms: Sequence[float], target_ms: float) -> None:
    ordered = sorted(times_ms)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
    p50 = statistics.median(ordered)
    print(f"{name:<44} {len(ordered):>5} {p50:>9.1f} {p95:>9.1f} {target_ms:>9.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; milliseconds")
    print(f"{'':<44} {'n':>5} {'p50':>9} {'p95':>9} {'target':>9}")
    show("initialize, from the start of the process", [initialize_ms() for _ in range(rounds)], 300)
    cases = [
        ("tvm-0.27.0.post1", "matmul_tvm.py", "T.float16(2)", "TVMScript, 5 kernels", 100),
        ("tilelang-0.1.15", "gemm_tilelang.py", "num_stages=2", "tilelang", 300),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, example, word, title, target_ms in cases:
            path = Path(folder) / example
            text = (EXAMPLES / example).read_text()
            path.write_text(text)
            with Client() as client:
                client.initialize(trusted=True, interpreter=str(environment(name)))
                uri = client.open(path)
                client.wait_ready(uri)
                versions = count(2)
                for what, change in (("one edited", one_edited), ("all changed", all_changed)):
                    saves = [
                        save_ms(client, uri, change(text, word, i), next(versions))
                        for i in range(rounds + 2)
                    ]
                    hints, whole = zip(*saves[2:], strict=True)
                    show(f"save to hints, {title}, {what}", hints, target_ms)
                    show("  and to the lens with advice", whole, 500)
                lenses = [first_lenses_ms(client, Path(folder), text, i) for i in range(rounds)]
                show("first lenses of a file, warm server", lenses, 50)
                hovers: list[float] = []
                for number in range(rounds):
                    saved = all_changed(text, word, rounds + 2 + number)
                    hovers += hovers_ms(client, uri, saved, next(versions))
                show("hover while that analysis runs", hovers, 10)
    long_file(rounds)


if __name__ == "__main__":
    main()
