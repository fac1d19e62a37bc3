@0xe6f6a5b48c9daec5;
# The bootstrap interface of the server, which a peer gets first. docs/wire.md ("being let in")
# describes the authentication that comes before it on a new connection.
using Common = import "common.capnp";
using Client = import "client.capnp";
using Governor = import "governor.capnp";

interface ServerBootstrap {
  # A connection registers exactly once, in the role in which it was admitted. `version` is the version
  # of the protocol (CLIENT_VERSION or GOVERNOR_VERSION in rain/base/wire/__init__.py). If it differs from the
  # server's, the call fails with an exception that names both. Releases with equal versions are
  # compatible.

  registerClient @0 (version :Int32, token :Data)
      -> (service :Client.ClientService, key :Data, cluster :Data, token :Data, fenced :Text,
          generation :Int64, uploads :Text);
  # `key` (16 bytes) identifies the client in uploads over streams. Clients on the same machine may
  # instead write uploads as files into the folder `uploads`, "machine device inode path"; it is empty
  # if that is not possible.
  # `cluster` (16 bytes) is a random id that a new server draws at its start, and keeps when it restarts
  # from its journal. Ids of sessions, tasks and objects are valid only for the same `cluster`.
  # `generation` grows when a standby takes over. A peer that has seen a higher generation must not
  # register, because this server was replaced.
  # The returned `token` (16 bytes) lets the client resume after its connection broke: it registers again
  # with the token. The first time, `token` is empty. A server without a journal returns none. If the
  # client cannot resume, `fenced` has the reason.

  registerGovernor @1 (
      version :Int32,
      incarnation :Int64,          # random, above 0; different for each start of a governor
      dataAddress :Text,           # "host:port" of its streams; with 0.0.0.0, :: or no host, the server
                                   # takes the host from which this connection comes
      resources :List(Common.Resource),     # what it offers to tasks
      control :Governor.GovernorControl,
      resumes :Bool,               # it was registered before, and has lost its connection
      heard :Int64,                # if it resumes: the number of the last orders that it has applied
      confirmed :Int64,            # if it resumes: the number of its last update that the server has confirmed
      last :Int64,                 # if it resumes: the number of its last update
      timeLeft :Float64,           # seconds after which it must be gone; 0 for no limit
      disk :Int64)                 # the bytes of data that it may have in files; 0 for not known
      -> (upstream :Governor.GovernorUpstream, address :Text,
          returns :Bool, applied :Int64, fenced :Text, generation :Int64);
  # `address` is the name of this governor for the server and its users. `returns` says that the server
  # has a journal: it can be restarted with its state, and governors should wait for that. For a governor
  # that resumes, `applied` is the number of its last update that the server has applied; then each side
  # sends the messages again that the other side has not applied. If the governor cannot resume, `fenced`
  # has the reason, and its tasks and data are void: it may register again as a new incarnation.
}
