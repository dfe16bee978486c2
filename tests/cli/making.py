"""Run the targets of a project's Makefile, with processes of their own or within this one."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Client, Listener
from pathlib import Path

from tests.cli.test_cli import bertlab


def make(project: Path, *arguments: str) -> str:
    """Run make in the folder of a project with this Python; a target that fails is shown with what it said."""
    command = ["make", f"BERTLAB={sys.executable} -m bertlab", *arguments]  # the last word on BERTLAB counts
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


ASK = """import sys
from multiprocessing.connection import Client
with Client(sys.argv[1]) as test:
    test.send(sys.argv[2:])
    code, out, err = test.recv()
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""


def make_within(project: Path, *arguments: str) -> str:
    """Run make, but each `bertlab` that it starts hands its arguments to this process: a start takes seconds."""
    (project / "ask.py").write_text(ASK)
    with Listener() as listener, ThreadPoolExecutor(1) as pool:

        def made() -> str:
            try:
                return make(project, f"BERTLAB={sys.executable} -S ask.py {listener.address}", *arguments)
            finally:
                with Client(listener.address) as own:
                    own.send(None)  # no more will be asked

        done = pool.submit(made)
        while True:
            with listener.accept() as asking:
                if (asked := asking.recv()) is None:
                    return done.result()
                ended = bertlab(*asked, cwd=project)
                asking.send((ended.returncode, ended.stdout, ended.stderr))
