from collections.abc import Callable, Iterator
from typing import IO

from msgpack.exceptions import (
    BufferFull as BufferFull,
    ExtraData as ExtraData,
    FormatError as FormatError,
    OutOfData as OutOfData,
    StackError as StackError,
    UnpackException as UnpackException,
    UnpackValueError as UnpackValueError,
)

class Packer:
    def __init__(self, *, use_bin_type: bool = True, strict_types: bool = False) -> None: ...
    def pack(self, obj: object) -> bytes: ...

class Unpacker(Iterator[object]):
    def __init__(
        self,
        file_like: IO[bytes] | None = None,
        *,
        read_size: int = 0,
        use_list: bool = True,
        raw: bool = False,
        strict_map_key: bool = True,
        list_hook: Callable[[list[object]], object] | None = None,
        max_buffer_size: int = ...,
        max_str_len: int = -1,
        max_bin_len: int = -1,
        max_array_len: int = -1,
        max_map_len: int = -1,
        max_ext_len: int = -1,
    ) -> None: ...
    def feed(self, next_bytes: bytes) -> None: ...
    def unpack(self) -> object: ...
    def skip(self) -> None: ...
    def tell(self) -> int: ...
    def __next__(self) -> object: ...

def packb(obj: object, *, use_bin_type: bool = True, strict_types: bool = False) -> bytes: ...
def unpackb(
    packed: bytes,
    *,
    use_list: bool = True,
    raw: bool = False,
    strict_map_key: bool = True,
    max_buffer_size: int = ...,
) -> object: ...
