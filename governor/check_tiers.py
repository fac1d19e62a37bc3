"""What the checker asks of shared memory; see `check`."""

from __future__ import annotations

from collections.abc import Iterator

from rain.governor.nodes import DataObject
from rain.governor.shared_files import SharedFiles
from rain.governor.tiers import is_shared


def tier_contradictions(files: SharedFiles, known: list[DataObject]) -> Iterator[str]:
    """Recounts what lies in shared memory from the objects that are here."""
    tiers, on_disk = files.tiers, files.on_disk
    objects: dict[int, list[DataObject]] = {}
    for target in known:
        if isinstance(target.content, int) and is_shared(target.content):
            objects.setdefault(target.content, []).append(target)
    if not on_disk <= set(objects):
        yield f"files that have left shared memory are noted for nobody: {on_disk - set(objects)}"
    if set(tiers.files) != set(objects) - on_disk:
        yield f"in shared memory are {set(objects) - on_disk}, not {set(tiers.files)}"
    for file, held in tiers.files.items():
        if {id(one) for one in held.objects} != {id(one) for one in objects.get(file, ())}:
            yield f"the file {file} belongs to {objects.get(file)}, not to {held.objects}"
    if tiers.used != sum(held.size for held in tiers.files.values()):
        yield f"{tiers.used} bytes in shared memory are not those of its files"
    if tiers.copied_bytes != sum(tiers.copied.values()):
        yield f"{tiers.copied_bytes} bytes are not those of the files that are being copied"
    if set(tiers.copied) & on_disk:
        yield "a file is copied that has left shared memory"
