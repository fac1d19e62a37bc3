"""Messages about unknown names of options, arguments and methods: they suggest what was meant."""

import inspect
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from functools import wraps
from opcode import opmap
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_IMPORT_FROM = opmap["IMPORT_FROM"]

ALIKE = 0.6
"""How similar two names must be, from 0 to 1, for one to be suggested for the other."""


_RETRIES = frozenset({"retries", "max_retries", "num_retries", "n_retries"})
"""Names in other systems for our `tries`; they do not count the first run."""

_GPUS = frozenset({"gpus", "num_gpus", "n_gpus"})

_NEEDLESS = {
    "max_tasks_per_child": "the cluster decides how long its processes live",
    "broadcast": "a governor gets the value when a call there needs it",
    "direct": "results take the shortest way by themselves",
    "fetch_local": "a result is fetched when it is asked for",
    "mp_context": "processes of the cluster are not started from this one",
    "thread_name_prefix": "calls run in processes of the cluster",
}
"""Options of Python's own executors, of Dask and of Ray that have no counterpart, and why."""

_METHODS_OF_OTHERS = {
    "apply": "client.submit(f, *args).result()",
    "apply_async": "client.submit(f, *args)",
    "as_completed": "rain.client.as_completed(futures)",
    "available_resources": "client.get_server_info()",
    "asynchronous": "scheduler=client.dask for Dask, or AsyncClient() for an event loop",
    "bash_app": "rain.client.tasks.Execute(command), in a session",
    "cancel": "future.cancel()",
    "chain": "client.submit(g, client.submit(f, x))",
    "chord": "client.submit(g, *client.map(f, items))",
    "cluster": "rain.cluster.Cluster",
    "cluster_resources": "client.get_server_info()",
    "compute": "client.gather(futures), or x.compute(scheduler=client.dask)",
    "dashboard_link": "client.dashboard_url",
    "delay": "client.submit(f, *args)",
    "execute": "rain.client.tasks.Execute(command), in a session",
    "forward_logging": "client.show_output()",
    "get": "await client.gather(futures)",
    "get_dataset": "client.session(name, durable=True)",
    "get_executor": "client.executor()",
    "get_worker_logs": "client.show_output(), or future.logs()",
    "group": "client.map(f, items)",
    "imap": "rain.client.as_completed(client.map(f, items))",
    "imap_unordered": "rain.client.as_completed(client.map(f, items))",
    "join": "client.wait(futures)",
    "kill": "future.cancel()",
    "log_event": "logging in the task, and client.show_output()",
    "map_async": "client.map(f, items)",
    "map_unordered": "rain.client.as_completed(client.map(f, items))",
    "ncores": "client.get_server_info()",
    "nodes": "client.get_server_info()",
    "nthreads": "client.get_server_info()",
    "persist": "x.persist(scheduler=client.dask)",
    "publish_dataset": "client.session(name, durable=True)",
    "python_app": "@rain.client.task",
    "register_plugin": "client.executor(initializer=f)",
    "register_worker_plugin": "client.executor(initializer=f)",
    "remote": "client.submit(f, *args), or @rain.client.task",
    "retry": "client.options(tries=2).submit(f, *args)",
    "run": "client.submit(f, *args)",
    "scatter": "client.put(value)",
    "scheduler_info": "client.get_server_info()",
    "send_task": "client.submit(f, *args)",
    "shell": "rain.client.tasks.Execute(command, shell=True), in a session",
    "shutdown": "client.close()",
    "starmap": "client.map(f, *zip(*tuples))",
    "terminate": "client.close()",
    "upload_file": "client.upload(path)",
    "wait": "await client.gather(futures), or async for over client.as_completed(futures)",
}
"""What is written here for a method of the clients of Dask, Ray, Celery and Parsl, and of pools. An
`AsyncClient` has fewer methods than a `Client`.
"""


_NAMES_OF_OTHERS = {
    "Cluster": "from rain.cluster import Cluster",
    "LocalCluster": "Client(governors=2, cpus=1)",
    "Lock": 'client.options(resources={"license": 1}), with a resource that a governor has once',
    "Semaphore": 'client.options(resources={"license": 1}), with a resource of the governors',
    "bash_app": "tasks.Execute(command), in a session",
    "chain": "client.submit(g, client.submit(f, x))",
    "chord": "client.submit(g, *client.map(f, items))",
    "compute": "x.compute(scheduler=client.dask)",
    "default_client": "get_client(), in a task",
    "fire_and_forget": "nothing: a call also runs when nobody holds its future",
    "gather": "client.gather(futures)",
    "get": "client.get(futures)",
    "get_worker": "client.executor(initializer=f)",
    "group": "client.map(f, items)",
    "init": "Client()",
    "progress": "client.progress(futures)",
    "put": "client.put(value)",
    "python_app": "@task",
    "rejoin": "nothing: a task that waits lends its cpus",
    "secede": "nothing: a task that waits lends its cpus",
    "wait": "client.wait(futures)",
    "worker_client": "get_client()",
}
"""What is written here for a name of the modules of Dask, Ray, Celery and Parsl."""


METHODS_OF_OTHER_FUTURES = {
    "compute": ".result()",
    "failed": ".exception() is not None",
    "get": ".result(timeout)",
    "key": ".name",
    "ready": ".done()",
    "release": "del future",
    "revoke": ".cancel()",
    "state": ".status",
    "successful": ".exception() is None",
    "then": ".add_done_callback(f)",
    "traceback": ".exception().__cause__",
    "wait": ".exception(timeout)",
}
"""What is written here for a method of the results of pools, and of the futures of others."""


