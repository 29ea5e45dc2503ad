"""Kernels that a program finds by a name: in tables, registries and modules."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from tirlens.evaluation.devices import gpus
from tirlens.evaluation.modules import Modules
from tirlens.evaluation.search_result import Target
from tirlens.repository.registries import tables_of
from tirlens.repository.search import find_calls
from tirlens.repository.word_index import WordIndex

KERNEL = """
import tilelang
import tilelang.language as T
{before}
{decorator}
def scale(n, dtype="float16", block=128):
    @T.prim_func
    def main(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype)):
        with T.Kernel(n, threads=128) as i:
            pass
    return main
{after}
"""
REGISTRY = """
KERNELS = {}

def register(name):
    def add(function):
        KERNELS[name] = function
        return function
    return add

def get_kernel(name):
    if name not in KERNELS:
        raise KeyError(name)
    return KERNELS[name]
"""
REGISTRY_CLASS = """
class Registry:
    def __init__(self):
        self._entries = {}

    def register(self, name=None):
        def add(function):
            self._entries[name or function.__name__] = function
            return function
        return add

    def get(self, name):
        return self._entries[name]

    def __getitem__(self, name):
        return self._entries[name]

KERNELS = Registry()
"""
LAZY = """
import importlib

_MODULES = {"scale": ".kernel", "other": ".missing"}

