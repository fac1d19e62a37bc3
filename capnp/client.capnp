@0xc4d8e3f26a7b8ca3;
# What a client asks of the server. A client makes its calls without waiting for the answers to
# earlier ones; they are applied in their order, and submissions are answered in their order. A call
# that nobody waits for any more is given up by Cap'n Proto's own `Finish`.
using Common = import "common.capnp";

interface ClientService {
  openSession @0 (name :Text, user :Text, onFailure :Common.OnFailure, parent :Int64, durable :Bool)
      -> (session :Int64, refusal :Common.Refusal);
  # `user` is JSON. Sessions belong to their client and end with it. `parent` is the running task
  # that opens the session, or 0: the session ends with the run of that task, too, and its tasks are
  # one deeper. What a `durable` session has made stays under its name when the session ends. A task of
  # the next session of this name that is the same stands in for it (`Keys`).

  joinSession @1 (session :Int64, name :Text, numbers :Bool, parent :Int64)
      -> (session :Int64, name :Text, onFailure :Common.OnFailure, first :Int64, refusal :Common.Refusal);
  # The session of another client, by its id or, if that is 0, by its name. With `numbers` the
  # client gets 16384 numbers of its own for tasks and objects, from `first` on. `parent` is the
  # running task that joins, or 0: what this client submits is one deeper than that.

  closeSession @2 (session :Int64) -> (refusal :Common.Refusal);

  submit @3 Submission -> (answer :WaitAnswer, refusal :Common.Refusal);
  # A submission may come in several parts, one call for each. It is applied whole with its last
  # part, or refused whole. Parts but the last are answered at once, and mean nothing.

  wait @4 (session :Int64, tasks :List(Int64), objects :List(Int64), mode :WaitMode, since :Int64)
      -> (answer :WaitAnswer, refusal :Common.Refusal);
  # Answered when the wait is over.
  # `since`: of the modes `news` and `glance`: how many done tasks earlier answers to these have told
  # of, in this order. The answer tells of those after them, with what they made.

  cancel @5 (session :Int64, tasks :List(Int64), objects :List(Int64), whole :Bool, always :Bool,
             recursive :Bool, grace :Float64) -> ();
  # Nobody wants these any more, or nothing of the session (`whole`). What is unknown is ignored.
  # Without `always` nothing ends while another call waits for something of the session. Without
  # `recursive` the tasks that these have submitted while they ran go on to their ends. `grace`:
  # seconds for those that run, after which they are killed; -1 for as many as their governors give.

  unkeep @6 (objects :List(Int64)) -> (refusal :Common.Refusal);
  # These objects of one session need not be kept for this client any more.

  fetch @7 (object :Int64)
      -> (report :ObjectReport, inline :Bool, data :Data, holder :Text, refusal :Common.Refusal);
  # Waits until the object is finished. Its bytes are in `data` if it is `inline`. Otherwise they are
  # read over a stream: from the governor `holder` ("host:port#incarnation"), or from the server if
  # that is empty or cannot be reached.

  reports @8 (tasks :List(Int64), objects :List(Int64), logs :Bool)
      -> (tasks :List(TaskReport), objects :List(ObjectReport), refusal :Common.Refusal);
  # One report for each that was named, in their order; the first ones, if not all fit into one
  # message, and at least one. With `logs`, reports of tasks have what these have printed.

  serverInfo @9 () -> (governors :List(Common.GovernorReport), refusal :Common.Refusal);

  terminate @10 () -> (refusal :Common.Refusal);
  # The server ends in order, and its governors with it.

  alive @11 () -> ();
  # A sign of life, and the answer is another one.

  handlesGone @12 (tasks :List(Int64), objects :List(Int64)) -> ();
  # The client has one handle less of each of these. Without any it will not name them again. What is
  # unknown, and what the client has no handle of, is ignored.

  takeHandles @13 (objects :List(Int64), wantsData :Bool)
      -> (objects :List(ObjectReport), refusal :Common.Refusal);
  # The client has one more handle of each of these objects: they stay known until `handlesGone` or
  # its end. A client has one handle already of what it submits. With `wantsData` they are kept for
  # this client, too, until `unkeep`; that is refused for what nobody claims. Then they may be of a
  # session that goes on after failures, and that the client has not joined. Answered with one report
  # for each, in their order.

  cancelUnstarted @14 (session :Int64, objects :List(Int64))
      -> (cancelled :List(Int64), refusal :Common.Refusal);
  # Nobody wants these any more, but what makes them and runs already may end. Answered with those
  # that will not be made.

  overview @15 (session :Int64)
      -> (governors :UInt32, cpus :UInt32, tasks :Int64, running :Int64, finished :Int64,
          http :Text, refusal :Common.Refusal);
  # How much is there and done, of one session or, if that is 0, of all. `http` is where the server
  # serves its dashboard, "host:port" without a password, or empty.

