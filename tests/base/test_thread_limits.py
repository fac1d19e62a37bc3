from rain.base.thread_limits import THREAD_VARIABLES, thread_limits


def test_a_task_has_as_many_threads_as_cpus_and_at_least_one() -> None:
    assert set(thread_limits(3).values()) == {"3"}
    assert thread_limits(0)["OMP_NUM_THREADS"] == "1"
    assert {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"} <= set(thread_limits(1))


def test_a_user_who_has_set_one_of_them_has_decided() -> None:
    for name in THREAD_VARIABLES:
        assert thread_limits(2, {"PATH"}, {name}) == {}
    assert thread_limits(2, {"PATH"}, {"HOME"}) != {}
