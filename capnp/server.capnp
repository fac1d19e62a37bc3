@0xe6f6a5b48c9daec5;
# The first interface that a peer meets. A connection registers once, in one role.
using Common = import "common.capnp";
using Client = import "client.capnp";
using Governor = import "governor.capnp";
using Data = import "data.capnp";

interface ServerBootstrap {
  registerClient @0 (version :Int32) -> (service :Client.ClientService);

  registerGovernor @1 (
      version :Int32,
      incarnation :Int64,
      dataAddress :Text,           # "host:port"; an unspecified host means the one seen by the server
      resources :List(Common.Resource),
      control :Governor.GovernorControl)
      -> (upstream :Governor.GovernorUpstream, address :Text);

  data @2 () -> (service :Data.DataService);
  # Governors read from the server what only the server holds.
}
