from typing import Any

class ParsedResult:
    expression: str
    parsed: dict[str, Any]
    def search(self, value: object) -> object: ...
