"""What a run of the tests costs: processor seconds, with those of all processes that tests start.

The summary gives the sum, and names the cases over `MOST`. CONTRIBUTING states the sum of `make test`.
"""

from __future__ import annotations

import resource
import time
from contextlib import suppress
from typing import Any, Final

import psutil
import pytest

MOST: Final = 2.0
"""Processor seconds of a case in `make test`; a server counts when it ends."""
SPENT: Final = "processor seconds"


def spent() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def spent_by_servers() -> float:
    """Return the processor seconds of children that still run. Looking at all processes takes milliseconds."""
    total = 0.0
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            total += sum(child.cpu_times()[:2])
    return total


class ProcessorTime:
    """Hooks of pytest, in the process that runs tests and in the one that reports them."""

    def __init__(self) -> None:
        self.began = 0.0
        self.total = 0.0
        self.dear: list[tuple[float, str]] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        """A case begins."""
        self.began = spent()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """A case has ended, with its fixtures."""
        if call.when == "teardown":
            item.user_properties.append((SPENT, spent() - self.began))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A case is reported."""
        seconds = dict(report.user_properties).get(SPENT, 0.0)
        if report.when == "teardown" and isinstance(seconds, float) and seconds > MOST:
            self.dear.append((seconds, report.nodeid))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """All cases of this process have ended."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[SPENT] = spent() + spent_by_servers()
        else:
            workers_count_for_themselves = session.config.getoption("dist", "no") != "no"
            self.total += time.process_time() if workers_count_for_themselves else spent() + spent_by_servers()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker has ended."""
        self.total += getattr(node, "workeroutput", {}).get(SPENT, 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the sum, and the cases over the bound."""
        terminalreporter.section("processor time")
        for seconds, name in sorted(self.dear, reverse=True):
            terminalreporter.line(f"{seconds:7.1f} s {name}")
        terminalreporter.line(f"{self.total:7.0f} s in all")
