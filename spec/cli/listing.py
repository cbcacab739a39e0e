"""`kafkaspec list`: the systems on one screen, or what one of them consists of (`spec.atlas.catalogue`)."""

from __future__ import annotations

import json

import click

from spec.cli.options import AS_JSON, TEXT
from spec.cli.output import print_lines
from spec.cli.streams import print_result, printing_to_stderr


@click.command("list", short_help="The systems; of one of them, constants, properties, switches, releases.")
@click.argument("system", type=TEXT, required=False)
@AS_JSON
def list_systems(system: str | None, as_json: bool) -> None:
    """The systems, one on a line; or of SYSTEM its constants, properties, switches and releases.

    SYSTEM may be a file of your own. With --json also actions and views: one object, or, of all systems, one whose
    `systems` has them.
    """
    from spec.atlas.catalogue import describe, described, overview
    from spec.atlas.loading import answering_for, system_named
    from spec.systems import SYSTEMS

    with printing_to_stderr():
        named = [system_named(name) for name in ([system] if system is not None else SYSTEMS)]
    if as_json:
        told = []
        for each in named:
            with printing_to_stderr(), answering_for(each):
                told.append(described(each))
        print_result(json.dumps(told[0] if system is not None else {"systems": told}))
        return
    with printing_to_stderr(), answering_for(named[0]):
        lines = [*(overview() if system is None else describe(named[0]))]
    print_lines(lines)
