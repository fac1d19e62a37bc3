@0xd5e7f4a37b8c9db4;
# What the server and a governor say to each other. Each side makes its calls without waiting for
# the answers to earlier ones, and they are applied in their order.
using Common = import "common.capnp";

interface GovernorUpstream {
  # What a governor calls.

  update @0 Update -> (applied :Int64);
  # All that it has to tell since its last update. An empty one is a sign of life. The answer says
  # the number of the last update that the server will not forget when it dies; 0 of a server that
  # does not come back.

  drained @1 () -> ();
  # The governor leaves on purpose after this.

  printed @2 (number :Int64, lines :List(Common.PrintedLines)) -> ();
  # What tasks have printed since the last time that one watch is for. Of a run that has ended it is
  # told before its end.
}

interface GovernorControl {
  # What the server calls.

  order @0 Orders -> ();
  # All that one turn of the server has for this governor.

  report @1 () -> (report :Common.GovernorReport);
  # Asked live when somebody wants the server's info.

  stop @2 (reason :Text) -> ();
  # The server ends this governor: it stops its tasks and exits.

  printed @3 (task :Int64) -> (logs :Text);
  # What a task that runs here has printed so far; nothing of one that does not run here.

  watch @4 (number :Int64, watch :Common.Watch, over :Bool) -> ();
  # From now on it tells what these tasks print, or nothing any more if it is over.

  callBack @5 (ticket :Data) -> ();
  # The server wants to read data and cannot connect: this governor connects to the server's port as a
  # reader, shows the ticket, and answers requests there.
}

# Applied from top to bottom.
struct Orders {
  forgetSessions @0 :List(Int64);
  # Ids of sessions. Stop all of their tasks, drop their objects, forget their kinds.

  stopTasks @1 :List(Int64);
  stopRuns @2 :List(UInt32);
  # Columns: these runs are stopped. What they report later is ignored.

  drops @3 :List(Int64);
  # Copies of these objects are not wanted here any more.

  objectKinds @4 :List(Common.ObjectKind);
  taskKinds @5 :List(Common.TaskKind);
  # Told before their first use, and known until their session is forgotten.

  placed @6 :PlacedObjects;
  lent @7 :LentObjects;
  tasks @8 :AssignedTasks;

  cancelled @9 :CancelledRuns;
  # Applied after the stops and before the drops. The governor tells of each in `Update.ended`, but
  # for those that have ended before: of these all was told.

  more @10 :Bool;
  # The orders of this turn go on in the next message. They are applied when all of it is there.

  number @11 :Int64;
  # Of the last message of a turn, where the server comes back: its orders are numbered from 1 for each
  # incarnation. Orders without a number are applied; those with a number that was applied are ignored.

  asked @12 :Runs;
  # Applied after `cancelled`: the governor gives these back, unless it has begun them. It tells of
  # those in `Update.returned`. Of the others it tells the start or the end, as of all.
}

# Columns: tasks, and which run of each is meant.
struct Runs {
  tasks @0 :List(Int64);
  runs @1 :List(UInt32);
}

# Runs that nobody wants any more.
struct CancelledRuns {
  tasks @0 :List(Int64);
  runs @1 :List(UInt32);
  graces @2 :List(Float64);
  # Seconds to clean up, after which the run is killed; -1 for as many as the governor gives.
}

# Objects that the governor shall hold, and where each comes from.
struct PlacedObjects {
  ids @0 :List(Int64);
  kinds @1 :List(Int64);
  sizes @2 :List(Int64);
  contentTypes @3 :List(Text);  # as found when it was made; may be empty
  sources @4 :List(Text);
  # "host:port#incarnation" of a governor's streams, or "server", or several of them with blanks
  # between; "later" when a source will be named; an empty text when the bytes are in `data`. May be
  # empty.
  data @5 :List(Data);          # may be empty
}

# Small inputs that one task alone reads, which is assigned with the same orders. The governor lets
# go of them when that task has ended in whatever way.
struct LentObjects {
  ids @0 :List(Int64);
  kinds @1 :List(Int64);
  contentTypes @2 :List(Text);  # may be empty
  data @3 :List(Data);          # may be empty
}

# Tasks to run, in the order in which they should be preferred among equal priorities. A task may
# read what another one makes that was assigned to the same governor before; it starts when that is
# there.
struct AssignedTasks {
  ids @0 :List(Int64);
  runs @1 :List(UInt32);
  kinds @2 :List(Int64);
  priorities @3 :List(Int64);   # larger ones first; may be empty
  configs @4 :List(Data);       # what the method of the executor makes of the task; may be empty
  inputCounts @5 :List(UInt32);
  inputs @6 :List(Int64);       # flat: `inputCounts`
  outputs @7 :List(Int64);      # flat: as many as the kind of the task has outputs
  needs @8 :List(Int64);
  # Bytes of memory that each is expected to take, where that is more than its kind says. May be empty.
}

struct Update {
  startedTasks @0 :List(Int64);
  startedRuns @1 :List(UInt32);
  # Columns: tasks that have run for 10 ms and still do, and those that were assigned before. Of
  # what is over sooner only the end is told.

