import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.common import LabeledList


def test_items_are_found_by_index_by_slice_and_by_label() -> None:
    values = LabeledList([10, 20, 30], labels=["a", None, "c"])

    assert values[0] == 10
    assert values[-1] == 30
    assert values[0:2] == [10, 20]
    assert values["c"] == 30
    with pytest.raises(KeyError):
        values["b"]
    with pytest.raises(IndexError):
        values[3]


def test_it_is_made_of_pairs_or_copied_with_its_labels() -> None:
    of_pairs = LabeledList(pairs=[("a", 1), (None, 2)])

    assert list(of_pairs.items()) == [("a", 1), (None, 2)]
    assert LabeledList(of_pairs) == of_pairs
    assert of_pairs.data == [1, 2]
    assert of_pairs.labels == ["a", None]
    with pytest.raises(ValueError, match="pairs"):
        LabeledList([1], pairs=[("a", 1)])
    with pytest.raises(ValueError, match="labels"):
        LabeledList([1, 2], labels=["a"])


def test_in_asks_for_labels_only() -> None:
    values = LabeledList(["x"], labels=["a"])

    assert [word in values for word in ("a", "x")] == [True, False]


def test_a_label_is_unique_and_is_neither_a_number_nor_a_slice() -> None:
    values = LabeledList([1], labels=["a"])

    with pytest.raises(KeyError, match="taken"):
        values.append(2, "a")
    with pytest.raises(KeyError):
        values.insert(0, 2, "a")
    with pytest.raises(KeyError):
        LabeledList([1, 2], labels=["a", "a"])
    with pytest.raises(TypeError):
        values.append(2, 3)
    with pytest.raises(TypeError):
        values.set_label(0, slice(1))  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # that is the mistake
    assert list(values.items()) == [("a", 1)]


def test_assigning_by_index_clears_the_label_and_by_label_keeps_it() -> None:
    values = LabeledList([1, 2, 3], labels=["a", "b", "c"])

    values[0] = 10
    values["b"] = 20
    values[2:] = [30, 40]

    assert list(values.items()) == [(None, 10), ("b", 20), (None, 30), (None, 40)]
    values._check()  # pyright: ignore[reportPrivateUsage]


def test_set_puts_value_and_label_and_may_repeat_the_label_of_its_place() -> None:
    values: LabeledList[object] = LabeledList([1, 2], labels=["a", "b"])

    values.set(0, 10, "a")
    values.set("b", 20, "c")

    assert list(values.items()) == [("a", 10), ("c", 20)]
    with pytest.raises(KeyError):
        values.set(0, 5, "c")
    values.set_label(0, None)
    assert values.get_label(0) is None
    assert "a" not in values


def test_labels_follow_their_items() -> None:
    values = LabeledList([1, 2, 3], labels=["a", "b", "c"])

    del values["a"]
    values.insert(0, 0, "z")
    values.reverse()
    last = values.pop()

    assert last == 0
    assert list(values.items()) == [("c", 3), ("b", 2)]
    values._check()  # pyright: ignore[reportPrivateUsage]


def test_equality_asks_for_class_data_and_labels() -> None:
    assert LabeledList([1], labels=["a"]) == LabeledList([1], labels=["a"])
    assert LabeledList([1], labels=["a"]) != LabeledList([1])
    assert LabeledList([1]) != [1]
    assert repr(LabeledList([1, 2], labels=["a", None])) == "[a=1, 2]"


changes = st.lists(
    st.tuples(
        st.sampled_from(["append", "insert", "delete", "assign", "set", "reverse", "slice"]),
        st.integers(0, 5),
        st.sampled_from([None, "a", "b", "c"]),
    )
)


@given(changes)
def test_the_index_of_labels_is_right_after_any_changes(
    steps: list[tuple[str, int, str | None]],
) -> None:
    values: LabeledList[int] = LabeledList()
    for what, i, label in steps:
        try:
            match what:
                case "append":
                    values.append(i, label)
                case "insert":
                    values.insert(i, i, label)
                case "delete":
                    del values[i]
                case "assign":
                    values[i] = -i
                case "set":
                    values.set(i, i, label)
                case "slice":
                    values[i : i + 2] = [7]
                case _:
                    values.reverse()
        except (KeyError, IndexError):
            pass
        values._check()  # pyright: ignore[reportPrivateUsage]
