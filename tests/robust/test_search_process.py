"""What a repository holds can end the process that searches it, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tirlens.repository import SearchClient, Target
from tirlens.repository.search_process import MEMORY_BYTES

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="named pipes")
KERNEL = """
from tvm.script import tirx as T


def fac(n):
    @T.prim_func
    def main(A: T.Buffer((n,), "float32")):
        A[0] = A[0]
    return main
"""
FAC = Target("kernl.py", "fac")
GOOD = "from kernl import fac\nfac(48)\n"
_BOMB = "a: &a [" + "1, " * 9 + "]\n" + "".join(
    f"{name}: &{name} [{f'*{before}, ' * 9}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)  # fmt: skip
_READ = "import json\nimport yaml\nimport os\nfrom kernl import fac\n"
#: Code that is evaluated beside `GOOD`, and the files that it reads.
HOSTILE: dict[str, tuple[str, dict[str, str]]] = {
    "a format of 10 GB": ('fac(len("{:>10000000000}".format(1)))', {}),
    "a width as an argument": ('fac(len("{:>{}}".format(1, 10**10)))', {}),
    "a precision": ('fac(len("{:.2000000000f}".format(1.5)))', {}),
    "an attribute in a format": ('fac(len("{0.__class__.__mro__}".format(1)))', {}),
    "a list that doubles": ("s = [1]\nfor i in range(100):\n    s = s + s\nfac(len(s))", {}),
    "a list that is extended": ("s = [1]\nfor i in range(100):\n    s.extend(s)\nfac(len(s))", {}),
    "a list that is added to": ("s = [1]\nfor i in range(100):\n    s += s\nfac(len(s))", {}),
    "a text that doubles": ('s = "a"\nfor i in range(100):\n    s = s + s\nfac(len(s))', {}),
    "a text that is replaced": (
        's = "aaaaaaaaaaaaaaaa"\nfor i in range(100):\n    s = s.replace("a", s)\nfac(len(s))',
        {},
    ),
    "joined texts": (
        's = "a"\nfor i in range(100):\n    s = s.join([s] * 16)\nfac(len(s))',
        {},
    ),
    "nested lists": ("s = [1]\nfor i in range(100):\n    s = [s, s]\nfac(s)", {}),
    "nested dicts": ('s = {}\nfor i in range(100):\n    s = {"a": s, "b": s}\nfac(s)', {}),
    "powers": ("fac(9 ** 9 ** 9)", {}),
    "a long range": ("fac(len(list(range(10**12))))", {}),
    "a YAML bomb": ('fac(yaml.safe_load(open("data.yaml"))["i"])', {"data.yaml": _BOMB}),
    "a YAML bomb that is compared": (
        'x = yaml.safe_load(open("data.yaml"))["i"]\nif x == [x, x]:\n    pass\nfac(str(x))',
        {"data.yaml": _BOMB},
    ),
    "deep JSON": ('fac(json.load(open("data.json")))', {"data.json": "[" * 100_000}),
    "digits": ('fac(json.load(open("data.json")))', {"data.json": "1" * 100_000}),
    "os.listdir of a file": ('for x in os.listdir("kernl.py"):\n    fac(1)', {}),
    "os.listdir of nothing": ('for x in os.listdir("none"):\n    fac(1)', {}),
    "a named pipe": ('fac(json.load(open("pipe"))["n"])', {}),
    "a device": ('fac(json.load(open("zero"))["n"])', {}),
    "a sparse file": ('fac(json.load(open("sparse"))["n"])', {}),
    "a null character": ('fac(json.load(open("a\\0b")))', {}),
    "recursion": ("def f(n):\n    return f(n + 1)\nfac(f(1))", {}),
    "a deep expression": ("fac(" + "-" * 5000 + "1)", {}),
}


@pytest.fixture
def client() -> Iterator[SearchClient]:
    made = SearchClient()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def _calls(client: SearchClient, root: Path, target: Target = FAC) -> list[str]:
    found = client.search(root, [target])
    return [call.expression for call in found[target].calls] if target in found else ["?"]


def _pid(client: SearchClient) -> int:
    me = psutil.Process()
    (child,) = (item for item in me.children() if "search_process" in " ".join(item.cmdline()))
    assert client is not None
    return child.pid


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_caller_costs_its_own_call_only(
    name: str, client: SearchClient, tmp_path: Path
) -> None:
    text, files = HOSTILE[name]
    (tmp_path / "kernl.py").write_text(KERNEL)
    (tmp_path / "bench_good.py").write_text(GOOD)
    (tmp_path / "hostile.py").write_text(f"{_READ}{text}\n")
    for file, content in files.items():
        (tmp_path / file).write_text(content)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    with (tmp_path / "sparse").open("w") as file:
        file.truncate(1 << 40)
    began_s = time.monotonic()
    assert _calls(client, tmp_path)[0] == "fac(n=48)"
    assert client.problems == {}
    assert time.monotonic() - began_s < 20.0
    assert psutil.Process(_pid(client)).memory_info().rss < MEMORY_BYTES


def test_names_that_are_no_utf8(client: SearchClient, tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    folder.mkdir()
    for root in (tmp_path, folder):
        (root / "kernl.py").write_text(KERNEL)
        (root / "caller.py").write_text(GOOD)
        Path(os.fsdecode(os.fsencode(root) + b"/\xfe.py")).write_text(GOOD)
    assert _calls(client, tmp_path) == ["fac(n=48)"]
    assert _calls(client, folder) == ["fac(n=48)"]


@pytest.mark.slow
def test_a_process_that_is_killed_is_replaced(client: SearchClient, tmp_path: Path) -> None:
    (tmp_path / "kernl.py").write_text(KERNEL)
    (tmp_path / "caller.py").write_text(GOOD)
    assert _calls(client, tmp_path) == ["fac(n=48)"]
    first = _pid(client)
    os.kill(first, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(first)], 5)
    assert _calls(client, tmp_path) == ["fac(n=48)"]
    assert _pid(client) != first


@pytest.mark.slow
def test_a_process_that_does_not_go_on_is_ended(tmp_path: Path) -> None:
    """Here it is stopped, as one that waits for a file system for ever."""
    client = SearchClient(silence_limit_s=8.0)
    (tmp_path / "kernl.py").write_text(KERNEL)
    (tmp_path / "caller.py").write_text(GOOD)
    assert _calls(client, tmp_path) == ["fac(n=48)"]
    other = Target("kernl.py", "other")
    for _ in range(2):
        os.kill(_pid(client), signal.SIGSTOP)
        assert _calls(client, tmp_path, other) == ["?"]
        assert client.problems[tmp_path].endswith("has failed: it did not go on for 8 s")
        # The next search has another process.
        assert _calls(client, tmp_path) == ["fac(n=48)"]
    # What has failed twice is not tried again.
    began_s = time.monotonic()
    assert _calls(client, tmp_path, other) == ["?"]
    assert time.monotonic() - began_s < 0.5
    client.close()


def test_the_kernel_limits_memory_and_time(client: SearchClient, tmp_path: Path) -> None:
    (tmp_path / "kernl.py").write_text(KERNEL)
    _calls(client, tmp_path)
    process = psutil.Process(_pid(client))
    if sys.platform == "linux":
        soft, _ = process.rlimit(psutil.RLIMIT_AS)
        assert MEMORY_BYTES <= soft < 2 * MEMORY_BYTES
        soft, _ = process.rlimit(psutil.RLIMIT_CPU)
        assert 0 < soft < 60


def test_it_ends_with_the_process_that_asks(tmp_path: Path) -> None:
    client = SearchClient()
    (tmp_path / "kernl.py").write_text(KERNEL)
    _calls(client, tmp_path)
    process = psutil.Process(_pid(client))
    client.close()
    assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    assert _calls(client, tmp_path) == ["?"]


def test_many_threads_share_one_process(client: SearchClient, tmp_path: Path) -> None:
    found: list[str] = []
    for number in range(4):
        root = tmp_path / str(number)
        root.mkdir()
        (root / "kernl.py").write_text(KERNEL)
        (root / "caller.py").write_text(GOOD.replace("48", str(number)))

    def search(number: int) -> None:
        found.append(json.dumps([number, _calls(client, tmp_path / str(number))]))

    threads = [threading.Thread(target=search, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(found) == [json.dumps([n, [f"fac(n={n})"]]) for n in range(4)]
    assert _pid(client)


@pytest.mark.slow
def test_the_memory_of_the_process_that_asks_is_not_its_own(
    client: SearchClient, tmp_path: Path
) -> None:
    (tmp_path / "kernl.py").write_text(KERNEL)
    (tmp_path / "caller.py").write_text(GOOD)
    own = b"x" * MEMORY_BYTES
    assert _calls(client, tmp_path) == ["fac(n=48)"]
    del own
    first = _pid(client)
    for number in range(3):
        assert _calls(client, tmp_path, Target("kernl.py", f"other_{number}")) != ["?"]
    assert _pid(client) == first
