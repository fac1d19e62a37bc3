@0xf3a1c6d29b5e7d41;
# The parts of Cap'n Proto's own messages (its rpc.capnp) in which a peer gives reasons. They are
# looked at before pycapnp is, which ends the process when a reason is not UTF-8.

struct Message {
  union {
    unimplemented @0 :AnyPointer;
    abort @1 :Exception;
    call @2 :AnyPointer;
    return @3 :Return;
    finish @4 :AnyPointer;
    resolve @5 :Resolve;
    release @6 :AnyPointer;
    obsoleteSave @7 :AnyPointer;
    bootstrap @8 :AnyPointer;
    obsoleteDelete @9 :AnyPointer;
    provide @10 :AnyPointer;
    accept @11 :AnyPointer;
    join @12 :AnyPointer;
    disembargo @13 :AnyPointer;
  }
}

struct Return {
  answerId @0 :UInt32;
  releaseParamCaps @1 :Bool = true;
  union {
    results @2 :AnyPointer;
    exception @3 :Exception;
    canceled @4 :Void;
    resultsSentElsewhere @5 :Void;
    takeFromOtherQuestion @6 :UInt32;
    acceptFromThirdParty @7 :AnyPointer;
  }
}

struct Resolve {
  promiseId @0 :UInt32;
  union {
    cap @1 :AnyPointer;
    exception @2 :Exception;
  }
}

struct Exception {
  reason @0 :Text;
  obsoleteIsCallersFault @1 :Bool;
  obsoleteDurability @2 :UInt16;
  type @3 :UInt16;
  trace @4 :Text;
}
