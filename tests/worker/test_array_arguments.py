"""Array arguments that are inferred from the statements of a function."""

from __future__ import annotations

import ast

import pytest

from tirlens_worker.tracing import array_arguments

GEMV = """
def f(x, w, out_dtype, group_size):
    (local_experts, out_features, in_features), dtype = w.shape, w.dtype
    leading, _ = x.shape
    groups = (in_features + group_size - 1) // group_size
    {asserted}
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # Names that are unpacked are assumed; what is written decides over them.
        (GEMV.format(asserted="pass"), ('[128, 4096], "float16"', "[8, 4096, 4096]")),
        (
            GEMV.format(asserted="assert x.shape == [leading, in_features] and leading in [1, 8]"),
            ("[1, 4096]", "[8, 4096, 4096]"),
        ),
        (
            GEMV.format(asserted="assert w.shape == [local_experts, out_features, groups]"),
            ("[128, 4096]", "[8, 4096, 64]"),
        ),
        (
            GEMV.format(asserted="assert x.dtype == 'int32' and x.shape[1:] == [in_features]"),
            ('[128, 4096], "int32"', "[8"),
        ),
        # Its rank is what is asked of it, in either order.
        ("def f(x, w):\n    assert 4 == w.ndim and x.ndim == 1", ("[4096]", "[4096, 4096, 4096,")),
        (
            "def f(x, w):\n    assert w.shape[1] == 3\n    n = x.shape[2]",
            ("[4096, 4096, 4096]", "[4096, 3]"),
        ),
        # Sizes of one array that another's decide.
        (
            (
                "def f(x, w, group_size):\n    assert w.shape[0] == x.shape[1] // group_size\n"
                "    n, k = x.shape"
            ),
            ("[4096, 4096]", "[64]"),
        ),
        # What the documentation calls the sizes, where the statements do not.
        (
            (
                'def f(x, w, experts):\n    """Route.\n\n    Parameters\n    ----------\n'
                "    x : Tensor\n        The scores with shape [num_tokens, group_size].\n"
                '    w : Tensor\n        One of shape (1, group_size), or (2, 2).\n    """\n'
                "    _, count = w.shape"
            ),
            ("[4096, 64]", "[1, 4096]"),
        ),
        ("def f(x, w):\n    'x (Tensor): shape (batch_size, 3)'", ("[8, 3]", "[4096, 4096]")),
        # An assertion about what nobody knows says nothing.
        (
            "def f(x, w):\n    assert w.shape == unknown and x.shape == [-1]",
            ("[4096, 4096]", "[4096, 4096]"),
        ),
    ],
)
def test_new_arrays_follow_from_the_function(text: str, wanted: tuple[str, str]) -> None:
    (definition,) = ast.parse(text).body
    assert isinstance(definition, ast.FunctionDef)
    values = {"out_dtype": '"float16"', "group_size": "64"}
    found = array_arguments.new_arrays(definition, {"x": "Tensor", "w": "nn.Tensor"}, values, {})
    first, second = wanted
    assert found["x"].startswith("Tensor.placeholder(" + first)
    assert found["w"].startswith("nn.Tensor.placeholder(" + second)
    for made in found.values():
        ast.parse(made, mode="eval")


def test_arrays_of_positions_are_integers_of_one_dimension() -> None:
    (definition,) = ast.parse("def f(x, indptr):\n    return x.shape, indptr.dtype").body
    assert isinstance(definition, ast.FunctionDef)
    found = array_arguments.new_arrays(definition, {"x": "Tensor", "indptr": "Tensor"}, {}, {})
    assert found["indptr"] == 'Tensor.placeholder([4096], "int32")'


def test_a_documented_shape_is_that_of_the_parameter_above_it() -> None:
    text = (
        'def f(x, scale):\n    """Multiply.\n\n    scale : Tensor\n        Its scale.\n\n'
        '    places : Tensor\n        Shape (1, heads).\n    x : T\n        Shape (3, n)\n"""'
    )
    (definition,) = ast.parse(text).body
    assert isinstance(definition, ast.FunctionDef)
    found = array_arguments.new_arrays(definition, {"x": "T", "scale": "T"}, {}, {})
    assert [found[name].partition("]")[0] for name in ("scale", "x")] == [
        "T.placeholder([4096, 4096",
        "T.placeholder([3, 4096",
    ]
