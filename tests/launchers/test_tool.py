"""The programs of a batch system: their answers and their failures."""

import pytest

from rain.base.errors import StartError
from rain.launchers.tool import call


def test_a_program_reads_the_script_and_its_answer_is_returned() -> None:
    assert call(["cat"], "#!/bin/sh\n") == "#!/bin/sh\n"


def test_the_error_has_what_the_batch_system_has_said() -> None:
    with pytest.raises(StartError, match="sh has ended with status 2: invalid partition: nix"):
        call(["sh", "-c", "echo invalid partition: nix >&2; exit 2"])


def test_where_a_failure_is_allowed_the_answer_counts() -> None:
    assert call(["sh", "-c", "echo one; exit 2"], may_fail=True) == "one\n"


def test_a_missing_program_says_that_this_may_be_the_wrong_machine() -> None:
    with pytest.raises(StartError, match="sbatch-of-nobody cannot be run: No such file"):
        call(["sbatch-of-nobody"])
