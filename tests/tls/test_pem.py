"""The files of members: what they hold, and what is wrong with others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.admission import MemberKind
from rain.tls.pem import Papers, read_papers, spell_papers
from tests.support.tls import keys_of

CONTENT = (keys_of() / "governor.pem").read_bytes()


def test_what_was_spelled_is_read_again() -> None:
    papers, tasks = read_papers(CONTENT)
    assert tasks is not None
    assert spell_papers(papers, tasks) == CONTENT


def test_the_tasks_of_a_governor_have_a_key_of_their_own() -> None:
    papers, tasks = read_papers(CONTENT)
    assert tasks is not None
    assert tasks.key != papers.key
    assert tasks.authorities == papers.authorities


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "begin with a private key"),
        (CONTENT[CONTENT.index(b"-----BEGIN CERT") :], "begin with a private key"),
        (CONTENT[: CONTENT.index(b"-----BEGIN CERT")], "not whole"),
        (
            CONTENT.replace(b"BEGIN PRIVATE", b"BEGIN PUBLIC").replace(
                b"END PRIVATE", b"END PUBLIC"
            ),
            "'PUBLIC KEY', which is neither",
        ),
    ],
)
def test_a_file_that_is_not_whole_is_refused_by_what_it_lacks(content: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_papers(content)


def test_keys_do_not_stand_in_what_is_printed() -> None:
    papers, _ = read_papers(CONTENT)
    assert "PRIVATE" not in repr(papers)


@given(st.binary(max_size=400), st.integers(0, len(CONTENT)))
def test_whatever_a_file_holds_it_is_read_or_refused_in_words(junk: bytes, place: int) -> None:
    try:
        papers, _ = read_papers(CONTENT[:place] + junk + CONTENT[place:])
    except ValueError:
        return
    assert isinstance(papers, Papers)


def test_members_are_named_as_their_files_are() -> None:
    assert {f"{member.value}.pem" for member in MemberKind} <= {
        path.name for path in keys_of().iterdir()
    }
