"""Large constants are files of the server: a client's until they are named, then a session's."""

import errno
import os
from pathlib import Path

import pytest

from rain.base.errors import ProtocolError, RefusedError
from rain.base.ids import ObjectId
from rain.server.spool import Spool, UploadAccount
from rain.stream.spare_files import FOLDER, LEAST
from rain.stream.spare_uploads import SpareUploads
from rain.stream.staged import stage

A, B, C = ObjectId(1), ObjectId(2), ObjectId(3)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    folder = tmp_path / "constants"
    folder.mkdir()
    return Spool(folder)


def files(tmp_path: Path) -> int:
    return len(list((tmp_path / "constants").iterdir()))


def upload(spool: Spool, account: UploadAccount, object_id: ObjectId, data: bytes) -> None:
    draft = spool.begin_upload(account.key, object_id, len(data))
    os.write(draft.descriptor, data)
    draft.complete()


def content(spool: Spool, object_id: ObjectId) -> bytes:
    found = spool.find(object_id)
    assert found is not None
    found.close()
    return found.path.read_bytes()


def test_an_upload_is_a_file_that_nobody_may_change(spool: Spool) -> None:
    account = spool.join()
    upload(spool, account, A, b"constant")
    assert account.size(A) == 8
    assert content(spool, A) == b"constant"
    found = spool.find(A)
    assert found is not None
    assert found.path.stat().st_mode & 0o222 == 0
    found.close()
    assert spool.find(B) is None


def test_what_no_accepted_submission_names_goes_with_its_client(
    spool: Spool, tmp_path: Path
) -> None:
    account = spool.join()
    upload(spool, account, A, b"named")
    upload(spool, account, B, b"not named")
    account.accept([A])
    account.close()
    assert content(spool, A) == b"named"
    assert spool.find(B) is None
    spool.discard([A, B])
    assert files(tmp_path) == 0


def test_an_upload_that_ends_after_its_client_leaves_nothing(spool: Spool, tmp_path: Path) -> None:
    account = spool.join()
    draft = spool.begin_upload(account.key, A, 3)
    account.close()
    draft.complete()
    other = spool.join()
    spool.begin_upload(other.key, B, 3).abandon()
    assert (len(spool), files(tmp_path)) == (0, 0)


def test_only_clients_can_upload(spool: Spool) -> None:
    with pytest.raises(RefusedError, match="belongs to no connected client"):
        spool.begin_upload(bytes(16), A, 1)


def test_what_was_not_uploaded_is_the_clients_fault(spool: Spool) -> None:
    account, other = spool.join(), spool.join()
    upload(spool, other, A, b"theirs")
    with pytest.raises(ProtocolError, match="was not uploaded"):
        account.size(A)


def test_an_upload_is_repeated_only_by_its_own_client(spool: Spool, tmp_path: Path) -> None:
    account, other = spool.join(), spool.join()
    upload(spool, account, A, b"first")
    upload(spool, account, A, b"second")
    assert (content(spool, A), files(tmp_path)) == (b"second", 1)
    with pytest.raises(RefusedError, match="uploaded before"):
        spool.begin_upload(other.key, A, 1)
    account.accept([A])
    with pytest.raises(RefusedError, match="uploaded before"):
        spool.begin_upload(account.key, A, 1)


