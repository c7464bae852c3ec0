"""What the desk may be asked about the store itself: verify, backup, export, and how it is.

Rule 1: a store is verified by a child process, at one moment, while commits go on.
Rule 2: a backup or a bundle appears under its name when it is complete, and a backup when every
        byte of it has been read back.
Rule 3: what is pending is committed first, so that everything answered by then is in it.
"""

import shutil
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from osiris.core import events as ev
from osiris.core.errors import Refusal
from osiris_actors import answers, recount
from osiris_actors.gateway import Gateway
from osiris_actors.store import probing
from osiris_actors.store.contract import Damage, Selection, StoreDamaged, StoreUnavailable, Verified

Found = tuple[dict[str, Any], bytes]
Operation = Callable[[Mapping[str, Any], bytes], Awaitable[Found | Refusal]]

_PAGE = 500
_NAMED = 100
_FIX_PATH = "name one that is not there yet, in a folder that is"


class Keeping:
    """The store in `directory` as its keeper sees it; `copied_from` as `whereabouts` found it."""

    def __init__(self, gateway: Gateway, directory: Path, *, copied_from: str = "") -> None:
        self.operations: dict[str, Operation] = {
            "verify": self._verify,
            "backup": self._backup,
            "export": self._export,
        }
        self.copied_from = copied_from
        self._gateway = gateway
        self._system = gateway.system
        self._store = gateway.system.store
        self._env = gateway.system.tools.env
        self._directory = directory

    async def _verify(self, args: Mapping[str, Any], _: bytes) -> Found | Refusal:
        deep, began = bool(args.get("deep")), time.monotonic()
        found = await self._verified(self._directory, deep=deep)
        counted = await self._counted(mends=bool(args.get("mend"))) if not found.damage else {}
        if isinstance(counted, Refusal):
            return counted
        is_ok = not found.damage and (not counted["counters_off"] or counted["mended"])
        said = {"ok": is_ok, "deep": deep, **_counts(found), **counted}
        return {**said, "seconds": round(time.monotonic() - began, 3)}, b""

    async def _counted(self, *, mends: bool) -> dict[str, Any] | Refusal:
        """Return the counters that are not what the events say; put right if that is asked."""
        await self._system.flush()
        failed = None
        if mends:
            off, failed = await recount.mend(self._store)
        else:
            off = await recount.off(self._store)
        if failed is not None:
            return answers.refusal(failed)
        some = dict(list(off.items())[:_NAMED])
        return {"counters_off": len(off), "off": some, "mended": mends and bool(off)}

    async def _verified(self, directory: Path, *, deep: bool) -> Verified:
        return await self._env.run_sync(lambda: probing.verified(directory, deep=deep))

    async def _backup(self, args: Mapping[str, Any], _: bytes) -> Found | Refusal:
        target = self._new_path(args)
        if isinstance(target, Refusal):
            return target
        draft = target.with_name(f"{target.name}.{self._env.token()[:8]}.part")
        try:
            await self._system.flush()
            draft.mkdir(mode=0o700)
            await self._store.backup(draft)
            found = await self._verified(draft, deep=True)
            if found.damage:
                return _damaged_copy(found.damage[0])
            size = await self._env.run_sync(_publish, draft, target)
        except OSError as error:
            return _unwritable(error)
        finally:
            with suppress(OSError):
                await self._env.run_sync(shutil.rmtree, draft)
        said = {"ok": True, "path": str(target), "size": size, "store_id": self._store.store_id}
        return {**said, **_counts(found)}, b""

    async def _export(self, args: Mapping[str, Any], _: bytes) -> Found | Refusal:
        target = self._new_path(args)
        selection = await self._selected(str(args.get("task") or ""))
        for refused in (target, selection):
            if isinstance(refused, Refusal):
                return refused
        assert isinstance(target, Path)
        assert not isinstance(selection, Refusal)
        await self._system.flush()
        found = await self._store.export(target, selection)
        said = {"ok": not found.damage, "path": str(target), **msgspec.structs.asdict(found)}
        size = said.pop("size_bytes")
        return {**said, "size": size, "damage": _named(found.damage)}, b""

    async def _selected(self, task: str) -> Selection | Refusal | None:
        """Return one task's stream and payloads; None, and so everything, when none is named."""
        if not task:
            return None
        name = await self._gateway.router.named(task)
        if isinstance(name, Refusal):
            return name
        stream, after = f"task/{name}", 0
        payloads: dict[str, None] = {}
        while page := await self._store.history(stream, after, _PAGE):
            for version, raw in page:
                event, after = ev.decode(raw).event, version
                if isinstance(event, ev.RefStored):
                    payloads[event.sha256] = None
        return Selection((stream,), tuple(payloads))

    def _new_path(self, args: Mapping[str, Any]) -> Path | Refusal:
        path = Path(str(args.get("path") or ""))
        if not path.is_absolute():
            return Refusal("bad_argument", "the path is not absolute", "send an absolute path")
        if path.is_relative_to(self._directory):
            return Refusal("bad_argument", f"{path} is in the store's folder", _FIX_PATH)
        if path.exists() or not path.parent.is_dir():
            where = "is there already" if path.exists() else "lies in no folder"
            return Refusal("bad_argument", f"{path} {where}", _FIX_PATH)
        return path


def refused(error: StoreDamaged | StoreUnavailable) -> Refusal:
    """Return what the caller reads when the store could not be read or copied."""
    return answers.broken(error)


def _publish(draft: Path, target: Path) -> int:
    """Give a verified copy its name; return its size in bytes."""
    (draft / "lock.mdb").unlink(missing_ok=True)
    draft.rename(target)
    return sum(file.stat().st_size for file in target.iterdir())


def _counts(found: Verified) -> dict[str, Any]:
    rows = msgspec.structs.asdict(found)
    return {**rows, "damage": _named(found.damage)}


def _named(damage: tuple[Damage, ...]) -> list[dict[str, str]]:
    return [{"record": item.record, "why": item.why} for item in damage[:_NAMED]]


def _damaged_copy(damage: Damage) -> Refusal:
    fix = "restore an older backup; `osiris export` saves what is sound"
    return Refusal("store_damaged", f"{damage.record} {damage.why}: no backup was made", fix)


def _unwritable(error: OSError) -> Refusal:
    what = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    return Refusal("storage_error", what, "name a path that can be written")
