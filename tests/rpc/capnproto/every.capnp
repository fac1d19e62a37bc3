@0xb3f1d5c2a9e07741;
# Fields of every kind, and two releases of one struct.

interface Thing {}

enum Colour { red @0; green @1; blue @2; }

struct Inner {
  number @0 :Int32;
  text @1 :Text;
}

struct Every {
  nothing @0 :Void;
  yes @1 :Bool = true;
  no @2 :Bool;
  i8 @3 :Int8 = -3;
  i16 @4 :Int16;
  i32 @5 :Int32 = 70000;
  i64 @6 :Int64 = -1;
  u8 @7 :UInt8 = 255;
  u16 @8 :UInt16;
  u32 @9 :UInt32;
  u64 @10 :UInt64 = 0xffffffffffffffff;
  f32 @11 :Float32;
  f64 @12 :Float64;
  colour @13 :Colour = blue;
  text @14 :Text;
  data @15 :Data;
  inner @16 :Inner;
  i8s @17 :List(Int8);
  i16s @18 :List(Int16);
  u32s @19 :List(UInt32);
  i64s @20 :List(Int64);
  f64s @21 :List(Float64);
  texts @22 :List(Text);
  datas @23 :List(Data);
  inners @24 :List(Inner);
  thing @25 :Thing;
  any @26 :AnyPointer;
  group :group {
    left @27 :Int16 = 5;
    right @28 :Text;
  }
  union {
    none @29 :Void;
    number @30 :UInt16 = 9;
    flag @31 :Bool;
    word @32 :Text;
    struct @33 :Inner;
    pair :group {
      first @34 :Float64;
      second @35 :List(Int64);
    }
    tint @36 :Colour;
  }
}

struct Old {
  number @0 :Int32;
  colour @1 :OldColour;
  inner @2 :Void;
}

enum OldColour { red @0; green @1; }

struct New {
  number @0 :Int32;
  colour @1 :Colour;
  inner @2 :Void;
  more @3 :Int64 = 7;
  text @4 :Text;
  choice :union {
    one @5 :Int64;
    two @6 :Text;
  }
}

struct OldRows { rows @0 :List(Old); }
struct NewRows { rows @0 :List(New); }

struct Chain { next @0 :Chain; number @1 :Int32; }

struct Hollow { rows @0 :List(Empty); }
struct Empty {}
