"""What keeps a submission to its scratch folder: limits of the system, Landlock for files, seccomp for the rest.

All three need no root, hold for the calling process and for all that it starts, and cannot be taken back by it.
Landlock (Linux 6.2 or newer) opens the Python installation for reading, the scratch folder for reading and writing, and
nothing else. seccomp, by way of libseccomp, refuses sockets, further processes, signals, and what changes files and
other processes in ways that Landlock does not see. Sources: man 7 landlock, man 2 seccomp, man 3 seccomp_rule_add.
"""

import ctypes
import errno
import os
import sys
from pathlib import Path

import bertlab

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every architecture
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_FILE, MAKE_REG, TRUNCATE = (1 << bit for bit in (0, 1, 2, 3, 5, 8, 14))
ALL = (1 << 15) - 1  # of version 3, the first that knows of truncate
READ = EXECUTE | READ_FILE | READ_DIR
SYSTEM = "/usr /lib /lib64 /bin /etc /proc /sys /dev/null /dev/zero /dev/random /dev/urandom".split()

ALLOW, REFUSE, UNKNOWN = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
NOT_EQUAL, MASKED_EQUAL, CLONE_THREAD = 1, 7, 0x10000
REFUSED = """
socket socketpair io_uring_setup fork vfork execve execveat kill tkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open
pidfd_send_signal pidfd_getfd ptrace process_vm_readv process_vm_writev process_madvise setpriority ioprio_set
sched_setscheduler sched_setparam sched_setattr chmod fchmod fchmodat chown lchown fchown fchownat utime utimes
utimensat futimesat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr memfd_create shmget msgget
semget mq_open mount umount2 move_mount open_tree fsopen fsconfig mount_setattr unshare setns pivot_root chroot
swapon swapoff reboot init_module finit_module delete_module kexec_load kexec_file_load sethostname setdomainname
settimeofday clock_settime adjtimex clock_adjtime bpf perf_event_open userfaultfd keyctl add_key request_key
quotactl acct
""".split()
# Calls of newer kernels, which an older libseccomp does not know by name; their numbers are the same everywhere.
REFUSED_NUMBERS = {"memfd_secret": 447, "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466, "file_setattr": 469}


class ArgumentTest(ctypes.Structure):
    """struct scmp_arg_cmp: a condition on an argument of a system call."""

    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


class Beneath(ctypes.Structure):
    """struct landlock_path_beneath_attr."""

    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def missing() -> list[str]:
    """Return what this system lacks to close the sandbox, in words; an empty list where it has all of it."""
    if sys.platform != "linux":
        return [f"Landlock and seccomp, which {sys.platform} does not have"]
    lacks = []
    version = ctypes.CDLL(None).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if version < 3:
        lacks.append("Landlock of Linux 6.2 or newer")
    try:
        ctypes.CDLL("libseccomp.so.2")
    except OSError:
        lacks.append("libseccomp (the package libseccomp2 or libseccomp)")
    return lacks


def limit(memory: int, seconds: int, file_size: int) -> None:
    """Limit this process to so many more bytes of memory, seconds of processor time and bytes in one file.

    Does nothing on Windows, which has no such limits.
    """
    try:
        import resource
    except ImportError:
        return
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if _is_linux() else 0
    limits = {"AS": used + memory, "CPU": seconds, "FSIZE": file_size, "CORE": 0, "NOFILE": 256}
    for name, value in limits.items():
        try:
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
        except (ValueError, OSError):
            pass  # a lower one holds already, or (macOS, memory) the system has it in name only


def close(scratch: Path) -> None:
    """Close files, network and other processes to this process, but for `scratch`. Raises OSError where that fails."""
    if len(os.listdir("/proc/self/task")) > 1:
        raise OSError("threads that run already would stay outside of the sandbox")
    _close_files(scratch)
    _close_calls()


def _is_linux() -> bool:
    return sys.platform == "linux"


def _rules(scratch: Path) -> dict[Path, int]:
    """What may be done beneath each folder. Of the checkout itself only names can be read, which imports need."""
    home = Path(bertlab.__file__).parent
    packages = [Path(folder) for folder in sys.path if folder.endswith("-packages")]
    readable = [*map(Path, SYSTEM), Path(sys.prefix), Path(sys.base_prefix), *packages, home, home.parent / "data"]
    rules = {Path(folder): READ_DIR for folder in sys.path} | dict.fromkeys(readable, READ)
    rules[scratch] = READ_DIR | READ_FILE | WRITE_FILE | REMOVE_FILE | MAKE_REG | TRUNCATE
    rules[Path("/dev/null")] = READ_FILE | WRITE_FILE
    return {path: rights for path, rights in rules.items() if path.exists()}


def _close_files(scratch: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    handled = ctypes.c_uint64(ALL)
    size = ctypes.c_size_t(ctypes.sizeof(handled))
    ruleset = _done(libc.syscall(CREATE_RULESET, ctypes.byref(handled), size, ctypes.c_uint(0)), "Landlock")
    for path, rights in _rules(scratch).items():
        if not path.is_dir():
            rights &= EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = Beneath(rights, folder)
        _done(libc.syscall(ADD_RULE, ruleset, 1, ctypes.byref(rule), 0), f"Landlock, {path}")
        os.close(folder)
    _done(libc.prctl(38, 1, 0, 0, 0), "no_new_privs")
    _done(libc.syscall(RESTRICT_SELF, ruleset, 0), "Landlock")
    os.close(ruleset)


def _close_calls() -> None:
    lib = ctypes.CDLL("libseccomp.so.2")
    lib.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(lib.seccomp_init(ctypes.c_uint32(ALLOW)))

    def refuse(name: str, action: int = REFUSE, *conditions: ArgumentTest) -> None:
        number = REFUSED_NUMBERS.get(name, lib.seccomp_syscall_resolve_name(name.encode()))
        array = (ArgumentTest * len(conditions))(*conditions)
        code = lib.seccomp_rule_add_array(context, ctypes.c_uint32(action), number, len(conditions), array)
        if code and number >= 0:  # below 0 is what this processor's Linux does not have
            raise OSError(-code, f"seccomp, {name}: {os.strerror(-code)}")

    for name in (*REFUSED, *REFUSED_NUMBERS):
        refuse(name)
    refuse("clone3", UNKNOWN)  # its flags cannot be seen; the C library then uses clone
    refuse("clone", REFUSE, ArgumentTest(0, MASKED_EQUAL, CLONE_THREAD, 0))
    for name in ("prlimit64", "sched_setaffinity"):
        refuse(name, REFUSE, ArgumentTest(0, NOT_EQUAL, 0, 0))  # those of another process
    code = lib.seccomp_load(context)
    if code:
        raise OSError(-code, f"seccomp: {os.strerror(-code)}")


def _done(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
