"""Counting what an analysis has started."""

from __future__ import annotations

import subprocess
import sys

import pytest

ZOMBIES_AND_LIVING = """
import os, signal, time
from tirlens_worker.process.processes import count_living, find_descendants

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
while count_living(find_descendants(99)) > 3:
    time.sleep(0.01)
print(len(find_descendants(99)), count_living(find_descendants(99)), len(find_descendants(2)))
os.kill(living[0], signal.SIGKILL)
print(len(find_descendants(99)), count_living(find_descendants(99)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="descendants are counted on Linux")
def test_the_dead_are_descendants_and_do_not_live() -> None:
    """A killed process is none of the living from the moment on that it is killed."""
    done = subprocess.run(
        [sys.executable, "-c", ZOMBIES_AND_LIVING], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split("\n")[:2] == ["8 3 3", "8 2"], done.stderr


CHILD_OF_A_THREAD = """
import os, subprocess, threading
from tirlens_worker.process.processes import find_descendants

started, done = threading.Event(), threading.Event()
def work():
    global child
    child = subprocess.Popen(["sleep", "60"])
    started.set()
    done.wait()
thread = threading.Thread(target=work)
thread.start()
started.wait()
print(find_descendants(9) == [child.pid])
child.kill()
done.set()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="descendants are counted on Linux")
def test_a_child_that_a_thread_starts_is_a_descendant() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD_OF_A_THREAD], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["True"], done.stderr
