from typing import Any

class TreeInterpreter:
    def visit(self, node: dict[str, Any], *args: object, **kwargs: object) -> object: ...