  finished @2 :FinishedTasks;
  failed @3 :List(TaskFailure);

  located @4 :List(Int64);
  # Placed objects that have arrived; of those whose bytes came with the orders nothing is said.

  unfetched @5 :List(Int64);
  # Placed objects that their source did not give; the server names another source.

  taskNotes @6 :List(TaskNote);
  objectNotes @7 :List(ObjectNote);
  monitoring @8 :List(Monitoring);

  waits @9 :Waits;

  ended @10 :EndedRuns;

  startedTimes @11 :List(Float64);
  # A column of `startedTasks`: when each began, in seconds on the governor's clock. May be empty.

  time @12 :Float64;
  # On the same clock: when this was sent. 0 if it tells no times.

  number @13 :Int64;
  # Where the server comes back, news are numbered from 1, and kept by the governor until the server
  # has said that they are applied. Signs of life have no number.

  heard @14 :Int64;
  # The number of the last orders that the governor had applied before; the server forgets them.

  drains @15 :Bool;
  # Said once: the governor starts nothing any more, and wants to leave. It has told of all that it
  # has started. The server stops it when it need not stay.

  returned @16 :Runs;
  # These were asked back. They have not begun here, and will not.

  holdsBack @17 :Text;
  # Why tasks wait here though their inputs have come, if people can mend that. It is in each update
  # while that is so, and empty otherwise.

  isFull @18 :Bool;
  # Only others can make room on the disk, for tasks that wait here or were handed back for that. It
  # is in each update while that is so.
}

# Runs that were cancelled, and on which nobody works any more.
struct EndedRuns {
  tasks @0 :List(Int64);
  runs @1 :List(UInt32);
}

# Started tasks that wait for tasks of their own, or have waited.
struct Waits {
  blockedTasks @0 :List(Int64);
  blockedRuns @1 :List(UInt32);
  # Columns: those that wait now, and take no cpus meanwhile.

  resumedTasks @2 :List(Int64);
  resumedRuns @3 :List(UInt32);
  # Columns: those that have gone on. All are told before they end in success.
}

# Tasks that have succeeded.
struct FinishedTasks {
  ids @0 :List(Int64);
  runs @1 :List(UInt32);
  durations @2 :List(Float64);  # seconds
  outputCounts @3 :List(UInt32);
  sizes @4 :List(Int64);        # flat: `outputCounts`
  data @5 :List(Data);
  # As `sizes`: the bytes of small outputs. An entry that is shorter than its size says that the
  # bytes are here, at the governor, only. May be empty.

  starts @6 :List(Float64);
  # As `ids`: when each began, in seconds on the governor's clock. May be empty.

  peaks @7 :List(Int64);
  # As `ids`: the most bytes of memory that each had, 0 for unknown. May be empty.
}

struct TaskFailure {
  task @0 :Int64;
  run @1 :UInt32;
  message @2 :Text;             # for people
  debug @3 :Text;               # a traceback, for instance
  cause @4 :Common.RunCause;
  exception @5 :Data;           # of a Python function: its pickle, if it can be pickled
  exitCode @6 :Int32 = -1;      # of a program or an executor that has ended; negative for none
  signal @7 :UInt32;            # by which that has ended; 0 for none
  retryable @8 :Bool = true;    # the kind of the task says that this is worth another try
  handedOn @9 :List(Int64);
  # If there are any, the task has not failed: these objects are what it was to make, one for each
  # output, and other tasks make them.

  peak @10 :Int64;              # the most bytes of memory that it had; 0 if nobody has looked
}

# What a task has said about itself.
struct TaskNote {
  task @0 :Int64;
  user @1 :Text;                # JSON
  debug @2 :Text;
  logs @3 :Text;                # what it has printed
  cache @4 :Text;
  # Whether its results came from the cache, or why it has to run. Such a note says nothing else, and
  # comes before the end of the task.
}

# What was found out about an object when it was made.
struct ObjectNote {
  object @0 :Int64;
  contentType @1 :Text;
  user @2 :Text;                # JSON
  contents @3 :List(Int64);     # the objects of the futures inside of its data
}

# How busy a governor's machine is, now and then.
struct Monitoring {
  cpuUsage @0 :List(UInt8);     # percent, per core
  memUsage @1 :UInt8;           # percent
  interfaces @2 :List(Text);    # columns: of the network, and their bytes since the machine has started
  received @3 :List(Int64);
  sent @4 :List(Int64);
  taskMemory @5 :Int64;         # bytes that the tasks of the governor have
  closedWays @6 :List(Common.ClosedWay);
  # Governors that it could not connect to, and whose data comes through the server; 16 at most.
  memoryBytes @7 :Int64;        # of data objects in shared memory,
  diskBytes @8 :Int64;          # and in files on the disk
  sentData @9 :Int64;           # to other machines since its start, in bodies that may be compressed: bytes of
  sentPacked @10 :Int64;        # data objects, those that were compressed, and bytes on the links
  sentOnLinks @11 :Int64;
  packing @12 :Int64;           # microseconds of processors for compressing
}
