"""Connections between client, server and governors: Cap'n Proto RPC, its messages and its methods.

How a call travels, from `connection.ask(WaitFor(...))` to the reactor and back:

1. `client_endpoint.py` takes a request, which is a value (`rain/base/wire/requests.py`). It turns
   the request into a dict of fields, as described by the row of the request's class
   (`codec/client_methods.py`), and passes it to `client_calls.py`, which makes the call and waits.
2. `peer.py` makes a message of the fields. A peer is one side of a connection: it speaks Cap'n
   Proto's RPC (`questions.py` for our calls, `serving.py` for theirs, `offered.py` for what may be
   called), and knows no socket, loop or clock. `capnproto/` writes and reads messages from the
   schemas.
3. A driver moves the bytes: `caller.py` in clients, where any thread may call and one thread
   receives; `link.py` in daemons, where one trio task receives and one sends (`outgoing.py`).
4. At the server `serving.py` finds the object and the method, `offered.py` reads the parameters
   (what is wrong with them is the caller's fault), and `server_client.py` calls the handler
   (`handlers.py`) that `rain/server/links.py` implements. The request and its client become an
   event, which a turn of the reactor handles.
5. An effect of some turn answers. The reply (`server_client.py`) writes the results, and the return
   goes back the same way. `client_calls.py` finds the thread that waits, reads the results, and
   wakes it.

Orders to governors and their updates travel alike (`server_governor.py`, `governor_endpoint.py`).

How a connection begins: `port.py` accepts, `handshake.py` lets the peer in, `listener.py` makes a
link, and `server_endpoint.py` offers the registration. `dialing.py` is the other side of it, and
`trio_dialing.py` that of daemons. Large data is sent separately, over streams (`rain/stream`,
`streams.py`).
"""
