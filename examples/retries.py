"""A step that fails at times: it is tried again, and what fails for good is reported at the end.
Run it with `python retries.py [FILES]`; nothing that fails stops the others."""

import sys
import tempfile
from pathlib import Path

from rain.client import Client, task


@task(tries=3)
def download(name, folder):
    """Stands for a server that answers at the second time, or never."""
    seen = Path(folder, name)
    if name.endswith("-3"):
        raise ConnectionError(f"{name} is not there")
    if not seen.exists():
        seen.touch()
        raise TimeoutError(f"{name} took too long")
    return f"contents of {name}"


def size(text):
    return len(text)


def main(files):
    names = [f"file-{number}" for number in range(files)]
    with tempfile.TemporaryDirectory() as folder, Client() as client:
        downloads = client.map(download, names, [folder] * len(names))
        sizes = client.map(size, downloads)
        total = sum(client.gather(sizes, errors="skip"))
        print(f"{total} characters")
        for name, future in zip(names, downloads, strict=True):
            error = future.exception()
            if error is not None:
                tries = len(error.__cause__.failed_tries)
                print(f"{name} failed: {error} (tried {tries} times)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 6)
