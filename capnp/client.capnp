@0xc4d8e3f26a7b8ca3;
# The requests of clients to the server. A client may make calls without waiting for the answers to
# earlier ones. Calls are applied in their order, and submissions are answered in their order. To give
# up a call, for instance a wait after a timeout, a client sends Cap'n Proto's own `Finish`.
using Common = import "common.capnp";

interface ClientService {
  openSession @0 (name :Text, user :Text, onFailure :Common.OnFailure, parent :Int64, durable :Bool)
      -> (session :Int64, refusal :Common.Refusal);
  # Opens a session, which belongs to this client and ends with it. `user` is JSON.
  # `parent` is the id of the running task that opens the session, or 0. With a parent, the session also
  # ends with the run of that task, and the depth of its tasks is that of the parent plus 1.
  # The results of a `durable` session stay under its name when the session ends. If a task of a later
  # session of this name is the same (`Keys`), it gets the earlier results and does not run.

  joinSession @1 (session :Int64, name :Text, numbers :Bool, parent :Int64)
      -> (session :Int64, name :Text, onFailure :Common.OnFailure, first :Int64, refusal :Common.Refusal);
  # Joins the session of another client, by its id or, if `session` is 0, by its name. With `numbers` the
  # client gets 16384 numbers of its own for tasks and objects, from `first` on. `parent` is the id of
  # the running task that joins, or 0: the depth of tasks of this client is that of the parent plus 1.

  closeSession @2 (session :Int64) -> (refusal :Common.Refusal);
  # Closes a session that this client has opened: its tasks are stopped and its data is deleted, unless
  # other clients or sessions use its results. For a session that it has joined, the client only leaves.

  submit @3 Submission -> (answer :WaitAnswer, refusal :Common.Refusal);
  # Adds kinds, tasks and objects to a session. A submission may be split into several parts, with one
  # call for each. It is applied as a whole with its last part, or refused as a whole. The answers to the
  # other parts come at once, and mean nothing.

  wait @4 (session :Int64, tasks :List(Int64), objects :List(Int64), mode :WaitMode, since :Int64)
      -> (answer :WaitAnswer, refusal :Common.Refusal);
  # Waits for tasks and objects; answered when the wait is over (`WaitMode`). A task or object is done
  # when it is finished, failed or cancelled.
  # `since` is for the modes `news` and `glance`: how many done tasks of the session earlier answers have
  # named. The answer has the done tasks after these, in the order of their ends, and their outputs.

  cancel @5 (session :Int64, tasks :List(Int64), objects :List(Int64), whole :Bool, always :Bool,
             recursive :Bool, grace :Float64) -> ();
  # Cancels these tasks, and the tasks that make these objects; with `whole`, all tasks of the session.
  # Unknown ids are ignored. Without `always`, nothing is cancelled while another call waits for something
  # of the session. Without `recursive`, tasks that the cancelled ones have submitted go on.
  # `grace` is the number of seconds from the interrupt of a running task until it is killed; -1 for the
  # default of its governor.

  unkeep @6 (objects :List(Int64)) -> (refusal :Common.Refusal);
  # This client does not need the data of these objects, all of one session, any more.

  fetch @7 (object :Int64)
      -> (report :ObjectReport, inline :Bool, data :Data, holder :Text, refusal :Common.Refusal);
  # Waits until the object is finished. If `inline`, its bytes are in `data`. Otherwise the client reads
  # them over a stream: from the governor `holder` ("host:port#incarnation"), or from the server if
  # `holder` is empty or cannot be reached.

  reports @8 (tasks :List(Int64), objects :List(Int64), logs :Bool)
      -> (tasks :List(TaskReport), objects :List(ObjectReport), refusal :Common.Refusal);
  # The states of these tasks and objects: one report for each id, in the same order, tasks first. If not all fit into
  # one message, only the first ones, but at least one; the client asks again for the rest. With `logs`,
  # reports of tasks contain their printed output, and the memory of running ones.

  serverInfo @9 () -> (governors :List(Common.GovernorReport), refusal :Common.Refusal);
  # Asks all governors for their reports.

  terminate @10 () -> (refusal :Common.Refusal);
  # Ends the server and its governors in order.

