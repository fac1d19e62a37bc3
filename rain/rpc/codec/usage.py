"""What clients are told of the users of a cluster."""

from rain.base.wire.usage import SessionUsage, UsageReport, UserUsage
from rain.rpc.codec.border import Fields
from rain.rpc.codec.record import record

_DAY = record(UserUsage)
_SESSION = record(SessionUsage)


def write_usage(told: UsageReport) -> Fields:
    return {
        "days": [_DAY.write(one) for one in told.days],
        "sessions": [_SESSION.write(one) for one in told.sessions],
    }


def read_usage(fields: Fields) -> UsageReport:
    return UsageReport(
        tuple([_DAY.read(row) for row in fields["days"]]),
        tuple([_SESSION.read(row) for row in fields["sessions"]]),
    )
