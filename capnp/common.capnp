@0xa7f2b1c04d5e6f81;
# Types that several interfaces share, and conventions of all schemas in this folder. docs/wire.md
# describes the rest of the protocol: connecting, authentication, and the streams for large data.
#
# Ids of tasks, data objects and kinds have 64 bits: session << 32 | number. The tasks, objects and
# kinds of one session share one sequence of numbers. The client that opens a session may use numbers
# from 10 to 2^31 - 1, and from 2^32 - 2^24 on; clients that join it get ranges between these
# (`joinSession`). The server gives out session ids, which are from 1 to 2^31 - 1.
#
# Durations are in seconds, sizes in bytes. Texts marked "JSON" are notes of users, as a JSON object;
# server and governors pass them on without reading them.
#
# Structs about many tasks or objects consist of columns: parallel lists. Entry i of each column
# belongs to row i, and all columns of a struct have the same length unless a comment says otherwise.
# There are two exceptions, which are always marked:
#   "may be empty": an empty list means that every row has the default (0, no bytes, an empty text).
#   "flat": a row has any number of entries. The entries of all rows follow each other in the order of
#       the rows. Another column, or the kinds of the rows, has the number of entries of each row.
#
# How messages evolve: new fields are added at the end, and their defaults mean the former behaviour.
# Fields are never removed. New values of enums and unions are never sent to a peer that does not know
# them. Any other change needs a new version of the protocol (`ServerBootstrap`).

struct Resource {
  name @0 :Text;            # "cpus", "memory" (in bytes), "gpus", or any other name
  amount @1 :Int64;         # 0 or more
}

enum DataType {
  blob @0;                  # a sequence of bytes
  directory @1;             # a tree of files; it is sent as a tar archive
}

# The properties that many tasks have in common. A kind is sent once, before or with its first task.
struct TaskKind {
  id @0 :Int64;
  taskType @1 :Text;        # "executor/method", for instance "buildin/concat" or "py/"
  name @2 :Text;            # for people; tasks of one name are expected to take about the same time
  resources @3 :List(Resource);     # what one task needs; without "cpus" it needs one cpu
  inputLabels @4 :List(Text);       # none, or one for each input
  outputs @5 :List(Int64);          # the kinds of the outputs, in their order
  user @6 :Text;            # JSON
  durationHint @7 :Float64; # expected seconds, 0 for unknown
  pin @8 :List(Text);       # only on these governors ("host:port" or "host"); none for anywhere
  spread @9 :Text;          # tasks of this group are spread evenly over governors; empty for no group
  apart @10 :Text;          # no governor runs two tasks of this group at a time; empty for no group
  tries @11 :UInt32 = 1;    # how many runs may fail by themselves until the task has failed; from 1
  depth @12 :UInt32;        # nesting depth: 0, or 1 + that of the task that has submitted it; set by the server
  crashTries @13 :UInt32;   # how many runs may be lost with their executor or governor; 0 for the server's default
  priority @14 :Int32;      # from -1000 to 1000; within a session, tasks with larger ones run first
  cache @15 :Text;
  # The folder of a cache for the results of its tasks: an absolute path, "own" for the default cache of
  # the governor's user, or empty for no cache. With a cache, the configs of tasks have the parts of
  # their cache keys (rain/base/caching.py).
  retryOn @16 :Data;        # a pickled tuple of exception classes that are worth another try, for Python executors
  retryCodes @17 :List(Int32);      # exit codes that are worth another try; negative numbers of signals
  # If both are empty, every failure is worth another try.
  backoff @18 :Float64;     # seconds from a failed run to the next one, doubled each time; 0 for none
  timeout @19 :Float64;     # seconds that one run may take from its start; 0 for no limit
  finalTimeout @20 :Bool;   # a run that has exceeded the timeout is not tried again
  root @21 :Int64;          # the session of the outermost task that it is nested in, or 0; set by the server
  memoryTries @22 :UInt32;  # how many runs may be evicted because of their memory; 0 for the default, 4
  idempotent @23 :Bool;     # two runs of a task may run at the same time: the server runs late ones twice
  environment @24 :Text;
  # The software environment of its tasks, or empty for none: JSON with the keys "packages" (lines of a
  # requirements file), "variables", "files" and "wheels" (digests of folders, or empty), "seconds" (how
  # long it may take to make it), and optionally "conda" (the text of an environment.yml) or "conda_name".
  # The last inputs of each task are the folders "files" and "wheels", in this order, as directories; a
  # folder without a digest is left out.
  near @25 :List(Near);     # what one task reads from outside of the store
}

# Bytes outside of the store that some governors reach faster than others. Tasks run there by
# preference, and elsewhere if those are busy.
struct Near {
  places @0 :List(Text);    # governors ("host:port"), hosts, or resources that the governors there offer
  size @1 :Int64;           # bytes
}

# The properties that many data objects have in common. Sent once, before or with its first object.
struct ObjectKind {
  id @0 :Int64;
  label @1 :Text;           # the name among the outputs of its task; may be empty
  contentType @2 :Text;     # as declared; empty if it was not declared
  dataType @3 :DataType;
  user @4 :Text;            # JSON
  sizeHint @5 :Int64;       # expected bytes, 0 for unknown
}

