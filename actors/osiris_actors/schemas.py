"""JSON Schema checks of results, by the library that the SDK brings along."""

import json
from collections.abc import Iterable

from jsonschema import Draft202012Validator, SchemaError, ValidationError

from osiris.core.errors import Refusal

ERRORS = 5
LARGEST = 16_384


def refusal_of_schema(schema: dict[str, object]) -> Refusal | None:
    """Return why `schema` cannot be used; it is refused where it is offered."""
    if len(json.dumps(schema)) > LARGEST:
        return Refusal("bad_argument", "handoff schema is over 16 KiB", "offer a smaller one")
    if "$ref" in json.dumps(schema):
        return Refusal("bad_argument", "handoff schema uses $ref", "write the schema out in full")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        what = f"handoff schema: {error.message[:200]}"
        return Refusal("bad_argument", what, "send a JSON Schema 2020-12 object")
    return None


def errors_of(text: str, schema: str) -> tuple[str, ...]:
    """Return what is wrong with a result, in its own words; empty when it fits."""
    try:
        value = json.loads(text)
    except ValueError as error:
        return (f"the result is no JSON: {error}",)
    validator = Draft202012Validator(json.loads(schema))
    errors: Iterable[ValidationError] = validator.iter_errors(value)  # pyright: ignore[reportUnknownMemberType]  its stub leaves `_schema` untyped
    found = sorted(errors, key=lambda error: list(map(str, error.path)))
    return tuple(f"{error.json_path}: {error.message[:160]}" for error in found[:ERRORS])
