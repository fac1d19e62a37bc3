"""Places that are near to files: what users may name."""

from __future__ import annotations

import pytest

from rain.base.near import checked_places


def test_a_place_is_a_governor_a_host_or_a_resource() -> None:
    assert checked_places("eu") == ("eu",)
    given = ["node7", "node8:9000", "[::1]:9000", "fast-disk"]
    assert checked_places(given) == tuple(given)


@pytest.mark.parametrize("given", ["", [], 7, ["eu", 7], [""], {"zone": "eu"}, "zone=eu", b"eu"])
def test_what_names_no_place_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match=r"near: .* names no place; write a governor as host:port"):
        checked_places(given)
