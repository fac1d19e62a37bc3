@0xa7f2b1c04d5e6f81;
# Values that more than one interface speaks of.
# Ids of tasks, objects and kinds are packed: session << 32 | number.

# What is said for every task is numbers and data. The numbers are packed into bytes, the lowest of
# each number first. They begin with how long each column is, and the columns follow each other.
# The data is all bytes of configs and objects, one behind the other; columns have their lengths.
# Columns of texts have places in the texts of the message, from 1 on; 0 is the empty text.
# Kinds are in the data, too, each of them an array of msgpack (docs/wire.md). The numbers about kinds
# are absent when there are none; else they say how many are of tasks, and then how long each one is:
# first those of tasks, then those of objects.
using Numbers = Data;           # whole numbers of 64 bits, with a sign

struct Resource {
  name @0 :Text;
  amount @1 :Int64;
}

enum DataType {
  blob @0;
  directory @1;
}

# What a data object was asked to be.
struct DescribedObject {
  label @0 :Text;
  contentType @1 :Text;
  dataType @2 :DataType;
}

struct Orders {
  numbers @0 :Numbers;
  # How many: sessions to forget, tasks to stop, drops, assigned tasks, inputs of all these,
  #     outputs of all these, numbers about placed objects.
  # Sessions to forget. Tasks to stop: ids, attempts. Drops: ids.
  # Assigned tasks: ids, attempts, kinds, priorities, lengths of their configs, numbers of inputs.
  # Inputs of all. Outputs of all. Numbers about placed objects, if there are any.
  # Whatever is left, if anything: how many numbers about kinds, these, and numbers about lent
  #     objects, if there are any.
  #
  # How many: objects, content types, sources, lengths of data. The last three columns are absent
  #     when all of theirs are empty.
  # Objects: ids, kinds, sizes, content types, sources, lengths of data. A source is a governor
  #     or "server"; without one the bytes are in the data.
  #
  # How many: lent objects, kinds, content types, lengths of data. One kind or one length stands for
  #     all; content types are absent when all are empty.
  # Lent objects: ids, kinds, content types, lengths of data.
  data @1 :Data;
  # The configs of the tasks, what placed and what lent objects hold, the kinds.
  texts @2 :List(Text);
}

enum FailureCause {
  task @0;          # the task itself: an exception, an exit code
  executor @1;      # the process that ran it has ended under it
  governor @2;      # its governor was lost; only the server says so
  notStarted @3;    # its governor had no room to start it, and hands it back; only governors say so
}

struct TaskFailure {
  task @0 :Int64;
  attempt @1 :UInt32;
  message @2 :Text;
  debug @3 :Text;
  cause @4 :FailureCause;
}

struct FailedAttempt {
  attempt @0 :UInt32;
  governor @1 :Text;
  cause @2 :FailureCause;
  message @3 :Text;
  debug @4 :Text;
}

struct TaskNote {
  task @0 :Int64;
  user @1 :Text;
  debug @2 :Text;
  logs @3 :Text;          # what it has printed
}

struct ObjectNote {
  object @0 :Int64;
  contentType @1 :Text;
  user @2 :Text;
}

# How busy a governor's machine is.
struct Monitoring {
  cpuUsage @0 :List(UInt8);     # percent, per core
  memUsage @1 :UInt8;           # percent
  interfaces @2 :List(Text);    # of the network, and their bytes since the machine has started
  received @3 :List(Int64);
  sent @4 :List(Int64);
}

struct Update {
  numbers @0 :Numbers;
  # How many: started tasks, finished tasks, outputs of these, located and unfetched objects.
  # Started: ids, attempts. Finished: ids, attempts, numbers of outputs.
  # Outputs: sizes, lengths of data. Located: ids. Unfetched: ids.
  data @1 :Data;
  # How many seconds each finished task took, as floating-point numbers of 64 bits; then the data
  # of the outputs.
  failed @2 :List(TaskFailure);
  taskNotes @3 :List(TaskNote);
  objectNotes @4 :List(ObjectNote);
  monitoring @5 :List(Monitoring);
}

# What a task that has failed for good means for its session.
enum OnFailure {
  stop @0;          # the session fails with it
  continue @1;      # only what depends on it fails
}

struct SessionFailure {
  message @0 :Text;
  debug @1 :Text;
  task @2 :Int64;         # -1 when no task is to blame
  attempts @3 :List(FailedAttempt);     # all of them, when there was more than one
  governor @4 :Text;     # these three are of the last attempt, as far as they are known
  startTime @5 :Text;
  duration @6 :Float64;
}

enum TaskState {
  notAssigned @0;
  ready @1;
  assigned @2;
  running @3;
  finished @4;
  failed @5;
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
  governor @2 :Text;
  startTime @3 :Text;
  duration @4 :Float64;
  error @5 :Text;
  debug @6 :Text;
  user @7 :Text;
  attempts @8 :List(FailedAttempt);     # those that have failed so far
  logs @9 :Text;                        # what it has printed, if that was asked for
}

struct ObjectReport {
  id @0 :Int64;
  state @1 :ObjectState;
  size @2 :Int64;
  contentType @3 :Text;
  user @4 :Text;
}

struct GovernorReport {
  address @0 :Text;
  tasks @1 :List(Int64);
  objects @2 :List(Int64);
  objectsToDelete @3 :List(Int64);
  resources @4 :List(Resource);
}

# How a call of a client ends when it does not succeed.
struct Refusal {
  union {
    refused @0 :Text;                # the request cannot be granted; one line
    session @1 :SessionFailure;      # the session of the request has failed
  }
}
