"""What assertions and checks of a wrapper say of the arguments of a kernel."""

from __future__ import annotations

import textwrap

import pytest

from tirlens import source

KERNEL = """
import tilelang
import tilelang.language as T

@tilelang.jit(out_idx=[1])
def gather(heads, dim, tail, topk):
    @T.prim_func
    def main(Q: T.Tensor((heads, dim + tail), "bfloat16"), O: T.Tensor((heads, dim), "bfloat16")):
        with T.Kernel(heads, threads=128) as i:
            O[i, 0] = Q[i, 0]
    return main

def interface(q, indices, d_v=512):
"""
# The text of the wrapper, and the values that it gives to parameters.
CASES = {
    "an assertion of a size that is unpacked": (
        """
        n, heads, both = q.shape
        assert both == 576, "you should assign dim otherwise"
        dim = d_v
        tail = both - dim
        return gather(heads, dim, tail, indices.shape[-1])(q)
        """,
        {"dim": ("512",), "tail": ("64",)},
    ),
    "an assertion of a dimension": (
        """
        assert q.is_contiguous() and q.shape[-1] == 576
        return gather(q.shape[1], d_v, q.shape[-1] - d_v, indices.shape[-1])(q)
        """,
        {"dim": ("512",), "tail": ("64",)},
    ),
    "a check that raises": (
        """
        heads = q.shape[1]
        if heads != 128:
            raise ValueError(heads)
        return gather(heads, d_v, q.shape[-1] - d_v, indices.shape[-1])(q)
        """,
        {"heads": ("128",), "dim": ("512",)},
    ),
    "an equation": (
        """
        tail = q.shape[-1]
        assert d_v + tail == 576
        return gather(q.shape[1], d_v, tail, indices.shape[-1])(q)
        """,
        {"dim": ("512",), "tail": ("64",)},
    ),
    "a comparison of shapes": (
        """
        n, heads, both = q.shape
        assert (heads, both) == (64, 576)
        return gather(heads, d_v, both - d_v, indices.shape[-1])(q)
        """,
        {"heads": ("64",), "dim": ("512",), "tail": ("64",)},
    ),
    "what a later assignment replaces": (
        """
        tail = q.shape[-1]
        assert tail == 576
        tail = indices.shape[0]
        return gather(q.shape[1], d_v, tail, indices.shape[-1])(q)
        """,
        {"dim": ("512",)},
    ),
    "an assertion of one of several values": (
        """
        tail = q.shape[-1]
        assert tail == 64 or tail == 128
        return gather(q.shape[1], d_v, tail, indices.shape[-1])(q)
        """,
        {"dim": ("512",)},
    ),
}


@pytest.mark.parametrize(("body", "values"), CASES.values(), ids=CASES)
def test_the_values_that_a_wrapper_gives(body: str, values: dict[str, tuple[str, ...]]) -> None:
    text = KERNEL + textwrap.indent(textwrap.dedent(body), "    ")
    (kernel,) = source.read(text).kernels
    assert kernel.candidates == ()
    assert kernel.hints == values


