"""The nodes of Dask's graphs.

Dask has no public names for them, and only this module knows the private ones.
"""

from dask._task_spec import Alias, DataNode, GraphNode, Task, TaskRef, convert_legacy_graph

__all__ = ["Alias", "DataNode", "GraphNode", "Task", "TaskRef", "convert_legacy_graph"]
