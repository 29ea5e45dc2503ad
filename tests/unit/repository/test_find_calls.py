"""Calls of a kernel in other files: small repositories with the calls that are expected."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tirlens.evaluation.devices import gpus_for
from tirlens.repository import Target, with_calls
from tirlens.repository.repository import Repository
from tirlens.repository.search import find_calls
from tirlens.repository.word_index import WordIndex
from tirlens.source import read

SCALE = Target("package/kernel.py", "scale")
KERNEL = """
import torch
import tilelang
import tilelang.language as T

@tilelang.jit
def scale(n, dtype="float16", block=128):
    m = T.dynamic("rows")

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), B: T.Tensor((m, n), dtype)):
        with T.Kernel(m, threads=128) as i:
            pass
    return main
"""


@dataclass(frozen=True)
class Case:
    """Files beside ``package/kernel.py``, and the calls found, the most typical first."""

    files: Mapping[str, str]
    calls: tuple[str, ...]
    bindings: Mapping[str, int] = field(default_factory=dict[str, int])


WRAPPER = """
import torch
from package.kernel import scale

def op(x, block=64):
    rows, columns = x.shape
    kernel = scale(columns, dtype=str(x.dtype).split(".")[-1], block=block)
    return kernel(x, torch.empty_like(x))
"""
# Each line of a test computes the sizes of a varlen kernel in another way.
VARLEN = """
import torch
import torch.nn.functional as F
from package.kernel import scale

def run(cu, heads):
    lens = cu[1:] - cu[:-1]
    x = torch.randn(cu[-1], heads)
    scale(x.shape[0], block=int(lens.max()) * (cu.numel() - 1))

lens = torch.tensor([100, 300, 200], dtype=torch.int32)
"""
IMPORT = "from package.kernel import scale\n"
LONG_TESTS = "".join(
    f"def test_{number}():\n    for i in range(512):\n        for j in range(512):\n"
    "            total = i * j\n"
    for number in range(100)
)
SOLUTION = (
    KERNEL
    + """
class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, x):
        return scale(self.width, block=x.shape[0])(x)
"""
)
PROBLEM = """
import torch
BATCH, WIDTH = 512, 2048

class Model(torch.nn.Module):
    pass

def get_inputs():
    return [torch.randn(BATCH, WIDTH)]

def get_init_inputs():
    return [WIDTH]