  alive @11 () -> ();
  # A heartbeat: each side sees that the other one is alive. A client should call it once per second.

  handlesGone @12 (tasks :List(Int64), objects :List(Int64)) -> ();
  # Gives back one handle of each of these. A client has one handle of everything that it submits, and
  # more by `takeHandles`; without any handle it must not name the id again. Unknown ids, and those
  # that the client has no handle of, are ignored.

  takeHandles @13 (objects :List(Int64), wantsData :Bool)
      -> (objects :List(ObjectReport), refusal :Common.Refusal);
  # Takes one more handle of each of these objects, which are then known until `handlesGone` or the end
  # of the client. With `wantsData` the data is also kept for this client, until `unkeep`; this is
  # refused for data that nobody else keeps or needs. With `wantsData`, the objects may also belong to a
  # session that the client has not joined, if that session goes on after failures (`OnFailure`).
  # Answered with one report for each, in the same order.

  cancelUnstarted @14 (session :Int64, objects :List(Int64))
      -> (cancelled :List(Int64), refusal :Common.Refusal);
  # Cancels the tasks that make these objects, except those that run already. Answered with the objects
  # that will not be made.

  overview @15 (session :Int64)
      -> (governors :UInt32, cpus :UInt32, tasks :Int64, running :Int64, finished :Int64,
          http :Text, refusal :Common.Refusal);
  # The numbers of connected governors, their cpus, and tasks: of one session or, if `session` is 0, of
  # all. `finished` includes failed tasks. `http` is the address of the dashboard, "host:port" without a
  # password, or empty.

  watch @16 (watch :Common.Watch, over :Bool) -> ();
  # Starts to collect the output of these tasks for this client, in place of an earlier watch. If the
  # client does not call `printed` in time, the server keeps a limited amount, and only counts the rest.
  # `over` ends the watch.

  printed @17 (wait :Bool) -> (lines :List(Common.PrintedLines));
  # The output that was collected since the last answer. With `wait`, it is answered when there is some,
  # or when the watch has ended.

  dashboard @18 () -> (http :Text, refusal :Common.Refusal);
  # The address of the dashboard, "host:port". The server of an embedded cluster starts its dashboard
  # with the first of these calls.

  settled @19 (calls :List(UInt32)) -> ();
  # Confirms that the client has the answers to these calls, or does not want them. Only for a server that
  # has given the client a token: such a server keeps answers until they are confirmed. `calls` are the
  # numbers of Cap'n Proto's questions. After its connection broke, a client registers with its token, and
  # then repeats all calls without an answer, with their old numbers. So it must never use a number for
  # two calls.

  durableSessions @20 () -> (sessions :List(DurableReport), refusal :Common.Refusal);
  # All durable sessions that the user of this client may open.

  durableTasks @21 (name :Text, first :UInt32)
      -> (tasks :List(DurableTask), total :UInt32, refusal :Common.Refusal);
  # Tasks of a durable session, in the order of their submission, from the place `first` (counted from 0)
  # on, up to a limit. `total` is the number of all its tasks.

  removeDurable @22 (name :Text) -> (refusal :Common.Refusal);
  # Removes a durable session and its results. Sessions of this name that are open go on as ordinary ones.

  holdUps @23 (past :Bool) -> (reasons :List(Text), outlooks :List(Text), refusal :Common.Refusal);
  # Why ready tasks of the client's sessions do not run, if a user can do something about it: there is no
  # governor, none has the required resources, or those that have them take no tasks now. Two columns of
  # texts for people: each reason once, and what will happen to the tasks.

  demand @24 (seconds :Float64)
      -> (needs :List(Need), loads :List(Load), refusal :Common.Refusal);
  # The needs of all ready and running tasks of all sessions, and how busy governors are: for programs
  # that start governors. The remaining time of a running task counts with at most `seconds`.

  promise @25 (governors :List(Promised), says :Text) -> (refusal :Common.Refusal);
  # Declares that this client starts governors with these resources when tasks need them. So the server
  # does not fail tasks that would fit on such a governor and on no existing one. Waiting clients get the text
  # `says`. A promise replaces the previous one of this client, and ends when the client leaves.

