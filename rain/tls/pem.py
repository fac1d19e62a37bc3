"""PEM files as blocks: keys and certificates in text. No I/O."""

from __future__ import annotations

import re

from attrs import field, frozen

CERTIFICATE = b"CERTIFICATE"
KEY = b"PRIVATE KEY"

_BLOCK = re.compile(
    rb"-----BEGIN ([A-Z ]{1,40})-----\r?\n[A-Za-z0-9+/=\r\n]+-----END \1-----(?:\r?\n|$)"
)


@frozen
class Papers:
    """A key with its certificate, and the certificates of the authorities that are trusted."""

    key: bytes = field(repr=False)
    certificate: bytes
    authorities: bytes


def read_papers(content: bytes) -> tuple[Papers, Papers | None]:
    """What the file of a member holds: its papers, and those of its tasks, if it is a governor.

    ValueError says in one line what is missing. The file is: key, certificate, authorities; then
    the key of the tasks and their certificate.
    """
    blocks = [(found[1], found[0]) for found in _BLOCK.finditer(content)]
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
        tasks = Papers(other[0], other[1], authorities)
    return Papers(first[0], first[1], authorities), tasks


def spell_papers(papers: Papers, tasks: Papers | None = None) -> bytes:
    """The content of the file of a member."""
    content = papers.key + papers.certificate + papers.authorities
    return content if tasks is None else content + tasks.key + tasks.certificate
