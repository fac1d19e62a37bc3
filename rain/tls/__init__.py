"""TLS for every link: who is who by certificates, and a pump between plain bytes and records.

`identity` reads the file of a member. `pump` encrypts and decrypts without a socket, `handshake`
says what to send and when to receive, and `encrypted` is a socket whose bytes go through a pump.
`making` makes the files; it alone needs `cryptography`.
"""
