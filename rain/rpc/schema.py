"""The schemas, loaded once.

`capnp.load` ends the whole process, without an exception, when a schema has an error, when one
schema is reached by two paths, or when two loads name different folders for imports; and a second
load makes second classes. So nobody else loads: each schema is loaded here, by one path, and the
others import each other by names relative to it. `rain/schema` is a link to the folder of the
schemas in a checkout, and a real folder in an installed package.
"""

from pathlib import Path
from types import ModuleType

import capnp

from rain.base.errors import StartError

FOLDER = (Path(__file__).parent.parent / "schema").resolve()


def _load(name: str) -> ModuleType:
    if not hasattr(capnp, "load"):
        # `import capnp` succeeds in a checkout: it finds the folder of the schemas.
        raise StartError("pycapnp is not installed in this environment: pip install 'pycapnp>=2.2'")
    path = FOLDER / f"{name}.capnp"
    if not path.is_file():
        raise StartError(f"the schema {path} is missing: install Rain again")
    return capnp.load(str(path), imports=[str(FOLDER)])


def _load_rpc() -> ModuleType:
    """Cap'n Proto's own messages, from the wheel of pycapnp."""
    folder = Path(capnp.__file__).parent
    return capnp.load(str(folder / "rpc.capnp"), imports=[str(folder.parent)])


common = _load("common")
governor = _load("governor")
client = _load("client")
request = _load("request")
server = _load("server")
reasons = _load("reasons")
rpc = _load_rpc()
