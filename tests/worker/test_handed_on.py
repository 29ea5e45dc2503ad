"""Names of a framework that a helper module does not give on a machine without a GPU."""

from __future__ import annotations

import ast

from tirlens_worker.program.handed_on import bind_missing


def test_what_has_no_value_is_what_it_stands_for() -> None:
    namespace = {"T": None, "tl_jit": len, "walk": None, "gone": None, "__name__": "kernel"}
    paths = {"T": "ast", "tl_jit": "ast.parse", "walk": "ast.walk", "gone": "ast.none", "no": "ast"}
    bind_missing(namespace, paths)
    assert namespace["T"] is ast
    assert namespace["tl_jit"] is len, "the module's own value stays"
    assert namespace["walk"] is ast.walk
    assert namespace["gone"] is None
    assert "no" not in namespace
