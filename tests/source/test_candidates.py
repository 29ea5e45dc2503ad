"""With which arguments the text shows that a kernel is used."""

from __future__ import annotations

import textwrap

import pytest

from tirlens import source

FACTORY = textwrap.dedent(
    """
    import argparse, math, torch
    import tilelang
    import tilelang.language as T

    @tilelang.jit(out_idx=[-1])
    def gemm(M, N, K, block=128, dtype="float16"):
        @T.prim_func
        def main(A: T.Tensor((M, K), dtype)):
            pass
        return main
    """
)
EAGER = textwrap.dedent(
    """
    import torch
    import tilelang
    import tilelang.language as T

    @tilelang.jit
    def add(A, B, block: int = 64):
        M, N = T.const("M, N")
        with T.Kernel(1) as b:
            pass
    """
)
CALLS = {
    "constants": ("gemm(1024, 512, K=256)", ["gemm(1024, 512, K=256)"]),
    "module constants and arithmetic": (
        "S = 4 * 1024\nB = 2\ngemm(S, S // B, -(-S // 3), block=2**7)",
        ["gemm(4096, 2048, 1366, block=128)"],
    ),
    "the module's own names stay": (
        "DT = T.bfloat16\ngemm(1, 2, 3, dtype=DT)",
        ["gemm(1, 2, 3, dtype=T.bfloat16)"],
    ),
    "argparse": (
        (
            "def main():\n"
            "    p = argparse.ArgumentParser()\n"
            "    p.add_argument('--m', type=int, default=8192)\n"
            "    p.add_argument('-n', '--size-n', type=int, default=64)\n"
            "    p.add_argument('--fast', action='store_true')\n"
            "    args, _ = p.parse_known_args()\n"
            "    gemm(args.m, args.size_n, 128 if args.fast else 32)\n"
        ),
        ["gemm(8192, 64, 32)"],
    ),
    "defaults of the enclosing function": (
        "def main(M=1024, N=2048):\n    K = M\n    gemm(M, N, K)\n",
        ["gemm(1024, 2048, 1024)"],
    ),
    "calls of the enclosing function come first": (
        "def run(M, N=8):\n    return gemm(M, N, 4)\ndef test():\n    run(16)\n    run(32, 64)\n",
        ["gemm(32, 64, 4)", "gemm(16, 8, 4)"],
    ),
    "tuples and unpacking": (
        "shape = (1, 2, 3)\nM, N, K = shape\ngemm(M, N, K)\ngemm(*shape)",
        ["gemm(1, 2, 3)"],
    ),
    "of the iterations of a loop that with the median size": (
        "for M, N in [(1, 2), (3, 4), (5, 6)]:\n    gemm(M, N, 5)",
        ["gemm(3, 4, 5)", "gemm(1, 2, 5)", "gemm(5, 6, 5)"],
    ),
    "keywords in a dict": (
        "config = {'block': 32}\ngemm(1, 2, 3, **config)",
        ["gemm(1, 2, 3, block=32)"],
    ),
    "the value at the place of the call": (
        "M = 1\ngemm(M, 2, 3)\nM = 7\ngemm(M, 2, 3)\nM += 1\ngemm(M, 2, 3)",
        ["gemm(7, 2, 3)", "gemm(1, 2, 3)", "gemm(8, 2, 3)"],
    ),
    "compile takes the kernel's arguments": ("gemm.compile(1, N=2, K=3)", ["gemm(1, N=2, K=3)"]),
    "inside a lambda": ("bench(lambda: gemm(1, 2, 3))", ["gemm(1, 2, 3)"]),
    "parametrized tests": (
        (
            "import pytest\n@pytest.mark.parametrize('M,N', [(1, 2), (3, 4)])\n"
            "def test(M, N):\n    gemm(M, N, 5)\n"
        ),
        ["gemm(3, 4, 5)", "gemm(1, 2, 5)"],
    ),
    "what only the run knows is no candidate": (
        "import os\ngemm(int(os.environ['M']), 2, 3)\ndef f(M):\n    gemm(M, 2, 3)\n",
        [],
    ),
    "an unknown argument hides the default": (
        "def run(M=4):\n    gemm(M, 1, 1)\nrun(input())\n",
        ["gemm(4, 1, 1)"],
    ),
    "namesakes are not followed": ("other.gemm(1, 2, 3)", []),
}


