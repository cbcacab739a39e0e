"""`kafkaspec list`: the systems and what each consists of (`spec.atlas.catalogue`)."""

from __future__ import annotations

import json
from typing import Any

import click

from spec.cli.options import AS_JSON, TEXT
from spec.cli.streams import print_result, printing_to_stderr


@click.command("list", short_help="The systems: constants, switches, properties, releases.")
@click.argument("system", type=TEXT, required=False)
@AS_JSON
def list_systems(system: str | None, as_json: bool) -> None:
    """The systems: constants, switches, properties, releases; or those of SYSTEM, which may be a file of your own.

    With --json also its actions and views: one object, or, of all systems, one whose `systems` has them.
    """
    from spec.atlas.catalogue import catalogue, described
    from spec.atlas.loading import answering_for, system_named
    from spec.systems import SYSTEMS

    with printing_to_stderr():
        named = {name: system_named(name) for name in ([system] if system is not None else SYSTEMS)}
    told: list[Any] = []
    for name, each in named.items():
        with printing_to_stderr(), answering_for(each):
            told.append(described(each) if as_json else catalogue([name]))
    if as_json:
        print_result(json.dumps(told[0] if system is not None else {"systems": told}))
    else:
        print_result("\n\n".join(told))
