"""A system that computes nothing, and a benchmark that goes as its options say."""

import atexit
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.runners import CallOnce, Runner, System
from bench.shapes import Shape, WrongAnswer
from bench.turn import Figure, Options

shapes: list[str] = []


class PlayedRunner:
    address = ""
    answers_are_right = True

    def run(self, shape: Shape) -> tuple[float, list[object]]:
        shapes.append(shape.name)
        return 0.5, list(shape.answers) if self.answers_are_right else [-1]

    @contextmanager
    def calling(self) -> Generator[CallOnce, None, None]:
        yield lambda number: number + 1


@contextmanager
def cluster(cpus: int) -> Generator[PlayedRunner, None, None]:
    shapes.clear()
    yield PlayedRunner()


def measure(system: System, runner: Runner, options: Options) -> Iterator[Figure]:
    match options["mode"]:
        case "two figures":
            yield "first", 1.5, None
            yield "second", None, [1, 2]
        case "a wrong answer":
            yield "first", 1.5, None
            raise WrongAnswer("this answer is wrong")
        case "a child hangs":
            code = "import time; time.sleep(600)"
            sys.stderr.write("waiting for a child\n")
            sys.stderr.flush()
            child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
            yield "child", None, child.pid
            time.sleep(600)
        case "an error":
            yield "never", 1 / 0, None
        case "a kill":
            yield "first", 1.5, None
            os.kill(os.getpid(), signal.SIGKILL)
        case "no end":
            yield "first", 1.5, None
            atexit.register(time.sleep, 600)
        case mode:
            raise ValueError(mode)


def is_gone(pid: int) -> bool:
    """Whether the process has ended; the dead that nobody has buried yet have."""
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"