"""
_OPS = "__import__('ops', fromlist=['x'])"
CASES = {
    "a call in a benchmark": Case(
        {"benchmarks/bench.py": "from package.kernel import scale\nscale(4096)\n"},
        ("scale(n=4096)",),
    ),
    "a solution and its problem in two folders": Case(
        {
            "package/kernel.py": SOLUTION,
            "problems/kernel.py": PROBLEM,
            "package/other.py": PROBLEM.replace("2048", "64"),
        },
        ("scale(n=2048, block=512)",),
    ),
    "a solution and its problem alone in a folder": Case(
        {"package/kernel.py": SOLUTION, "package/reference.py": PROBLEM},
        ("scale(n=2048, block=512)",),
    ),
    "a solution and the problem that is named so, of several": Case(
        {
            "package/kernel.py": SOLUTION,
            "package/kernel_ref.py": PROBLEM,
            "package/square_ref.py": PROBLEM.replace("2048", "64"),
        },
        ("scale(n=2048, block=512)",),
    ),
    "a solution and the problems of others": Case(
        {
            "package/kernel.py": SOLUTION,
            "package/square.py": PROBLEM,
            "package/cube.py": PROBLEM,
        },
        (),
    ),
    "tests with real sizes before those that check shapes": Case(
        {
            "tests/test_scale.py": IMPORT + "def test_shape():\n    scale(8)\n    scale(16)\n"
            "def test_real():\n    scale(8192)\n"
        },
        ("scale(n=8192)", "scale(n=16)", "scale(n=8)"),
    ),
    "the main program of model code before tests": Case(
        {
            "model/layer.py": IMPORT + "if __name__ == '__main__':\n    scale(7168)\n",
            "tests/test_scale.py": IMPORT + "def test_real():\n    scale(4096)\n",
        },
        ("scale(n=7168)", "scale(n=4096)"),
    ),
    "a test that replaces a function on the way calls no kernel behind it": Case(
        {
            "package/op.py": "from package import kernel\n\ndef op(n):\n    kernel.scale(n)\n",
            "tests/test_op.py": "import package.op\nfrom package import kernel\n"
            "from unittest import mock\n"
            "def test_patched(monkeypatch):\n"
            "    monkeypatch.setattr(kernel, 'scale', print)\n    package.op.op(1)\n"
            "@mock.patch('package.kernel.scale')\n"
            "def test_mocked(fake):\n    package.op.op(2)\n"
            "def test_assigned():\n"
            "    kernel.scale = mock.MagicMock()\n    package.op.op(3)\n"
            "def test_real():\n    package.op.op(4)\n",
        },
        ("scale(n=4)",),
    ),
    "sizes in the place of the arrays of an eager kernel": Case(
        {
            "package/kernel.py": "import tilelang\nimport tilelang.language as T\n\n"
            "@tilelang.jit\ndef scale(A, block: int):\n    M, N = T.const('M, N')\n"
            "    A: T.Tensor((M, N), T.float16)\n    return A\n",
            "tests/test_scale.py": IMPORT + "def check(kernel, sizes):\n"
            "    return kernel.compile(**sizes)\n"
            "def test_real():\n    check(scale, {'M': 256, 'N': 16384, 'block': 16})\n",
        },
        ("scale(block=16, M=256, N=16384)",),
    ),
    "calls of one size in the order of their files, in every process": Case(
        {
            f"benchmarks/bench_{name}.py": f"from package.kernel import scale\nscale(8, '{name}')\n"
            for name in "dbac"
        },
        tuple(f"scale(n=8, dtype='{name}')" for name in "abcd"),
    ),
    **{
        f"lengths of sequences: {words}": Case(
            {"bench.py": f"{VARLEN}{words}\nrun(cu, 4)\n"}, ("scale(n=600, block=900)",)
        )
        for words in (
            "cu = F.pad(torch.cumsum(lens, dim=0, dtype=torch.int32), (1, 0))",
            "cu = torch.cat([torch.zeros(1, dtype=torch.int32), lens.cumsum(0)]).cuda()",
            "cu = torch.zeros(4, dtype=torch.int32)\ncu[1:] = torch.cumsum(lens, 0)",
            "cu = torch.tensor([0, *lens.cumsum(0).tolist()], dtype=torch.int32)",
            "cu = [0]\nfor n in lens:\n    cu.append(cu[-1] + n.item())\ncu = torch.LongTensor(cu)",
        )
    },
    "lengths that are not known": Case(
        {"bench.py": VARLEN + "import data\ncu = torch.tensor([0, *data.load()])\nrun(cu, 4)\n"},
        (),
    ),
    "a tensor that is changed in its place": Case(
        {"bench.py": VARLEN + "cu = torch.arange(0, 5 * 128, 128)\ncu.copy_(make())\nrun(cu, 4)\n"},
        (),
    ),
    "equal lengths, and a random one": Case(
        {
            "bench.py": VARLEN
            + "cu = torch.arange(0, 5, dtype=torch.int32) * 128\nrun(cu, 4)\n"
            + "n = torch.randint(100, 300, (1,)).item()\nscale(n)\n"
        },
        ("scale(n=512, block=512)", "scale(n=200)"),
    ),
    "a method with the name of what it calls": Case(
        {
            "bench.py": """
            from package.kernel import scale

            class Builder:
                size = 256
                other = size * 2

                def scale(self, n=other):
                    return scale(n)

            Builder().scale()
            """
        },
        ("scale(n=512)",),
    ),
    "a recursion whose end is not known": Case(
        {
            "bench.py": """
            from package.kernel import scale

            def simplify(value):
                if isinstance(value, str):
                    return simplify(unknown(value))
                if callable(value):
                    return simplify(value())
                return [simplify(item) for item in (value, value.body, value.parts)]

            simplify(made())
            scale(128)
            """
        },
        ("scale(n=128)",),
    ),
    "a result that is called with names that are not known": Case(
        {
            "bench.py": """
            from package.kernel import scale

            def run(config):
                scale(32)(**config)

            run({key: 1 for key in [unknown()]})
            """
        },
        ("scale(n=32)",),
    ),
    "integers by functions of math": Case(
        {"bench.py": "import math\nfrom package.kernel import scale\nscale(math.isqrt(4097))\n"},
        ("scale(n=64)",),
    ),
    "a kernel that is compiled before it is called": Case(
        {"bench.py": "from package.kernel import scale\nscale.compile(64, block=32)\n"},
        ("scale(n=64, block=32)",),
    ),
    "a test that fills its arrays in long loops": Case(
        {
            "test_it.py": """
            import torch
            from package.kernel import scale

            def test_it(rows=4096, columns=512):
                table = torch.zeros((rows, columns, 8))
                for i in range(rows):
                    for j in range(columns):
                        for k in range(8):
                            chosen = torch.randperm(max(1, i + j))[:k]
                            table[i, j, : len(chosen)] = chosen.to(torch.float32).abs().sum()
                scale(table.shape[0])
            """
        },
        ("scale(n=4096)",),
    ),
    "functions as arguments": Case(
        {
            "ops.py": """
            class Ops:
                @staticmethod
                def double(x):
                    return x * 2

                def method(self, x):
                    return x

            def plain(x):
                return x

            def scaled(factor, op):
                def apply(x: int, y=factor, *, z=factor):
                    '''What it does.'''
                    return op(x) * factor + y * z

                return apply

            def stepwise(op):
                def apply(x):
                    x = op(x)
                    return x

                return apply
            """,
            "run.py": """
            import torch
            from ops import Ops, plain, scaled, stepwise
            from package.kernel import scale

            scale(1, block=Ops.double)
            scale(2, block=plain)
            scale(3, block=scaled(4, Ops.double))
            scale(4, block=lambda x: torch.relu(x))
            scale(5, block=stepwise(plain))
            scale(6, block=Ops().method)

            def endless():
                def apply(x):
                    return apply(x)

                return apply

            scale(7, block=endless())
            """,
        },
        (
            f"scale(n=3, block=(lambda x, y=4, *, z=4: {_OPS}.Ops.double(x) * 4 + y * z))",
            f"scale(n=1, block={_OPS}.Ops.double)",
            f"scale(n=2, block={_OPS}.plain)",
            "scale(n=4, block=(lambda x: torch.relu(x)))",
        ),
    ),
    "the attributes of classes, and names that a call replaces": Case(
        {
            "run.py": """
            import torch
            from package.kernel import scale

            class Op:
                output = None
                other_name = "other"

                def __init_subclass__(cls, wide=False, **kwargs):
                    cls.wide = wide
                    name = cls.__dict__.get("other_name")
                    if name is None:
                        return
                    forward = cls.forward

                    def renamed(self, *args, **kwargs):
                        if unknown(name) in kwargs:
                            kwargs["other"] = kwargs.pop(name)
                        return forward(self, *args, **kwargs)

                    cls.forward = renamed

                def forward(self, x, other):
                    shape = torch.broadcast_shapes(x.shape, other.shape)
                    dtype = self.output or x.dtype
                    scale(shape[0] * shape[1], dtype, 128 if self.wide else 64)

            class Plain(Op):
                output = None

            class Power(Op, wide=True):
                other_name = "exponent"
                output = torch.bool

            x = torch.empty(8, 1, dtype=torch.float16)
            Plain().forward(x, torch.empty(4))
            Power().forward(x, torch.empty(5))
            """
        },
        (
            "scale(n=40, dtype=torch.bool, block=128)",
            "scale(n=32, dtype=torch.float16, block=64)",
        ),
    ),
    "a test behind others that take long": Case(
        {"test_it.py": f"{IMPORT}{LONG_TESTS}def test_scale():\n    scale(4096)\n"},
        ("scale(n=4096)",),
    ),
    "the options of a program": Case(
        {
            "run.py": """
            import argparse
            from package import kernel

            def main():
                parser = argparse.ArgumentParser()
                parser.add_argument("--n", type=int, default=2048)
                parser.add_argument("--fast", action="store_true")
                args = parser.parse_args()
                kernel.scale(args.n, block=64 if args.fast else 256)

            if __name__ == "__main__":
                main()
            """
        },
        ("scale(n=2048, block=256)",),
    ),
    "a wrapper, and a parametrized test with tensors": Case(
        {
            "package/ops.py": WRAPPER,
            "tests/test_ops.py": """
            import pytest
            import torch
            from package.ops import op

            @pytest.mark.parametrize("rows", [16, 64])
            @pytest.mark.parametrize(("columns", "dtype"), [(1024, torch.bfloat16)])
            def test_op(rows, columns, dtype):
                x = torch.randn(rows, columns, device="cuda", dtype=dtype)
                assert op(x) is not None
            """,
        },
        ("scale(n=1024, dtype='bfloat16', block=64)",),
        {"rows": 64},
    ),
    "a re-export, an alias and functools.partial": Case(
        {
            "package/api.py": "from .kernel import scale as fast_scale\n",
            "model.py": """
            import functools
            from package.api import fast_scale
            build = functools.partial(fast_scale, block=32)
            build(512)
            """,
        },
        ("scale(n=512, block=32)",),
    ),
    "packages that import all of a module": Case(
        {
            "package/__init__.py": "from .parts import *\n",
            "package/parts/__init__.py": "from ..kernel import *\n",
            "model.py": "import package\npackage.scale(640)\n",
        },
        ("scale(n=640)",),
    ),
    "a class that stores the kernel": Case(
        {
            "layer.py": """
            from dataclasses import dataclass
            from package.kernel import scale

            @dataclass
            class Config:
                width: int = 768
                block: int = 16

            class Base:
                def __init__(self, config):
                    self.config = config
                    self.kernel = self.build()

            class Layer(Base):
                def build(self):
                    return scale(self.width, block=self.config.block)

                @property
                def width(self):
                    return self.config.width * 2

            def test_layer():
                Layer(Config(block=8))
            """
        },
        ("scale(n=1536, block=8)",),
    ),
    "fields of data classes": Case(
        {
            "layer.py": """
            from dataclasses import dataclass, field, replace
            from package.kernel import scale

            def _tile(**named):
                return field(default_factory=lambda: Tile(**named))

            @dataclass(frozen=True)
            class Tile:
                block: int = field(default=64)
                threads: int = 128

                def clamp(self, width):
                    return replace(self, block=min(self.block, width))

            @dataclass(frozen=True)
            class Config:
                widths: list = field(default_factory=list)
                tile: Tile = _tile(threads=256)

            def test_layer(config=Config()):
                config.widths.append(config.tile.threads)
                for width in config.widths:
                    scale(width, block=config.tile.clamp(32).block)
            """
        },
        ("scale(n=256, block=32)",),
    ),
    "a table of configurations": Case(
        {
            "benchmarks/sweep.py": """
            from package.kernel import scale
            CONFIGS = [dict(n=128 * i, block=32) for i in (1, 4, 16)]
            CONFIGS.append({"n": 64, "block": 64})
            for config in CONFIGS:
                scale(**config)
            """
        },
        (
            "scale(n=512, block=32)",
            "scale(n=128, block=32)",
            "scale(n=64, block=64)",
            "scale(n=2048, block=32)",
        ),
    ),
    "a generator of cases, an enumeration and a fixture class": Case(
        {
            "tests/base.py": """
            import pytest

            class Fixture:
                PARAMS = []

                def __new__(cls, function):
                    for names, values in cls.PARAMS:
                        function = pytest.mark.parametrize(names, values)(function)
                    return function
            """,
            "tests/test_cases.py": """
            import enum
            import pytest
            from package.kernel import scale
            from .base import Fixture

            class Size(enum.Enum):
                SMALL = 64
                LARGE = 8192

            def sizes():
                for size in Size:
                    yield size.value

            class Sizes(Fixture):
                PARAMS = [("n, block", [pytest.param(n, 32) for n in sizes()])]

            @Sizes
            def test_sizes(n, block):
                scale(n, block=block)
            """,
        },
        ("scale(n=8192, block=32)", "scale(n=64, block=32)"),
    ),
    "a metaclass of fixtures, and an enumeration with names of its own": Case(
        {
            "tests/base.py": """
            import pytest

            class Meta(type):
                def __call__(cls, function):
                    for names, values in cls.PARAMS:
                        function = pytest.mark.parametrize(names, values)(function)
                    return function

            class Fixture(metaclass=Meta):
                PARAMS = []
            """,
            "tests/test_cases.py": """
            import enum
            from package.kernel import scale
            from .base import Fixture

            class Kind(enum.IntEnum):
                WIDE = 16384

                def __str__(self):
                    return self.name.lower()

                @classmethod
                def from_str(cls, text):
                    return cls[text.upper()]

            class Kinds(Fixture):
                PARAMS = [("kind", [Kind.WIDE])]

            @Kinds
            def test_kinds(kind):
                scale(Kind.from_str(str(kind)).value)
            """,
        },
        ("scale(n=16384)",),
    ),
    "tensors of masks, bytes and products": Case(
        {
            "program.py": """
            import torch
            import torch.nn.functional as F
            from package.kernel import scale

            x = torch.randn(100, 64, device="cuda")
            best, index = torch.topk(x, k=8, dim=-1)
            assert index.dtype == torch.int64
            chosen = x[(x > 0).any(dim=1)]
            both = torch.where(x > 0, x, torch.zeros_like(x))
            assert both.dtype == torch.float32
            padded = F.pad(F.linear(chosen, torch.empty(96, 64)), (0, 32))
            scores = torch.einsum("bn,kn->bk", padded, torch.empty(5, 128))
            codes = padded.to(torch.float8_e4m3fn).view(torch.int32)
            kernel = scale(codes.shape[1] * 1000 + scores.shape[1] * 100 + best.shape[1])
            kernel(torch.empty(padded.shape[0], 1), None)
            """
        },
        ("scale(n=32508)",),
        {"rows": 100},
    ),
    "tensors in the shape of others, and parts of tensors": Case(
        {
            "program.py": """
            import torch
            from package.kernel import scale

            x = torch.randn(60, 128, device="cuda")
            blocks = x.view(-1, 20, 2, 64)
            back = blocks.view_as(x)[:50, :96].contiguous()
            parts = torch.index_select(x, 0, torch.arange(7)).narrow(1, 0, 40)
            wide = parts.repeat_interleave(3, dim=1).movedim(0, 1)
            gathered = x.gather(1, torch.zeros(60, 5, dtype=torch.int64))
            row = x.select(0, 3).new_ones(9, 11)
            kernel = scale(sum((*back.shape, *wide.shape, *gathered.shape, *row.shape)))
            kernel(torch.empty(back.shape[0], 1), None)
            """
        },
        ("scale(n=358)",),
        {"rows": 50},
    ),
    "a return that may have been reached before what raises": Case(
        {
            "program.py": """
            import sys
            import torch
            from package.kernel import scale

            def width(x):
                if x.device.type != "cuda":
                    raise ValueError(x.device)
                if isinstance(sys.argv, list):
                    return 48
                raise TypeError

            class Spec:
                def __init__(self):
                    object.__setattr__(self, "arch", torch.cuda.get_device_capability()[0])

            scale(width(torch.empty(4)) * Spec().arch)
            """
        },
        ("scale(n=432)",),
    ),
    "files of JSON, TOML and YAML that the program reads": Case(
        {
            "bench/sizes.json": '{"wide": {"n": 8192}}',
            "bench/data/sizes.toml": "n = [512]",
            "bench/manifest.yaml": "# sizes\nwide: {n: 96, kinds: [a, b]}\n",
            "bench/program.py": """
            import functools, json, os, tomllib, yaml
            from pathlib import Path
            from package.kernel import scale

            HERE = Path(__file__).resolve().parent

            @functools.lru_cache(maxsize=1)
            def manifest():
                merged = {}
                for path in sorted(p for p in HERE.iterdir() if p.suffix == ".yaml"):
                    merged.update(yaml.safe_load(path.read_text()) or {})
                return merged

            with open(os.path.join(os.path.dirname(__file__), "sizes.json")) as file:
                scale(json.load(file)["wide"]["n"])
            scale(tomllib.loads((HERE / "data" / "sizes.toml").read_text())["n"][0])
            scale(manifest()["wide"]["n"])
            """,
        },
        ("scale(n=512)", "scale(n=96)", "scale(n=8192)"),
    ),
    "a kernel that is called with numbers, and an equal one that is not": Case(
        {
            "program.py": """
            from package.kernel import scale
            scale(4096)
            scale(4096)(64, threads=256)
            """
        },
        ("scale(n=4096)",),
    ),
    "arrays that kernels return": Case(
        {
            "program.py": """
            import tilelang
            import tilelang.language as T
            import torch
            from package.kernel import scale

            @tilelang.jit(out_idx=[-1])
            def double(rows, columns, dtype):
                @T.prim_func
                def main(
                    A: T.Tensor((rows, columns), dtype), B: T.Tensor[(rows, 2 * columns), dtype]
                ):
                    pass
                return main

            y = double(8, 320, "bfloat16")(torch.empty(8, 320))
            scale(y.shape[1], dtype=str(y.dtype).split(".")[-1])
            """
        },
        ("scale(n=640, dtype='bfloat16')",),
    ),
    "sets of names": Case(
        {
            "program.py": """
            from package.kernel import scale
            allowed = frozenset({"n"}) | {"m"} - {"k"}
            if any(name not in allowed for name in ("n", "m")):
                raise KeyError
            scale(56 if sorted({"a", "b"} & {"b"}) == ["b"] else 1)
            """
        },
        ("scale(n=56)",),
    ),
    "variables of the environment are not set": Case(
        {
            "program.py": """
            import os
            from package.kernel import scale

            if "QUICK" in os.environ or os.getenv("QUICK") in ("1", "true"):
                scale(1)
            scale(int(os.environ.get("SIZE", "512")))
            """
        },
        ("scale(n=512)",),
    ),
    "other kernels are not executed": Case(
        {
            "program.py": """
            import tilelang
            import tilelang.language as T
            from package.kernel import scale

            @tilelang.jit
            def other(A, n):
                with T.Kernel(n) as i:
                    scale(1)

            def make(n):
                @T.prim_func
                def main(A: T.Tensor((n,), "float16")):
                    scale(2)
                return main

            other(None, 4)
            make(4)(None)
            scale(3)
            """
        },
        ("scale(n=3)",),
    ),
    "a function of autograd": Case(
        {
            "function.py": """
            import torch
            from package.kernel import scale

            class Scale(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    ctx.save_for_backward(x)
                    return x

                @staticmethod
                def backward(ctx, gradient):
                    (x,) = ctx.saved_tensors
                    return scale(x.shape[-1] + gradient.shape[0])

            def bench():
                Scale.apply(torch.zeros(4, 100))
            """
        },
        ("scale(n=104)",),
    ),
    "benchmarks before tests": Case(
        {
            "tests/test_small.py": "from package.kernel import scale\nscale(8)\n",
            "benchmarks/bench_scale.py": "from package.kernel import scale\nscale(65536)\n",
        },
        ("scale(n=65536)", "scale(n=8)"),
    ),
    "a branch and a loop over what is not known": Case(
        {
            "program.py": """
            import os
            from package.kernel import scale
            if os.environ.get("LARGE"):
                n = 4096
            else:
                n = 256
            for file in os.listdir("."):
                scale(n)
            """
        },
        ("scale(n=256)",),
    ),
    "an argument that is not known": Case(
        {"program.py": "import sys\nfrom package.kernel import scale\nscale(len(sys.argv))\n"}, ()
    ),
    "a function of another module with the same name": Case(
        {
            "other.py": "def scale(n):\n    return n\n",
            "program.py": "from other import scale\nscale(3)\n",
        },
        (),
    ),
    "code that fails, loops and recurses": Case(
        {
            "program.py": """
            from package.kernel import scale

            def recurse(n):
                return recurse(n + 1)

            recurse(0)
            while True:
                pass
            """,
            "broken.py": "from package.kernel import scale\nscale(1\n",
            "raises.py": "from package.kernel import scale\nscale(16)\nraise ValueError\n",
        },
        ("scale(n=16)",),
    ),
    "fixtures of a class, with parameters, that use each other": Case(
        {
            "tests/test_scale.py": """
            import pytest
            import torch
            from package.kernel import scale

            class TestScale:
                @pytest.fixture(params=[1, 4])
                def rows(self, request):
                    yield request.param

                @pytest.fixture
                def x(self, rows, columns):
                    yield torch.randn(rows, columns)
                    torch.cuda.empty_cache()

                @pytest.fixture(scope="class")
                def columns(self):
                    return 2048

                def test_scale(self, x, monkeypatch, tmp_path):
                    monkeypatch.setenv("LARGE", str(tmp_path))
                    scale(x.shape[1], block=32 * x.shape[0])
            """
        },
        ("scale(n=2048, block=128)", "scale(n=2048, block=32)"),
    ),
    "fixtures of conftest.py, indirect parameters and modules in a namespace": Case(
        {
            "tests/conftest.py": """
            import pytest
            from types import SimpleNamespace

            @pytest.fixture(scope="session")
            def modules():
                import package.kernel as kernel
                return SimpleNamespace(kernel=kernel, block=64)

            @pytest.fixture
            def n(request, modules):
                return request.param * modules.block
            """,
            "tests/kernels/test_scale.py": """
            import pytest

            @pytest.mark.parametrize("n", [pytest.param(3)], indirect=True)
            def test_scale(modules, n: int):
                modules.kernel.scale(n, block=modules.block)
            """,
        },
        ("scale(n=192, block=64)",),
    ),
    "marks of a class and of a module": Case(
        {
            "tests/test_scale.py": """
            import pytest
            from package.kernel import scale

            pytestmark = [pytest.mark.slow, pytest.mark.parametrize("block", [64])]

            @pytest.mark.parametrize("n", [512])
            class TestScale:
                def test_scale(self, n, block):
                    scale(n, block=block)
            """,
        },
        ("scale(n=512, block=64)",),
    ),
    "a test that has no end before the one with the call": Case(
        {
            "tests/test_scale.py": """
            from package.kernel import scale

            def slow(n):
                for i in range(100):
                    for j in range(100):
                        for k in range(100):
                            n = n + sum([i, j, k, n, n, n, n, n, n, n, n, n, n, n, n, n, n])
                return n

            def test_reference():
                slow(1)
                scale(slow(2))

            def test_scale():
                scale(128)
            """,
        },
        ("scale(n=128)",),
    ),
    "an implementation that is selected by the compute capability": Case(
        {
            "package/__init__.py": """
            import tilelang
            import torch

            if tilelang.contrib.nvcc.get_target_compute_version() == "9.0":
                from .kernel import scale
                BLOCK = 64
            elif torch.cuda.get_device_capability() in [(10, 0), (10, 3)]:
                from .other import scale
                BLOCK = 32
            else:
                raise ValueError("not supported")
            """,
            "package/other.py": KERNEL,
            "program.py": "from package import BLOCK, scale\nscale(8, block=BLOCK)\n",
        },
        ("scale(n=8, block=64)",),
    ),
    "a kernel for a GPU that is not the first": Case(
        {
            "package/__init__.py": """
            import torch

            if torch.cuda.get_device_capability()[0] == 9:
                from .other import scale
            elif torch.version.hip is None and torch.cuda.get_device_capability()[0] == 12:
                from .kernel import scale
            else:
                from .other import scale
            """,
            "package/other.py": KERNEL,
            "program.py": "from package import scale\nscale(8)\n",
        },
        ("scale(n=8)",),
    ),
}


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in {"package/__init__.py": "", "package/kernel.py": KERNEL, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_calls_of_a_small_repository(case: Case, tmp_path: Path) -> None:
    write(tmp_path, case.files)
    index = WordIndex(tmp_path)
    index.refresh()
    found = find_calls(index, [SCALE])[SCALE]
    assert tuple(call.expression for call in found.calls) == case.calls
    if case.bindings:
        assert found.calls[0].bindings == case.bindings


METHOD = """
from dataclasses import dataclass
import tilelang
import tilelang.language as T

@dataclass
class Scheduler:
    columns: int
    transposed: bool = False

    def build(self, block=64, threads=128):
        assert self.transposed

        @T.prim_func
        def main(A: T.Tensor((self.columns,), "float16")):
            with T.Kernel(self.columns // block, threads=threads) as i:
                A[i] = 0.0
        return main

    def build_default(self):
        return self.build(threads=256)
"""


def test_a_method_is_called_on_an_object_with_its_arguments(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(METHOD)
    text = "from kernel import Scheduler\nScheduler(512, transposed=True).build_default()\n"
    (tmp_path / "test_it.py").write_text(text + "Scheduler(1024, True).build(32)\n")
    index = WordIndex(tmp_path, tmp_path / "store.sqlite")
    index.refresh()
    target = Target("kernel.py", "Scheduler.build")
    calls = [call.expression for call in find_calls(index, [target])[target].calls]
    assert sorted(calls) == [
        "Scheduler(1024, True).build(block=32)",
        "Scheduler(512, transposed=True).build(threads=256)",
    ]


def test_several_kernels_of_a_file_in_one_search(tmp_path: Path) -> None:
    files = {
        "package/kernel.py": "def scale(n):\n    pass\n\ndef shift(n):\n    pass\n",
        "program.py": "from package.kernel import scale, shift\nscale(1)\nshift(2)\n",
    }
    write(tmp_path, files)
    index = WordIndex(tmp_path)
    index.refresh()
    shift = Target(SCALE.path, "shift")
    found = find_calls(index, [SCALE, shift])
    assert [call.expression for call in found[SCALE].calls] == ["scale(n=1)"]
    assert [call.expression for call in found[shift].calls] == ["shift(n=2)"]


def test_what_a_kernel_of_the_file_returns_is_given_to_the_next(tmp_path: Path) -> None:
    kernels = KERNEL.replace("@tilelang.jit", "@tilelang.jit(out_idx=-1)")
    files = {
        "package/kernel.py": kernels + "\ndef shift(n):\n    pass\n",
        "program.py": """
        import torch
        from package.kernel import scale, shift
        y = scale(256)(torch.empty(4, 256))
        shift(y.shape[1])
        """,
    }
    write(tmp_path, files)
    index = WordIndex(tmp_path)
    index.refresh()
    shift = Target(SCALE.path, "shift")
    found = find_calls(index, [SCALE, shift])
    assert [call.expression for call in found[shift].calls] == ["shift(n=256)"]
    assert found[SCALE].calls[0].bindings == {"rows": 4}


def test_the_values_of_incomplete_calls(tmp_path: Path) -> None:
    text = """
    import sys
    from package.kernel import scale
    scale(len(sys.argv), dtype="float8_e4m3", block=32)
    """
    write(tmp_path, {"program.py": text})
    index = WordIndex(tmp_path)
    index.refresh()
    found = find_calls(index, [SCALE])[SCALE]
    assert found.values == {"dtype": ("'float8_e4m3'",), "block": ("32",)}
    assert found.missing == {"n": 1}


def test_the_values_of_the_second_call_of_a_factory_of_factories(tmp_path: Path) -> None:
    factory = """
import tilelang

def rows(m, n):
    @tilelang.jit(out_idx=[1])
    def build(block_m, threads):
        pass
    return build
"""
    text = """
    import sys
    from package.kernel import rows
    rows(64, 32)
    rows(64, 32)(2, threads=128)
    rows(32, 16)(len(sys.argv), 128)
    """
    write(tmp_path, {"package/kernel.py": factory, "program.py": text})
    index = WordIndex(tmp_path)
    index.refresh()
    found = find_calls(index, [Target("package/kernel.py", "rows")])
    (search,) = found.values()
    assert [call.expression for call in search.calls] == [
        "rows(m=64, n=32)(2, threads=128)",
        "rows(m=32, n=16)",
    ]
    assert search.values == {
        "m": ("64", "32"),
        "n": ("32", "16"),
        "block_m": ("2",),
        "threads": ("128",),
    }


def test_the_place_and_the_kind(tmp_path: Path) -> None:
    write(tmp_path, {"examples/run.py": "from package.kernel import scale\n\nx = scale(4)\n"})
    index = WordIndex(tmp_path)
    index.refresh()
    (call,) = find_calls(index, [SCALE])[SCALE].calls
    assert (call.span.file, call.span.line, call.kind) == ("examples/run.py", 3, "program")


@pytest.mark.parametrize(("text", "name"), [(KERNEL, "longest"), ("LONG = 300\n" + KERNEL, "LONG")])
def test_a_call_in_the_main_guard_of_the_kernels_own_file(
    text: str, name: str, tmp_path: Path
) -> None:
    text += f"""
if __name__ == "__main__":
    longest = max(int(n) for n in [100, 300])
    scale({name}, block=64)
"""
    (tmp_path / ".git").mkdir()
    path = tmp_path / "kernel.py"
    path.write_text(text)
    repository = Repository(tmp_path, tmp_path / "store.sqlite")
    repository.refresh()
    (kernel,) = with_calls(read(text), path, tmp_path, repository.search).kernels
    calls = [(item.source, item.expression) for item in kernel.candidates]
    assert calls == [("call-site", "scale(300, block=64)")]


FORMS = """
import tilelang
import tilelang.language as T

@tilelang.jit
def scale(n, packed):
    rows, count, parts = T.dynamic("rows"), T.dynamic("count"), T.dynamic("parts")
    pitch = T.dynamic("pitch")
    x_shape = (rows, n) if packed else [rows, n]
    y_shape = (n, rows) if packed else (rows, n)

    @T.macro
    def body(x, y):
        pass

    if packed:
        @T.prim_func
        def main(
            x: T.Tensor(x_shape, "float16"),
            offsets: T.Tensor([count + 1], "int32"),
            y: T.StridedTensor((rows, n), "float16", strides=(pitch, 1)),
        ):
            with T.Kernel(rows, threads=128) as i:
                body(x, y)
    else:
        @T.prim_func
        def main(
            x: T.Tensor(x_shape, "float16"), y: T.Tensor(y_shape, "float16"), parts: T.int32
        ):
            with T.Kernel(parts, threads=128) as i:
                body(x, y)
    return main
"""


LENGTHS = """
import tilelang
import tilelang.language as T

@tilelang.jit(out_idx=[-1])
def scale(sequences, total):
    @T.prim_func
    def main(
        rows: T.Tensor((total, 64), "float16"),
        offsets: T.Tensor((sequences + 1,), "int32"),
        longest: T.int32,
        out: T.Tensor((total, 64), "float16"),
    ):
        with T.Kernel(T.ceildiv(longest, 64), sequences, threads=128) as (i, j):
            pass
    return main
"""


@pytest.mark.parametrize("argument", ["length", "longest=length"])
def test_a_number_that_the_compiled_kernel_is_called_with(argument: str, tmp_path: Path) -> None:
    """The kernel has no dynamic array; the number has another name where it is called."""
    program = f"""
import torch
from package.kernel import scale

def run(count, length):
    offsets = torch.arange(0, (count + 1) * length, length, dtype=torch.int32)
    kernel = scale(count, offsets[-1].item())
    kernel(torch.empty(count * length, 64), offsets, {argument})

run(2, length=192)
"""
    write(tmp_path, {"package/kernel.py": LENGTHS, "program.py": program})
    index = WordIndex(tmp_path)
    index.refresh()
    (found,) = find_calls(index, [SCALE])[SCALE].calls
    assert (found.expression, found.bindings) == (
        "scale(sequences=2, total=384)",
        {"longest": 192},
    )


@pytest.mark.parametrize(
    ("call", "sizes"),
    [
        (
            "scale(64, True)(torch.empty(12, 64), torch.empty(9), torch.empty(12, 64))",
            {"rows": 12, "count": 8, "pitch": 64},
        ),
        ("scale(64, False)(torch.empty(12, 64), torch.empty(99, 64), 6)", {"rows": 12, "parts": 6}),
    ],
)
def test_dynamic_sizes_of_the_kernel_that_the_arguments_fit(
    call: str, sizes: dict[str, int], tmp_path: Path
) -> None:
    """A factory returns one of two kernels, whose shapes are variables, offsets and strides.

    The variable ``y_shape`` has dynamic dimensions at two places, so that it gives none.
    """
    program = f"import torch\nfrom package.kernel import scale\n{call}\n"
    write(tmp_path, {"package/kernel.py": FORMS, "program.py": program})
    index = WordIndex(tmp_path)
    index.refresh()
    (found,) = find_calls(index, [SCALE])[SCALE].calls
    assert found.bindings == sizes


@pytest.mark.parametrize(
    ("path", "capability"),
    [
        ("ops/gemm.py", (9, 0)),
        ("ops/hopper/gemm.py", (9, 0)),
        ("ops/blackwell/gemm.py", (10, 0)),
        ("ops/blackwell_sm120/gemm.py", (12, 0)),
        ("ops/gemm_sm100a.py", (10, 0)),
        ("ops/gemm_sm80.py", (8, 0)),
        ("ops/gemm_sm75.py", (9, 0)),
    ],
)
def test_the_gpu_that_a_path_names_is_the_first(path: str, capability: tuple[int, int]) -> None:
    assert gpus_for(path)[0].capability == capability
