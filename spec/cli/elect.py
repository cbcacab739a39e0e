"""`kafkaspec elect`: ask one of the election strategies (`election`)."""

from __future__ import annotations

import json
import re
import sys
from typing import Final

import click

from spec.cli.options import AS_JSON, TEXT, OfBrokers, single_value
from spec.cli.streams import print_result

NO_LEADER: Final = 12
"""The exit code of `what-if` for a partition without a leader."""


@click.command(cls=OfBrokers)
@click.argument(
    "strategy",
    metavar="STRATEGY",
    type=click.Choice(["offline", "reassign", "preferred", "controlled-shutdown"], case_sensitive=False),
)
@single_value("--replicas", type=TEXT, required=True, metavar="1,2,3", help="The assigned replicas (AR), in order.")
@single_value("--isr", required=True, metavar="2,3", help="The in-sync replicas, in order; '' for none.")
@single_value(
    "--live", required=True, metavar="1,2,3", help="The live brokers, including those shutting down; '' for none."
)
@click.option("--unclean", is_flag=True, help="Permit electing a replica outside the ISR (strategy offline).")
@single_value("--shutting-down", metavar="2", help="The live brokers that are shutting down.")
@AS_JSON
def elect(
    strategy: str, replicas: str, isr: str, live: str, unclean: bool, shutting_down: str | None, as_json: bool
) -> None:
    """Say which leader the controller would elect.

    STRATEGY is the reason for the election: offline, reassign, preferred or controlled-shutdown. Exits 0 if there is
    a leader, and 12 if none can be elected.
    """
    from election import STRATEGIES, UNCLEAN

    if unclean and strategy not in UNCLEAN:
        raise click.UsageError(
            f"--unclean: {strategy} elects from the ISR only; --unclean is for {', '.join(UNCLEAN)}"
        )
    assigned, in_sync = _brokers("--replicas", replicas), _brokers("--isr", isr)
    result = STRATEGIES[strategy](
        assigned,
        in_sync,
        _brokers("--live", live),
        shutting_down=_brokers("--shutting-down", shutting_down or ""),
        unclean=unclean,
    )
    if strategy != "reassign" and (strangers := {*in_sync} - {*assigned}):  # a move elects among its target replicas
        raise click.UsageError(
            f"--isr {isr}: {_listed(tuple(sorted(strangers)))} has no replica; {_listed(assigned)} have"
        )
    if as_json:
        print_result(json.dumps(result._asdict()))
    elif result.leader is None:
        print_result("no leader can be elected")
    else:
        print_result(
            f"leader {result.leader}, ISR {_listed(result.isr)}, LeaderAndIsr to {_listed(result.recipients)}"
            + (", unclean" if result.unclean else "")
        )
    sys.exit(0 if result.leader is not None else NO_LEADER)


def _brokers(option: str, text: str) -> tuple[int, ...]:
    parts = text.split(",") if text.strip() else []
    if not all(re.fullmatch(r" *-?[0-9]{1,10} *", part) for part in parts):  # 32 bits, as in Kafka
        raise click.UsageError(f"{option} {text}: write broker ids separated by commas, like 1,2,3")
    return tuple(map(int, parts))


def _listed(brokers: tuple[int, ...] | None) -> str:
    return ",".join(map(str, brokers or ())) or "none"
