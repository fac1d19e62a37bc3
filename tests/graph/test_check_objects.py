"""The checker sees every contradiction of objects, their claims and the futures inside of them."""

from __future__ import annotations

import pytest

from rain.base.copies import CopyRow
from rain.base.ids import ClientId
from rain.base.states import ObjectState, TaskRow
from rain.graph import DataObject
from rain.graph.handles import Handle, Handles
from tests.graph.subject import Subject
from tests.graph.tampering import Part, Tampered, check_is_seen, linking, of, setting


def _containing(holder: str, *inside: str) -> Part:
    """Something has futures inside, and nobody has counted them."""

    def contain(subject: Subject) -> None:
        found: tuple[DataObject, ...] = tuple(getattr(subject, one) for one in inside)
        subject.session.contents[getattr(subject, holder)] = found

    return contain


def lineage_of_contents(subject: Subject) -> None:
    subject.done.may_run_again = True
    _containing("done", "held")(subject)


TAMPERED: Tampered = {
    # References.
    "contents that were not counted": (_containing("ready", "held"), "2 need it, 1"),
    "lineage of contents that was not counted": (
        lineage_of_contents,
        "held|1 may read it again",
    ),
    "a finished task that contains something": (
        _containing("done", "held"),
        "finished>: never runs, and contains something",
    ),
    "contents named twice": (_containing("ready", "held", "held"), "contains \\("),
    "an object that contains itself": (_containing("held", "held"), "contains itself"),
    "removed data that contains something": (
        _containing("removed", "held"),
        "removed>: its data has gone, and it contains something",
    ),
    "a task that is said to read others": (
        lambda s: s.session.reads_outside.update({s.ready: None}),
        "ready> reads only its own",
    ),
    "a session that was left and is listed": (
        lambda s: setattr(s.session, "is_left", True),
        "it is left, and its client lists it",
    ),
    # Objects.
    "a failed object that has bytes": (
        setting(of("never"), "data", b"x"),
        "failed, but the server has its bytes",
    ),
    "a failed object on a governor": (
        lambda s: setattr(s.never, "copies", s.held.copies),
        r"failed>: it has \(<Copy",
    ),
    "a failed object of a task that may still make it": (
        setting(of("coming"), "state", ObjectState.FAILED),
        "failed, but not <Task",
    ),
    "a failed object that somebody waits for": (
        linking(of("never"), "waits", lambda s: [s.wait()]),
        "failed>: failed, and somebody still waits",
    ),
    "a copy on a governor that has left": (
        lambda s: setattr(s.held.copies[1], "governor", s.stranger),
        "stranger:1> has left",
    ),
    "a copy that its governor does not list": (
        (lambda s: s.second.objects.pop(s.held)),
        "<Governor 2 .*> does not list its copy",
    ),
    "a copy in a row that follows from the producer": (
        lambda s: setattr(s.held.copies[1], "row", CopyRow.MAKING),
        "<Copy of .* on <Governor 2 .*> making> is in no row of its own",
    ),
    "a copy of another object": (
        lambda s: setattr(s.held.copies[1], "object", s.small),
        "finished>: it has <Copy of",
    ),
    "two copies on one governor": (
        lambda s: setattr(s.held, "copies", s.held.copies[:1] * 2),
        "two copies on a governor",
    ),
    "a copy that has arrived and still counts its failures": (
        lambda s: setattr(s.held.copies[1], "tries", 1),
        "held> was tried 1 times",
    ),
    "an object that counts its readers wrongly": (
        setting(of("coming"), "needed_by", 5),
        "2 need it, 5",
    ),
    "an object of a session that is gone": (
        (lambda s: s.graph.sessions.clear()),
        "Governor 1 .*>: <DataObject .* finished> is gone",
    ),
    "an unfinished object that nobody makes": (
        setting(of("later"), "producer", None),
        "unfinished without a producer",
    ),
    "an unfinished object that is somewhere": (
        lambda s: setattr(s.coming, "copies", s.held.copies),
        r"unfinished>: it has \(<Copy",
    ),
    "an unfinished object that the server has": (
        setting(of("coming"), "data", b"x"),
        "unfinished, but the server has its bytes",
    ),
    "an unfinished object whose producer is done": (
        setting(of("running"), "row", TaskRow.FINISHED),
        "unfinished after",
    ),
    "a finished object that is nowhere": (
        setting(of("held"), "copies", ()),
        "finished, but nowhere",
    ),
    "a finished object that nobody needs": (
        linking(of("small"), "handles", lambda s: s.session.owner.holding),
        "finished and not needed, but neither removed nor about to be",
    ),
    "data of another size": (setting(of("small"), "size", 77), "size of data"),
    "a finished object that somebody waits for": (
        linking(of("held"), "waits", lambda s: [s.wait()]),
        "DataObject .* finished>: finished, and somebody still waits",
    ),
    "a removed object that is somewhere": (
        lambda s: setattr(s.removed, "copies", s.held.copies),
        r"removed>: it has \(<Copy",
    ),
    "a removed object that the server has": (
        setting(of("removed"), "data", b"x"),
        "removed, but the server has its bytes",
    ),
    "a removed object that is needed": (
        linking(of("removed"), "handles", lambda s: s.session.owner.keeping),
        "removed, but needed",
    ),
    "an object that was removed before it was made": (
        setting(of("later"), "state", ObjectState.REMOVED),
        "removed before it was made",
    ),
    # Claims.
    "a handle of a client that has left": (
        (lambda s: s.session.members.pop(s.guest.client)),
        "the client 2 has a handle, and takes no part",
    ),
    "a handle that its client does not know of": (
        (lambda s: s.guest.nodes.pop(s.held)),
        "DataObject .* finished>: Member.client=2, .* does not list its handle",
    ),
    "a client that lists what it has no handle of": (
        (lambda s: s.guest.nodes.update({s.queued: None})),
        "Session 1 .*>: Member.client=2, .* has none of <Task",
    ),
    "a client that lists what has gone": (
        (lambda s: s.session.objects.pop(s.held.id)),
        "has a handle of <DataObject .* finished>, which has gone",
    ),
    "a member that is listed as another one": (
        setting(of("guest"), "client", ClientId(1)),
        "is listed as 2",
    ),
    "a member that calls itself the owner": (
        setting(of("guest"), "is_owner", True),
        "whether Member",
    ),
    "an owner that lists its handles": (
        (lambda s: s.session.owner.nodes.update({s.held: None})),
        "lists what it has handles of",
    ),
    "a session without its owner": (
        (lambda s: s.session.members.pop(s.session.client.id)),
        "its client does not take part in it",
    ),
    "a handle that counts nothing": (
        setting(of("held"), "handles", Handles((Handle(ClientId(1), 0, wants_data=True),), True)),
        "counts nothing",
    ),
    "two entries of one client": (
        setting(of("ready"), "handles", Handles((Handle(ClientId(1)), Handle(ClientId(1))))),
        "two entries of handles",
    ),
    "handles that want data, and say that they do not": (
        setting(of("held"), "handles", Handles((Handle(ClientId(1), 1, wants_data=True),))),
        "of its handles .True. want its data",
    ),
    "an empty value of handles beside the only one": (
        setting(of("ready"), "handles", Handles()),
        "a second value says that nobody has it",
    ),
    "a result to be delivered that its client does not want": (
        (lambda s: s.session.undelivered.update({s.coming: None})),
        "does not want <DataObject",
    ),
    "lineage that is counted wrongly": (setting(of("held"), "remade_by", 2), "0 may read it again"),
    "a task that nobody will ask to run again": (
        setting(of("done"), "may_run_again", True),
        "nobody will ask it to run again",
    ),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_is_tampered_with_is_seen(name: str) -> None:
    check_is_seen(TAMPERED[name])
