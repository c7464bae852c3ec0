"""Nothing that an exception quotes reaches a log as it was."""

import io
import logging
from collections.abc import Iterator

import msgspec
import pytest

from osiris.core.commands import Plan
from osiris_actors import redact_logs
from osiris_actors.redactor import Redactor
from tests.actors.secret_shapes import SHAPES, private_key

TOKEN = SHAPES["github classic"]


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """Give what the root logger writes."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(redact_logs.CleanFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(handler)
    yield text
    logging.getLogger().removeHandler(handler)


class CrashError(Exception):
    """Quotes its payload, as many do."""


def fail(payload: object) -> None:
    raise CrashError(f"cannot take {payload!r}")


@pytest.mark.promise("redaction")
@pytest.mark.parametrize(
    "payload",
    [{"env": {"DB_PASSWORD": "S3cr3t-of-9"}}, [TOKEN], msgspec.Raw(TOKEN.encode()), private_key()],
)
def test_a_traceback_that_quotes_a_payload_is_logged_without_its_secrets(
    payload: object, written: io.StringIO
) -> None:
    try:
        fail(payload)
    except CrashError:
        logging.getLogger("osiris").exception("%s failed", f"call of {TOKEN}")

    said = written.getvalue()
    assert "CrashError" in said
    assert "[[secret:" in said
    assert "S3cr3t-of-9" not in said
    assert TOKEN[8:] not in said


def test_a_validation_error_that_quotes_a_value_is_logged_without_it(
    written: io.StringIO,
) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert({"mode": "start", TOKEN: 1}, Plan)

    logging.getLogger("osiris").warning("bad: %s", raised.value)

    assert written.getvalue().startswith("WARNING osiris: bad: Object contains unknown field `[[")


def test_log_lines_name_a_secret_as_the_store_does_once_it_is_open(written: io.StringIO) -> None:
    redactor = Redactor(b"k" * 32)
    redact_logs.share(redactor)

    logging.getLogger("osiris").warning("it is %s", TOKEN)

    assert written.getvalue() == f"WARNING osiris: it is {redactor.redact(TOKEN)[0]}\n"