  shareDurable @26 (name :Text, users :List(Text)) -> (refusal :Common.Refusal);
  # Shares a durable session with these users and no others, besides the user that it belongs to; "*"
  # means all users.

  usage @27 () -> (days :List(UserUsage), sessions :List(SessionUsage), refusal :Common.Refusal);
  # How much of the cluster each user has used, and open sessions: everything that the user of this
  # client may see.
}

# A part of a submission. All parts of one submission have the same `session`.
struct Submission {
  session @0 :Int64;
  objectKinds @1 :List(Common.ObjectKind);
  taskKinds @2 :List(Common.TaskKind);
  # New kinds: sent before, or with, their first use, and valid until the end of the session.
  constants @3 :Constants;
  tasks @4 :NewTasks;
  keep @5 :List(Int64);         # new objects whose data is kept for this client until `unkeep`
  last @6 :Bool;                # this is the last part; the fields below are set only in the last part
  failsAlone @7 :Bool;          # failures of these tasks never fail the session
  wanted @8 :List(Int64);
  # If not empty, the call is answered like a `wait` for all of these objects. Not allowed if constants
  # were uploaded.

  contents @9 :Contents;
  keys @10 :Keys;
}

# Keys of new tasks and constants of a durable session: if two have equal keys, they are the same. A
# task or constant without a key is compared by its kind, its config, and its bytes.
struct Keys {
  holders @0 :List(Int64);      # tasks and constants
  keys @1 :List(Data);          # any bytes
  counts @2 :List(UInt32);
  objects @3 :List(Int64);      # flat: `counts`; objects whose keys are a part of the key of the holder
}

# Tasks that need the same resources.
struct Need {
  resources @0 :List(Common.Resource);
  waiting @1 :Int64;            # the number of ready tasks that do not run
  seconds @2 :Float64;          # the sum of their expected durations, where these are known
  unknown @3 :Int64;            # the number of waiting tasks with unknown durations
  running @4 :Int64;            # the number of running tasks
  occupied @5 :Float64;         # the sum of the remaining seconds of running tasks (see `demand`)
  shortest @6 :Float64;         # expected seconds of the shortest waiting task; 0 if below a minute
}

# A governor: its resources, and how many tasks it was told to run.
struct Load {
  governor @0 :Int64;           # its incarnation
  resources @1 :List(Common.Resource);
  tasks @2 :Int64;              # how many tasks were sent to it and have not ended
  row @3 :Text;                 # "works", "rests" or "drains"
  hasSoleCopies @4 :Bool;       # it has the only copy of needed data; set only if it has no tasks
}

struct Promised {
  resources @0 :List(Common.Resource);
}

struct UserUsage {
  user @0 :Text;                # empty for the owner of the cluster
  day @1 :Int64;                # days since 1970-01-01, UTC
  tasks @2 :Int64;              # finished tasks
  cpuSeconds @3 :Float64;       # seconds of these tasks times their cpus
  bytes @4 :Int64;              # bytes that these tasks have made
  byteSeconds @5 :Float64;      # stored bytes times the seconds for which they were stored
}

struct SessionUsage {
  user @0 :Text;                # empty for the owner of the cluster
  session @1 :Int64;
  name @2 :Text;
  waiting @3 :Int64;            # unfinished tasks that do not run
  running @4 :Int64;
  tasks @5 :Int64;              # finished tasks; this and the next two as in `UserUsage`
  cpuSeconds @6 :Float64;
  bytes @7 :Int64;
  secondsLeft @8 :Float64;      # expected seconds of all waiting tasks together; below 0 if unknown
  why @9 :Text;                 # why its tasks wait, for people; may be empty
  stored @10 :Int64;            # bytes of its objects now, each counted once
  byteSeconds @11 :Float64;     # as in `UserUsage`
}

struct DurableReport {
  name @0 :Text;
  since @1 :Float64;            # when it was first opened, in seconds since 1970 (UTC)
  clients @2 :UInt32;           # how many clients have it open
  tasks @3 :Int64;
  finished @4 :Int64;
  failed @5 :Int64;             # failed or cancelled tasks
  bytes @6 :Int64;              # bytes of all results
  belongsTo @7 :Text;           # its user; empty for the owner of the cluster
  sharedWith @8 :List(Text);    # other users who may open it; "*" is all of them
}