def test_a_full_disk_is_noticed_before_the_first_byte_and_told_by_name(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, offset: int, length: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    account = spool.join()
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        with pytest.raises(RefusedError, match="No space left on device"):
            spool.begin_upload(account.key, A, 1)
    assert files(tmp_path) == 0
    assert "the constant 0/1 cannot be stored" in account.take_refusal()
    assert account.take_refusal() == ""
    upload(spool, account, A, b"there is room again")


def test_a_closed_spool_leaves_no_folder(spool: Spool, tmp_path: Path) -> None:
    upload(spool, spool.join(), A, b"x")
    spool.close()
    assert not (tmp_path / "constants").exists()


def test_the_files_of_a_lasting_spool_are_taken_up_again_and_the_others_go(tmp_path: Path) -> None:
    # given: two constants of which one is wanted, one that was uploaded twice, and one that is not
    # complete
    before = Spool(tmp_path, lasts=True)
    account = before.join()
    upload(before, account, A, b"wanted, and old")
    upload(before, account, A, b"wanted")
    upload(before, account, B, b"unwanted")
    os.close(before.begin_upload(account.key, C, 9).descriptor)
    before.close()
    # when
    spool = Spool(tmp_path, lasts=True)
    missing = spool.restore([A, C])
    # then
    assert content(spool, A) == b"wanted"
    assert (len(spool), len(list(tmp_path.iterdir()))) == (1, 1)
    assert missing == [C]
    # and: new files have names of their own
    upload(spool, spool.join(), B, b"new")
    assert content(spool, B) == b"new"
    assert content(spool, A) == b"wanted"


def test_a_clients_own_file_becomes_a_constant(spool: Spool, tmp_path: Path) -> None:
    account = spool.join()
    draft = spool.begin_adoption(account.key, A, 4)
    draft.begun.write_bytes(b"mine")
    inode = draft.begun.stat().st_ino
    draft.complete()
    assert content(spool, A) == b"mine"
    assert account.size(A) == 4
    (file,) = (tmp_path / "constants").iterdir()
    assert file.stat().st_ino == inode
    account.close()
    assert files(tmp_path) == 0


def test_another_file_than_was_promised_is_not_taken(spool: Spool, tmp_path: Path) -> None:
    account = spool.join()
    draft = spool.begin_adoption(account.key, A, 4)
    with pytest.raises(ProtocolError, match="not there"):
        draft.complete()
    draft.begun.write_bytes(b"longer")
    with pytest.raises(ProtocolError, match="of 4 bytes is a file of another size"):
        draft.complete()
    draft.begun.unlink()
    draft.begun.symlink_to(tmp_path)
    with pytest.raises(ProtocolError, match="not there"):
        draft.complete()
    draft.abandon()
    assert files(tmp_path) == 0
    assert spool.find(A) is None


def test_a_file_of_a_client_that_has_left_meanwhile_is_removed(
    spool: Spool, tmp_path: Path
) -> None:
    account = spool.join()
    draft = spool.begin_adoption(account.key, A, 4)
    draft.begun.write_bytes(b"late")
    account.close()
    draft.complete()
    assert files(tmp_path) == 0


def test_only_connected_clients_give_files(spool: Spool) -> None:
    with pytest.raises(RefusedError, match="no connected client"):
        spool.begin_adoption(bytes(16), A, 1)


def adopt(spool: Spool, account: UploadAccount, object_id: ObjectId, data: bytes) -> None:
    """As a client of this machine uploads."""
    draft = spool.begin_adoption(account.key, object_id, len(data))
    made = stage(str(spool.folder), [data])
    assert made is not None
    made.link(str(draft.begun))
    draft.complete()


def test_files_of_large_constants_that_go_are_kept_to_be_written_over(tmp_path: Path) -> None:
    spool = Spool(tmp_path, spares=SpareUploads.make(tmp_path))
    account = spool.join()
    adopt(spool, account, A, bytes(LEAST))
    adopt(spool, account, B, bytes(LEAST - 1))
    upload(spool, account, C, bytes(LEAST))  # through a socket
    spool.discard([A, B, C])
    (kept,) = (tmp_path / FOLDER).iterdir()
    assert kept.stat().st_size == LEAST
    inode = kept.stat().st_ino
    adopt(spool, account, A, b"x" * LEAST)
    assert content(spool, A) == b"x" * LEAST
    found = spool.find(A)
    assert found is not None
    found.close()
    assert found.path.stat().st_ino == inode


def test_without_spare_files_everything_is_removed(spool: Spool, tmp_path: Path) -> None:
    account = spool.join()
    adopt(spool, account, A, bytes(LEAST))
    spool.discard([A])
    assert files(tmp_path) == 0