def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(importlib.import_module(_MODULES[name], __name__), name)
"""


def kernel(before: str = "", decorator: str = "", after: str = "") -> str:
    return KERNEL.format(before=before, decorator=decorator, after=after)


CASES: dict[str, Mapping[str, str]] = {
    "a table of the kernel's module": {
        "package/kernel.py": kernel(after="KERNELS = {'scale': scale}"),
        "bench.py": "from package.kernel import KERNELS\n"
        "for name in KERNELS:\n    KERNELS[name](4096)\n",
    },
    "an entry of a table of the kernel's module": {
        "package/kernel.py": kernel(before="KERNELS = {}", after="KERNELS['scale'] = scale"),
        "bench.py": "from package.kernel import KERNELS\nKERNELS['scale'](4096)\n",
    },
    "a table that is extended": {
        "package/kernel.py": kernel(before="KERNELS = {}", after="KERNELS.update(scale=scale)"),
        "bench.py": "from package import kernel\nkernel.KERNELS['scale'](4096)\n",
    },
    "a decorator that adds to a table of another module": {
        "package/registry.py": REGISTRY,
        "package/__init__.py": "from . import kernel\n",
        "package/kernel.py": kernel("from .registry import register", "@register('scale')"),
        "bench.py": "import package\nfrom package.registry import get_kernel\n"
        "get_kernel('scale')(4096)\n",
    },
    "a decorator of a module that the program does not import by name": {
        "package/registry.py": REGISTRY,
        "package/__init__.py": "",
        "package/kernel.py": kernel("from package import registry", "@registry.register('scale')"),
        "bench.py": "from package.registry import KERNELS\nimport package.kernel\n"
        "KERNELS['scale'](4096)\n",
    },
    "an object that registers": {
        "package/registry.py": REGISTRY_CLASS,
        "package/kernel.py": kernel(
            "from .registry import KERNELS", "@KERNELS.register()\n@tilelang.jit"
        ),
        "bench.py": "from package import kernel\nfrom package.registry import KERNELS\n"
        "KERNELS['scale'](4096)\n",
    },
    "a wrapper that registers": {
        "package/registry.py": REGISTRY_CLASS,
        "package/kernel.py": kernel(
            "from .registry import KERNELS",
            after="@KERNELS.register('op')\ndef run(x):\n    return scale(x.shape[0])(x)",
        ),
        "bench.py": "import torch\nfrom package import kernel\n"
        "from package.registry import KERNELS\n"
        "KERNELS.get('op')(torch.empty(4096))\n",
    },
    "a class that registers": {
        "package/registry.py": """
            class Ops:
                table = {}

                @classmethod
                def register(cls, name):
                    def add(function):
                        cls.table[name] = function
                        return function
                    return add

                @classmethod
                def get(cls, name):
                    return cls.table[name]
            """,
        "package/kernel.py": kernel("from .registry import Ops", "@Ops.register('scale')"),
        "bench.py": "from package import kernel, registry\nregistry.Ops.get('scale')(4096)\n",
    },
    "a module by its name": {
        "package/__init__.py": "",
        "package/kernel.py": kernel(),
        "bench.py": "import importlib\nimportlib.import_module('package.kernel').scale(4096)\n",
    },
    "a module by a name that is put together": {
        "package/__init__.py": "",
        "package/kernel.py": kernel(),
        "bench.py": "from importlib import import_module\nfor name in ['other', 'kernel']:\n"
        "    module = import_module(f'package.{name}')\n"
        "    getattr(module, 'scale')(4096)\n",
    },
    "a module by a relative name": {
        "package/__init__.py": "",
        "package/kernel.py": kernel(),
        "package/bench.py": "import importlib\n"
        "importlib.import_module('.kernel', __package__).scale(4096)\n"
        "importlib.import_module('.kernel', package='package').scale(64)\n",
    },
    "an attribute of a module by names in a list": {
        "package/__init__.py": "",
        "package/kernel.py": kernel(),
        "bench.py": "from package import kernel\nfor name in ('other', 'scale'):\n"
        "    f = getattr(kernel, name, None)\n    if f is not None:\n        f(4096)\n",
    },
    "an attribute of a class": {
        "package/__init__.py": "",
        "package/kernel.py": kernel(),
        "bench.py": "import package.kernel\nclass Ops:\n"
        "    scale = staticmethod(package.kernel.scale)\n"
        "getattr(Ops, 'scale')(4096)\n",
    },
    "a text with module and name": {
        "package/__init__.py": "",
        "package/kernel.py": kernel(),
        "bench.py": "import importlib\nTABLE = {'a': 'package.kernel:scale'}\n"
        "def load(key):\n    module, name = TABLE[key].split(':')\n"
        "    return getattr(importlib.import_module(module), name)\n"
        "load('a')(4096)\n",
    },
    "a package that imports a module when a name of it is asked for": {
        "package/__init__.py": LAZY,
        "package/kernel.py": kernel(),
        "bench.py": "from package import scale\nscale(4096)\n",
    },
    "the names of the own module": {
        "package/__init__.py": "",
        "package/kernel.py": kernel(),
        "bench.py": "from package.kernel import scale\nglobals()['scale'](4096)\n",
    },
    "a table that is chosen by what is not known": {
        "package/kernel.py": kernel(after="KERNELS = {'scale': scale}"),
        "package/op.py": "from package.kernel import KERNELS\n"
        "def op(x, kind):\n    return KERNELS[kind](x.shape[0])\n",
        "bench.py": "import sys, torch\nfrom package.op import op\n"
        "op(torch.empty(4096), sys.argv[1])\n",
    },
}

WRAPPERS = """
CALLS = 0

def plain(function):
    return function

def stored(function):
    TABLE[function.__name__] = function
    return function

TABLE = {}
"""


def test_a_decorator_that_changes_no_table_registers_nothing(tmp_path: Path) -> None:
    text = "from wrappers import plain, stored\n@plain\ndef f(): ...\n@stored\ndef g(): ...\n"
    (tmp_path / "wrappers.py").write_text(WRAPPERS)
    (tmp_path / "kernel.py").write_text(text)
    modules = Modules(tmp_path, ["wrappers.py", "kernel.py"], None, lambda: None, gpus()[0])
    scope = modules.scope("kernel.py")
    assert scope is not None
    found = [tables_of(modules, scope, statement) for statement in scope.tree.body]
    assert found == [set(), set(), {("TABLE", "wrappers.py")}]


@pytest.mark.parametrize("name", CASES)
def test_the_call_is_found(name: str, tmp_path: Path) -> None:
    for path, text in CASES[name].items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    index = WordIndex(tmp_path)
    index.refresh()
    target = Target("package/kernel.py", "scale")
    found = [call.expression for call in find_calls(index, [target])[target].calls]
    assert "scale(n=4096)" in found
