@0xa7f2b1c04d5e6f81;
# Values that more than one interface speaks of. Hot values are columns: parallel lists, because
# reading a list of numbers costs a twentieth of reading a list of structs.
# Ids of tasks, objects and kinds are packed: session << 32 | number.

# Numbers in columns are packed into bytes, the lowest of each number first, and the columns of one
# table follow each other in one field: one more field costs as much to read as twenty numbers.
using Numbers = Data;           # whole numbers of 64 bits, with a sign
using Counts = Data;            # whole numbers of 32 bits, without a sign
using Seconds = Data;           # floating-point numbers of 64 bits

struct Resource {
  name @0 :Text;
  amount @1 :Int64;
}

enum DataType {
  blob @0;
  directory @1;
}

struct ObjectKind {
  id @0 :Int64;
  label @1 :Text;
  contentType @2 :Text;
  dataType @3 :DataType;
  user @4 :Text;          # JSON, empty for none
  sizeHint @5 :Int64;
}

struct TaskKind {
  id @0 :Int64;
  taskType @1 :Text;
  name @2 :Text;
  resources @3 :List(Resource);
  inputLabels @4 :List(Text);   # empty, or one per input
  outputs @5 :Numbers;          # object kinds
  user @6 :Text;
  durationHint @7 :Float64;     # seconds, 0 for unknown
  pin @8 :List(Text);           # constraints: only on these governors
  spread @9 :Text;              # groups of tasks, empty for none
  apart @10 :Text;
  tries @11 :UInt32;             # how often it may be tried before it has failed
}

struct TaskColumns {
  numbers @0 :Numbers;          # ids, kinds, inputs of all, outputs of all
  inputCounts @1 :Counts;
  configs @2 :List(Data);       # as many as there are tasks
}

struct ConstantColumns {
  numbers @0 :Numbers;          # ids, kinds
  data @1 :List(Data);          # empty for those that were uploaded before
  uploaded @2 :Numbers;         # ids whose bytes came over a stream
}

struct Submission {
  session @0 :Int64;
  taskKinds @1 :List(TaskKind);
  objectKinds @2 :List(ObjectKind);
  tasks @3 :TaskColumns;
  constants @4 :ConstantColumns;
  kept @5 :Numbers;
}

struct PlacedObjects {
  numbers @0 :Numbers;          # ids, kinds, sizes
  contentTypes @1 :List(Text);  # absent when all are empty
  sources @2 :List(Text);       # absent when all are empty: the bytes are in the data
  data @3 :List(Data);          # as many as there are objects
}

struct AssignedTasks {
  numbers @0 :Numbers;          # ids, kinds, priorities, inputs of all, outputs of all
  counts @1 :Counts;            # attempts, numbers of inputs
  configs @2 :List(Data);       # as many as there are tasks
}

struct Orders {
  forgetSessions @0 :Numbers;
  stopIds @1 :Numbers;
  stopAttempts @2 :Counts;
  drops @3 :Numbers;
  taskKinds @4 :List(TaskKind);
  objectKinds @5 :List(ObjectKind);
  objects @6 :PlacedObjects;
  tasks @7 :AssignedTasks;
}

struct FinishedTasks {
  numbers @0 :Numbers;          # ids, sizes of all outputs
  counts @1 :Counts;            # attempts, numbers of outputs
  durations @2 :Seconds;        # as many as there are tasks
  data @3 :List(Data);          # as many as there are outputs
}

enum FailureCause {
  task @0;          # the task itself: an exception, an exit code
  executor @1;      # the process that ran it has ended under it
  governor @2;      # its governor was lost; only the server says so
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
  startedIds @0 :Numbers;
  startedAttempts @1 :Counts;
  finished @2 :FinishedTasks;
  failed @3 :List(TaskFailure);
  located @4 :Numbers;
  unfetched @5 :Numbers;
  taskNotes @6 :List(TaskNote);
  objectNotes @7 :List(ObjectNote);
  monitoring @8 :List(Monitoring);
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

struct Delivery {
  numbers @0 :Numbers;          # ids, sizes
  contentTypes @1 :List(Text);  # absent when all are empty
  data @2 :List(Data);
}

struct WaitAnswer {
  tasks @0 :Numbers;
  objects @1 :Numbers;
  delivery @2 :Delivery;
  failed @3 :Numbers;           # those of the tasks and objects that have failed
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
