"""Everything at once, for as long as one likes: ``python tests/soak.py --minutes 2``.

Servers are started, used and killed at random: good and bad files are opened, edited, saved and
closed, odd messages are sent in between, analyses are cancelled, workers and servers are killed.
It ends with a table and with status 1 if a request was lost or answered twice, if a process
survived its server by two seconds, or if memory grew.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1] / "server"), str(Path(__file__).parent)]

from robust.test_messages import Storm  # noqa: E402
from support import environments  # noqa: E402
from support.robust import (  # noqa: E402
    kernel,
    kill_together,
    marked,
    named,
    new_mark,
    resident_mb,
    until,
    workers,
)
from support.rpc import Client  # noqa: E402

CHILDREN = (
    "import subprocess, time\n_p = subprocess.Popen(['sleep', '300'], start_new_session=True)\n"
)
BAD = [
    "while True: pass\n",
    "import os\n_x = os._exit(3)\n",
    "_x = __import__('ctypes').string_at(0)\n",
    "for _ in range(20): print('y' * 1_000_000)\n",
    "_x = bytearray(50 << 30)\n",
    "import no_such_module\n",
    "def f(:\n",
    "import os, time\nfor _ in range(4): os.fork()\n_w = time.sleep(9)\n",
    CHILDREN + "_w = time.sleep(60)\n",
    "import sys\nsys.modules.clear()\n",
    "_x = input()\n",
    "import time\n_w = time.sleep(0.4)\n",
    "def g(n): return g(n + 1)\n_x = g(0)\n",
    "import os\n_x = os.kill(os.getpid(), 9)\n",
    "import threading, time\n_t = threading.Thread(target=time.sleep, args=(99,)).start()\n",
    "import signal\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\nwhile True: x = 1\n",
]
_REQUESTS = ["inlayHint", "codeLens", "hover", "documentSymbol", "codeAction"]
# Late is not lost: a busy machine takes its time over what was sent at once.
_LOST_AFTER_S = 180.0
_GROWTH_MB = 20.0


class Server:
    """One server in use, and what was asked of it."""

    def __init__(self, source: random.Random, folder: Path, python: Path, count: Counter[str]):
        self.source, self.folder, self.count = source, folder, count
        self.mark = new_mark()
        self.client = Client(environment=self.mark)
        self.client.initialize(trusted=True, interpreter=str(python), settings={"timeout": 2})
        self.asked: list[Any] = []
        self.open: dict[str, int] = {}
        self.storm = Storm(self.client, source.randrange(2**32))
        self.number = 0
        self.first_mb: float | None = None

    def step(self) -> None:
        """One thing that a user, a client or bad luck does."""
        roll = self.source.random()
        if roll < 0.45:
            self._ask()
        elif roll < 0.75:
            self._edit()
        elif roll < 0.9:
            for _ in range(5):
                self.number += 1
                self.storm.message(self.number)
        elif roll < 0.93 and self.open:
            uri = self.source.choice(list(self.open))
            params = {"command": "tirlens.reanalyze", "arguments": [uri]}
            self.asked.append(self.client.ask("workspace/executeCommand", params))
        elif roll < 0.95:
            for method, params in self.client.notifications[-50:]:
                if method == "$/progress":
                    token = {"token": params["token"]}
                    self.client.notify("window/workDoneProgress/cancel", token)
        elif roll < 0.96:
            role = self.source.choice(["tirlens-guard", "tirlens-worker", "tirlens-child"])
            victims = named(self.mark, role)
            kill_together(victims)
            self.count["processes killed"] += len(victims)
        elif roll < 0.97:
            device = self.source.choice(["h100-sxm", "a100-80-sxm"])
            settings = {"tirlens": {"device": device, "timeout": 2}}
            self.client.notify("workspace/didChangeConfiguration", {"settings": settings})
        else:
            time.sleep(self.source.random() * 0.5)

    def _ask(self) -> None:
        uri = self.source.choice([*self.open, "file:///nowhere/none.py"])
        at = {"line": self.source.randrange(12), "character": self.source.randrange(20)}
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
        params = {"textDocument": {"uri": uri}, "position": at, "range": whole,
                  "context": {"diagnostics": []}}  # fmt: skip
        method = "textDocument/" + self.source.choice(_REQUESTS)
        self.asked.append(self.client.ask(method, params))

    def _edit(self) -> None:
        if len(self.open) < 5:
            self.number += 1
            uri = self.client.open(self.folder / f"file_{self.number}.py", self._text())
            self.open[uri] = 1
            self.count["files opened"] += 1
            return
        uri = self.source.choice(list(self.open))
        if self.source.random() < 0.1:
            self.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            del self.open[uri]
            return
        self.open[uri] += 1
        self.client.replace(uri, self.open[uri], self._text())
        if self.source.random() < 0.5:
            self.client.save(uri)
            self.count["saves"] += 1

    def _text(self) -> str:
        bad = self.source.choice(BAD) if self.source.random() < 0.3 else ""
        return bad + kernel(128 * self.source.randrange(1, 999))

    def settle(self) -> None:
        """Wait for the answers and count them."""
        expected = [*self.asked, *self.storm.expected]
        with contextlib.suppress(TimeoutError):
            self.client.wait_for_answers(expected, _LOST_AFTER_S)
        lost = [identity for identity in expected if identity not in self.client.answers]
        if lost:
            said = self.client.stderr[-2000:].decode("utf-8", "replace")
            print(f"no answer to {len(lost)}, the first is {lost[0]!r}: {said}", file=sys.stderr)
        for identity in expected:
            answers = len(self.client.answers.get(identity, []))
            self.count["requests sent"] += 1
            self.count["answered"] += answers > 0
            self.count["lost"] += answers == 0
            self.count["duplicated"] += max(0, answers - 1)
        self.count["protocol errors"] += len(self.client.stray)
        self.count["analyses"] += sum(p["state"] == "ready" for m, p in self.client.notifications
                                      if m == "tirlens/status")  # fmt: skip
        if self.client.process.poll() is not None:
            self.count["servers died"] += 1
            last_words = self.client.stderr[-4000:].decode("utf-8", "replace")
            print(f"died with {self.client.process.returncode}:\n{last_words}", file=sys.stderr)

    def end(self) -> None:
        """End the server in one of the ways in which servers end, and look for survivors."""
        how = self.source.choice(["kill", "kill all", "exit", "end of input"])
        guards = named(self.mark, "tirlens-guard")
        if how == "kill all" and guards:
            kill_together([self.client.process.pid, *guards, *workers(self.mark)])
        elif how.startswith("kill"):
            self.client.process.kill()
        elif how == "exit":
            self.client.ask("shutdown")
            self.client.notify("exit")
        else:
            assert self.client.process.stdin is not None
            self.client.process.stdin.close()
        self.count["servers ended"] += 1
        # One that is asked to end does so within a second; two later nothing of it is left.
        with contextlib.suppress(AssertionError):
            until(lambda: not marked(self.mark), 3.0, "the end of all")
        left = marked(self.mark)
        self.count["survivors"] += len(left)
        for pid, command in left.items():
            print("survivor:", pid, command[:150], file=sys.stderr)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def grown_mb(folder: Path, python: Path, analyses: int) -> tuple[float, float]:
    """The memory of one server after some analyses, and after many more."""
    with Client() as client:
        client.initialize(trusted=True, interpreter=str(python))
        uri = client.open(folder / "grown.py", kernel(128))
        first = 0.0
        for number in range(1, analyses + 1):
            client.replace(uri, number + 1, kernel(128 * (number + 1)))
            client.save(uri)
            client.wait_ready(uri, number)
            client.hints(uri)
            # The cache of results is full after its 64; from there on nothing may grow.
            if number == min(80, analyses // 2):
                first = resident_mb(client.process.pid)
        return first, resident_mb(client.process.pid)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = random.randrange(2**32) if options.seed is None else options.seed
    print(f"seed {seed}")
    source = random.Random(seed)
    python = environments.environment("tvm-0.27.0.post1")
    count: Counter[str] = Counter()
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        while time.monotonic() < end:
            server = Server(source, Path(name), python, count)
            try:
                life = time.monotonic() + source.uniform(2, 20)
                while time.monotonic() < min(life, end):
                    server.step()
                server.settle()
            except (BrokenPipeError, OSError):
                server.settle()
            finally:
                server.end()
        before, after = grown_mb(Path(name), python, int(100 * min(options.minutes, 20)))
    requests = ("requests sent", "answered", "lost", "duplicated", "protocol errors")
    events = ("servers ended", "servers died", "processes killed", "files opened", "saves")
    rows = (*events, "analyses", *requests, "survivors")
    for row in rows:
        print(f"{row:20}{count[row]:10d}")
    print(f"{'memory, MB':20}{before:10.1f} -> {after:.1f}")
    failed = any(count[row] for row in ("servers died", "lost", "duplicated", "survivors",
                                        "protocol errors"))  # fmt: skip
    return int(failed or after - before > _GROWTH_MB)


if __name__ == "__main__":
    sys.exit(main())
