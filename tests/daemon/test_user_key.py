"""The key of a user: made once, found again, nobody else's, and good for one address."""

from __future__ import annotations

import os
import stat
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rain.base.admission import NotAdmittedError, Role, Secret, accept, dial
from rain.base.errors import StartError
from rain.daemon.exposure import or_user_key
from rain.daemon.user_key import state_folder, user_key

NAMED = Secret.of("0123456789abcdef")


def _at(folder: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(folder)}


def test_it_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    key, path = user_key(_at(tmp_path))
    assert user_key(_at(tmp_path)) == (key, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_programs_that_make_it_at_once_get_the_same_one(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = {key.key for key, _ in pool.map(user_key, [_at(tmp_path)] * 32)}
    assert len(keys) == 1


def test_without_a_home_that_can_be_written_it_is_in_the_temporary_folder_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "file").touch()
    _, path = user_key(_at(tmp_path / "file"))
    assert path.parent == tmp_path / f"rain-{os.geteuid()}"


def test_without_any_place_one_line_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "file").touch()
    (tmp_path / f"rain-{os.geteuid()}").touch()
    with pytest.raises(StartError, match="the key of this user cannot be stored.*XDG_STATE_HOME"):  # noqa: RUF043
        user_key(_at(tmp_path / "file"))


def test_a_missing_home_is_that_of_the_list_of_users() -> None:
    assert state_folder({}) != Path("/.local/state/rain") or os.geteuid() != 0
    assert state_folder({"HOME": "/h"}) == Path("/h/.local/state/rain")
    assert state_folder({"HOME": "/h", "XDG_STATE_HOME": "relative"}) == state_folder(
        {"HOME": "/h"}
    )


def test_it_is_used_where_no_secret_is_named_and_only_this_machine_is_spoken_to() -> None:
    key, _ = user_key()
    assert or_user_key(None, "127.0.0.1", "localhost") == key
    assert or_user_key(None, "127.0.0.1", "node") is None
    assert or_user_key(None, "127.0.0.1", insecure=True) is None
    assert or_user_key(NAMED, "127.0.0.1") == NAMED


def _meet(dialler: Secret, acceptor: Secret) -> None:
    """Both sides of an admission, one beside the other."""
    calling, called = dial(dialler, Role.CLIENT, bytes(32)), accept(acceptor, bytes(32))
    waiting = {True: b"", False: b""}
    wants = {True: next(calling), False: next(called)}
    sides = {True: calling, False: called}
    while True:
        for side in (True, False):
            want = wants[side]
            try:
                if isinstance(want, bytes):
                    waiting[not side] += want
                    wants[side] = sides[side].send(b"")
                elif len(waiting[side]) >= want:
                    piece, waiting[side] = waiting[side][:want], waiting[side][want:]
                    wants[side] = sides[side].send(piece)
            except StopIteration:
                if side:
                    return


def test_it_opens_the_address_that_was_called_and_no_other_one(tmp_path: Path) -> None:
    key, _ = user_key(_at(tmp_path))
    _meet(key.at("127.0.0.1", 7210), key.at("127.0.0.1", 7210))
    for elsewhere in (key.at("127.0.0.1", 7300), key.at("::1", 7210), key):
        with pytest.raises(NotAdmittedError):  # a rogue has passed the words on
            _meet(key.at("127.0.0.1", 7210), elsewhere)


def test_a_secret_of_a_cluster_is_the_same_at_every_address() -> None:
    assert NAMED.at("127.0.0.1", 7210) == NAMED


def test_its_password_for_http_opens_one_port(tmp_path: Path) -> None:
    key, _ = user_key(_at(tmp_path))
    assert key.http_token(1) != key.http_token(2)
    assert NAMED.http_token(1) == NAMED.http_token(2)
