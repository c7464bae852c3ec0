"""A bridge or an owner of another version, or of more patience.

`on_terms.py bridge VERSION` starts owners of its own version; `on_terms.py serve VERSION GRACE_S`.
"""

import sys

from osiris import bridge, claim
from osiris.home import resolve
from osiris.lock import OwnerLock

_GRACE_S = "5"


def bridge_of(version: str) -> tuple[str, ...]:
    """Return what starts a bridge."""
    return (sys.executable, "-P", __file__, "bridge", version)


def owner_of(version: str, grace_s: str = _GRACE_S) -> tuple[str, ...]:
    """Return what starts an owner; `grace_s` is what calls get when it ends."""
    return (sys.executable, "-P", __file__, "serve", version, grace_s)


def serve(version: str, grace_s: float) -> int:
    home = resolve()

    def live(lock: OwnerLock) -> int:
        from osiris import owner  # noqa: PLC0415  after the lock, as the real one does

        return owner.serve(home, lock, version=version, grace_s=grace_s)

    return claim.own(home, live)


def main(argv: list[str]) -> int:
    match argv:
        case ["serve", version, grace_s]:
            return serve(version, float(grace_s))
        case ["bridge", version]:
            return bridge.main(owner_of(version), version)
        case _:
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
