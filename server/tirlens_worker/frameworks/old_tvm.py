"""The names of apache-tvm's ``tir`` until 0.24, translated to those of the installed version.

Most existing TVMScript has ``from tvm.script import tir as T``, ``T.block`` and
``T.alloc_buffer``.  These versions are no longer available; the meaning is available under other
names: ``tvm.tir`` became ``tvm.tirx`` and ``tvm.s_tir`` ("scheduled"), a block became an
``sblock``, and functions of blocks are marked (``s_tir=True``).  This module adds a finder for
modules of the old names, which is used if the framework does not have them.  The text is not
changed.

Sources: apache/tvm: ``python/tvm/script/ir_builder/tir/ir.py`` and ``tir`` of 0.19, with
``tirx/script/builder/ir.py``, ``s_tir`` and ``backend/cuda/op.py`` of 0.26 and 0.27.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import re
import sys
from importlib.abc import Loader, MetaPathFinder
from types import FunctionType, ModuleType
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, cast

#: The modules in which the attributes of an old module are looked up, in order.  A submodule of an
#: old module is a submodule of these, unless it is listed.
_REPLACEMENTS: Dict[str, Tuple[str, ...]] = {
    "tvm.tir": ("tvm.tirx", "tvm.s_tir"),
    "tvm.script.tir": ("tvm.tirx.script",),
    "tvm.script.parser.tir": ("tvm.tirx.script.parser",),
    "tvm.script.ir_builder.tir": ("tvm.tirx.script.builder",),
    "tvm.arith": ("tvm.sym",),
    "tvm.dlight": ("tvm.s_tir.dlight",),
    "tvm.meta_schedule": ("tvm.s_tir.meta_schedule",),
}
# Renamed attributes: the names in 0.27 and in 0.26.
_RENAMED: Dict[str, Tuple[str, ...]] = {
    "block": ("sblock",),
    "block_attr": ("sblock_attr",),
    "ptx_mma": ("ptx_legacy.mma", "ptx.mma.legacy"),
    "ptx_ldmatrix": ("ptx_legacy.ldmatrix", "ptx.ldmatrix_legacy"),
    "mma_fill": ("cuda.mma_fill_legacy",),
    "mma_store": ("cuda.mma_store_legacy",),
    "PrimExpr": ("Expr",),
    "Block": ("SBlock",),
    "BlockRealize": ("SBlockRealize",),
    "BlockScope": ("SBlockScope",),
    "BlockRV": ("SBlockRV",),
    "BlockDependenceInfo": ("SBlockDependenceInfo",),
}
# Options of passes that became those of ``s_tir``; the others are of ``tirx``.
_SCHEDULED_OPTIONS = frozenset(
    ["LoopPartition", "InjectDoubleBuffer", "HoistIfThenElse", "HoistExpression"]
)
_TARGET_ATTRIBUTES = (
    "arch",
    "l2_cache_size_bytes",
    "max_num_threads",
    "max_shared_memory_per_block",
    "mattr",
    "mcpu",
    "thread_warp_size",
)
# Arguments of buffers that were removed; they described the flattening of several axes.
_REMOVED_ARGUMENTS = ("axis_separators", "buffer_type", "type")
_MENTION = re.compile(
    r"\btvm\.(?:script\.)?tir\b|^[ \t]*from[ \t]+tvm(?:\.script)?[ \t]+import\b[^\n]*\btir\b"
)
# The import in a comment of TVM's printer.
_PRINTED = re.compile(r"[ \t]*from tvm\.script import tir as \w+[ \t]*$")


def install(tvm: ModuleType) -> None:
    """Make the old names of `tvm` importable; no effect if it has ``tvm.tir``."""
    if hasattr(tvm, "tir") or not hasattr(tvm, "tirx"):
        return
    sys.meta_path.append(_Finder())
    module_getattr = getattr(tvm, "__getattr__", None)

    def attribute(name: str) -> Any:
        if "tvm." + name in _REPLACEMENTS:
            return importlib.import_module("tvm." + name)
        if module_getattr is not None:
            return module_getattr(name)
        raise AttributeError("module 'tvm' has no attribute {!r}".format(name))

    tvm.__dict__["__getattr__"] = attribute
    _alias_blocks(importlib.import_module("tvm.s_tir").Schedule)
    _rename_options(importlib.import_module("tvm.ir.transform").PassContext)
    _add_target_attributes(importlib.import_module("tvm.target").Target)
    _mark_as_scheduled()


def find_old_name(text: str) -> Optional[Tuple[int, str]]:
    """The first line of `text` that uses translated old names, and a message about them."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return None
    for number, line in enumerate(text.splitlines(), 1):
        code, _, comment = line.partition("#")
        if "tir" in line and (_MENTION.search(code) or _PRINTED.match(comment)):
            version = getattr(sys.modules.get("tvm"), "__version__", "")
            message = (
                "tvm {} has no tvm.tir: its names are read as those of tvm.tirx and tvm.s_tir "
                "that have taken their place (T.block as T.sblock)".format(version)
            )
            return number, message
    return None


