"""Makes certificates: the authority of a cluster, and the papers of its members. No I/O.

This alone needs `cryptography`, which is an extra.
"""

from __future__ import annotations

import datetime as dt
import ipaddress

from attrs import frozen
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from rain.base.admission import Member
from rain.tls.pem import Papers, spell_papers
from rain.tls.pump import ROLE

DAYS = 365.0
AUTHORITY_DAYS = 3650.0

_SKEW = dt.timedelta(hours=1)
"""The clocks of other machines may be late by this."""


@frozen
class Wanted:
    """What a certificate is to say."""

    member: Member
    name: str
    hosts: tuple[str, ...] = ()
    days: float = DAYS


@frozen
class Description:
    """What a certificate says."""

    member: Member
    name: str
    hosts: tuple[str, ...]
    expires: dt.datetime


@frozen
class Authority:
    """The authority of one cluster."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

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
        return Authority(_read_key(content), certificate)

    def spell(self) -> bytes:
        return _key_text(self.key) + _text(self.certificate)

    def issue(self, wanted: Wanted, key: bytes | None = None) -> bytes:
        """The content of the file of a member, with this key or with a new one."""
        own = self._papers(wanted, key)
        if wanted.member is not Member.GOVERNOR:
            return spell_papers(own)
        tasks = Wanted(Member.CLIENT, f"tasks of {wanted.name}", days=wanted.days)
        return spell_papers(own, self._papers(tasks, None))

    def _papers(self, wanted: Wanted, content: bytes | None) -> Papers:
        key = _new_key() if content is None else _read_key(content)
        purposes = [ExtendedKeyUsageOID.CLIENT_AUTH]
        if wanted.member is not Member.CLIENT:  # clients never listen
            purposes.append(ExtendedKeyUsageOID.SERVER_AUTH)
        role = x509.UniformResourceIdentifier(ROLE + wanted.member.value)
        names = [role, *(_host(host) for host in wanted.hosts)]
        builder = _begun(_named(wanted.name), self.certificate.subject, key, wanted.days)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        builder = builder.add_extension(_usage(signs_others=False), True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), False)
        builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
        certificate = _signed(builder, key, self.key)
        return Papers(_key_text(key), _text(certificate), _text(self.certificate))


def describe(certificate: bytes) -> Description:
    """What a certificate of ours says; ValueError if it is another one."""
    read = x509.load_pem_x509_certificate(certificate)
    try:
        names = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound as error:
        raise ValueError(str(error)) from None
    (role,) = names.get_values_for_type(x509.UniformResourceIdentifier)
    (name,) = read.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    addresses = names.get_values_for_type(x509.IPAddress)
    hosts = (*names.get_values_for_type(x509.DNSName), *(str(one) for one in addresses))
    return Description(
        Member(role.removeprefix(ROLE)), str(name.value), hosts, read.not_valid_after_utc
    )


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