# The text of the wrapper, and the conditions on parameters without a value that follow.
RELATIONS = {
    "two arguments that are one dimension": (
        "return gather(q.shape[1], 512, 64, q.shape[1])(q)",
        ("topk == heads",),
    ),
    "a dimension of an array that was changed in its type alone": (
        """
        n, heads, both = q.shape
        return gather(q.contiguous().size(1), 512, 64, heads)(q)
        """,
        ("topk == heads",),
    ),
    "what is computed of another argument": (
        """
        n, heads, dim = q.shape
        return gather(heads, dim, 2 * dim // heads, indices.shape[-1])(q)
        """,
        ("tail == ((2 * dim) // heads)",),
    ),
    "a number that is a parameter of the wrapper": (
        "return gather(q, d_v, 64, q * 4)(q)",
        ("topk == (heads * 4)",),
    ),
    "a field of a configuration": (
        "return gather(q.config.heads, d_v, 64, q.config.heads // 8)(q)",
        ("topk == (heads // 8)",),
    ),
    "assertions and checks that raise": (
        """
        n, heads, both = q.shape
        topk = indices.shape[-1]
        assert topk % 64 == 0 and heads <= 128
        if heads < 16:
            raise ValueError(heads)
        return gather(heads, 512, 64, topk)(q)
        """,
        ("(topk % 64) == 0", "heads <= 128", "heads >= 16"),
    ),
    "a view of rows": (
        """
        rows, heads, dim = q.shape
        flat = q.view(-1, heads * dim)
        return gather(heads, dim, 64, flat.shape[-1])(q)
        """,
        ("topk == (heads * dim)",),
    ),
    "the rest of a view": (
        """
        rows, heads, dim = q.shape
        wide = q.reshape(rows, 4, -1)
        return gather(heads, dim, 64, wide.size(-1))(q)
        """,
        ("topk == ((heads * dim) // 4)",),
    ),
    "a view of an array of which only the view is known": (
        """
        heads, dim = indices.shape
        wide = q.view((-1, heads, dim))
        return gather(wide.shape[1], dim, 64, wide.shape[2])(q)
        """,
        ("topk == dim",),
    ),
    "dimensions in another order": (
        """
        heads, rows, dim = q.shape
        by_row = q.transpose(0, 1).contiguous().permute(2, 1, 0).flatten(0, 1)
        return gather(heads, dim, 64, by_row.shape[0])(q)
        """,
        ("topk == (dim * heads)",),
    ),
    "a dimension that is added and taken away": (
        """
        longer = q.unsqueeze(0)
        return gather(longer.squeeze(0).shape[1], 512, 64, q.shape[1])(q)
        """,
        ("topk == heads",),
    ),
    "the least of two and a quotient that is rounded up": (
        """
        rows, heads, dim = q.shape
        return gather(heads, min(dim, heads), 64, tilelang.cdiv(heads, 16))(q)
        """,
        ("topk == (((heads + 16) - 1) // 16)",),
    ),
    "the greatest of two arguments": (
        """
        rows, heads, dim = q.shape
        return gather(heads, dim, 64, max(dim, 2 * heads))(q)
        """,
        ("topk == max(dim, (2 * heads))",),
    ),
    "nothing of a branch that may not be taken": (
        """
        heads = q.shape[1]
        if indices is None:
            assert heads <= 4
        return gather(heads, 512, 64, 8)(q)
        """,
        (),
    ),
    "nothing of what is no argument": (
        """
        n, heads, both = q.shape
        assert n % 8 == 0
        return gather(heads * n, 512, 64, indices.shape[-1])(q)
        """,
        (),
    ),
}


@pytest.mark.parametrize(("body", "relations"), RELATIONS.values(), ids=RELATIONS.keys())
def test_a_wrapper_relates_sizes_without_a_value(body: str, relations: tuple[str, ...]) -> None:
    text = KERNEL + textwrap.indent(textwrap.dedent(body), "    ")
    (kernel,) = source.read(text).kernels
    assert kernel.relations == relations


def test_the_dimension_that_a_wrapper_adds() -> None:
    """``unsqueeze(0)`` gives the dynamic dimension of the compiled kernel its size."""
    text = KERNEL.replace(
        "    @T.prim_func", '    n = T.dynamic("rows")\n    @T.prim_func'
    ).replace("T.Tensor((heads, dim + tail)", "T.Tensor((n, heads, dim + tail)")
    body = (
        "    q = q.unsqueeze(0)\n    n, heads, dim = q.shape\n    gather(heads, dim, 64, 8)(q, q)\n"
    )
    (kernel,) = source.read(text + body).kernels
    assert kernel.hints["rows"] == ("1",)


def test_the_place_of_what_a_wrapper_gives() -> None:
    """The arguments that one incomplete call gives, with its line."""
    body = "    tail = q.shape[-1] - d_v\n    gather(q.shape[1], d_v, tail, 8)(q)\n"
    (kernel,) = source.read(KERNEL + body).kernels
    places = {one.name: (one.text, one.span.line) for one in kernel.known}
    line = KERNEL.count("\n") + 2
    assert places == {"dim": ("512", line), "topk": ("8", line)}
