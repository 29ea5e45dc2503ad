"""Counting what an analysis has started."""

from __future__ import annotations

import subprocess
import sys

import pytest

ZOMBIES_AND_LIVING = """
import os, signal, time
from tirlens_worker.process.processes import count_descendants

reader, writer = os.pipe()
for _ in range(5):
    if os.fork() == 0:
        os._exit(0)
living = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        os.close(writer)
        os.read(reader, 1)  # until the parent ends
        os._exit(0)
    living.append(pid)
while count_descendants(99, living=True) > 3:
    time.sleep(0.01)
print(count_descendants(99), count_descendants(99, living=True), count_descendants(2) > 2)
os.kill(living[0], signal.SIGKILL)
print(count_descendants(99), count_descendants(99, living=True))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="descendants are counted on Linux")
def test_the_dead_are_descendants_and_do_not_live() -> None:
    """A killed process is none of the living from the moment on that it is killed."""
    done = subprocess.run(
        [sys.executable, "-c", ZOMBIES_AND_LIVING], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split("\n")[:2] == ["8 3 True", "8 2"], done.stderr
