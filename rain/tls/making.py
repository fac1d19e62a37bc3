"""Makes certificates: the authority of a cluster, and the certificates of its members. No I/O.

This alone needs `cryptography`, which is an extra.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import re

from attrs import evolve, frozen
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from rain.base.admission import MemberKind
from rain.tls.pem import Papers, read_papers, spell_papers
from rain.tls.pump import ROLE, USER

DAYS = 365.0
AUTHORITY_DAYS = 3650.0

_ISSUED = re.compile(rb"^issued (\S+) ([0-9a-f]+)$", re.MULTILINE)
_REVOKED = re.compile(rb"-----BEGIN X509 CRL-----.*?-----END X509 CRL-----\n", re.DOTALL)

_SKEW = dt.timedelta(hours=1)
"""The clocks of other machines may be late by this."""


@frozen
class Wanted:
    """What a certificate is to say."""

    member: MemberKind
    name: str
    hosts: tuple[str, ...] = ()
    days: float = DAYS
    user: str = ""


@frozen
class Description:
    """What a certificate says."""

    member: MemberKind
    name: str
    hosts: tuple[str, ...]
    expires: dt.datetime
    user: str = ""


@frozen
class Issued:
    """A certificate that was issued, by the file that it was written to."""

    file: str
    serial: int


@frozen
class Authority:
    """The authority of one cluster, with the certificates that it has issued and revoked.

    A key keeps its earlier certificates, which are good until their dates. So all of them are
    noted, and revoked together.
    """

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    issued: tuple[Issued, ...] = ()
    revoked: bytes = b""

    @staticmethod
    def make(name: str, days: float = AUTHORITY_DAYS) -> Authority:
        key, subject = _new_key(), _named(name)
        builder = _begun(subject, subject, key, days)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        builder = builder.add_extension(_usage(signs_others=True), True)
        return Authority(key, _signed(builder, key, key))

    @staticmethod
    def read(content: bytes) -> Authority:
        """ValueError if it is none."""
        certificate = x509.load_pem_x509_certificate(content)
        issued = [
            Issued(file.decode(), int(serial, 16)) for file, serial in _ISSUED.findall(content)
        ]
        revoked = b"".join(_REVOKED.findall(content))
        return Authority(_read_key(content), certificate, tuple(issued), revoked)

    def spell(self) -> bytes:
        issued = "".join(f"issued {one.file} {one.serial:x}\n" for one in self.issued)
        return _key_text(self.key) + _text(self.certificate) + self.revoked + issued.encode()

    def noting(self, file: str, content: bytes) -> Authority:
        """With the certificates in the content of the file of a member among the issued ones."""
        known = dict.fromkeys(self.issued)
        known.update((Issued(file, serial), None) for serial in _serials(content))
        return evolve(self, issued=tuple(known))

    def revoking(self, file: str, content: bytes = b"") -> Authority:
        """With all certificates of a file revoked: those in its content, and earlier ones."""
        serials = {one.serial for one in self.issued if one.file == file} | _serials(content)
        before = x509.load_pem_x509_crl(self.revoked) if self.revoked else ()
        serials.update(one.serial_number for one in before)
        now, issuer = dt.datetime.now(dt.UTC), self.key.public_key()
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self.certificate.subject)
            .last_update(now - _SKEW)
            .next_update(self.certificate.not_valid_after_utc)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), False)
            .add_extension(x509.CRLNumber(len(serials)), False)
        )
        for serial in sorted(serials):
            one = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now)
            builder = builder.add_revoked_certificate(one.build())
        signed = builder.sign(self.key, hashes.SHA256())
        return evolve(self, revoked=signed.public_bytes(serialization.Encoding.PEM))

    def issue(self, wanted: Wanted, key: bytes | None = None) -> bytes:
        """The content of the file of a member, with this key or with a new one."""
        own = self._papers(wanted, key)
        if wanted.member is not MemberKind.GOVERNOR:
            return spell_papers(own)
        tasks = Wanted(MemberKind.CLIENT, f"tasks of {wanted.name}", days=wanted.days)
        return spell_papers(own, self._papers(tasks, None))

    def _papers(self, wanted: Wanted, content: bytes | None) -> Papers:
        key = _new_key() if content is None else _read_key(content)
        purposes = [ExtendedKeyUsageOID.CLIENT_AUTH]
        if wanted.member is not MemberKind.CLIENT:  # clients never listen
            purposes.append(ExtendedKeyUsageOID.SERVER_AUTH)
        role = x509.UniformResourceIdentifier(ROLE + wanted.member.value)
        names: list[x509.GeneralName] = [role, *(_host(host) for host in wanted.hosts)]
        if wanted.user:
            names.append(x509.UniformResourceIdentifier(USER + wanted.user))
        builder = _begun(_named(wanted.name), self.certificate.subject, key, wanted.days)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        builder = builder.add_extension(_usage(signs_others=False), True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), False)
        builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
        certificate = _signed(builder, key, self.key)
        return Papers(_key_text(key), _text(certificate), _text(self.certificate), self.revoked)


def _serials(content: bytes) -> set[int]:
    """Of the certificates in the file of a member, but not of the authority's."""
    if not content:
        return set()
    papers, tasks = read_papers(content)
    certificates = [papers.certificate, *([] if tasks is None else [tasks.certificate])]
    return {x509.load_pem_x509_certificate(one).serial_number for one in certificates}


def describe(certificate: bytes) -> Description:
    """What a certificate of ours says; ValueError if it is another one."""
    read = x509.load_pem_x509_certificate(certificate)
    try:
        names = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound as error:
        raise ValueError(str(error)) from None
    uris = names.get_values_for_type(x509.UniformResourceIdentifier)
    (role,) = [uri.removeprefix(ROLE) for uri in uris if uri.startswith(ROLE)]
    users = [uri.removeprefix(USER) for uri in uris if uri.startswith(USER)]
    (name,) = read.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    addresses = names.get_values_for_type(x509.IPAddress)
    hosts = (*names.get_values_for_type(x509.DNSName), *(str(one) for one in addresses))
    expires = read.not_valid_after_utc
    return Description(MemberKind(role), str(name.value), hosts, expires, users[0] if users else "")


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())  # browsers know no newer kind


def _read_key(content: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(content, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("the key is of another kind")
    return key


def _key_text(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _text(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: float
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
    )


def _signed(
    builder: x509.CertificateBuilder,
    key: ec.EllipticCurvePrivateKey,
    by: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key())
    if key is not by:
        builder = builder.add_extension(issuer, False)
    return builder.sign(by, hashes.SHA256())


def _usage(*, signs_others: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_others,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_others,
        crl_sign=signs_others,
        encipher_only=False,
        decipher_only=False,
    )
