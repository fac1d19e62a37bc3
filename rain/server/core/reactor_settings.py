"""The settings of a reactor: limits, time-outs, and how much one turn does."""

from __future__ import annotations

from attrs import Factory, frozen

from rain.graph.lateness import Rule
from rain.scheduler.throttle import Thresholds


@frozen
class ReactorSettings:
    """The settings, which cannot change while the reactor runs."""

    overbooking: int = 2048  # ready tasks that a governor may be told of at once, at most
    overbooking_ahead: int = 512  # and tasks that follow them there
    grown_at_once: int = 5_000  # tasks and inputs of a submission that one turn reads
    let_go_at_once: int = 10_000  # unneeded nodes that one turn removes
    governor_silence: float = 20.0  # seconds without a word until a governor counts as lost
    delivery_limit: int = 8 * 1024 * 1024  # bytes of small results that one answer brings
    fetch_tries: int = 3  # how often one copy is tried before it counts as lost
    remake_rounds: int = 2  # how often an object is made again if a governor cannot fetch it
    offer_tries: int = 10  # how often one governor is offered what the server has
    infeasible_grace: float = 30.0  # seconds that a task waits for a governor that could run it
    given_up_at_once: int = 2_000  # tasks without such a governor that one turn fails
    little: int = 1024 * 1024  # as many bytes and no more a governor may hold in vain for
    little_wait: float = 0.5  # seconds that news of them wait for other orders,
    much_wait: float = 0.02  # and the same for more bytes
    hand_backs: int = 20  # how often a task is handed back until it has failed
    out_of_reach: int = 4  # the same, if governors cannot fetch its inputs
    unreadable: int = 10  # the same, if a task cannot read its part of a shuffle
    crash_limit: int = 3  # the `crash_tries` of tasks that do not say how many they have
    lateness: Rule = Factory(Rule)  # when a task is late
    returns: bool = False  # when it has died, with all that it knew: governors may resume
    governor_grace: float = 3.0  # seconds in which a governor may resume whose connection broke
    client_grace: float = 10.0  # and a client
    test_mode: bool = False  # obey "_testing" in the user's notes on data objects
    scheduler_limit: float = 10.0  # seconds that one run of the scheduler may take
    thresholds: Thresholds = Factory(Thresholds)
    debug: bool = False  # run the consistency checker after every turn
