@0xc4d8e3f26a7b8ca3;
# What a client asks of the server. Every method answers with a refusal instead of results when it
# cannot be granted.
using Common = import "common.capnp";

interface ClientService {
  openSession @0 (name :Text, user :Text, onFailure :Common.OnFailure)
       -> (session :Int64, refusal :Common.Refusal);
  closeSession @1 (session :Int64) -> (refusal :Common.Refusal);

  upload @2 (object :Int64, offset :Int64, data :Data) -> (refusal :Common.Refusal);
  # The bytes of a large constant, in pieces, before the submission that names it.

  submit @3 (part :Common.Submission, last :Bool) -> (refusal :Common.Refusal);
  # A submission may come in several parts; it is applied whole with its last part.

  unkeep @4 (objects :List(Int64)) -> (refusal :Common.Refusal);

  wait @5 (session :Int64, tasks :List(Int64), objects :List(Int64), mode :WaitMode)
      -> (answer :Common.WaitAnswer, refusal :Common.Refusal);
  # Answers when the wait is over. Cancelling the call ends the wait.

  fetch @6 (object :Int64) -> (report :Common.ObjectReport, inline :Bool, data :Data, refusal :Common.Refusal);
  # Waits until the object is finished. Larger data is then read piece by piece.

  read @7 (object :Int64, offset :Int64, size :Int64) -> (total :Int64, data :Data, refusal :Common.Refusal);

  update @8 (tasks :List(Int64), objects :List(Int64))
      -> (tasks :List(Common.TaskReport), objects :List(Common.ObjectReport), refusal :Common.Refusal);

  serverInfo @9 () -> (governors :List(Common.GovernorReport), refusal :Common.Refusal);
}

enum WaitMode {
  all @0;           # all of the named tasks and objects
  some @1;          # at least one of them
  session @2;       # every task of the session
}
