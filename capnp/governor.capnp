@0xd5e7f4a37b8c9db4;
# The calls between the server and a governor. Each side may make calls without waiting for the answers
# to earlier ones; calls are applied in their order. A run of a task is identified by the id of the task
# and the number of the run, which counts the runs of the task on all governors, from 1.
using Common = import "common.capnp";

interface GovernorUpstream {
  # Implemented by the server and called by a governor.

  update @0 Update -> (applied :Int64);
  # Reports everything since the last update. An empty update is a heartbeat; a governor must send an
  # update at least every two seconds. `applied` is the number of the last update that is safe in the
  # journal of the server; 0 if the server has no journal.

  drained @1 () -> ();
  # Sent before the governor leaves on purpose.

  printed @2 (number :Int64, lines :List(Common.PrintedLines)) -> ();
  # New output of the tasks in the watch with this number. The output of a run is sent before the update
  # with the end of the run.
}

interface GovernorControl {
  # Implemented by a governor and called by the server.

  order @0 Orders -> ();
  # The orders of one turn of the server for this governor.

  report @1 () -> (report :Common.GovernorReport);
  # Asks for the current report of this governor, for `ClientService.serverInfo`.

  stop @2 (reason :Text) -> ();
  # Ends this governor: it stops its tasks and exits.

  running @3 (task :Int64) -> (logs :Text, memory :Common.TaskMemory);
  # The output so far and the memory of a task that runs on this governor; empty if it does not run here.

  watch @4 (number :Int64, watch :Common.Watch, over :Bool) -> ();
  # Starts or changes the watch with this number: the governor sends new output of these tasks by
  # `GovernorUpstream.printed`. `over` ends the watch.

  callBack @5 (ticket :Data) -> ();
  # The server wants to read data from this governor and cannot connect to it. The governor connects to the
  # server's port as a reader, sends the ticket (16 bytes), and answers the requests on this connection.
}

# Applied from top to bottom, except `cancelled` and `asked`, which come after the stops.
struct Orders {
  forgetSessions @0 :List(Int64);
  # Ids of sessions: stop all of their tasks, drop their objects, and forget their kinds.

  stopTasks @1 :List(Int64);
  stopRuns @2 :List(UInt32);
  # Columns: runs to stop. The server ignores later reports about them.

  drops @3 :List(Int64);
  # The server does not need copies of these objects on this governor any more.

  objectKinds @4 :List(Common.ObjectKind);
  taskKinds @5 :List(Common.TaskKind);
  # New kinds: sent before, or with, their first use, and valid until their session is forgotten.

  placed @6 :PlacedObjects;
  lent @7 :LentObjects;
  tasks @8 :AssignedTasks;

  cancelled @9 :CancelledRuns;
  # Runs to cancel; applied after the stops and before the drops. The governor reports the end of each in
  # `Update.ended`, except for runs whose end it has already reported.

  more @10 :Bool;
  # More orders of this turn follow in the next call. The governor applies them when it has all of them.

  number @11 :Int64;
  # Set in the last message of a turn if the server has a journal: orders are numbered from 1 for each
  # incarnation. A governor ignores orders whose number it has already applied. Orders with the number
  # 0 are always applied.

  asked @12 :Runs;
  # Runs to return; applied after `cancelled`. If the governor has not started such a run, it never will,
  # and reports it in `Update.returned`. If it has, it reports the start or the end as usual, at once.
}

# Columns: tasks, and the number of the run of each.
struct Runs {
  tasks @0 :List(Int64);
  runs @1 :List(UInt32);
}

# Runs that are not wanted any more.
struct CancelledRuns {
  tasks @0 :List(Int64);
  runs @1 :List(UInt32);
  graces @2 :List(Float64);
  # Seconds from the interrupt until the run is killed; -1 for the default of the governor.
}

# Objects that the governor must hold, and the source of each.
struct PlacedObjects {
  ids @0 :List(Int64);
  kinds @1 :List(Int64);
  sizes @2 :List(Int64);        # bytes
  contentTypes @3 :List(Text);  # as detected when it was made; empty if as declared; may be empty
  sources @4 :List(Text);
  # "host:port#incarnation" of a governor's streams, or "server" for the server's port, or several of
  # these, separated by spaces, in the order in which they should be tried; "later" if a source will be
  # named in later orders; an empty text if the bytes are in `data`. May be empty.
  data @5 :List(Data);          # may be empty
}

# Small inputs that only one task reads, which is assigned by the same orders. The governor drops them
# when that task has ended, in whatever way.
struct LentObjects {
  ids @0 :List(Int64);
  kinds @1 :List(Int64);
  contentTypes @2 :List(Text);  # may be empty
  data @3 :List(Data);          # may be empty
}

# Tasks to run. Tasks with larger priorities go first, and among equal ones the order of this list
# counts. An input of a task may be an output of another task that was assigned to the same governor
# before: the governor starts the task when this output exists.
struct AssignedTasks {
  ids @0 :List(Int64);
  runs @1 :List(UInt32);
  kinds @2 :List(Int64);
  priorities @3 :List(Int64);   # larger ones first; may be empty
  configs @4 :List(Data);       # as in `NewTasks`; may be empty
  inputCounts @5 :List(UInt32);
  inputs @6 :List(Int64);       # flat: `inputCounts`
  outputs @7 :List(Int64);      # flat: one for each output in the kind of the task
  needs @8 :List(Int64);
  # The expected bytes of memory of each task if that is more than its kind declares, else 0. May be empty.
}

struct Update {
  startedTasks @0 :List(Int64);
  startedRuns @1 :List(UInt32);
  # Columns: started runs. A start is reported when the task has run for 10 ms and has not ended; for a
  # task that was assigned before (its run has a number above 1), it is reported at once. For shorter
  # tasks only the end is reported.

