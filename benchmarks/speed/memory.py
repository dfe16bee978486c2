"""How much memory a process takes, for the benchmarks. Imports nothing, so that it adds nothing."""

from pathlib import Path


def memory(field: str = "VmRSS", process: int | str = "self") -> float:
    """Return MB of a process, as Linux counts them: VmRSS now, VmHWM at most so far, RssAnon without pages of files.

    nan if the system does not say.
    """
    status = Path(f"/proc/{process}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{field}:")), float("nan"))
