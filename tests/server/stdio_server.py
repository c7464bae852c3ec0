"""A stdio server over the fake service: `python -m tests.server.stdio_server`.

The tool `observe` prints on stdout, starts a child that prints and reads, and then answers; with
`{"hang": true}` it says so on stderr and never answers.
"""

import sys

import trio

from osiris.config import Hello
from osiris.server.stdio import serve_stdio
from osiris.service import Answer, Ask
from tests.server.fake_service import FakeService
from tests.server.raw_client import NONCE, OWN, new_host

_CHILD = "import sys; print('child reads', sys.stdin.buffer.raw.read(1))"


async def reply(ask: Ask) -> Answer:
    if ask.arguments.get("hang"):
        print("hanging", file=sys.stderr, flush=True)  # noqa: T201  what the test waits for
        await trio.sleep_forever()
    print("stray print", flush=True)  # noqa: T201  what a careless library would do
    await trio.run_process([sys.executable, "-c", _CHILD], stdin=None)
    return Answer(f"ok {ask.tool}")


if __name__ == "__main__":
    trio.run(serve_stdio, new_host(FakeService(reply)), OWN, Hello("0.1.0", NONCE))
