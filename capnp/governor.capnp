@0xd5e7f4a37b8c9db4;
# What the server and a governor ask of each other. Orders and updates are no calls: they are plain
# messages (docs/wire.md), one for each turn and direction.
using Common = import "common.capnp";

interface GovernorUpstream {
  drained @0 () -> ();
  # The governor leaves on purpose after this.
}

interface GovernorControl {
  report @0 () -> (report :Common.GovernorReport);
  # Asked live when somebody wants the server's info.

  stop @1 (reason :Text) -> ();
  # The server ends this governor: it stops its tasks and exits.
}
