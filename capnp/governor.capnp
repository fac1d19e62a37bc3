@0xd5e7f4a37b8c9db4;
# What the server and a governor say to each other, in lists: one message per turn and direction.
using Common = import "common.capnp";

interface GovernorUpstream {
  update @0 (update :Common.Update) -> ();
  # The governor's news; an empty one is a heartbeat.

  drained @1 () -> ();
  # The governor leaves on purpose after this.
}

interface GovernorControl {
  order @0 (orders :Common.Orders) -> ();

  report @1 () -> (report :Common.GovernorReport);
  # Asked live when somebody wants the server's info.

  stop @2 (reason :Text) -> ();
  # The server ends this governor: it stops its tasks and exits.
}
