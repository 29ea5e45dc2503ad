"""The calls of a kernel in its own file, by what its text executes."""

from __future__ import annotations

import textwrap

import pytest

from tirlens import source

FACTORY = """
import torch
import torch.nn as nn
import tilelang
import tilelang.language as T

@tilelang.jit(out_idx=[1])
def scale(H, S, block=128):
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n, H, S), "float32"), B: T.Tensor((n, H, S), "float32")):
        with T.Kernel(n, H, threads=128) as (bx, by):
            B[bx, by, 0] = A[bx, by, 0]
    return main
"""
# The text after the factory, and the first call with the sizes of its dynamic dimensions.
CASES = {
    "a branch that the size decides": (
        """
        def run(q):
            N, H, S = q.shape
            kernel = scale(H // 2, S) if H == 128 else scale(H, S)
            return kernel(q)

        if __name__ == "__main__":
            run(torch.randn((3, 64, 4096), device="cuda"))
        """,
        "scale(64, 4096)",
        {"n": 3},
    ),
    "a branch that the program does not take, of the only call": (
        """
        def main(size=64, is_fast=False):
            if is_fast:
                return scale(size, 32)

        main()
        """,
        "scale(64, 32)",
        {},
    ),
    "a model in the form of KernelBench": (
        """
        class ModelNew(nn.Module):
            def __init__(self, heads):
                super().__init__()
                self.heads = heads
                self._cache = {}

            def forward(self, x):
                flat = x.view(-1, self.heads, x.shape[-1])
                key = tuple(flat.shape)
                if key not in self._cache:
                    self._cache[key] = scale(flat.shape[1], flat.shape[2])
                return self._cache[key](flat)

        def get_inputs():
            return [torch.randn(2, 4, 8, 256)]

        def get_init_inputs():
            return [8]
        """,
        "scale(8, 256)",
        {"n": 8},
    ),
    "a function that nothing calls, with its defaults": (
        "def bfloat(q, heads=16):\n    return scale(heads, 512)(q)\n",
        "scale(16, 512)",
        {},
    ),
    "a benchmark goes before a test, and the main guard before a test": (
        """
        def test_small():
            scale(1, 2)

        def bench():
            scale(3, 4)

        if __name__ == "__main__":
            scale(5, 6)
        """,
        "scale(3, 4)",
        {},
    ),
    "an import under the main guard": (
        """
        if __name__ == "__main__":
            import argparse

            parser = argparse.ArgumentParser()
            parser.add_argument("--heads", type=int, default=16)
            args = parser.parse_args()
            scale(args.heads, 64 * 1024)
        """,
        "scale(16, 65536)",
        {},
    ),
    "the first configuration of a tuner": (
        """
        from tilelang.autotuner import AutoTuner

        def main(heads):
            configs = [{"size": size, "block": 64} for size in (1024, 2048)]

            def build(size=None, block=None):
                return scale(heads, size, block)

            best = AutoTuner.from_kernel(build, configs).run()

        main(24)
        """,
        "scale(24, 1024, 64)",
        {},
    ),
    "a lambda in a table that nothing reads": (
        "CASES = [dict(build=lambda: scale(7, 8))]\n",
        "scale(7, 8)",
        {},
    ),
    "what a function of the framework returns stays its call": (
        """
        from tilelang.utils import determine_size

        def main():
            size = determine_size(4)
            scale(size, 8)

        main()
        """,
        "scale(determine_size(4), 8)",
        {},
    ),
}


@pytest.mark.parametrize(("text", "call", "sizes"), CASES.values(), ids=CASES)
def test_the_most_typical_call(text: str, call: str, sizes: dict[str, int]) -> None:
    (kernel,) = source.read(FACTORY + textwrap.dedent(text)).kernels
    first = kernel.candidates[0]
    assert (first.source, first.expression, first.bindings) == ("call-site", call, sizes)


# Methods and functions of tensors, with the first two dimensions of what they return.
_RESULTS = {
    "x.softmax(-1).masked_fill(x > 0, 1.0).zero_()": "(3, 32)",
    "torch.add(x[:, :1], x.float())": "(3, 32)",
    "x.isnan()": "(3, 32)",
    "x.cummax(0)[1]": "(3, 32)",
    "x.median(1, keepdim=True).values.expand(3, 8)": "(3, 8)",
    "x.median(1, keepdim=True)[0].expand(3, 8)": "(3, 8)",
    "F.one_hot(x.long(), 7)": "(3, 32)",
    "F.embedding(x.long(), torch.empty(100, 512))[0]": "(32, 512)",
    "F.scaled_dot_product_attention(x, x, torch.empty(3, 16))": "(3, 16)",
    "torch.searchsorted(torch.empty(9), x)": "(3, 32)",
    # Their shapes depend on values, or nobody knows them.
    "x.resize_(2, 2)": None,
    "x.nonzero()": None,
    "torch.ops.mine.compress(x, 4)": None,
    "x.pack_rows(4)": None,
}


