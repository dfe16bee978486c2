"""Run `bertlab` on each line of standard input, a JSON list of arguments, in one process; a line of JSON for each.

A run that does not end is broken off by an alarm, so that a pipe that never ends cannot hang the tests.
"""

import contextlib
import io
import json
import resource
import signal
import sys
import time

from bertlab.cli.main import main

ALARM_SECONDS = 20
MOST_BYTES = 4 << 30  # of address space beyond that of the start


def hang(*_) -> None:
    raise TimeoutError("did not end")


def run(arguments: list[str]) -> dict:
    out, err, code = io.StringIO(), io.StringIO(), 0
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    signal.alarm(ALARM_SECONDS)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as left:
            code = left.code
        except BaseException as error:  # what a user would see as a traceback
            code = repr(error)[:500]
    signal.alarm(0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    seconds = time.process_time() - start
    return {"code": code, "out": out.getvalue(), "err": err.getvalue(), "seconds": seconds, "megabytes": peak / 1024}


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, hang)
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MOST_BYTES, resource.RLIM_INFINITY))
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
