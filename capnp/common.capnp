@0xa7f2b1c04d5e6f81;
# Values that more than one interface speaks of. Hot values are columns: parallel lists, because
# reading a list of numbers costs a twentieth of reading a list of structs.
# Ids of tasks, objects and kinds are packed: session << 32 | number.

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
  outputs @5 :List(Int64);      # object kinds
  user @6 :Text;
  durationHint @7 :Float64;     # seconds, 0 for unknown
  pin @8 :List(Text);           # constraints: only on these governors
  spread @9 :Text;              # groups of tasks, empty for none
  apart @10 :Text;
  tries @11 :UInt32;             # how often it may be tried before it has failed
}

struct TaskColumns {
  ids @0 :List(Int64);
  kinds @1 :List(Int64);
  configs @2 :List(Data);
  inputCounts @3 :List(UInt32);
  inputs @4 :List(Int64);
  outputs @5 :List(Int64);
}

struct ConstantColumns {
  ids @0 :List(Int64);
  kinds @1 :List(Int64);
  data @2 :List(Data);          # empty for those that were uploaded before
  uploaded @3 :List(Int64);     # ids whose bytes came over a stream
}

struct Submission {
  session @0 :Int64;
  taskKinds @1 :List(TaskKind);
  objectKinds @2 :List(ObjectKind);
  tasks @3 :TaskColumns;
  constants @4 :ConstantColumns;
  kept @5 :List(Int64);
}

struct PlacedObjects {
  ids @0 :List(Int64);
  kinds @1 :List(Int64);
  contentTypes @2 :List(Text);
  sizes @3 :List(Int64);
  sources @4 :List(Text);
  data @5 :List(Data);
}

struct AssignedTasks {
  ids @0 :List(Int64);
  attempts @1 :List(UInt32);
  kinds @2 :List(Int64);
  priorities @3 :List(Int64);
  configs @4 :List(Data);
  inputCounts @5 :List(UInt32);
  inputs @6 :List(Int64);
  outputs @7 :List(Int64);
}

struct Orders {
  forgetSessions @0 :List(Int64);
  stopIds @1 :List(Int64);
  stopAttempts @2 :List(UInt32);
  drops @3 :List(Int64);
  taskKinds @4 :List(TaskKind);
  objectKinds @5 :List(ObjectKind);
  objects @6 :PlacedObjects;
  tasks @7 :AssignedTasks;
}

struct FinishedTasks {
  ids @0 :List(Int64);
  attempts @1 :List(UInt32);
  durations @2 :List(Float64);
  sizes @3 :List(Int64);
  data @4 :List(Data);
  outputCounts @5 :List(UInt32);
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
  startedIds @0 :List(Int64);
  startedAttempts @1 :List(UInt32);
  finished @2 :FinishedTasks;
  failed @3 :List(TaskFailure);
  located @4 :List(Int64);
  unfetched @5 :List(Int64);
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
  ids @0 :List(Int64);
  sizes @1 :List(Int64);
  contentTypes @2 :List(Text);
  data @3 :List(Data);
}

struct WaitAnswer {
  tasks @0 :List(Int64);
  objects @1 :List(Int64);
  delivery @2 :Delivery;
  failed @3 :List(Int64);       # those of the tasks and objects that have failed
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
