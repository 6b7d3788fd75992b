"""What pytest prints at its end, and a Ctrl-C that works however it was started."""

import signal

import pytest


def pytest_configure() -> None:
    """Let processes that tests start be interrupted, even if pytest runs in the background.

    A shell starts background jobs with SIGINT ignored, and children inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the tables that tests recorded with ``record_property("table: <title>", text)``.

    Recorded, not printed by the test, so that they also come through from xdist's workers.
    """
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, text in report.user_properties:
                if name.startswith("table: "):
                    terminalreporter.section(name.removeprefix("table: "))
                    terminalreporter.write_line(str(text))
