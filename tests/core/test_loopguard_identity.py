"""Which calls are the same call."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core.loop_identity import call_key, normal_path

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
ARGS = st.dictionaries(st.text(min_size=1), JSON, max_size=6)


def shuffled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shuffled(item) for key, item in reversed(value.items())}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - any JSON
    return value


@given(st.text(), ARGS)
def test_the_order_of_arguments_is_no_part_of_the_call(tool: str, args: dict[str, Any]) -> None:
    assert call_key(tool, shuffled(args)) == call_key(tool, args)


@given(st.text(), ARGS, st.text(min_size=1))
def test_a_null_argument_is_an_absent_one(tool: str, args: dict[str, Any], name: str) -> None:
    assert call_key(tool, {**args, name: None}) == call_key(
        tool, {key: value for key, value in args.items() if key != name}
    )


@given(st.text(alphabet=st.characters(exclude_categories=())), ARGS)
def test_any_object_has_a_key_of_sixteen_hex(tool: str, args: dict[str, Any]) -> None:
    assert len(bytes.fromhex(call_key(tool, args))) == 8


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"path": "docs/a.md"}, {"path": "./docs//x/../a.md"}),
        ({"path": "C:\\Users\\me\\a.txt"}, {"path": "c:/Users/me/./a.txt"}),
        ({"file_path": "/a/b", "offset": 1}, {"file_path": "/a/b"}),
        ({"paths": ["a/b", "c"]}, {"paths": ["a//b", "./c"]}),
        ({"q": "x", "request_id": "8f14e45f"}, {"q": "x", "request_id": "45c48cce"}),
        ({"q": "x", "nested": {"a": None}}, {"q": "x", "nested": {}}),
    ],
)
def test_other_spellings_of_one_read_are_one_call(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert call_key("read_file", one) == call_key("read_file", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"path": "a"}, {"path": "b"}),
        ({"path": "/a"}, {"path": "a"}),
        ({"path": "../a"}, {"path": "a"}),
        ({"offset": 40}, {"offset": 80}),
        ({"offset": 0}, {"offset": False, "limit": 5}),
        ({"id": "8f14e45f-ceea-467f-9575-4ab4da0a4e8b"}, {"id": "45c48cce-2e2d-4fbd-ba22-a3c1"}),
        ({"at": "2024-05-13"}, {"at": "2024-05-14"}),
        ({"text": "a//b"}, {"text": "a/b"}),
        ({"path": "http://h//a"}, {"path": "http://h/a"}),
    ],
)
def test_what_was_asked_is_part_of_the_call(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert call_key("read_file", one) != call_key("read_file", other)


def test_two_tools_make_two_calls() -> None:
    assert call_key("read", {"a": 1}) != call_key("write", {"a": 1})


def test_a_clock_asks_a_read_for_a_moment_and_only_dates_another_call() -> None:
    early, late = {"symbol": "X", "timestamp": 1}, {"symbol": "X", "timestamp": 2}

    assert call_key("get_quote", early) != call_key("get_quote", late)
    assert call_key("place_order", early) == call_key("place_order", late)


def test_a_shell_command_is_known_without_its_label_and_timeout() -> None:
    told = {"command": "make test ", "description": "Run the tests", "timeout": 120_000}

    assert call_key("Bash", told) == call_key("Bash", {"command": "make test"})
    assert call_key("Task", {"description": "a"}) != call_key("Task", {"description": "b"})


def test_a_plan_is_known_by_the_states_of_its_steps() -> None:
    def plan(*states: str) -> dict[str, Any]:
        return {"todos": [{"text": f"{n}", "status": state} for n, state in enumerate(states)]}

    reworded = {"todos": [{"text": "other words", "status": "done"}]}

    assert call_key("TodoWrite", plan("done")) == call_key("TodoWrite", reworded)
    assert call_key("TodoWrite", plan("done")) != call_key("TodoWrite", plan("open"))
    assert call_key("TodoWrite", plan("done")) != call_key("TodoWrite", plan("done", "open"))


def test_halves_of_one_character_are_that_character_and_a_lone_half_is_no_error() -> None:
    assert call_key("t", {"a": "\ud83c\udf78"}) == call_key("t", {"a": "🍸"})
    assert call_key("t\ud800", {"a": "\ud800"}) != call_key("t\ud800", {"a": "\udc00"})
    assert call_key("t", {"a": float("nan")}) == call_key("t", {"a": float("nan")})


@given(st.text(alphabet="ab./\\:", max_size=20))
def test_a_normal_path_stays_as_it_is(path: str) -> None:
    assert normal_path(normal_path(path)) == normal_path(path)
