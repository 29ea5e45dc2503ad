"""Kernels whose language and decorators come through other names: helpers, aliases, conditions."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tirlens import source

FACTORY = """
@{decorator}
def scale(N, block=1024):
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, block), threads=256) as bx:
            A[bx] = 0.0
    return main
"""
EAGER = """
@{decorator}
def scale(A, N):
    with T.Kernel(N, threads=128) as bx:
        A[bx] = 0.0
"""
HELPER = "import tilelang\nimport tilelang.language as T\n"
APPLIES = HELPER + "def tl_jit(f):\n    return tilelang.jit(out_idx=[1])(f)\n"


@dataclass(frozen=True)
class Case:
    """The head of ``pkg/kernel.py`` with its kernel, the other files, and the style found.

    `framework` is that of which the interpreter is looked for.
    """

    head: str
    kernel: str
    style: str | None
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    framework: str | None = "tilelang"


CASES = {
    "the language and a decorator from a helper module": Case(
        "from pkg.tl import T, tl_jit\n",
        FACTORY.format(decorator="tl_jit"),
        "factory",
        {"pkg/tl.py": APPLIES},
    ),
    "all names of a module of the framework": Case(
        "import tilelang.language as T\nfrom tilelang import *\n",
        EAGER.format(decorator="jit"),
        "eager",
    ),
    "relative, under other names, without an inner function": Case(
        "from .tl import T, tl_jit as fast\n",
        EAGER.format(decorator="fast"),
        "eager",
        {"pkg/tl.py": APPLIES},
    ),
    "a package that hands on all names of a module": Case(
        "from pkg import *\n",
        EAGER.format(decorator="tl_jit"),
        "eager",
        {"pkg/__init__.py": "from .inner.tl import *\n", "pkg/inner/tl.py": APPLIES},
    ),
    "the module itself": Case(
        "from pkg import tl\nfrom tilelang import language as T\n",
        EAGER.format(decorator="tl.jit(out_idx=[0])"),
        "eager",
        {"pkg/__init__.py": "import tilelang as tl\n"},
    ),
    "a decorator that imports late": Case(
        "from pkg.tl import T, tl_jit\n",
        EAGER.format(decorator="tl_jit"),
        "eager",
        {
            "pkg/tl.py": """
            if has_tilelang():
                import tilelang
                import tilelang.language as T
            else:
                tilelang = T = None

            class _Deferred:
                def __init__(self, function):
                    self.function = function
                def __call__(self, *given):
                    return tilelang.jit(pass_configs=configs())(self.function)(*given)

            def tl_jit(function):
                import_now()
                return tilelang.jit(pass_configs=configs())(function)
            """
        },
    ),
    "a partial of a decorator": Case(
        HELPER + "import functools\nfast = functools.partial(tilelang.jit, out_idx=[-1])\n",
        EAGER.format(decorator="fast()"),
        "eager",
    ),
    "a decorator with its arguments": Case(
        HELPER + "fast = tilelang.jit(out_idx=[-1])\n", EAGER.format(decorator="fast"), "eager"
    ),
    "an alias of a decorator": Case(
        HELPER + "fast = tilelang.jit\n", EAGER.format(decorator="fast"), "eager"
    ),
    "a decorator of the same file": Case(
        HELPER + "def fast(**options):\n    return tilelang.jit(out_idx=[-1], **options)\n",
        EAGER.format(decorator="fast(target='cuda')"),
        "eager",
    ),
    "an import that has an alternative": Case(
        "try:\n    from tilelang import jit, language as T\n"
        "except ImportError:\n    from pkg.no_op import jit, T\n",
        EAGER.format(decorator="jit"),
        "eager",
        {"pkg/no_op.py": "T = None\ndef jit(f): return f\n"},
    ),
    "a helper that is not found": Case(
        "from installed.tl import T, tl_jit\n", EAGER.format(decorator="tl_jit"), "eager", {}, None
    ),
    "no kernel: a decorator that makes none": Case(
        "from pkg.tl import T, cached\n",
        "@cached\ndef size(n):\n    return T.ceildiv(n, 2)\n",
        None,
        {"pkg/tl.py": HELPER + "def cached(f):\n    return memo(f)\n"},
        None,
    ),
    "no kernel: a helper that imports itself": Case(
        "from pkg.a import jit\n",
        "@jit\ndef f(n):\n    return n\n",
        None,
        {"pkg/a.py": "from pkg.b import jit\n", "pkg/b.py": "from pkg.a import jit\n"},
        None,
    ),
    "no kernel: the same names of another language": Case(
        "from pkg.tl import jit\n",
        "@jit\ndef f(n):\n    return n\n",
        None,
        {"pkg/tl.py": "from triton import jit\n"},
        None,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_kernels_are_found_by_what_names_mean(case: Case, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    path = tmp_path / "pkg" / "kernel.py"
    for name, text in case.files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text))
    found = source.read(case.head + case.kernel, path)
    assert [kernel.style for kernel in found.kernels] == ([case.style] if case.style else [])
    assert found.framework_hint == case.framework


LOOKED_FOR = {
    "macros alone": (
        HELPER + "@T.macro\ndef f(x):\n    pass\n@T.macro\ndef g(x):\n    pass\n",
        "its 2 macros are parts of the kernels that call them",
    ),
    "a decorator that is gone": (
        HELPER + "def f(A, N):\n    with T.Kernel(N) as bx:\n        pass\n",
        "no function under a decorator prim_func, jit",
    ),
    "no framework": ("import torch\n", ""),
    "a kernel": (HELPER + EAGER.format(decorator="tilelang.jit"), ""),
}


@pytest.mark.parametrize(("text", "said"), LOOKED_FOR.values(), ids=LOOKED_FOR.keys())
def test_what_was_looked_for_in_a_file_without_kernels(text: str, said: str) -> None:
    found = source.read(text).looked_for
    assert said in found
    assert bool(found) is bool(said)


def test_a_tuner_that_comes_with_all_names_of_its_module() -> None:
    text = HELPER + "from tilelang.autotuner import *\n"
    text += FACTORY.format(decorator="autotune(configs=[{'block': 512}])\n@tilelang.jit")
    (found,) = source.read(text, Path("kernel.py")).kernels
    assert found.is_autotuned
