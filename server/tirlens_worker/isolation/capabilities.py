"""Capabilities that analysed code of root gives up (Linux).

With them a process reads the environment, the memory and the open files of every other one, and
changes what the kernel protects (capabilities(7)). A program that it starts does not have them
either: no_new_privs, which the filter of system calls needs, keeps them away.
"""

from __future__ import annotations

import ctypes
import sys

# linux/capability.h: SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_ADMIN, SYS_BOOT, PERFMON, BPF,
# CHECKPOINT_RESTORE.
_DROPPED = (16, 17, 19, 21, 22, 38, 39, 40)
_VERSION_3 = 0x20080522
_WORDS = 2


def drop() -> bool:
    """Give them up in this process; whether it has none of them now. It cannot be undone."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    # Effective, permitted and inheritable capabilities, each in two words.
    held = (ctypes.c_uint32 * (3 * _WORDS))()
    if libc.capget(header, held) != 0:
        return False
    for number in _DROPPED:
        word, bit = divmod(number, 32)
        for at in range(3):
            held[3 * word + at] &= ~(1 << bit) & 0xFFFFFFFF
    return int(libc.capset(header, held)) == 0
