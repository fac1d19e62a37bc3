"""The graph of tasks and data objects: nodes, the moves of their states, and the consistency
checker. Pure.
"""

from rain.graph.check import check
from rain.graph.data_object import DataObject
from rain.graph.governor import Governor
from rain.graph.graph import Graph
from rain.graph.run import Run
from rain.graph.session import Client, Learned, Session
from rain.graph.task import Task
from rain.graph.wait import Wait, WaitMode

__all__ = [
    "Client",
    "DataObject",
    "Governor",
    "Graph",
    "Learned",
    "Run",
    "Session",
    "Task",
    "Wait",
    "WaitMode",
    "check",
]
