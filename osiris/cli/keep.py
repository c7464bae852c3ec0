"""`osiris verify`, `backup`, `restore`, `export`: the store itself, looked after by a person."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from osiris.cli.context import Context, accepted
from osiris.cli.exits import CommandError, Exit
from osiris.cli.layout import Screen, cell, cut, many, pairs
from osiris.cli.output import Shown, answers

KIB, MIB = 1_024, 1_048_576


@click.command()
@click.option("--deep", is_flag=True, help="Unpack and hash every payload too.")
@click.option("--mend", is_flag=True, help="Put counters right that are not what events say.")
@answers
def verify(context: Context, *, deep: bool, mend: bool) -> Shown:
    """Look at every record, chain, head and counter; exit 1 if one is wrong.

    It may run while the store is in use. `osiris audit` also reads every payload back.
    """
    found = context.read("verify", {"deep": deep, **({"mend": True} if mend else {})})
    is_ok = bool(found["ok"])
    head = "the store is sound" if is_ok else _wrong(found)
    return Shown(
        found,
        lambda at: _counted(head, found, at),
        exit=Exit.OK if is_ok else Exit.WRONG,
    )


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@answers
def backup(context: Context, *, path: Path) -> Shown:
    """Copy the store to the new folder PATH, while it is in use, and verify the copy.

    All that was answered before it began is in it. `osiris restore PATH` puts it back.
    """
    found = context.read("backup", {"path": str(path.absolute())})
    head = f"backup in {found['path']}, {_size(found)}, verified"
    return Shown(found, lambda at: _counted(head, found, at))


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--force",
    is_flag=True,
    help="Also in place of a sound store or of another one, and end a running owner.",
)
@answers
def restore(context: Context, *, path: Path, force: bool) -> Shown:
    """Put the backup in PATH in the store's place, verified first; the old one is kept aside.

    No owner may be running. PATH is a folder that `osiris backup` made, or a copied home.
    """
    put_back = context.restore
    if put_back is None:
        fix = "see `osiris --help` for what there is"
        raise CommandError("not_yet", "`osiris restore` is not built yet", fix)
    found = accepted(lambda: put_back(path.absolute(), force=force))[0]
    aside = found["kept_aside"]
    notes = (f"the old store is in {aside}",) if aside else ()
    return Shown(found, lambda at: _counted("restored", found, at), notes=notes)


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--task", metavar="ID", help="One task's events and payloads alone.")
@answers
def export(context: Context, *, path: Path, task: str | None) -> Shown:
    """Write events and payloads to the new file PATH, which can be checked without a store.

    What is damaged in the store is left out and named, with exit 1; the rest is saved.
    """
    named = {"task": task} if task else {}
    found = context.read("export", {"path": str(path.absolute()), **named})
    is_ok = bool(found["ok"])
    head = f"bundle in {found['path']}, {_size(found)}"
    return Shown(
        found,
        lambda at: _counted(head, found, at),
        exit=Exit.OK if is_ok else Exit.WRONG,
    )


def _wrong(said: Mapping[str, Any]) -> str:
    if said["damage"]:
        return "THE STORE IS DAMAGED: stop OSIRIS and restore a backup"
    return "COUNTERS ARE OFF, nothing is lost: put them right with --mend"


def _counted(head: str, said: Mapping[str, Any], screen: Screen) -> str:
    rows = [
        ("journal", f"{many(said['events'], 'event')} in {many(said['streams'], 'stream')}"),
        ("payloads", f"{said['blobs']:,}"),
        *([("records", f"{said['records']:,} checked")] if said.get("records") else []),
        *([("counters", _off(said))] if said.get("counters_off") else []),
    ]
    damaged = [f"{row['record']}: {row['why']}" for row in said.get("damage", ())]
    lines = [cell(head, screen), pairs(rows, screen)]
    if damaged:
        lines += ["", "damaged:"]
        lines += [f"  {cut(cell(row, screen), screen.columns - 2, screen)}" for row in damaged]
    return "\n".join(lines)


def _off(said: Mapping[str, Any]) -> str:
    return f"{said['counters_off']:,} {'put right' if said['mended'] else 'off'}"


def _size(said: Mapping[str, Any]) -> str:
    size = int(said["size"])
    return f"{size / MIB:,.1f} MiB" if size >= MIB else f"{size / KIB:,.1f} KiB"
