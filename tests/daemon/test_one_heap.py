"""How many heaps the threads of a process have."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, os, tempfile, threading
from rain.daemon import memory
{before}
system = ctypes.CDLL(None)
system.malloc.restype = ctypes.c_void_p
barrier = threading.Barrier(4)

def take() -> None:
    barrier.wait()
    system.malloc(ctypes.c_size_t(4000))

threads = [threading.Thread(target=take) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
system.fdopen.restype = ctypes.c_void_p
with tempfile.TemporaryFile() as file:
    stream = ctypes.c_void_p(system.fdopen(file.fileno(), b"w"))
    system.malloc_info(0, stream)
    system.fflush(stream)
    file.seek(0)
    print(file.read().count(b"<heap "))
"""


def heaps(before: str = "") -> int:
    program = PROGRAM.format(before=before)
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    return int(done.stdout)


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_info"), reason=f"no glibc: {platform.libc_ver()}"
)
def test_all_threads_of_a_daemon_share_one_heap() -> None:
    assert heaps() > 1  # it would have more
    assert heaps("memory.keep_one_heap()") == 1
