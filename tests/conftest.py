"""What pytest prints at its end."""

import pytest


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
