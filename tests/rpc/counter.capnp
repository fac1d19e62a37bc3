@0xbb21c4d5e6f7a812;
# The interfaces that the tests of peers offer.

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
