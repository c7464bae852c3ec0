"""File systems that a store must not be written on: their locks or maps are not this machine's.

Rule: the table is of what statfs says on Linux. Overlays, and what is not in the table, are local.
"""

import ctypes
import sys
from pathlib import Path, PureWindowsPath

# f_type of statfs(2) -> name; the numbers are those of <linux/magic.h> and of each file system
NETWORK = {
    0x00006969: "NFS",
    0x0000517B: "SMB",
    0xFE534D42: "SMB2",
    0xFF534D42: "CIFS",
    0x65735546: "FUSE",
    0x01021997: "9P",
    0x00C36400: "Ceph",
    0x5346414F: "AFS",
    0x6B414653: "kAFS",
    0x73757245: "Coda",
    0x0000564C: "NCP",
    0x01161970: "GFS2",
    0x7461636F: "OCFS2",
    0x0BD00BD0: "Lustre",
    0x47504653: "GPFS",
    0x19830326: "BeeGFS",
    0x786F4256: "VirtualBox shared folder",
    0xBACBACBC: "VMware shared folder",
    0x7C7C6673: "Parallels shared folder",
}
_STATFS_BYTES = 512  # more than any struct statfs


def network_name(path: Path) -> str:
    """Return the name of the network file system that holds `path`; empty for a local one."""
    if sys.platform == "win32":
        return share(str(path))
    return NETWORK.get(type_of(path), "")


def share(path: str) -> str:
    r"""Return "SMB" for a Windows path on a share, such as \\server\share\home."""
    return "SMB" if PureWindowsPath(path).drive.startswith("\\\\") else ""


def type_of(path: Path) -> int:
    """Return statfs's f_type of `path` or of the nearest folder above it that is there; else 0."""
    if sys.platform != "linux":
        return 0
    there = next(place for place in (path, *path.parents) if place.exists())
    found = ctypes.create_string_buffer(_STATFS_BYTES)
    if ctypes.CDLL(None).statfs(str(there).encode(), found):
        return 0
    return ctypes.c_ulong.from_buffer(found).value & 0xFFFFFFFF
