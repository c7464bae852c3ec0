class StdioTransport:
    def __init__(
        self, command: str, args: list[str], *, cwd: str, keep_alive: bool = True
    ) -> None: ...
