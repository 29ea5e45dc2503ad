"""Runs under a framework's Python: executes the kernels of files, and cases that are built.

    python worker.py SERVER TESTS SECONDS < requests > records

A line of the input is an encoded `Analyze` request; or `cases`: the path of a module of cases, and
whether to `execute` them; or `programs`: modules with one kernel, each with a seed of its data.
Each kernel gives one line of output (see `records`), and then one line says how its process ended.
Each line of the input has a process of its own, which ends with it or after `LIMIT_S` seconds of
work; a kernel is given SECONDS.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback

LIMIT_S = 100


def main(server: str, tests: str, seconds: str) -> None:
    sys.path[:0] = [server, tests]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    from tirlens_worker import codec, protocol
    from tirlens_worker.frameworks import detect

    detect()
    # Imported here, and so once for all: they need the framework and the folders above.
    from equality.cases import cases, executed_programs
    from equality.records import records

    for line in sys.stdin:
        asked = json.loads(line)
        out.flush()
        child = os.fork()
        if child == 0:
            # The processor's time, so that a busy machine leaves nothing out; a wait ends as well.
            signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
            signal.alarm(10 * LIMIT_S)
            status = 1
            try:
                if "programs" in asked:
                    found = executed_programs(asked["programs"])
                elif "cases" in asked:
                    found = cases(asked["cases"], int(seconds) if asked["execute"] else None)
                else:
                    found = records(codec.from_json(protocol.Analyze, asked), int(seconds))
                for record in found:
                    out.write(json.dumps(record) + "\n")
                    out.flush()
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        end = {"path": asked.get("path"), "end": True, "status": status}
        out.write(json.dumps(end) + "\n")
        out.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
