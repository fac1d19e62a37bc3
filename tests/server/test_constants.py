"""Large constants: the server says where they are, and when nobody needs them any more."""

from rain.base.states import ObjectState
from tests.support.scenes import scene

LARGE = bytes(100_000)


def test_a_large_constant_stays_while_a_task_needs_it() -> None:
    # given
    s = scene(1)
    constant = s.draft.constant(LARGE)
    task, _ = s.draft.task(constant)
    s.submit()
    assert s.world.object(constant).spooled
    assert s.world.object(constant).data is None

    # when
    s.assign(task)
    s.governors[0].locate(constant)
    assert s.world.discarded == []
    s.governors[0].finish(task)

    # then
    assert s.world.discarded == [constant]
    assert s.world.object(constant).state is ObjectState.REMOVED


def test_a_large_constant_that_nobody_needs_goes_as_soon_as_it_came() -> None:
    s = scene(1)
    constant = s.draft.constant(LARGE)
    s.submit()
    assert s.world.discarded == [constant]


def test_a_kept_constant_goes_when_it_is_unkept_and_a_small_one_is_no_file() -> None:
    s = scene(1)
    constant = s.draft.constant(LARGE, keep=True)
    small = s.draft.constant(b"small", keep=True)
    s.submit()
    assert s.world.discarded == []
    s.client.unkeep(constant, small)
    assert s.world.discarded == [constant]


def test_constants_go_with_their_session() -> None:
    s = scene(1)
    constants = [s.draft.constant(LARGE, keep=True) for _ in range(3)]
    s.submit()
    s.client.close(s.draft.session)
    assert s.world.discarded == constants
