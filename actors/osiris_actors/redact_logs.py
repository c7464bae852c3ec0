"""Log lines without the secrets that an exception or a name may bring into them."""

import logging
import secrets

from osiris_actors.redactor import Redactor


class CleanFormatter(logging.Formatter):
    """Formats a record, traceback and all, and then replaces what is secret in it.

    Until `share` gives it the store's redactor it has one of its own, without kingfisher's rules.
    """

    redactor: Redactor | None = None

    def format(self, record: logging.LogRecord) -> str:
        if self.redactor is None:
            self.redactor = Redactor(secrets.token_bytes(32))
        return self.redactor.redact(super().format(record))[0]


def share(redactor: Redactor) -> None:
    """Let this process's log lines be cleaned by `redactor`."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, CleanFormatter):
            handler.formatter.redactor = redactor
