"""Turns errors of the ssl module into messages that say what to do."""

from __future__ import annotations

import ssl

from rain.tls.errors import NotTlsError, TlsError

_OF_THE_PEER = {  # numbers of X509_V_ERR_...
    2: "its certificate was made by another authority than ours",
    9: "its certificate is not valid yet: do the clocks of both machines agree?",
    10: "its certificate has expired: renew it with 'rain keys renew'",
    18: "its certificate was made by another authority than ours",
    19: "its certificate was made by another authority than ours",
    20: "its certificate was made by another authority than ours",
    21: "its certificate was made by another authority than ours",
    23: "its certificate was revoked: it needs a new one",
    26: "its certificate is not for this purpose: clients cannot listen",
}

_OF_OURS = {
    "CERTIFICATE_EXPIRED": "our certificate has expired there: renew it with 'rain keys renew'",
    "CERTIFICATE_REVOKED": "our certificate was revoked: ask for a new one",
    "CERTIFICATE_REQUIRED": "it wants a certificate, and we have none",
    "UNKNOWN_CA": "our certificate was made by another authority than that of the cluster",
    "DECRYPT_ERROR": "our certificate was made by another authority than that of the cluster",
    "BAD_CERTIFICATE": "it does not accept our certificate",
    "UNSUPPORTED_CERTIFICATE": "it does not accept our certificate for this purpose",
    "CERTIFICATE_UNKNOWN": "it does not accept our certificate",
    "PROTOCOL_VERSION": "it does not speak TLS 1.3",
}
"""What the other side says of our certificate, by the names of alerts."""

_NOT_TLS = (
    "WRONG_VERSION_NUMBER",
    "HTTP_REQUEST",
    "HTTPS_PROXY_REQUEST",
    "UNKNOWN_PROTOCOL",
    "RECORD_LAYER_FAILURE",
)


def explained(error: ssl.SSLError) -> TlsError:
    """The same error in our words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        known = _OF_THE_PEER.get(error.verify_code)
        return TlsError(known or f"its certificate is not good: {error.verify_message}")
    name = error.reason or ""
    if any(part in name for part in _NOT_TLS):
        return NotTlsError("it does not speak TLS; was it started without --tls?")
    if "_ALERT_" in name:
        for part, text in _OF_OURS.items():
            if name.endswith(part):
                return TlsError(text)
        return TlsError(f"it ends the encrypted connection: {_words(name.partition('_ALERT_')[2])}")
    if "PEER_DID_NOT_RETURN_A_CERTIFICATE" in name:
        return TlsError("it has no certificate")
    return TlsError(f"its data is not encrypted correctly: {_words(name)}")


def _words(name: str) -> str:
    return name.replace("_", " ").lower() or "no reason"
