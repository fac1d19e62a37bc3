@0xb3c9d2e15f6a7b92;
# Reading the bytes of data objects from whoever holds them: governors and the server alike.

enum ReadStatus {
  ok @0;
  notHere @1;       # this holder does not have the object (any more); ask the server again
}

interface DataService {
  read @0 (object :Int64, offset :Int64, size :Int64) -> (status :ReadStatus, total :Int64, data :Data);
  # `total` is the length of the whole transport form: the bytes of a blob, or a tar of a directory.
}