enum RunState {
  told @0;                  # it was sent to the governor, which has not reported its start
  running @1;               # its start was reported
  finished @2;
  failed @3;
  handedBack @4;            # the governor could not start it
  withdrawn @5;             # the server has stopped it
  lost @6;                  # its governor is gone
}

# Why a run has ended without success. Governors only send `task`, `executor`, `notStarted`, `timeout`
# and `memory`; the server adds the others.
enum RunCause {
  none @0;                  # it has not ended, or it has succeeded
  task @1;                  # the task itself: an exception, an exit code
  executor @2;              # the process that ran it has died
  notStarted @3;            # its governor lacked resources to start it, and hands it back; no try is used up
  governor @4;              # its governor was lost while it ran, and it may be the reason
  governorLeft @5;          # its governor left or was lost, and it is not the reason
  takenBack @6;             # the scheduler has changed its mind
  recalled @7;              # it was sent ahead of its inputs, which will not be made there
  inputLost @8;             # an input has no copy left
  givenUp @9;               # its task can never finish
  cancelled @10;            # a client has cancelled its task
  timeout @11;              # it exceeded the timeout of its task
  memory @12;               # it had more memory than its governor could give, and was ended
  outrun @13;               # another run of its task, which was late, has finished before it
  disk @14;                 # what it makes or reads is larger than the whole disk of its governor
}

# The memory of a task that runs, in bytes; all 0 if it does not run, or if that is unknown.
struct TaskMemory {
  now @0 :Int64;            # the private memory of its process and of all that it has started
  peak @1 :Int64;           # the most that a sample has shown so far
  mapped @2 :Int64;         # how much of its inputs these processes map from the store
}

# One attempt of a task.
struct RunReport {
  number @0 :UInt32;        # the number of the run, from 1; if there are very many, some are left out
  governor @1 :Text;        # its address, "host:port"
  state @2 :RunState;
  cause @3 :RunCause;
  message @4 :Text;         # for people
  debug @5 :Text;           # debug lines of the task, or a traceback
  toldTime @6 :Text;        # when it was sent to its governor; this and the next are RFC 3339
  startTime @7 :Text;       # empty if its start was not reported
  duration @8 :Float64;     # seconds from its start to its end
  exitCode @9 :Int32 = -1;  # of a program or an executor that has ended; negative for none
  signal @10 :UInt32;       # the signal that has killed it; 0 for none
  logs @11 :Text;           # the end of what a failed run has printed
  retryable @12 :Bool = true;       # whether the failure is worth another try, by the rules of the kind
  peak @13 :Int64;          # the most bytes of memory that it had; 0 if not measured (short runs)
}

# What happens to a session when a task has failed for good.
enum OnFailure {
  stop @0;                  # the session fails with it
  continue @1;              # only the tasks that depend on it fail
}

struct SessionFailure {
  message @0 :Text;         # for people
  debug @1 :Text;           # debug lines of the task, or a traceback
  task @2 :Int64 = -1;      # -1 when no task is to blame
  runs @3 :List(RunReport); # of that task, up to the one that has failed
  exception @4 :Data;       # the pickled exception of a Python function; empty if there is none
  cancelled @5 :Bool;       # the task did not fail by itself: a client has cancelled it
}

# Why a call of a client has failed. In that case its other results have no meaning.
struct Refusal {
  union {
    none @0 :Void;                   # the call has succeeded
    refused @1 :Text;                # the request was refused; one line, for people
    session @2 :SessionFailure;      # the session of the request has failed
  }
}

struct GovernorReport {
  address @0 :Text;                 # "host:port"
  tasks @1 :List(Int64);            # running tasks (this and the next two are separate lists)
  objects @2 :List(Int64);          # stored objects
  objectsToDelete @3 :List(Int64);  # stored objects that are not needed any more
  resources @4 :List(Resource);     # what it offers
  memory @5 :List(Resource);        # bytes by use: "limit", "tasks", "stored", ... (rain/governor/core/account.py)
  running @6 :List(Resource);       # bytes of memory of running tasks, by the names of tasks
  outOfReach @7 :List(ClosedWay);   # governors that it cannot connect to: their data comes through the server
  links @8 :List(DataLink);         # links to other machines over which it has sent large files
}

# How much a governor has sent to one host in streams that may be compressed.
struct DataLink {
  host @0 :Text;
  bytes @1 :Int64;          # bytes of the files
  compressed @2 :Int64;     # how many of these bytes were sent compressed
  sent @3 :Int64;           # bytes that were sent on the link
  rate @4 :Int64;           # measured bytes per second of the link; 0 if unknown
}

# A governor that another one cannot connect to.
struct ClosedWay {
  address @0 :Text;         # "host:port"
  why @1 :Text;             # for people
}

# Whole lines that a task has printed, for clients that watch it.
struct PrintedLines {
  task @0 :Int64;           # 0 for the sum of lines of any tasks that are left out
  name @1 :Text;            # the name of the task
  errors @2 :Bool;          # from stderr, else from stdout
  text @3 :Text;
  leftOut @4 :Int64;        # how many bytes before the text were left out
  governor @5 :Text;        # the address of the governor; the server fills it in
}

# The tasks whose output is watched: all tasks of these sessions, including tasks that they submit, and
# these single tasks.
struct Watch {
  sessions @0 :List(Int64);
  tasks @1 :List(Int64);
}
