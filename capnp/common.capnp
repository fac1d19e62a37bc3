@0xa7f2b1c04d5e6f81;
# Values that more than one interface speaks of, and what holds for all of these files.
#
# Ids of tasks, data objects and kinds are 64 bits: session << 32 | number. Times are in seconds,
# sizes in bytes. Texts that are called JSON are what users have noted, and nobody between reads them.
#
# What is said of many tasks or objects at once is said in columns: lists that lie side by side in
# one struct. Entry i of each column belongs to row i, and the columns of a struct have the same
# length unless a comment says otherwise. There are two exceptions, and both are always named:
#   "may be empty": every row has the default (0, no bytes, an empty text).
#   "flat": rows have several entries each, or none. They follow each other in the order of the rows,
#       and another column, or the kinds of the rows, say how many each row has.
#
# How the messages grow: fields are added at the end, and their defaults mean what was meant before.
# A field that is not used any more stays. Numbers of enums and unions are only added where a peer of
# an older version never gets them. Anything else is a new version (`ServerBootstrap`).

struct Resource {
  name @0 :Text;            # "cpus", "memory" (bytes), or what the users have called it
  amount @1 :Int64;
}

enum DataType {
  blob @0;                  # a string of bytes
  directory @1;             # a tree of files; it travels as a tar
}

# What many tasks have in common. A kind is told once, before the first task that is of it.
struct TaskKind {
  id @0 :Int64;
  taskType @1 :Text;        # "executor/method", for instance "buildin/concat" or "py/"
  name @2 :Text;
  resources @3 :List(Resource);     # what one task takes; without "cpus" it takes one of these
  inputLabels @4 :List(Text);       # none, or one for each input
  outputs @5 :List(Int64);          # the kinds of the outputs, in their order
  user @6 :Text;            # JSON
  durationHint @7 :Float64; # expected seconds, 0 for unknown
  pin @8 :List(Text);       # only on these governors ("host:port" or "host"); none for anywhere
  spread @9 :Text;          # the tasks of this group are dealt out evenly; empty for no group
  apart @10 :Text;          # no governor has two tasks of this group at a time; empty for no group
  tries @11 :UInt32 = 1;    # how often it may be tried before it has failed
  depth @12 :UInt32;        # how many tasks it is inside of; the server says it to governors
  crashTries @13 :UInt32;   # how often it may end by a crash around it; 0: as the server says
  priority @14 :Int32;      # from -1000 to 1000; larger ones go first within their session
  cache @15 :Text;
  # The folder where the results of its tasks are kept for other runs: a path, "own" for that of the
  # governor's user, or empty for none. The configs say then what the keys are made of.
  retryOn @16 :Data;        # exception classes that are worth another try, for Python executors
  retryCodes @17 :List(Int32);      # exit codes that are; of signals the negative numbers
  # Without both of these every failure is worth another try.
  backoff @18 :Float64;     # seconds from a failed run to the next one; doubled with each of them
  timeout @19 :Float64;     # seconds that one run may take from its start; 0 for any number
  finalTimeout @20 :Bool;   # a run that has taken longer is not worth another try
  root @21 :Int64;          # the session of the outermost task it is inside of, as the depth; or 0
  memoryTries @22 :UInt32;  # how often it may end for want of memory; 0 for a usual number
  idempotent @23 :Bool;     # two runs of a task at a time do no harm
  environment @24 :Text;
  # The software that its tasks need of the machine, or empty for none: JSON with the keys "packages"
  # (lines of a requirements file), "variables", "files" and "wheels" (digests of folders, or empty),
  # and "seconds" (as long as it may take to make it). Of these folders there are those that have a
  # digest, as directories, at the end of the inputs of each task, in this order.
}

# What many data objects have in common.
struct ObjectKind {
  id @0 :Int64;
  label @1 :Text;
  contentType @2 :Text;     # as it was declared; empty says nothing
  dataType @3 :DataType;
  user @4 :Text;            # JSON
  sizeHint @5 :Int64;       # expected bytes, 0 for unknown
}

enum RunState {
  told @0;                  # the governor was told to run the task
  running @1;
  finished @2;
  failed @3;
  handedBack @4;            # the governor could not start it
  withdrawn @5;             # the server has stopped it
  lost @6;                  # its governor is gone
}

