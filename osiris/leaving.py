"""How a process that serves a client leaves: when it is told to, and with its parent.

Standard library only.
"""

import os
import signal
import sys
import time

PARENT_S = 1.0


def on_signals() -> None:
    """Let SIGINT, SIGTERM and SIGHUP end this process with status 0, whatever it is doing."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if sys.platform != "win32":
        numbers.append(signal.SIGHUP)

    def stop(_number: int, _frame: object) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise SystemExit(0)

    for number in numbers:
        signal.signal(number, stop)


def with_parent() -> None:
    """End when the parent does, even if someone else keeps the pipes open. For a thread."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(PARENT_S)
    os._exit(0)
