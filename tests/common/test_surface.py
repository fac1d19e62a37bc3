import subprocess
import sys

import pytest

import rain.common
from rain.common.utils import format_size, short_str

NAMES = """
LabeledList DataInstance RainException RainWarning SessionException TaskException ID DataType
content_type attributes errors ids utils fs comm data_type
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_the_names_of_rain_0_4_are_there(name: str) -> None:
    assert name in dir(rain.common)
    assert getattr(rain.common, name) is not None


def test_other_names_are_not() -> None:
    name = "nothing_of_ours"

    with pytest.raises(AttributeError, match=name):
        getattr(rain.common, name)


def test_the_exceptions_are_one_family() -> None:
    assert issubclass(rain.common.TaskException, rain.common.SessionException)
    assert issubclass(rain.common.SessionException, rain.common.RainException)
    assert issubclass(rain.common.RainWarning, Warning)
    assert not issubclass(rain.common.RainWarning, rain.common.RainException)


def test_an_id_equals_the_plain_pair_and_reads_as_session_and_number() -> None:
    assert rain.common.ID(3, 10) == (3, 10)
    assert repr(rain.common.ID(3, 10)) == "3/10"
    assert rain.common.ID(3, 10).session_id == 3


def test_what_an_executor_imports_first_is_light() -> None:
    program = (
        "import sys; import rain.common; from rain.common import DataInstance, RainException;"
        "heavy = {'cloudpickle', 'cbor2', 'pyarrow', 'capnp', 'trio', 'asyncio', 'tarfile',"
        " 'numpy'}; print(sorted(heavy & set(sys.modules)))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert answer.stdout.strip() == "[]"


def test_sizes_and_long_texts_are_said_shortly() -> None:
    assert format_size(0) == "0 B"
    assert format_size(1536) == "1.5 KiB"
    assert format_size(5 * 1024**2) == "5.0 MiB"
    assert format_size(3 * 1024**4) == "3.0 TiB"
    assert short_str("short") == "short"
    assert short_str("a" * 100, 10) == "aaaa...aaa"
