import cbor2
import pytest

from rain.common import RainException
from rain.common.comm import MAX_FRAME, SocketWrapper, decode_message, encode_message


class Pipe:
    """A socket whose other end it is itself, and which gives three bytes at most."""

    def __init__(self) -> None:
        self.data = b""
        self.closed = False

    def sendall(self, data: bytes, /) -> None:
        self.data += data

    def recv(self, size: int, /) -> bytes:
        piece, self.data = self.data[: min(size, 3)], self.data[min(size, 3) :]
        return piece

    def close(self) -> None:
        self.closed = True


def test_messages_come_out_as_they_went_in_however_they_are_cut() -> None:
    pipe = Pipe()
    wrapper = SocketWrapper(pipe)

    wrapper.send_message("call", {"spec": {"id": [1, 2]}, "data": b"\0" * 100})
    wrapper.send_message("drop_cached", {"objects": []})

    assert wrapper.receive_message() == ("call", {"spec": {"id": [1, 2]}, "data": b"\0" * 100})
    assert wrapper.receive_message() == ("drop_cached", {"objects": []})
    with pytest.raises(EOFError):
        wrapper.receive_message()
    wrapper.close()
    assert pipe.closed


def test_a_frame_is_its_length_and_an_array() -> None:
    frame = encode_message("register", {"protocol": "cbor-1"})

    assert int.from_bytes(frame[:4], "little") == len(frame) - 4
    assert cbor2.loads(frame[4:]) == ["register", {"protocol": "cbor-1"}]


@pytest.mark.parametrize("message", [{"a": 1}, ["a"], ["a", {}, 3], [1, {}], ["a", []]])
def test_other_shapes_are_no_messages(message: object) -> None:
    with pytest.raises(RainException, match="array"):
        decode_message(cbor2.dumps(message))


def test_a_frame_that_is_too_long_is_refused_before_it_is_read() -> None:
    pipe = Pipe()
    pipe.data = (MAX_FRAME + 1).to_bytes(4, "little")

    with pytest.raises(RainException, match=str(MAX_FRAME)):
        SocketWrapper(pipe).receive_message()
