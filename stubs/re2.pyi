from collections.abc import Iterator

class error(Exception): ...

class Options:
    max_mem: int
    literal: bool
    never_nl: bool
    never_capture: bool
    case_sensitive: bool
    log_errors: bool

class _Match:
    def span(self, group: int = 0) -> tuple[int, int]: ...

class _Regexp:
    groups: int
    programsize: int
    def search(
        self, text: bytes, pos: int | None = None, endpos: int | None = None
    ) -> _Match | None: ...
    def finditer(
        self, text: bytes, pos: int | None = None, endpos: int | None = None
    ) -> Iterator[_Match]: ...

class Set:
    @classmethod
    def SearchSet(cls, options: Options | None = None) -> Set: ...
    def Add(self, pattern: bytes) -> int: ...
    def Compile(self) -> None: ...
    def Match(self, text: bytes) -> list[int] | None: ...

def compile(pattern: bytes, options: Options | None = None) -> _Regexp: ...
def purge() -> None: ...
