"""`kafkaspec list`: the systems on one screen, or the description of one (`spec.atlas.catalogue`)."""

from __future__ import annotations

import json

import click

from spec.cli.options import AS_JSON, TEXT
from spec.cli.output import print_lines
from spec.cli.streams import print_result, printing_to_stderr


@click.command("list", short_help="List the systems, or describe one.")
@click.argument("system", type=TEXT, required=False)
@AS_JSON
def list_systems(system: str | None, as_json: bool) -> None:
    """List the systems, one a line, or the constants, properties, switches and releases of SYSTEM.

    SYSTEM may be a file of your own. --json adds actions and views. It prints one object for SYSTEM, or an object
    whose `systems` lists one for each.
    """
    from spec.atlas.catalogue import describe, described, overview
    from spec.atlas.loading import answering_for, system_named
    from spec.systems import SYSTEMS

    with printing_to_stderr():
        named = [system_named(name) for name in ([system] if system is not None else SYSTEMS)]
    if as_json:
        described_systems = []
        for each in named:
            with printing_to_stderr(), answering_for(each):
                described_systems.append(described(each))
        print_result(json.dumps(described_systems[0] if system is not None else {"systems": described_systems}))
        return
    with printing_to_stderr(), answering_for(named[0]):
        lines = [*(overview() if system is None else describe(named[0]))]
    print_lines(lines)
