"""How much of its inputs a task has mapped, as the kernel lists it."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from rain.governor.storage.mapped_inputs import mapped_bytes, mapped_of

PAGE = mmap.PAGESIZE

LINES = """\
55d0c0000000-55d0c0002000 r--p 00000000 08:01 131 /usr/bin/python3.12
7f0000000000-7f0000003000 r--s 00000000 00:1c 71 /data/7
7f0000010000-7f0000011000 r--p 00003000 00:1c 71 /data/7
7f0000020000-7f0000025000 r--s 00000000 00:1c 80 /shared memory/8 (deleted)
7f0000030000-7f0000031000 r--p 00000000 00:1c 81 /data/9/inside/10
7f0000040000-7f0000041000 rw-s 00000000 00:1c 82 /data/board
7f0000050000-7f0000051000 r--p 00000000 00:1c 83 /database/7
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]
7ffc00100000-7ffc00101000 rw-p 00000000 00:00 0
"""


def test_ranges_count_for_the_file_or_directory_that_they_map() -> None:
    found = mapped_of(LINES.splitlines(), ["/data/", "/shared memory/"])
    assert found == {7: 4 * 0x1000, 8: 5 * 0x1000, 9: 0x1000}


def test_what_is_mapped_twice_or_is_no_input_does_not_count(tmp_path: Path) -> None:
    link = tmp_path / "link"
    folder = tmp_path / "data"
    folder.mkdir()
    link.symlink_to(folder)
    maps: list[mmap.mmap] = []
    for number, length in ((1, 3 * PAGE), (1, 3 * PAGE), (2, PAGE)):
        file = folder / str(number)
        file.write_bytes(bytes(length))
        with file.open("rb") as opened:
            maps.append(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
    (folder / "3").write_bytes(b"not mapped")

    pid = os.getpid()
    assert mapped_bytes(pid, [link], {1: 3 * PAGE - 5, 3: 10}) == 3 * PAGE - 5
    assert mapped_bytes(pid, [tmp_path], {1: 3 * PAGE}) == 0
    maps.clear()
    assert mapped_bytes(pid, [link], {1: 3 * PAGE}) == 0
