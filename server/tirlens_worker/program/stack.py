"""A faster `inspect.stack`, without the frames of the worker."""

from __future__ import annotations

import inspect
import linecache
from typing import Any, List

from . import statements


def shorten(module: Any) -> None:
    """Patch `inspect.stack` to end at the first frame of user code, as in ``python file.py``.

    TVM's parser requests the stack with source lines for each function, half of its time.
    """

    def stack(context: int = 1) -> List[Any]:
        this_frame = inspect.currentframe()
        frame = this_frame and this_frame.f_back
        frames: List[Any] = []
        while frame is not None and frame.f_code.co_filename != statements.__file__:
            path, line = frame.f_code.co_filename, frame.f_lineno
            lines = linecache.getlines(path, frame.f_globals)
            first = max(0, min(line - 1 - context // 2, len(lines) - context))
            source = lines[first : first + context] if context > 0 else []
            # `inspect.getframeinfo` would search all modules for this path.
            info = (path, line, frame.f_code.co_name, source or None, line - 1 - first)
            frames.append(module.FrameInfo(frame, *info))
            frame = frame.f_back
        return frames

    module.stack = stack
