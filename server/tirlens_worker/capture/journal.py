"""The journal of one process: what it launches, written at once, so that no end of it loses any.

A line is a letter and JSON, or the number of a launch that a line before it describes:

``L {...}``  a launch, numbered from 0, with its file, function, kernel, call, sizes and place;
``12``       launch number 12 has happened;
``O {...}``  an operation of another library, numbered from 0 as launches are;
``o12``      operation number 12 has been executed;
``M {...}``  a section or mark of the program has begun for the first time, with its name;
``@ {...}``  the sections of the launches and operations that follow, and the section or mark that
             has begun for the first time last;
``G {...}``  the launches that follow are those of one replay of a graph, or no longer are;
``C {...}``  a case of a test program, with its outcome and whether it launched a kernel;
``S {...}``  a kernel of another library that was skipped, or a call that was not recorded.

The server reads the journals of all processes when the command has ended.
"""

from __future__ import annotations

import json
import os
import threading
from typing import Any, Dict, List, Optional, Tuple

#: Names of sections; further ones, which may have numbers in them, are not recorded.
MOST_SECTIONS = 1000


class Journal:
    """The journal of this process in `folder`; of a forked process it is another file."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._descriptor = -1
        self._numbers: Dict[str, int] = {}
        self._skipped: Dict[str, None] = {}
        self._operations: Dict[str, int] = {}
        self._graph: Optional[List[str]] = None
        self._thread = threading.local()
        self._begun: Dict[str, None] = {}
        self._written: Tuple[Tuple[str, ...], str] = ((), "")
        self.launches = 0
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def begin(self) -> None:
        """Make the file: it says that a Python has started."""
        self._write("B {}")

    def launch(self, record: Dict[str, Any]) -> None:
        """Record a launch; within the capture of a graph it happens when that is replayed."""
        text = json.dumps(record, sort_keys=True)
        with self._lock:
            number = self._numbers.get(text)
            if number is None:
                number = self._numbers[text] = len(self._numbers)
                self._write("L " + text)
            self.launches += 1
            self._add(str(number))

    def operation(self, name: str) -> None:
        """Record an operation of another library that runs on the GPU: ``torch.matmul``."""
        with self._lock:
            number = self._operations.get(name)
            if number is None:
                number = self._operations[name] = len(self._operations)
                self._write("O " + json.dumps({"operation": name}))
            self._add("o{}".format(number))

    def enter(self, name: str) -> object:
        """Begin a section of this thread; the result is for `leave`."""
        section = [name if self._begin_section(name) else ""]
        self._sections().append(section)
        return section

    def leave(self, section: object = None) -> None:
        """End a section, which another thread may have begun, or the innermost one of this one."""
        if isinstance(section, list):
            # It has no name from now on, and is removed with the one around it.
            section.clear()
            return
        sections = self._sections()
        while sections and not sections.pop():
            pass

    def mark(self, name: str) -> None:
        """Record a mark: what follows is behind it."""
        self._begin_section(name)

    def _begin_section(self, name: str) -> bool:
        with self._lock:
            if name not in self._begun:
                if len(self._begun) >= MOST_SECTIONS:
                    return False
                self._begun[name] = None
                self._write("M " + json.dumps({"section": name}))
        return True

    def _sections(self) -> List[List[str]]:
        if not hasattr(self._thread, "sections"):
            self._thread.sections = []
        return self._thread.sections  # type: ignore[no-any-return]

    def _write_sections(self) -> None:
        """Write the sections of what follows, if they are others than before."""
        path = tuple(name for section in self._sections() for name in section if name)
        for name in path:
            # A forked process is in the sections of its parent.
            self._begin_section(name)
        if not self._begun:
            return
        now = (path, next(reversed(self._begun)))
        if now != self._written:
            self._written = now
            self._write("@ " + json.dumps({"in": path, "since": now[1]}))

    def _add(self, line: str) -> None:
        if self._graph is None:
            self._write_sections()
            self._write(line)
        else:
            self._graph.append(line)

    def case(self, name: str, outcome: str, has_launched: bool) -> None:
        """Record a case of a test program."""
        self._write("C " + json.dumps({"case": name, "outcome": outcome, "launched": has_launched}))

    def skip(self, what: str) -> None:
        """Record what was skipped, once."""
        if what not in self._skipped:
            self._skipped[what] = None
            self._write("S " + json.dumps({"what": what}))

    def begin_graph(self) -> None:
        """Collect the launches that follow for a graph."""
        self._graph = []

    def end_graph(self) -> List[str]:
        """The launches since `begin_graph`."""
        launches, self._graph = self._graph or [], None
        return launches

    def replay(self, launches: List[str]) -> None:
        """Record the launches of a graph, in the sections of its replay."""
        with self._lock:
            self._write_sections()
            self._write('G {"replays": true}')
            for line in launches:
                self._write(line)
            self._write('G {"replays": false}')

    def _write(self, line: str) -> None:
        with self._lock:
            if self._descriptor < 0:
                path = os.path.join(self._folder, "{}-{}".format(os.getpid(), os.urandom(4).hex()))
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
                self._descriptor = os.open(path, flags, 0o600)
            os.write(self._descriptor, (line + "\n").encode("utf-8", "backslashreplace"))

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._descriptor = -1
        self._numbers = {}
        self._operations = {}
        self._skipped = {}
        self._begun = {}
        self._written = ((), "")
