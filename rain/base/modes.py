"""The modes of files and folders that are stored or travel."""

from __future__ import annotations

from typing import Final

FILE: Final = 0o644
PROGRAM: Final = 0o755
FOLDER: Final = 0o755

ANY_EXECUTE: Final = 0o111
"""With any of these bits a file is a program."""
