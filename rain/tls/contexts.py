"""Makes the contexts of the ssl module: TLS 1.3, certificates of both sides, trusted
authorities.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Generator
from contextlib import contextmanager

from rain.tls.pem import Papers


def accepting(papers: Papers) -> ssl.SSLContext:
    """For connections that are accepted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.num_tickets = 0  # nobody resumes: one message fewer, which would come unasked
    _prepare(context, papers)
    return context


def dialling(papers: Papers) -> ssl.SSLContext:
    """For connections that we make."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # An authority is of one cluster, and who may be its server stands in the certificate. Hosts
    # have several names and addresses, which change: only browsers compare them.
    context.check_hostname = False
    _prepare(context, papers)
    return context


def _prepare(context: ssl.SSLContext, papers: Papers) -> None:
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_verify_locations(cadata=papers.authorities.decode("ascii"))
    if papers.revoked:
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
        with _as_file(papers.revoked) as path:
            context.load_verify_locations(path)
    with _as_file(papers.key + papers.certificate) as path:
        context.load_cert_chain(path)


@contextmanager
def _as_file(content: bytes) -> Generator[str]:
    """The ssl module loads keys and lists from files only; this one has no name."""
    descriptor = os.memfd_create("rain-key", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        yield f"/proc/self/fd/{descriptor}"
