"""Names of other systems, and our words for them."""

RETRIES = frozenset({"retries", "max_retries", "num_retries", "n_retries"})
"""Names in other systems for our `tries`; they do not count the first run."""

GPUS = frozenset({"gpus", "num_gpus", "n_gpus"})

NEEDLESS = {
    "max_tasks_per_child": "the cluster decides how long its processes live",
    "broadcast": "a governor gets the value when a call there needs it",
    "direct": "results take the shortest way by themselves",
    "fetch_local": "a result is fetched when it is asked for",
    "mp_context": "processes of the cluster are not started from this one",
    "thread_name_prefix": "calls run in processes of the cluster",
}
"""Options of Python's own executors, of Dask and of Ray that have no counterpart, and why."""

METHODS_OF_OTHERS = {
    "adapt": "rain start with --max: the cluster grows with the work",
    "apply": "client.submit(f, *args).result()",
    "apply_async": "client.submit(f, *args)",
    "as_completed": "rain.client.as_completed(futures)",
    "asynchronous": "scheduler=client.dask for Dask, or AsyncClient() for an event loop",
    "available_resources": "client.get_server_info()",
    "bash_app": "rain.client.tasks.Execute(command), in a session",
    "call_stack": "client.dashboard_url, which shows what runs and why a task waits",
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
    "futures": "a list of the futures in your program",
    "get": "await client.gather(futures)",
    "get_dataset": "client.session(name, durable=True)",
    "get_executor": "client.executor()",
    "get_task_stream": "client.dashboard_url, which shows what ran when",
    "get_versions": "rain env check, in a shell",
    "get_worker_logs": "client.show_output(), or future.logs()",
    "group": "client.map(f, items)",
    "has_what": "client.dashboard_url, which shows what each governor does",
    "imap": "rain.client.as_completed(client.map(f, items))",
    "imap_unordered": "rain.client.as_completed(client.map(f, items))",
    "join": "client.wait(futures)",
    "kill": "future.cancel()",
    "list_datasets": "client.sessions()",
    "log_event": "logging in the task, and client.show_output()",
    "map_async": "client.map(f, items)",
    "map_unordered": "rain.client.as_completed(client.map(f, items))",
    "memory_recorder": "client.dashboard_url",
    "nbytes": "client.get_server_info()",
    "ncores": "client.get_server_info()",
    "nodes": "client.get_server_info()",
    "nthreads": "client.get_server_info()",
    "persist": "x.persist(scheduler=client.dask)",
    "processing": "client.get_server_info()",
    "profile": "client.dashboard_url, or a profiler in the function",
    "publish_dataset": "client.session(name, durable=True)",
    "python_app": "@rain.client.task",
    "rebalance": "nothing: a governor gets a value when a call there needs it",
    "register_plugin": "client.executor(initializer=f)",
    "register_worker_plugin": "client.executor(initializer=f)",
    "remote": "client.submit(f, *args), or @rain.client.task",
    "replicate": "nothing: a governor gets a value when a call there needs it",
    "restart": "client.close(), and a new Client()",
    "retire_workers": "rain drain, in a shell",
    "retry": "client.options(tries=2).submit(f, *args)",
    "run": "client.submit(f, *args)",
    "run_on_scheduler": "client.submit(f, *args): the server runs no code of users",
    "scale": "Client(governors=3), or rain add for a cluster that runs",
    "scatter": "client.put(value)",
    "scheduler_info": "client.get_server_info()",
    "send_task": "client.submit(f, *args)",
    "shell": "rain.client.tasks.Execute(command, shell=True), in a session",
    "shutdown": "client.close()",
    "starmap": "client.map(f, *zip(*tuples))",
    "terminate": "client.close()",
    "timeline": "client.dashboard_url, which shows what ran when",
    "unpublish_dataset": "client.remove_session(name)",
    "upload_file": "client.upload(path)",
    "wait": "await client.gather(futures), or async for over client.as_completed(futures)",
    "wait_for_workers": "nothing: calls wait until there is a governor",
    "who_has": "future.info().runs[-1].governor, where the call ran",
}
"""What is written here for a method of the clients of Dask, Ray, Celery and Parsl, and of pools. An
`AsyncClient` has fewer methods than a `Client`.
"""

METHODS_OF_OTHER_LOOPS = {
    "batches": "for future in running",
    "count": "sum(not future.done() for future in futures)",
    "has_ready": "any(future.done() for future in futures)",
    "is_empty": "next(running, None)",
    "next_batch": "next(running)",
}
"""Our words for the methods of Dask's `as_completed`."""


NAMES_OF_OTHERS = {
    "Cluster": "from rain.cluster import Cluster",
    "LocalCluster": "Client(governors=2, cpus=1)",
    "Lock": 'client.options(resources={"license": 1}), with a resource that a governor has once',
    "Pool": "client.executor(), or client.map(f, items)",
    "ProcessPoolExecutor": "client.executor()",
    "Semaphore": 'client.options(resources={"license": 1}), with a resource of the governors',
    "ThreadPoolExecutor": "client.executor()",
    "bash_app": "tasks.Execute(command), in a session",
    "cancel": "future.cancel()",
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
    "is_initialized": "the client in a variable of your own, such as client = Client()",
    "kill": "future.cancel()",
    "map": "client.map(f, items)",
    "progress": "client.progress(futures)",
    "put": "client.put(value)",
    "python_app": "@task",
    "rejoin": "nothing: a task that waits lends its cpus",
    "secede": "nothing: a task that waits lends its cpus",
    "shutdown": "client.close()",
    "submit": "client.submit(f, *args)",
    "timeline": "client.dashboard_url, which shows what ran when",
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
    "retry": "client.submit(f, *args) again, or client.options(tries=2) before it",
    "revoke": ".cancel()",
    "state": ".status",
    "successful": ".exception() is None",
    "then": ".add_done_callback(f)",
    "traceback": ".exception().__cause__",
    "wait": ".exception(timeout)",
}
"""What is written here for a method of the results of pools, and of the futures of others."""


OPTIONS_OF_OTHER_CALLS = {
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

OPTIONS_OF_OTHER_CLIENTS = {
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