_OPTIONS_OF_OTHER_CALLS = {
    "asynchronous": "AsyncClient(), in an event loop",
    "key": "name=",
    "num_returns": "a function that returns a tuple: a call has one result",
    "raise_errors": "future.exception() in the loop, which tells of failures",
    "return_when": "num_returns=1 for the first one, or nothing for all",
    "with_results": "future.result() in the loop",
    "pure": "nothing: each call runs, unless cache=True keeps its result",
    "retry_exceptions": "tries=, and retry_on= for the exceptions",
    "runtime_env": "env=Env(...)",
    "scheduling_strategy": 'constraints={"spread": "group"}, or {"pin": governor}',
    "workers": 'constraints={"pin": governor}',
}

_OPTIONS_OF_OTHER_CLIENTS = {
    "asynchronous": "AsyncClient(), in an event loop",
    "dashboard_address": "client.dashboard_url after it",
    "log_to_driver": "client.show_output() after it",
    "memory_limit": "memory=",
    "num_cpus": "cpus=",
    "object_store_memory": "Cluster.local(store=...).client(), with Cluster from rain.cluster",
    "max_workers": "cpus=",
    "n_jobs": "cpus=",
    "n_workers": "governors=",
    "nthreads": "cpus=",
    "num_workers": "cpus=",
    "processes": "local=True for calls in this process",
    "runtime_env": "env=Env(...)",
    "threads_per_worker": "cpus=",
}
"""What is written here for an option of Dask or Ray whose name is not like ours."""

OPTIONS_OF_CLUSTERS = frozenset(
    (
        *("cancel_grace", "client_grace", "client_timeout", "conda", "crash_limit"),
        *("disk", "drain_seconds", "environment_limit", "event_log", "event_log_days"),
        *("event_log_limit", "event_log_objects", "governor_grace"),
        *("governor_timeout", "idle_seconds", "infeasible_grace", "late_after"),
        *("late_factor", "lease", "lease_seconds", "log_level", "monitoring"),
        *("most_blocked", "overbooking", "scheduler_limit", "scheduler_options"),
        *("share_store", "spill_to", "store", "task_descriptors", "task_processes"),
    )
)
"""Options of clusters that live longer than one client."""


class SaysWhatIsMeant:
    """A base class: access to a method that only other systems have raises an error that names
    ours.
    """

    if not TYPE_CHECKING:  # type checkers see no such methods

        def __getattr__(self, name: str) -> NoReturn:
            here = _METHODS_OF_OTHERS.get(name)
            hint = f": write {here}" if here else ""
            kind = type(self).__name__
            raise AttributeError(
                f"{kind!r} object has no attribute {name!r}{hint}", name=name, obj=self
            )


def unknown_name(module: str, name: str, asking: FrameType) -> Exception:
    """The exception of a module that has no such name; `asking` is the frame that asks for it."""
    here = _NAMES_OF_OTHERS.get(name)
    if here and asking.f_code.co_code[asking.f_lasti] == _IMPORT_FROM:
        # Of an AttributeError, an import statement would not show the message.
        return ImportError(f"cannot import name {name!r} from {module!r}: write {here}", name=name)
    hint = f": write {here}" if here else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)


def expect_known(where: str, given: Mapping[str, object], known: Collection[str]) -> None:
    """TypeError for the first of these options that is not known."""
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"{where} has no option {name!r}{_hint(name, value, known)}")


def names_misspelled(function: Callable[P, T]) -> Callable[P, T]:
    """A decorator: the error about a misspelled keyword suggests the one that was meant."""
    known = [name for name in inspect.signature(function).parameters if name != "self"]
    where = function.__qualname__.removesuffix(".__init__").rpartition(".")[-1]

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        expect_known(where, kwargs, known)
        return function(*args, **kwargs)

    return called


def unknown_argument(
    keywords: Mapping[str, Any], parameters: Collection[str], options: Collection[str]
) -> str:
    """Advice about a keyword that a function does not take; "" for none."""
    for name, value in keywords.items():
        if name in parameters:
            continue
        meant = _nearest(name, parameters)
        if meant:
            return f"; did you mean {meant!r}?"
        option, why = _elsewhere(name, value, options)
        if not option and name in _OPTIONS_OF_OTHER_CALLS:
            return f"; for client.options(...), write {_OPTIONS_OF_OTHER_CALLS[name]}"
        if not option:
            nearest = name if name in options else _nearest(name, options)
            option = f"{nearest}={value!r:.40}" if nearest else ""
        if option:
            return f"; options are given before the call: client.options({option}).submit(...){why}"
    return ""


def _elsewhere(name: str, value: object, known: Collection[str]) -> tuple[str, str]:
    """What is written here for an option of Dask or Ray, and why; two times "" for others."""
    if name in _RETRIES and "tries" in known and isinstance(value, int):
        return f"tries={value + 1}", ", as the first run counts, too"
    if name in _GPUS and "resources" in known:
        return f'resources={{"gpus": {value!r:.40}}}', ""
    return "", ""


def _hint(name: str, value: object, known: Collection[str]) -> str:
    if name in _NEEDLESS:
        return f": leave it out, since {_NEEDLESS[name]}"
    option, why = _elsewhere(name, value, known)
    if option:
        return f": write {option}{why}"
    others = _OPTIONS_OF_OTHER_CLIENTS if "governors" in known else _OPTIONS_OF_OTHER_CALLS
    if name in others:
        return f": write {others[name]}"
    if "governors" in known and name in OPTIONS_OF_CLUSTERS:
        return f": write Cluster.local({name}=...).client(), with Cluster from rain.cluster"
    meant = _nearest(name, known)
    return f": did you mean {meant!r}?" if meant else f": it has {', '.join(known)}"


def _nearest(name: str, known: Collection[str]) -> str:
    found = get_close_matches(name, known, 1, ALIKE)
    return found[0] if found else ""
