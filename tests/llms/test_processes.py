"""Whether the process that left a mark is still there."""

import subprocess
import sys

from hieramas_lib.llms.processes import is_alive, this_process

SAY = "from hieramas_lib.llms.processes import this_process; print(this_process(), flush=True)"


def test_this_process_is_alive_and_always_named_alike() -> None:
    assert this_process() == this_process()
    assert is_alive(this_process())


def test_another_process_lives_until_it_ends() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", f"{SAY}; input()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    named = child.stdout.readline().strip()
    assert named != this_process()
    assert is_alive(named)
    child.communicate("\n")
    assert not is_alive(named)


def test_a_number_that_was_given_to_another_process_does_not_count() -> None:
    host, number, began = this_process().rsplit(" ", 2)
    assert not is_alive(f"{host} {number} {float(began) - 60:.2f}")


def test_of_another_machine_nothing_is_known() -> None:
    assert is_alive("elsewhere 1 0.00")