# Why a run has ended without success. Governors say the first three, `timeout` and `memory`, the server finds out the others.
enum RunCause {
  none @0;                  # it is not over, or it has succeeded
  task @1;                  # the task itself: an exception, an exit code
  executor @2;              # the process that ran it has ended under it
  notStarted @3;            # its governor had no room to start it, and hands it back
  governor @4;              # its governor was lost while it ran, and it may be the reason
  governorLeft @5;          # its governor left or was lost, and it is not the reason
  takenBack @6;             # the scheduler has changed its mind
  recalled @7;              # what it was sent ahead of will not be made there
  inputLost @8;             # what it reads has no copy left
  givenUp @9;               # its task can never finish
  cancelled @10;            # a client has cancelled its task
  timeout @11;              # it took longer than its task allows
  memory @12;               # it had more memory than its governor could give, and was ended
  outrun @13;               # another run of its task, which was late, has finished before it
}

# One attempt of a task.
struct RunReport {
  number @0 :UInt32;        # counts the runs of the task, from 1 on; of very many not all are told
  governor @1 :Text;        # its address
  state @2 :RunState;
  cause @3 :RunCause;
  message @4 :Text;         # for people
  debug @5 :Text;           # the lines that the task has left
  toldTime @6 :Text;        # when its governor was told to run it; this and the next are RFC 3339
  startTime @7 :Text;       # as far as its start was told
  duration @8 :Float64;     # seconds from its start to its end
  exitCode @9 :Int32 = -1;  # of a program or an executor that has ended; negative for none
  signal @10 :UInt32;       # by which that has ended; 0 for none
  logs @11 :Text;           # the end of what a failed run has printed
  retryable @12 :Bool = true;       # what has failed is worth another try
  peak @13 :Int64;          # the most bytes of memory that it had; 0 if nobody has looked
}

# What a task that has failed for good means for its session.
enum OnFailure {
  stop @0;                  # the session fails with it
  continue @1;              # only what depends on it fails
}

struct SessionFailure {
  message @0 :Text;
  debug @1 :Text;
  task @2 :Int64 = -1;      # -1 when no task is to blame
  runs @3 :List(RunReport); # of that task, up to the one that has failed
  exception @4 :Data;       # of a Python function: its pickle, if it can be pickled
  cancelled @5 :Bool;       # the task did not fail by itself: a client has cancelled it
}

# How a call of a client ends when it does not succeed; the other results are then not there.
struct Refusal {
  union {
    none @0 :Void;                   # the call has succeeded
    refused @1 :Text;                # it cannot be granted; one line, for people
    session @2 :SessionFailure;      # the session of the request has failed
  }
}

struct GovernorReport {
  address @0 :Text;
  tasks @1 :List(Int64);            # these three are no columns of each other
  objects @2 :List(Int64);
  objectsToDelete @3 :List(Int64);
  resources @4 :List(Resource);
  memory @5 :List(Resource);        # bytes by what they are for: "limit", "tasks", "stored", ...
  running @6 :List(Resource);       # bytes that running tasks have, by their names
  outOfReach @7 :List(ClosedWay);   # governors whose data comes through the server
  links @8 :List(DataLink);         # to other machines, over which it has sent large files
}

# What a governor has sent to one host in files that may be compressed on their way.
struct DataLink {
  host @0 :Text;
  bytes @1 :Int64;          # of the files
  compressed @2 :Int64;     # of these: sent compressed
  sent @3 :Int64;           # bytes on the link
  rate @4 :Int64;           # bytes per second that the link was found to take; 0 if not known
}

# A governor that another one cannot connect to.
struct ClosedWay {
  address @0 :Text;
  why @1 :Text;
}

# Whole lines that a task has printed, for clients that watch it.
struct PrintedLines {
  task @0 :Int64;           # 0 for lines of any tasks that are left out
  name @1 :Text;            # of the task
  errors @2 :Bool;          # on stderr
  text @3 :Text;
  leftOut @4 :Int64;        # bytes before the text that are not told
  governor @5 :Text;        # its address; governors do not say it
}

# Whose lines are told: those of all tasks of these sessions, and those of these tasks.
struct Watch {
  sessions @0 :List(Int64);
  tasks @1 :List(Int64);
}
