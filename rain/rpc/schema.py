"""Loads the schemas of `capnp/`, each exactly once.

`capnp.load` ends the whole process, without an exception, when a schema has an error, when one
schema is reached by two paths, or when two loads name different folders for imports; and a second
load makes second classes. So nobody else loads: each schema is loaded here, by one path, and the
others import each other by names relative to it. `rain/schema` is a link to the folder of the
schemas in a checkout, and a real folder in an installed package.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import capnp

from rain.base.errors import StartError

FOLDER = (Path(__file__).parent.parent / "schema").resolve()


if not hasattr(capnp, "load"):
    # `import capnp` succeeds in a checkout: it finds the folder of the schemas.
    raise StartError("pycapnp is not installed in this environment: pip install 'pycapnp>=2.2'")

_OF_CAPNP = Path(capnp.__file__ or "").parent
_IMPORTS = [str(FOLDER), str(_OF_CAPNP.parent)]  # its own schemas name each other "/capnp/..."


def load(path: Path, advice: str) -> ModuleType:
    """A schema; all of them must name the same folders for imports, or pycapnp ends the process."""
    if not path.is_file():
        raise StartError(f"the schema {path} is missing: install {advice} again")
    with _in_some_folder():
        return capnp.load(str(path), imports=_IMPORTS)


@contextmanager
def _in_some_folder() -> Generator[None]:
    """Elsewhere, if the current folder was removed: `capnp.load` would end the process."""
    try:
        os.getcwd()  # noqa: PTH109 # only asked whether it is there
    except FileNotFoundError:
        here, said = os.open(".", os.O_RDONLY), os.environ.pop("PWD", None)
        os.chdir("/")
        try:
            yield
        finally:
            os.fchdir(here)
            os.close(here)
            if said is not None:
                os.environ["PWD"] = said
    else:
        yield


def _ours(name: str) -> ModuleType:
    return load(FOLDER / f"{name}.capnp", "Rain")


common = _ours("common")
governor = _ours("governor")
client = _ours("client")
server = _ours("server")
rpc = load(_OF_CAPNP / "rpc.capnp", "pycapnp")
"""Cap'n Proto's own messages, which carry ours."""
