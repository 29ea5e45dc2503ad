"""The sections that a program marks: NVTX ranges, torch's ``record_function``, ``tirlens.section``.

Their names are recorded with the launches inside of them.  NVTX needs a build of torch for CUDA,
which a machine without a GPU often lacks: what it would do is left out.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable, Dict

from . import recording

_handles: Dict[int, object] = {}
_numbers = itertools.count(1)


def enter(name: object) -> object:
    """Begin a section; the result is for `leave`."""
    return recording.current().journal.enter(str(name))


def leave(section: object = None) -> None:
    """End a section, or the innermost one."""
    recording.current().journal.leave(section)


def _mark(message: object = None, *_: Any, **__: Any) -> None:
    """What follows is behind a mark."""
    recording.current().journal.mark(str(message))


def _start(name: object = None, *_: Any, **__: Any) -> int:
    handle = next(_numbers)
    _handles[handle] = enter(name)
    return handle


def _end(handle: int = 0, *_: Any) -> None:
    section = _handles.pop(handle, None)
    if section is not None:
        leave(section)


def _push(msg: object = None, *_: Any, **__: Any) -> int:
    enter(msg)
    return 0


def _pop(*_: Any, **__: Any) -> int:
    leave()
    return 0


def patch_torch_nvtx(nvtx: Any) -> None:
    """``torch.cuda.nvtx``, whose ``range`` calls the functions here."""
    nvtx.range_push, nvtx.range_pop = _push, _pop
    nvtx.range_start, nvtx.range_end = _start, _end
    nvtx.mark = _mark


def patch_torch_profiler(profiler: Any) -> None:
    """``torch.profiler.record_function``, as a context and as a decorator."""
    _patch_context(profiler.record_function, lambda self: self.name)


def patch_nvtx(nvtx: Any) -> None:
    """NVIDIA's package ``nvtx``: ``annotate``, ``push_range`` and the others."""
    annotate = nvtx.annotate
    original = annotate.__init__

    def remember(self: Any, message: object = None, *args: Any, **kwargs: Any) -> None:
        original(self, message, *args, **kwargs)
        self.tirlens_name = message

    annotate.__init__ = remember
    _patch_context(annotate, lambda self: getattr(self, "tirlens_name", None))
    nvtx.push_range, nvtx.pop_range = _push, _pop
    nvtx.start_range, nvtx.end_range = _start, _end
    nvtx.mark = _mark


def patch_tirlens(tirlens: Any) -> None:
    """``tirlens.section``, which is in a module of its own."""
    _patch_context(tirlens.section, lambda self: self.name)


def _patch_context(context: Any, name_of: Callable[[Any], object]) -> None:
    """Have the section of a class of contexts be recorded."""
    enters, exits = context.__enter__, context.__exit__

    def begin(self: Any) -> Any:
        result = enters(self)
        enter(name_of(self))
        return result

    def end(self: Any, *error: Any) -> Any:
        leave()
        return exits(self, *error)

    context.__enter__, context.__exit__ = begin, end
