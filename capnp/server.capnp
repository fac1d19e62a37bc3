@0xe6f6a5b48c9daec5;
# The first interface that a peer meets: the bootstrap of the server's side of a connection. What
# comes before it on a new connection is in docs/wire.md ("being let in").
using Common = import "common.capnp";
using Client = import "client.capnp";
using Governor = import "governor.capnp";

interface ServerBootstrap {
  # A connection registers once, in the role in which it was let in. A version other than the
  # server's is refused, and the text of the exception says both. Nothing else is compared: two
  # releases with the same version understand each other.

  registerClient @0 (version :Int32, token :Data)
      -> (service :Client.ClientService, key :Data, cluster :Data, token :Data, fenced :Text,
          generation :Int64, uploads :Text);
  # The key (16 bytes) goes with what the client uploads over streams. Clients of the same machine may
  # write that into files of the folder `uploads`, "machine device inode path"; it is empty where they
  # may not. The cluster (16 bytes) is
  # drawn when the server starts: ids mean something only where it is the same. The generation grows
  # when another server takes the cluster over: a peer does not join one that was replaced.
  # With the token (16 bytes) that it was given a client that has lost its connection goes on over the
  # next one; a server that does not come back gives none. If it cannot, `fenced` says why.

  registerGovernor @1 (
      version :Int32,
      incarnation :Int64,          # above 0, and another one for each start of a governor
      dataAddress :Text,           # "host:port"; an unspecified host means the one seen by the server
      resources :List(Common.Resource),     # what it has for tasks
      control :Governor.GovernorControl,
      resumes :Bool,               # it was registered, and has lost the connection
      heard :Int64,                # then: the number of the last orders that it has applied
      told :Int64,                 # of the last update of which it has heard that it is applied
      last :Int64,                 # and of the last one that it has told, or would have
      timeLeft :Float64)           # seconds after which it must be gone; 0 for no such time
      -> (upstream :Governor.GovernorUpstream, address :Text,
          returns :Bool, applied :Int64, fenced :Text, generation :Int64);
  # The address is how the server and its users name this governor. A server that returns keeps what
  # it knows when it dies, and its governors wait for it. A governor that resumes is told which of
  # its updates was the last to be applied; both then say again what the other one has missed. If it
  # cannot be taken back, `fenced` says why, and all that it has and does is void.
}
