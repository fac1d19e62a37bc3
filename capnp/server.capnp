@0xe6f6a5b48c9daec5;
# The first interface that a peer meets, unless it opens a stream (docs/wire.md). A connection registers once, in one role.
using Common = import "common.capnp";
using Client = import "client.capnp";
using Governor = import "governor.capnp";

interface ServerBootstrap {
  registerClient @0 (version :Int32) -> (service :Client.ClientService, key :Data);
  # The key goes with what the client uploads over streams.

  registerGovernor @1 (
      version :Int32,
      incarnation :Int64,
      dataAddress :Text,           # "host:port"; an unspecified host means the one seen by the server
      resources :List(Common.Resource),
      control :Governor.GovernorControl)
      -> (upstream :Governor.GovernorUpstream, address :Text);
}