@pytest.mark.parametrize(("code", "expected"), CALLS.values(), ids=CALLS)
def test_call_sites(code: str, expected: list[str]) -> None:
    (kernel,) = source.read(FACTORY + code).kernels
    assert [c.expression for c in kernel.candidates] == expected
    assert {c.source for c in kernel.candidates} <= {"call-site"}


TENSORS = {
    "positional sizes": ("torch.randn(8, 16)", "(8, 16)", "torch.float32"),
    "a size and a dtype": ("torch.empty((8,), dtype=torch.float16)", "(8,)", "torch.float16"),
    "a cast": ("torch.rand(4, 4).cuda().half()", "(4, 4)", "torch.float16"),
    "to": ("torch.zeros(4, device='cuda').to(torch.int8)", "(4,)", "torch.int8"),
    "like another": ("torch.ones_like(torch.randn(3, 5))", "(3, 5)", "torch.float32"),
    "arithmetic": ("torch.randn(2, 2) * 0.1", "(2, 2)", "torch.float32"),
    "a transposed one": ("torch.randn(2, 3).T", "(3, 2)", "torch.float32"),
    "reshaped": ("torch.randn(2, 6).view(3, -1)", "(3, 4)", "torch.float32"),
    "integers": ("torch.randint(0, 9, (7,))", "(7,)", "torch.int64"),
}


@pytest.mark.parametrize(
    "size",
    [
        "{**5}",
        "{[1]: 2}",
        "{([1],): 2}",
        "max(1, function=3)",
        "'a' * 10**12",
        "[[[0] * 4096] * 4096] * 4096",
        "'%1000000000000d' % 5",
        "1 << 10**12",
        "len(range(10**12))",
        "list(range(10**9))",
    ],
)
def test_what_is_wrong_or_grows_out_of_hand_is_left_to_the_run(size: str) -> None:
    (kernel,) = source.read(FACTORY + f"gemm(1, 2, {size})\ngemm(1, 2, 3)\n").kernels
    assert [c.expression for c in kernel.candidates] == ["gemm(1, 2, 3)"]


@pytest.mark.parametrize(("code", "shape", "dtype"), TENSORS.values(), ids=TENSORS)
def test_tensors_become_meta_tensors(code: str, shape: str, dtype: str) -> None:
    (kernel,) = source.read(EAGER + f"x = {code}\nadd(x, x, block=32)\n").kernels
    made = f"torch.empty({shape}, dtype={dtype}, device='meta')"
    assert [c.expression for c in kernel.candidates] == [f"add({made}, {made}, block=32)"]


def test_all_defaults_are_a_call() -> None:
    text = "import tilelang\n@tilelang.jit\ndef f(n=4):\n    return make(n)\n"
    (kernel,) = source.read(text).kernels
    assert [(c.expression, c.source) for c in kernel.candidates] == [("f()", "defaults")]


def test_parameters_of_an_eager_kernel_include_its_sizes() -> None:
    (kernel,) = source.read(EAGER).kernels
    assert kernel.parameters == ("A", "B", "block", "M", "N")
    assert kernel.required == ("A", "B")


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# <typecheck> gemm(1, 2, 3)", "gemm(1, 2, 3)"),
        ("# <typecheck> (1, 2, K=3)", "gemm(1, 2, K=3)"),
        ("# <typecheck> M=1, N=2, K=3", "gemm(M=1, N=2, K=3)"),
    ],
)
def test_comments_of_tilelang_lsp(comment: str, expected: str) -> None:
    text = FACTORY.replace("@tilelang.jit", f"{comment}\n@tilelang.jit")
    (kernel,) = source.read(text + "gemm(7, 7, 7)\n").kernels
    assert [(c.expression, c.source) for c in kernel.candidates] == [
        (expected, "typecheck"),
        ("gemm(7, 7, 7)", "call-site"),
    ]
