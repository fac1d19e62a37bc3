"""A lease in etcd: one key, which is compared and replaced in one transaction.

etcd has a JSON interface over HTTP, so the standard library is enough. The heartbeats of our lease
decide, as in a folder; etcd's own leases are not used.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException
from typing import Any

from attrs import Factory, define

from rain.base.address import spell_address
from rain.server.lease.rules import NOBODY, Record
from rain.server.lease.store import LeaseStoreError
from rain.server.lease.written import AsRead

TIMEOUT = 2.0
"""Seconds that one member of etcd may take."""

PORT = 2379


@define(eq=False)
class EtcdStore:
    """Implements `rain.server.lease.store.LeaseStore`."""

    members: Sequence[tuple[str, int]]
    name: str  # of the cluster
    _text: AsRead = Factory(AsRead)

    @property
    def where(self) -> str:
        members = ",".join(spell_address(*member) for member in self.members)
        return f"etcd://{members}/{self.name}"

    @property
    def _key(self) -> str:
        return _in_base64(f"rain/{self.name}/lease")

    def read(self) -> Record:
        found = self._ask("/v3/kv/range", {"key": self._key}).get("kvs", [])
        if not found:
            return NOBODY
        text = b64decode(found[0]["value"]).decode()
        return self._text.read(text, self.where)

    def put(self, before: Record, after: Record) -> bool:
        compare: dict[str, Any] = {"key": self._key, "result": "EQUAL"}
        if before == NOBODY:
            compare |= {"target": "CREATE", "createRevision": "0"}
        else:
            compare |= {"target": "VALUE", "value": _in_base64(self._text.of(before))}
        put = {"requestPut": {"key": self._key, "value": _in_base64(self._text.of(after))}}
        answer = self._ask("/v3/kv/txn", {"compare": [compare], "success": [put]})
        return bool(answer.get("succeeded"))

    def has_ended(self, record: Record) -> bool:
        return False

    def close(self) -> None:
        """Each request has a connection of its own."""

    def _ask(self, path: str, question: dict[str, Any]) -> dict[str, Any]:
        """The answer of the first member that gives one."""
        troubles: list[str] = []
        for host, port in self.members:
            connection = HTTPConnection(host, port, timeout=TIMEOUT)
            try:
                connection.request("POST", path, json.dumps(question))
                response = connection.getresponse()
                answer: dict[str, Any] = json.loads(response.read())
                if response.status == 200:
                    return answer
                trouble = str(answer.get("message", response.status))
            except (OSError, HTTPException, ValueError) as error:
                trouble = str(error)
            finally:
                connection.close()
            troubles.append(f"{spell_address(host, port)}: {trouble}")
        raise LeaseStoreError(f"etcd does not answer: {'; '.join(troubles)}")


def _in_base64(text: str) -> str:
    return b64encode(text.encode()).decode()
