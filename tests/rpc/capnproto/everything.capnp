@0xd2f0c1a7b6e59483;
# A struct with a field of every kind that our messages use, and what an older and a newer release
# would make of it.

enum Colour { red @0; green @1; blue @2; }

struct Inner {
  number @0 :Int64;
  text @1 :Text;
}

struct Everything {
  int8 @0 :Int8;
  int16 @1 :Int16;
  int32 @2 :Int32 = -5;
  int64 @3 :Int64;
  uint8 @4 :UInt8;
  uint16 @5 :UInt16 = 77;
  uint32 @6 :UInt32;
  uint64 @7 :UInt64 = 18446744073709551615;
  float32 @8 :Float32;
  float64 @9 :Float64;
  no @10 :Bool;
  yes @11 :Bool = true;
  colour @12 :Colour;
  text @13 :Text;
  data @14 :Data;
  numbers @15 :List(Int64);
  bytes @16 :List(UInt8);
  seconds @17 :List(Float64);
  texts @18 :List(Text);
  pieces @19 :List(Data);
  inner @20 :Inner;
  inners @21 :List(Inner);
  union {
    nothing @22 :Void;
    word @23 :Text;
    amount @24 :Int32;
  }
  group :group {
    one @25 :Int64;
    other @26 :Text;
  }
}

struct Older {
  int8 @0 :Int8;
  int16 @1 :Int16;
}

struct Small { number @0 :Int64; text @1 :Text; }
struct Grown {
  number @0 :Int64;
  text @1 :Text;
  more @2 :Int64 = 9;
  texts @3 :List(Text);
  inner @4 :Inner;
}

struct Nest { nest @0 :Nest; nests @1 :List(Nest); }

interface Counter {
  add @0 (number :Int64) -> (sum :Int64);
  wait @1 () -> (answer :Text);
  open @2 (label :Text) -> (counter :Counter, label :Text);
  tell @3 (listener :Listener, text :Text) -> ();
  fail @4 (reason :Text) -> ();
}

interface Listener {
  hear @0 (text :Text) -> (answer :Text);
}
