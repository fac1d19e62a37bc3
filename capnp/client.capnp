@0xc4d8e3f26a7b8ca3;
# What a client asks of the server now and then; what it asks for every task and every session is
# in request.capnp. Every method answers with a refusal instead of results when it cannot be granted.
using Common = import "common.capnp";

interface ClientService {
  fetch @0 (object :Int64) -> (report :Common.ObjectReport, inline :Bool, data :Data, refusal :Common.Refusal, holder :Text);
  # Waits until the object is finished. Larger data is then read over a stream: from the holder, or
  # from the server, which passes it on.

  update @1 (tasks :List(Int64), objects :List(Int64), logs :Bool)
      -> (tasks :List(Common.TaskReport), objects :List(Common.ObjectReport), refusal :Common.Refusal,
          described :List(Common.DescribedObject));
  # With `logs`, reports of tasks have what these have printed.

  serverInfo @2 () -> (governors :List(Common.GovernorReport), refusal :Common.Refusal);

  joinSession @3 (session :Int64, name :Text, numbers :Bool)
      -> (session :Int64, name :Text, onFailure :Common.OnFailure, first :Int64, refusal :Common.Refusal);
  # The session of another client, by its id or, if that is 0, by its name. With `numbers` the
  # client gets 16384 numbers of its own for tasks and objects, from `first` on.

  terminate @4 () -> (refusal :Common.Refusal);
  # The server ends in order, and its governors with it.
}
