@0xc4d8e3f26a7b8ca3;
# What a client asks of the server. Every method answers with a refusal instead of results when it
# cannot be granted.
using Common = import "common.capnp";

interface ClientService {
  openSession @0 (name :Text, user :Text, onFailure :Common.OnFailure)
       -> (session :Int64, refusal :Common.Refusal);
  closeSession @1 (session :Int64) -> (refusal :Common.Refusal);

  submit @2 (part :Common.Submission, last :Bool) -> (refusal :Common.Refusal);
  # A submission may come in several parts; it is applied whole with its last part.

  unkeep @3 (objects :List(Int64)) -> (refusal :Common.Refusal);

  wait @4 (session :Int64, tasks :List(Int64), objects :List(Int64), mode :WaitMode)
      -> (answer :Common.WaitAnswer, refusal :Common.Refusal);
  # Answers when the wait is over. Cancelling the call ends the wait.

  fetch @5 (object :Int64) -> (report :Common.ObjectReport, inline :Bool, data :Data, refusal :Common.Refusal, holder :Text);
  # Waits until the object is finished. Larger data is then read over a stream: from the holder, or
  # from the server, which passes it on.

  update @6 (tasks :List(Int64), objects :List(Int64))
      -> (tasks :List(Common.TaskReport), objects :List(Common.ObjectReport), refusal :Common.Refusal);

  serverInfo @7 () -> (governors :List(Common.GovernorReport), refusal :Common.Refusal);
}

enum WaitMode {
  all @0;           # all of the named tasks and objects
  some @1;          # at least one of them
  session @2;       # every task of the session
}
