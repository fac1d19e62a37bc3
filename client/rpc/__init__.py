"""The enumerations of states under the names that Rain 0.4 gave them: `rpc.common.TaskState`."""

from rain.client.rpc import common

__all__ = ["common"]
