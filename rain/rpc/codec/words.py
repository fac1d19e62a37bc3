"""A message of Cap'n Proto that holds two fields of bytes, written and read word by word. Pure.

Whatever is said for every task is that: numbers, and the bytes of configs or of data. pycapnp takes
several times as long for it as for everything else that such a message causes, because each field
is looked up and made into objects of its own. So the one layout in which we write such a message is
known here:

    word 0      one segment, and how many words it has
    word 1      the root: a structure of two pointers, right behind this word
    word 2      the first list of bytes, right behind the pointers
    word 3      the second list of bytes, behind the first one
    then        both lists, the second one filled up to whole words

Any reader of Cap'n Proto reads it. What is laid out in another way is for pycapnp to read, and what
has other fields, too, for pycapnp to write.
"""

from collections.abc import Sequence
from struct import Struct

_HEAD = Struct("<IIQIIII")
_POINTERS = 2
_ROOT = _POINTERS << 48
_LIST = 1  # the lowest bits of a pointer to a list; those behind say how many words are between
_BYTES = 2  # the lowest bits of its other half; those behind say how many bytes there are
_WORD = 8


def write_words(first: bytes, second: Sequence[bytes]) -> bytes:
    """A message with one field that fills whole words, and one that is given in pieces."""
    length, more = len(first), sum(map(len, second))
    padding = -more % _WORD
    head = _HEAD.pack(
        0,
        1 + _POINTERS + (length + more + padding) // _WORD,
        _ROOT,
        _LIST | 1 << 2,
        _BYTES | length << 3,
        _LIST | length // _WORD << 2,
        _BYTES | more << 3,
    )
    return b"".join((head, first, *second, bytes(padding)))


def read_words(content: bytes) -> tuple[int, int, int] | None:
    """Where the first field begins, where it ends and the second one begins, and where that ends.

    None when this message is laid out in another way.
    """
    if len(content) < _HEAD.size:
        return None
    more_segments, words, root, before, length, between, more = _HEAD.unpack_from(content)
    middle = _HEAD.size + (length >> 3)
    end = middle + (more >> 3)
    as_ours = (
        root == _ROOT
        and before == _LIST | 1 << 2
        and length & 63 == _BYTES  # in whole words
        and between == _LIST | length >> 6 << 2
        and more & 7 == _BYTES
        and len(content) == end + -end % _WORD == _WORD + words * _WORD
        and not more_segments
    )
    return (_HEAD.size, middle, end) if as_ours else None
