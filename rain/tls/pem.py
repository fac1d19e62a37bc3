"""PEM files as blocks: keys and certificates in text. No I/O."""

from __future__ import annotations

import re

from attrs import field, frozen

CERTIFICATE = b"CERTIFICATE"
KEY = b"PRIVATE KEY"
REVOKED = b"X509 CRL"
"""The list of certificates that the authority has revoked."""

_BLOCK = re.compile(
    rb"-----BEGIN ([A-Z0-9 ]{1,40})-----\r?\n[A-Za-z0-9+/=\r\n]+-----END \1-----(?:\r?\n|$)"
)


@frozen
class Papers:
    """A key with its certificate, and the certificates of the authorities that are trusted."""

    key: bytes = field(repr=False)
    certificate: bytes
    authorities: bytes
    revoked: bytes = b""  # the certificates that the authority has revoked, if any


def read_papers(content: bytes) -> tuple[Papers, Papers | None]:
    """What the file of a member holds: its papers, and those of its tasks, if it is a governor.

    ValueError says in one line what is missing. The file is: key, certificate, authorities; then
    the key of the tasks and their certificate; then the list of revoked certificates.
    """
    found = [(block[1], block[0]) for block in _BLOCK.finditer(content)]
    revoked = b"".join(block for kind, block in found if kind == REVOKED)
    blocks = [(kind, block) for kind, block in found if kind != REVOKED]
    unknown = sorted({kind.decode() for kind, _ in blocks} - {KEY.decode(), CERTIFICATE.decode()})
    if unknown:
        raise ValueError(f"holds {unknown[0]!r}, which is neither a key nor a certificate")
    starts = [number for number, (kind, _) in enumerate(blocks) if kind == KEY]
    if not starts or starts[0] != 0 or len(starts) > 2:
        raise ValueError("is not a file of 'rain keys': it has to begin with a private key")
    first, *others = [
        [block for _, block in blocks[start:end]]
        for start, end in zip(starts, [*starts[1:], len(blocks)], strict=True)
    ]
    if len(first) < 3:
        raise ValueError("is not whole: a key, a certificate and that of the authority belong in")
    authorities = b"".join(first[2:])
    tasks = None
    for other in others:
        if len(other) != 2:
            raise ValueError("is not whole: the key of its tasks needs a certificate")
        tasks = Papers(other[0], other[1], authorities, revoked)
    return Papers(first[0], first[1], authorities, revoked), tasks


def spell_papers(papers: Papers, tasks: Papers | None = None) -> bytes:
    """The content of the file of a member."""
    content = papers.key + papers.certificate + papers.authorities
    if tasks is not None:
        content += tasks.key + tasks.certificate
    return content + papers.revoked