  watch @16 (watch :Common.Watch, over :Bool) -> ();
  # From now on the server gathers what these tasks print, in place of what it gathered for this
  # client before; of what nobody reads in time it only counts the size. Nothing if it is over.

  printed @17 (wait :Bool) -> (lines :List(Common.PrintedLines));
  # What was gathered and not told yet. With `wait` it is answered when there is anything, or nothing
  # is gathered any more.

  dashboard @18 () -> (http :Text, refusal :Common.Refusal);
  # Where the server serves its dashboard, "host:port". The server of an embedded cluster begins to do
  # so with the first of these calls.

  settled @19 (calls :List(UInt32)) -> ();
  # To a server that comes back: the answers to these calls have come, or are not wanted any more.
  # The numbers are those of Cap'n Proto's questions. A client that has lost its connection registers
  # with its token, and makes all calls again that have no answer, with the numbers that they had. So
  # it must not use a number for two calls.

  durableSessions @20 () -> (sessions :List(DurableReport), refusal :Common.Refusal);
  # What there is under names.

  durableTasks @21 (name :Text, first :UInt32)
      -> (tasks :List(DurableTask), total :UInt32, refusal :Common.Refusal);
  # Some of the tasks under a name, in the order of their submission, and how many there are.

  removeDurable @22 (name :Text) -> (refusal :Common.Refusal);
  # What is under a name is let go. Sessions of it that clients have open go on as ordinary ones.

  holdUps @23 () -> (reasons :List(Text), outlooks :List(Text), refusal :Common.Refusal);
  # Why tasks of the client's sessions that could run do not, as far as people can mend it: no
  # governor is there, none has what they need, or all that have it take no tasks now. Two columns:
  # each reason once, and what becomes of the tasks.

  demand @24 (seconds :Float64)
      -> (needs :List(Need), loads :List(Load), refusal :Common.Refusal);
  # What the tasks of all sessions need that could run or do, and how busy governors are. Of a task
  # that runs, no more than these seconds count.

  promise @25 (governors :List(Promised), says :Text) -> (refusal :Common.Refusal);
  # The client starts governors with these resources when tasks need them: such tasks are not given
  # up, and those who wait for a first governor are told what it says. In place of what it has
  # promised before, and until it leaves.

  shareDurable @26 (name :Text, users :List(Text)) -> (refusal :Common.Refusal);
  # These users may open what is under a name, and nobody else but its own; "*" is all users.

  usage @27 () -> (days :List(UserUsage), sessions :List(SessionUsage), refusal :Common.Refusal);
  # Who has used how much of the cluster, and which sessions wait: all that the user may see.
}

# A part of a submission. The parts of one submission name the same session.
struct Submission {
  session @0 :Int64;
  objectKinds @1 :List(Common.ObjectKind);
  taskKinds @2 :List(Common.TaskKind);
  # Told before, or with, their first use; known until the end of the session.
  constants @3 :Constants;
  tasks @4 :NewTasks;
  keep @5 :List(Int64);         # objects that are kept until `unkeep`
  last @6 :Bool;                # the submission is whole now; what follows is said with the last part
  failsAlone @7 :Bool;          # what fails of it does not end its session
  wanted @8 :List(Int64);
  # If there are any: the call is answered as a `wait` for all of these objects would be. Not with
  # constants that were uploaded.

  contents @9 :Contents;
  keys @10 :Keys;
}

# Of new tasks and constants of a durable session: two with the same key are the same. A node without one
# is compared by its kind, its config, and the bytes of its constants.
struct Keys {
  holders @0 :List(Int64);      # tasks and constants
  keys @1 :List(Data);
  counts @2 :List(UInt32);
  objects @3 :List(Int64);      # flat: `counts`; their own keys belong to that of the holder
}

# Tasks that need the same.
struct Need {
  resources @0 :List(Common.Resource);
  waiting @1 :Int64;            # tasks that could run and do not
  seconds @2 :Float64;          # that those of them will take whose durations are known
  unknown @3 :Int64;            # those of them whose durations are not
  running @4 :Int64;
  occupied @5 :Float64;         # seconds until these have ended
  shortest @6 :Float64;         # seconds of the shortest that waits; 0 if it takes no minute
}

# A governor: its resources, and how many tasks it was told to run.
struct Load {
  governor @0 :Int64;           # its incarnation
  resources @1 :List(Common.Resource);
  tasks @2 :Int64;
  row @3 :Text;                 # "works", "rests" or "drains"
  hasSoleCopies @4 :Bool;       # of data that somebody needs; told of those without tasks
}

struct Promised {
  resources @0 :List(Common.Resource);
}

