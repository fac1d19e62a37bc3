"""A secret is kept in a file that nobody else can read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rain.base.admission import Secret
from rain.base.errors import StartError
from rain.common.secret_file import (
    make_secret_file,
    read_secret,
    read_secret_from,
    secret_from_environment,
)


def test_a_new_secret_is_in_a_file_of_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("an old one that everybody can read\n")

    made = make_secret_file(path)

    assert path.stat().st_mode & 0o777 == 0o600
    assert read_secret(path) == made
    assert make_secret_file(path) != made


def test_the_environment_may_name_the_file(tmp_path: Path) -> None:
    made = make_secret_file(tmp_path / "secret")
    assert secret_from_environment({"RAIN_SECRET_FILE": str(tmp_path / "secret")}) == made
    assert secret_from_environment({}) is None


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    make_secret_file(path)
    path.chmod(0o640)
    with pytest.raises(StartError, match=f"is open to others: chmod 600 {path}"):
        read_secret(path)


def test_a_file_that_is_missing_or_empty_is_named(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    with pytest.raises(StartError, match=f"{path} cannot be read: No such file"):
        read_secret(path)
    path.touch(0o600)
    with pytest.raises(StartError, match=f"{path}: a secret has 16 characters or more"):
        read_secret(path)


def test_a_secret_is_handed_over_through_a_descriptor() -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, b"0123456789abcdef\n")
    os.close(write_end)
    assert read_secret_from(read_end) == Secret.of("0123456789abcdef")
    with pytest.raises(StartError, match="cannot be read"):
        read_secret_from(read_end)
