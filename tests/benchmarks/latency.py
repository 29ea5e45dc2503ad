"""How long an editor waits: p50 and p95 of the answers of the real server.

    python tests/benchmarks/latency.py [--rounds N]

Prints `initialize` from the start of the process, save to hints with a warm worker (a TVMScript
file of 5 kernels, a tilelang file), the first lenses after a file is opened, and hovers while an
analysis runs, each beside its target.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.environments import environment
from support.rpc import Client, elapsed_ms

EXAMPLES = Path(__file__).parents[1] / "examples"
# Between the last key and the save, as a person has it; a debounced reading of the text fits in.
PAUSE_S = 0.3


def initialize_ms() -> float:
    began = time.perf_counter()
    with Client() as client:
        client.initialize()
        return (time.perf_counter() - began) * 1e3


def save_to_hints_ms(client: Client, uri: str, text: str, number: int) -> float:
    """Save a text that was never seen, wait for the server's word, fetch the hints.

    The change is a new module constant: nothing of what was known of any kernel holds.
    """
    ready = client.states(uri).count("ready")
    client.replace(uri, number + 2, text.replace("\n\n", f"\nROUND = {number}\n\n", 1))
    time.sleep(PAUSE_S)
    began = time.perf_counter()
    client.save(uri)
    client.wait_ready(uri, ready + 1)
    if not client.hints(uri):
        raise SystemExit(f"no hints for {uri}: {client.diagnostics(uri)}")
    return (time.perf_counter() - began) * 1e3


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


def hovers_ms(client: Client, uri: str, text: str, number: int) -> list[float]:
    """Hovers from a save to the end of its analysis."""
    ready = client.states(uri).count("ready")
    line = client.hints(uri)[0][0]
    client.replace(uri, number + 2, text + f"\n# {number}\n")
    client.save(uri)
    found: list[float] = []
    while client.states(uri).count("ready") == ready:
        found.append(elapsed_ms(lambda: client.hover(uri, line, 8)))
    return found


def show(name: str, times_ms: list[float], target_ms: float) -> None:
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
        ("tvm-0.27.0.post1", "matmul_tvm.py", "save to hints, TVMScript, 5 kernels", 100),
        ("tilelang-0.1.15", "gemm_tilelang.py", "save to hints, tilelang", 300),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, example, title, target_ms in cases:
            path = Path(folder) / example
            text = (EXAMPLES / example).read_text()
            path.write_text(text)
            with Client() as client:
                client.initialize(trusted=True, interpreter=str(environment(name)))
                uri = client.open(path)
                client.wait_ready(uri)
                saves = [save_to_hints_ms(client, uri, text, i) for i in range(rounds + 2)]
                show(title, saves[2:], target_ms)
                lenses = [first_lenses_ms(client, Path(folder), text, i) for i in range(rounds)]
                show("first lenses of a file, warm server", lenses, 50)
                hovers: list[float] = []
                for number in range(rounds + 2, 2 * rounds + 2):
                    hovers += hovers_ms(client, uri, text, number)
                show("hover while that analysis runs", hovers, 10)


if __name__ == "__main__":
    main()