struct DurableTask {
  id @0 :Int64;
  name @1 :Text;
  objects @2 :List(Int64);      # its outputs
}

# The objects of futures inside of the arguments of new tasks, and inside of new constants.
struct Contents {
  holders @0 :List(Int64);      # tasks and constants
  counts @1 :List(UInt32);
  objects @2 :List(Int64);      # flat: `counts`; the server keeps them as long as the holder needs them
}

struct NewTasks {
  ids @0 :List(Int64);
  kinds @1 :List(Int64);
  configs @2 :List(Data);       # the argument of the executor's method, such as JSON or msgpack; may be empty
  inputCounts @3 :List(UInt32);
  inputs @4 :List(Int64);       # flat: `inputCounts`; ids of objects
  outputs @5 :List(Int64);      # flat: ids of the new objects, one for each output in the kind of the task
}

# New data objects whose bytes come from the client.
struct Constants {
  ids @0 :List(Int64);
  kinds @1 :List(Int64);
  data @2 :List(Data);          # may be empty
  uploaded @3 :List(Int64);
  # Not a column: the ids of the constants in this part that are larger than 16 KiB. Their bytes were
  # sent ahead over a stream, and their entries in `data` are empty.

  compared @4 :List(Int64);
  digests @5 :List(Data);
  # Two columns of their own: some of the uploaded constants, and a digest of each. Only tasks send them:
  # when a task runs again, the server compares its constants with the earlier ones by these digests.
}

enum WaitMode {
  all @0;                       # until all of the given tasks and objects are done
  some @1;                      # until at least one of them is done
  session @2;                   # until all tasks of the session are done
  news @3;                      # until more than `since` tasks of the session are done
  glance @4;                    # the same answer as `news`, at once
}

struct WaitAnswer {
  tasks @0 :List(Int64);        # done tasks (these are separate lists, not columns)
  objects @1 :List(Int64);      # done objects
  failed @2 :List(Int64);       # those of the tasks and objects above that have failed
  delivery @3 :Delivery;
  cancelled @4 :List(Int64);    # those of the failed ones that were cancelled
}

# Small kept results that were finished since the last answer, so that the client need not fetch them.
struct Delivery {
  ids @0 :List(Int64);
  sizes @1 :List(Int64);
  contentTypes @2 :List(Text);  # may be empty
  data @3 :List(Data);
  # The bytes. If an entry is shorter than its size, the object has to be fetched. May be empty.
}

enum TaskState {
  notAssigned @0;               # some inputs are not finished
  ready @1;                     # all inputs are finished; not sent to a governor yet
  assigned @2;                  # sent to a governor, which has not reported its start
  running @3;
  finished @4;
  failed @5;
  cancelled @6;                 # a client has cancelled it, or what it needs
}

enum ObjectState {
  unfinished @0;
  finished @1;
  removed @2;                   # its data was deleted, because nobody needs it any more
  failed @3;                    # it will never be made
}

struct TaskReport {
  id @0 :Int64;
  state @1 :TaskState;
  error @2 :Text;               # why it has failed; empty if it has not
  debug @3 :Text;               # debug lines of the task, or a traceback
  user @4 :Text;                # JSON
  runs @5 :List(Common.RunReport);     # its runs so far; if there are very many, some are left out
  logs @6 :Text;                # its printed output, if `logs` was set
  cache @7 :Text;               # "taken from the cache", or why it had to run; empty without a cache
  secondRun @8 :List(Common.RunReport);   # the second run of a late task, or nothing
  memory @9 :Common.TaskMemory; # of a running task, if `logs` was set
}

struct ObjectReport {
  id @0 :Int64;
  state @1 :ObjectState;
  size @2 :Int64;               # bytes; only of a finished object
  contentType @3 :Text;         # as detected when it was made; empty if as declared
  user @4 :Text;                # JSON
  label @5 :Text;               # this and the fields below are from its kind; `fetch` leaves them out
  declaredType @6 :Text;        # its declared content type
  dataType @7 :Common.DataType;
}
