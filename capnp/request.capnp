@0xb1d94e6c27f3a85d;
# What clients ask for every task and every session, and how they are answered: plain messages
# (docs/wire.md).
using Common = import "common.capnp";

struct Request {
  numbers @0 :Common.Numbers;
  # The number of the request: the client counts, and the answer has the same one. The end of a
  #     session (9) and 7 have none.
  # What it asks: 0 a part of a submission, 1 its last part, with which it is applied whole,
  #     2 a wait for all that it names, 3 for at least one, 4 for every task of the session,
  #     5 for the next task of the session to be done, 6 the same without waiting,
  #     7 nothing: nobody waits for the answer to this number any more, 8 a new session, 9 the end
  #     of one, 10 that objects need not be kept any more, 11 that tasks and objects are not wanted
  #     any more (there is no answer), 12 as 1, and what fails of it does not end its session,
  #     13 that the client has no handles of tasks and objects any more (there is no answer).
  # The session, except for 7, 8, 10 and 13.
  #
  # Of a submission, how many: objects that are wanted (it is answered as a wait for all of them),
  #     tasks, inputs of all tasks, outputs of all tasks, constants, uploaded and kept objects.
  # Wanted: ids. Tasks: ids, kinds, lengths of their configs, numbers of inputs.
  # Inputs of all. Outputs of all. Constants: ids, kinds, lengths of their data.
  # Uploaded: ids of constants whose bytes came over a stream. Kept: ids. Whatever is left are
  #     numbers about kinds.
  #
  # Of a wait, how many: done tasks the client was told of by earlier answers to 5 and 6, in this
  #     order (the answer tells of those after them, with what they made), tasks, objects. Ids of the tasks, ids of the objects.
  # Of a new session: what a failure means to it (as Common.OnFailure), the lengths of its name and
  #     of its user's notes (JSON).
  # Of what need not be kept: ids.
  # Of what is not wanted: whether that is all of the session, how many tasks and objects. Their ids.
  # Of handles that have gone: how many tasks and objects. Their ids.
  data @1 :Data;
  # The configs of the tasks, the data of the constants, the kinds; or the name and the notes of a
  # new session.
}

struct Answer {
  numbers @0 :Common.Numbers;
  # The number of the request. What is said: 0 it is done, 1 the wait is over, 2 it is refused,
  #     3 a session was opened: its number.
  #
  # Of a wait that is over, how many: tasks, objects, failed ones, delivered objects, content
  #     types of these, which are absent when all are empty.
  # Ids of the tasks, of the objects that are done, and of those tasks and objects that failed.
  # Delivered: ids, sizes, lengths of data, content types.
  data @1 :Data;                # of the delivered objects
  texts @2 :List(Text);
  refusal @3 :Common.Refusal;
}