class _Finder(MetaPathFinder):
    """A finder of the old modules, for names that no other finder has found."""

    def find_spec(
        self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        replacements = _replacements(name)
        if not replacements:
            return None
        return importlib.machinery.ModuleSpec(name, _Loader(replacements), is_package=True)


def _replacements(name: str) -> Tuple[str, ...]:
    """The existing modules that replace the old module `name`."""
    if name in _REPLACEMENTS:
        candidates = _REPLACEMENTS[name]
    else:
        parent, _, last = name.rpartition(".")
        parents = _replacements(parent) if parent else ()
        candidates = tuple("{}.{}".format(one, last) for one in parents)
        # Attributes of the module may have moved to its parent.
        candidates += parents if any(_exists(one) for one in candidates) else ()
    return tuple(one for one in candidates if _exists(one))


def _exists(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


class _Loader(Loader):
    def __init__(self, replacements: Tuple[str, ...]) -> None:
        self._replacements = replacements

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _OldModule(spec.name, tuple(sys.modules[name] for name in self._replacements))

    def exec_module(self, module: ModuleType) -> None:
        """Attributes are looked up on access."""


class _OldModule(ModuleType):
    """An old module, whose attributes are those of the modules that replace it."""

    def __init__(self, name: str, replacements: Tuple[ModuleType, ...]) -> None:
        super().__init__(name)
        self._replacements = replacements
        self.__all__ = [word for one in replacements for word in getattr(one, "__all__", dir(one))]
        if name == "tvm.script.tir":
            self.__dict__.update(_script(replacements[0]))
        elif name == "tvm.tir":
            # The decorator was one of the language, of which users wrote the shorter name.
            script = importlib.import_module("tvm.script.tir")
            self.__dict__.update(prim_func=script.prim_func)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        for module in self._replacements:
            for word in _RENAMED.get(name, (name,)):
                found: Any = module
                for part in word.split("."):
                    found = getattr(found, part, None)
                if isinstance(found, ModuleType) and _replacements(self.__name__ + "." + name):
                    found = importlib.import_module(self.__name__ + "." + name)
                if found is not None:
                    setattr(self, name, found)
                    return found
        # A class of all expressions, which was one of `tvm.ir` in the versions between.
        if name == "PrimExpr" and hasattr(sys.modules.get("tvm.ir"), name):
            return getattr(sys.modules["tvm.ir"], name)
        where = " and ".join(module.__name__ for module in self._replacements)
        raise AttributeError(
            "nothing in {} corresponds to {}.{} of earlier versions".format(
                where, self.__name__, name
            )
        )


def _rename_options(context: Any) -> None:
    """Let ``PassContext(config={"tir.add_lower_pass": ...})`` set the option of the new name."""
    construct = context.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        config = kwargs.get("config")
        if isinstance(config, dict):
            options = cast(Dict[str, Any], config)
            kwargs["config"] = dict(_renamed_option(*item) for item in options.items())
        construct(self, *args, **kwargs)

    context.__init__ = init


def _renamed_option(name: str, value: Any) -> Tuple[str, Any]:
    """The present name and value of an option of a pass."""
    prefix, _, rest = str(name).partition(".")
    if prefix != "tir":
        return name, value
    if rest == "add_lower_pass":
        # The phases are objects of the IR now.
        make = sys.modules["tvm"].tirx.IntImm
        value = [[make("int32", phase), one] for phase, one in value]
    return ("s_tir." if rest in _SCHEDULED_OPTIONS else "tirx.") + rest, value


def _script(script: Any) -> Dict[str, Any]:
    """The attributes of ``tvm.script.tir`` that differ in more than their names."""

    def allocate(extents: Any, dtype: str, scope: str = "global", *_: Any, **__: Any) -> Any:
        """Storage; buffers are declared on its pointer."""
        return script.alloc_buffer(extents, dtype, scope=scope).data

    def ret(value: Any, *_: Any, **__: Any) -> None:
        script.Return(value)

    def evaluate(value: Any) -> None:
        """``T.evaluate``, but for ``T.evaluate(T.ret(value))``, whose statement exists already."""
        if value is not None:
            script.evaluate(value)

    def size_var(_name: str = "", dtype: str = "int32") -> Any:
        """A variable that is not negative; the assignment names it."""
        return getattr(script, dtype)()

    return {
        **{dtype: _scalar(getattr(script, dtype)) for dtype in ("int32", "int64")},
        "SizeVar": size_var,
        "prim_func": mark_scheduled(script.prim_func),
        "alloc_buffer": _buffers(script.sblock_alloc_buffer),
        "match_buffer": _buffers(script.match_buffer),
        "decl_buffer": _buffers(script.decl_buffer),
        "buffer_decl": _Buffer(script),
        "Buffer": _Buffer(script),
        "allocate": allocate,
        "ret": ret,
        "evaluate": evaluate,
    }


def _buffers(make: Callable[..., Any]) -> Callable[..., Any]:
    """`make` without the removed arguments."""

    def make_without(*args: Any, **kwargs: Any) -> Any:
        return make(*args, **{key: kwargs[key] for key in kwargs if key not in _REMOVED_ARGUMENTS})

    return make_without


def _scalar(dtype: Any) -> Any:
    """``T.int64`` with the argument ``is_size_var=True`` of variables that are not negative.

    Annotations are identified by their class, which is therefore derived from the framework's.  In
    tilelang's TVM it is a function, without a class.
    """
    if isinstance(dtype, FunctionType):

        @functools.wraps(dtype)
        def function(expr: Any = None, is_size_var: bool = False) -> Any:
            return dtype(expr)

        return function

    def call_dtype(_self: Any, expr: Any = None, is_size_var: bool = False) -> Any:
        return dtype(expr)

    scalar: Any = type("Scalar", (dtype.__class__,), {"__call__": call_dtype})
    copy = scalar.__new__(scalar)
    copy.__dict__.update(dtype.__dict__)
    return copy


class _Buffer:
    """``T.Buffer(shape, dtype)``, and its earliest form ``T.Buffer[shape, dtype]``."""

    def __init__(self, script: Any) -> None:
        self._make = _buffers(script.Buffer)
        self._declare = _buffers(script.decl_buffer)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # A buffer on existing storage was declared by its first use.
        is_on_storage = len(args) > 2 or kwargs.get("data") is not None
        return (self._declare if is_on_storage else self._make)(*args, **kwargs)

    def __getitem__(self, keys: Any) -> Any:
        parts: Tuple[Any, ...] = cast(Tuple[Any, ...], keys) if isinstance(keys, tuple) else ()
        is_pair = len(parts) > 1 and isinstance(parts[1], str)
        return self(*parts) if is_pair else self(keys)


def mark_scheduled(prim_func: Any) -> Any:
    """A copy of `prim_func` by which `_mark_as_scheduled` identifies functions of blocks.

    It does not check well-formedness, whose rules differ from those of earlier versions.  A wrapper
    would add a frame, which the parser does not expect above a class.
    """
    copy = FunctionType(
        prim_func.__code__,
        prim_func.__globals__,
        prim_func.__name__,
        prim_func.__defaults__,
        prim_func.__closure__,
    )
    copy.__dict__.update(prim_func.__dict__, is_old=True)
    names = prim_func.__code__.co_varnames[: prim_func.__code__.co_argcount]
    first = len(names) - len(prim_func.__defaults__ or ())
    changed = {"s_tir": True, "check_well_formed": False}
    copy.__defaults__ = tuple(
        changed.get(name, value) for name, value in zip(names[first:], prim_func.__defaults__ or ())
    )
    return copy


def _mark_as_scheduled() -> None:
    """Make the parser treat the old ``T.prim_func`` as ``T.prim_func(s_tir=True)``."""
    core = importlib.import_module("tvm.script.parser._core")
    importlib.import_module("tvm.tirx.script.parser.parser")
    dispatch, doc = core.dispatch, core.doc
    visit = dispatch.get(token="tirx", type_name="FunctionDef")

    def visit_function(self: Any, node: Any) -> None:
        for index, decorator in enumerate(node.decorator_list):
            call_dtype = isinstance(decorator, doc.Call)
            target = decorator.func if call_dtype else decorator
            if getattr(self.eval_expr(target), "is_old", False):
                position = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
                yes = doc.keyword("s_tir", doc.Constant(True, None, *position))
                func = doc.Attribute(target, "prim_func", doc.Load(), *position)
                keywords = [*(decorator.keywords if call_dtype else ()), yes]
                node.decorator_list[index] = doc.Call(func, [], keywords, *position)
        visit(self, node)

    dispatch.register(token="tirx", type_name="FunctionDef")(visit_function)


def _alias_blocks(schedule: Any) -> None:
    """Add methods with ``block`` in their names to a schedule, for those with ``sblock``."""
    for name in dir(schedule):
        old = name.replace("sblock", "block")
        if not hasattr(schedule, old):
            setattr(schedule, old, getattr(schedule, name))


def _add_target_attributes(target: Any) -> None:
    """Add the properties of a target that are entries of its attributes now."""
    for name in _TARGET_ATTRIBUTES:
        if not hasattr(target, name):
            setattr(target, name, property(lambda self, name=name: self.attrs.get(name)))
