@0xb1d94e6c27f3a85d;
# What clients ask for every task, and how they are answered: plain messages (docs/wire.md).
using Common = import "common.capnp";

struct Request {
  number @0 :Int64;         # the client counts; the answer has the same one
  more @1 :Bool;            # a submission is applied whole with its last part, and answered then
  wanted @2 :Common.Numbers;  # a submission with these is answered as a wait for all of them
  union {
    submit @3 :Common.Submission;   # a part of one
    wait :group {
      session @4 :Int64;
      tasks @5 :Common.Numbers;
      objects @6 :Common.Numbers;
      mode @7 :WaitMode;
    }
    abandon @8 :Void;       # nobody waits for the answer to this number any more
  }
}

struct Answer {
  number @0 :Int64;
  union {
    done @1 :Void;
    waited @2 :Common.WaitAnswer;
    refusal @3 :Common.Refusal;
  }
}

enum WaitMode {
  all @0;           # all of the named tasks and objects
  some @1;          # at least one of them
  session @2;       # every task of the session
}
