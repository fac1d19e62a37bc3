"""Environments as kinds carry them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.environment import Environment, read_environment

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
environments = st.builds(
    Environment,
    st.lists(texts, max_size=3).map(tuple),
    st.dictionaries(texts, texts, max_size=3).map(lambda found: tuple(sorted(found.items()))),
    texts,
    texts,
    st.floats(1e-3, 1e6),
)


@given(environments)
def test_what_is_written_is_read_again(environment: Environment) -> None:
    assert read_environment(environment.text) == environment


@given(st.text(max_size=30) | st.recursive(st.integers() | texts, st.lists).map(json.dumps))
def test_what_is_no_environment_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"^its environment cannot be read: .*$"):
        read_environment(text)


@pytest.mark.parametrize(
    "wrong",
    [
        {"packages": "numpy"},
        {"packages": [1]},
        {"variables": ["A"]},
        {"variables": {"A": 1}},
        {"files": None},
        {"wheels": "a\0"},
        {"seconds": 0},
        {"seconds": "600"},
    ],
)
def test_a_part_of_another_type_is_refused(wrong: dict[str, object]) -> None:
    told = json.loads(Environment(("numpy",)).text)
    with pytest.raises(ValueError, match="its environment cannot be read"):
        read_environment(json.dumps({**told, **wrong}))


def test_variables_need_no_folder_of_their_own() -> None:
    one, other = Environment(("six",)), Environment(("six",), (("A", "1"),))
    assert one.key == other.key
    assert one.name != other.name