@pytest.mark.parametrize(("result", "sizes"), _RESULTS.items(), ids=_RESULTS)
def test_a_method_of_a_tensor_that_is_not_known_has_no_shape(
    result: str, sizes: str | None
) -> None:
    text = f"""
import torch.nn.functional as F
x = torch.randn(3, 32)
y = {result}
scale(y.shape[0], y.shape[1])
"""
    (kernel,) = source.read(FACTORY + text).kernels
    calls = [one.expression for one in kernel.candidates if "y" not in one.expression]
    assert calls == ([] if sizes is None else [f"scale{sizes}"])


def test_a_program_that_is_too_long_has_the_calls_before_its_end() -> None:
    """What the text of a call needs, such as the name of an import, is evaluated beyond."""
    text = """
    import pytest

    def reference(size):
        total = torch.zeros(size, size)
        for i in range(size):
            for j in range(size):
                total += torch.mm(torch.empty(i, 4), torch.empty(4, j)).sum()
        return total

    def main():
        scale(64, T.float16)
        reference(1000)

    if __name__ == "__main__":
        main()
    """
    (kernel,) = source.read(FACTORY + textwrap.dedent(text)).kernels
    assert "scale(64, T.float16)" in [one.expression for one in kernel.candidates]


def test_two_factories_of_one_name_in_two_functions_are_two_kernels() -> None:
    inside = FACTORY.partition("@tilelang")[2].strip()
    factory = textwrap.indent("@tilelang" + inside, "    ")
    text = f"""
import tilelang
import tilelang.language as T

def test_small(width=128):
{factory}
    scale(256, width)

class TestLarge:
    def test_large(self):
{textwrap.indent(factory, "    ")}
        scale(1024, 512, block=64)
"""
    kernels = source.read(text).kernels
    assert [(kernel.local_to, kernel.candidates[0].expression) for kernel in kernels] == [
        ("test_small", "test_small(width=128).scale(256, 128)"),
        ("TestLarge.test_large", "TestLarge.test_large().scale(1024, 512, block=64)"),
    ]


OBJECT = """
from dataclasses import dataclass
import tilelang.language as T

@dataclass
class Copy:
    n: int = {default}
    block: int = 128

    def default(self):
        return self.build(threads=128)

    def build(self, threads):
        @T.prim_func
        def main(A: T.Tensor((self.n,), "float32"), B: T.Tensor((self.n,), "float32")):
            with T.Kernel(T.ceildiv(self.n, self.block), threads=threads) as bx:
                B[bx] = A[bx]
        return main
"""


@pytest.mark.parametrize(
    ("default", "calls"), [("4096", ["Copy().build(threads=128)"]), ("None", [])]
)
def test_an_object_that_needs_arguments_is_not_made_without(default: str, calls: list[str]) -> None:
    (kernel,) = source.read(OBJECT.format(default=default)).kernels
    assert [one.expression for one in kernel.candidates] == calls
    assert dict(kernel.hints) == ({} if calls else {"threads": ("128",)})


@pytest.mark.parametrize("holder", ["SimpleNamespace(run=run, both=both)", '{"run": run}'])
def test_a_function_that_returns_functions_which_call_kernels_is_no_factory(holder: str) -> None:
    """Its kernels are local to it; one that it returns itself is its own."""
    inside = textwrap.indent("@tilelang" + FACTORY.partition("@tilelang")[2].strip(), "    ")
    text = f"""
from types import SimpleNamespace
import torch
import tilelang
import tilelang.language as T

def build(heads):
{inside}

{inside.replace("def scale", "def scale_again")}

    def run(x):
        return scale(heads, x.shape[1])(x)

    def both(x):
        return scale_again(heads, 64)(run(x))

    return {holder}

kernels = build(24)
kernels.run(torch.empty(3, 512))
"""
    first, second = source.read(text).kernels
    assert (first.name, second.name) == ("build.scale", "build.scale_again")
    if "Namespace" in holder:
        assert first.candidates[0].expression == "build(heads=24).scale(24, 512)"
    (kernel,) = source.read(text.replace(holder, "scale")).kernels[:1]
    assert kernel.name == "build"


def test_sizes_may_be_given_in_the_place_of_arrays() -> None:
    text = """
import tilelang
import tilelang.language as T

@tilelang.jit
def double(A, block: int = 128):
    N = T.const("N")
    A: T.Tensor((N,), T.float16)
    B = T.empty((N,), T.float16)
    with T.Kernel(T.ceildiv(N, block), threads=block) as bx:
        for i in T.Parallel(block):
            B[bx * block + i] = A[bx * block + i] * 2
    return B

double.compile(N=8192)
"""
    (kernel,) = source.read(text).kernels
    assert [(one.expression, one.source) for one in kernel.candidates][:1] == [
        ("double(N=8192)", "call-site")
    ]