struct UserUsage {
  user @0 :Text;                # empty for the owner of the cluster
  day @1 :Int64;                # of UTC, counted from 1970
  tasks @2 :Int64;              # that have finished
  cpuSeconds @3 :Float64;
  bytes @4 :Int64;              # of all that they have made
  byteSeconds @5 :Float64;      # of what was stored
}

struct SessionUsage {
  user @0 :Text;
  session @1 :Int64;
  name @2 :Text;
  waiting @3 :Int64;            # unfinished tasks that do not run
  running @4 :Int64;
  tasks @5 :Int64;              # that have finished
  cpuSeconds @6 :Float64;
  bytes @7 :Int64;
  secondsLeft @8 :Float64;      # of all tasks that wait; below 0 if nobody knows
  why @9 :Text;                 # what holds them up
  stored @10 :Int64;            # bytes of its objects now, each counted once
  byteSeconds @11 :Float64;
}

struct DurableReport {
  name @0 :Text;
  since @1 :Float64;            # seconds since 1970
  clients @2 :UInt32;           # that have it open
  tasks @3 :Int64;
  finished @4 :Int64;
  failed @5 :Int64;             # or cancelled
  bytes @6 :Int64;              # of all results
  belongsTo @7 :Text;           # the user whose it is; empty for the owner of the cluster
  sharedWith @8 :List(Text);    # other users who may open it; "*" is all of them
}

struct DurableTask {
  id @0 :Int64;
  name @1 :Text;
  objects @2 :List(Int64);      # what it makes
}

# Futures inside of the arguments of new tasks and of new constants. Columns of those that have any.
struct Contents {
  holders @0 :List(Int64);      # tasks and constants
  counts @1 :List(UInt32);
  objects @2 :List(Int64);      # flat: `counts`; the server claims them for the holder
}

struct NewTasks {
  ids @0 :List(Int64);
  kinds @1 :List(Int64);
  configs @2 :List(Data);       # what the method of the executor makes of the task; may be empty
  inputCounts @3 :List(UInt32);
  inputs @4 :List(Int64);       # flat: `inputCounts`
  outputs @5 :List(Int64);      # flat: as many as the kind of the task has outputs
}

# Data objects whose bytes come from the client.
struct Constants {
  ids @0 :List(Int64);
  kinds @1 :List(Int64);
  data @2 :List(Data);          # may be empty
  uploaded @3 :List(Int64);
  # No column: the ids of those constants of this part that are larger than 16 KiB. Their bytes went
  # ahead over a stream, and their entries of `data` are empty.

  compared @4 :List(Int64);
  digests @5 :List(Data);
  # What some of those that were uploaded have in common with the same ones of another run: a column
  # of its own. The server does not look into files. Only tasks say it, which may be run again.
}

enum WaitMode {
  all @0;                       # for all tasks and objects that are named
  some @1;                      # for at least one of them
  session @2;                   # for every task of the session
  news @3;                      # for the next task of the session to be done
  glance @4;                    # the same without waiting
}

struct WaitAnswer {
  tasks @0 :List(Int64);        # these three are no columns of each other: what is done,
  objects @1 :List(Int64);
  failed @2 :List(Int64);       # and those tasks and objects of it that have failed
  delivery @3 :Delivery;
  cancelled @4 :List(Int64);    # those of the failed ones that were cancelled
}

# Small kept results that were finished since the last answer: they need not be fetched.
struct Delivery {
  ids @0 :List(Int64);
  sizes @1 :List(Int64);
  contentTypes @2 :List(Text);  # may be empty
  data @3 :List(Data);          # all of the bytes, or an entry that is shorter than the size; may be empty
}

enum TaskState {
  notAssigned @0;
  ready @1;
  assigned @2;
  running @3;
  finished @4;
  failed @5;
  cancelled @6;                 # a client has cancelled it, or what it needs
}

enum ObjectState {
  unfinished @0;
  finished @1;
  removed @2;
  failed @3;
}

struct TaskReport {
  id @0 :Int64;
  state @1 :TaskState;
  error @2 :Text;
  debug @3 :Text;
  user @4 :Text;                # JSON
  runs @5 :List(Common.RunReport);     # so far; of very many not all are told
  logs @6 :Text;                # what it has printed, if that was asked for
  cache @7 :Text;               # whether its results came from the cache, or why it had to run
  secondRun @8 :List(Common.RunReport);   # beside its last one, which is late; one or none
}

struct ObjectReport {
  id @0 :Int64;
  state @1 :ObjectState;
  size @2 :Int64;
  contentType @3 :Text;         # as found when it was made
  user @4 :Text;                # JSON
  label @5 :Text;               # this and what follows is of its kind; a fetch goes without
  declaredType @6 :Text;        # of its content
  dataType @7 :Common.DataType;
}