  finished @2 :FinishedTasks;
  failed @3 :List(TaskFailure);

  located @4 :List(Int64);
  # Placed objects that were fetched. Objects whose bytes were in the orders are not reported.

  unfetched @5 :List(Int64);
  # Placed objects that could not be fetched from any of the named sources; the server will name another.

  taskNotes @6 :List(TaskNote);
  objectNotes @7 :List(ObjectNote);
  monitoring @8 :List(Monitoring);

  waits @9 :Waits;

  ended @10 :EndedRuns;

  startedTimes @11 :List(Float64);
  # A column of `startedTasks`: when each started, in seconds on the governor's clock (of any origin). May be empty.

  time @12 :Float64;
  # When this update was sent, on the same clock; 0 if the update contains no times.

  number @13 :Int64;
  # If the server has a journal, updates that are not empty are numbered from 1, and the governor keeps
  # each until the server has confirmed it (`applied`). Heartbeats have the number 0.

  heard @14 :Int64;
  # The number of the last orders that the governor has applied; the server then drops its copies of them.

  drains @15 :Bool;
  # Set once: the governor wants to leave. It starts nothing any more, and has reported everything that
  # it has started. The server stops it when nothing would be lost.

  returned @16 :Runs;
  # Runs that the server has asked back (`Orders.asked`), and that will not start on this governor.

  holdsBack @17 :Text;
  # Why tasks with complete inputs wait on this governor, if a user can do something about it: a text for
  # people, in every update as long as it holds; else empty.

  isFull @18 :Bool;
  # Only clients and other governors can make room on its disk, for tasks that wait here or were handed
  # back for lack of room. Set in every update as long as it holds.
}

# Cancelled runs that have ended.
struct EndedRuns {
  tasks @0 :List(Int64);
  runs @1 :List(UInt32);
}

# Started tasks that wait for tasks which they have submitted, or have waited.
struct Waits {
  blockedTasks @0 :List(Int64);
  blockedRuns @1 :List(UInt32);
  # Columns: runs that wait now, and use no cpus while they wait.

  resumedTasks @2 :List(Int64);
  resumedRuns @3 :List(UInt32);
  # Columns: runs that go on. A blocked run is always reported here before it is reported as finished.
}

# Tasks that have succeeded.
struct FinishedTasks {
  ids @0 :List(Int64);
  runs @1 :List(UInt32);
  durations @2 :List(Float64);  # seconds
  outputCounts @3 :List(UInt32);
  sizes @4 :List(Int64);        # flat: `outputCounts`
  data @5 :List(Data);
  # Parallel to `sizes`: the bytes of small outputs. If an entry is shorter than its size, only the
  # governor has the bytes. May be empty.

  starts @6 :List(Float64);
  # Parallel to `ids`: when each run started, in seconds on the governor's clock. May be empty.

  peaks @7 :List(Int64);
  # Parallel to `ids`: the most bytes of memory of each run, 0 for unknown. May be empty.
}

struct TaskFailure {
  task @0 :Int64;
  run @1 :UInt32;
  message @2 :Text;             # for people
  debug @3 :Text;               # debug lines of the task, or a traceback
  cause @4 :Common.RunCause;
  exception @5 :Data;           # the pickled exception of a Python function; empty if there is none
  exitCode @6 :Int32 = -1;      # exit code of a program or an executor that has ended; negative for none
  signal @7 :UInt32;            # the signal that has killed it; 0 for none
  retryable @8 :Bool = true;    # whether the failure is worth another try, by the rules of the kind
  handedOn @9 :List(Int64);
  # If not empty, the task has not failed, but has passed on its result: these objects, one for each of its
  # outputs, are made by other tasks and take the place of its outputs.

  peak @10 :Int64;              # the most bytes of memory that it had; 0 if not measured (short runs)
  disk @11 :Int64;              # if the cause is `disk`: the bytes that it needs on the disk of a governor
}

# Notes of a task beyond its outputs.
struct TaskNote {
  task @0 :Int64;
  user @1 :Text;                # JSON
  debug @2 :Text;               # debug lines
  logs @3 :Text;                # its printed output, cut in the middle if long
  cache @4 :Text;
  # "taken from the cache", or why it has to run. Such a note has no other field set, and is sent before
  # the end of the task.
}

# What the governor has found out about an object when it was made.
struct ObjectNote {
  object @0 :Int64;
  contentType @1 :Text;         # as detected; empty if as declared
  user @2 :Text;                # JSON
  contents @3 :List(Int64);     # the objects of futures inside of its data
}

# A sample of the load of a governor's machine, sent from time to time.
struct Monitoring {
  cpuUsage @0 :List(UInt8);     # percent from 0 to 100, for each core
  memUsage @1 :UInt8;           # percent from 0 to 100
  interfaces @2 :List(Text);    # columns: network interfaces, and their bytes since the machine was started
  received @3 :List(Int64);
  sent @4 :List(Int64);
  taskMemory @5 :Int64;         # bytes of memory of the governor's tasks
  closedWays @6 :List(Common.ClosedWay);
  # Governors that it could not connect to, so that their data comes through the server; at most 16.
  memoryBytes @7 :Int64;        # bytes of data objects in shared memory
  diskBytes @8 :Int64;          # bytes of data objects in files on the disk
  # The next four count since the start of the governor, for streams to other machines that may be compressed.
  sentData @9 :Int64;           # bytes of data objects
  sentPacked @10 :Int64;        # how many of these bytes were compressed
  sentOnLinks @11 :Int64;       # bytes that were sent on the links
  packing @12 :Int64;           # microseconds of CPU time for compression
}
