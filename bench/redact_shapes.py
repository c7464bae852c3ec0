"""Made-up secrets in their real shapes, and the forms they are found in.

Rule 1: a secret is drawn when it is needed, so that no file holds one.
Rule 2: its random part begins and ends with a mark of its alphabet: half a secret is found too, as
        it is and in base64, and nothing else looks like it (hexadecimal marks are long: a store
        is full of digests).
Rule 3: what is known by its shape stands under labels that say nothing; the rest under its own.
"""

import base64
import json
import random
import re
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import quote

_LETTERS = string.ascii_letters + string.digits
_UPPER = string.ascii_uppercase + string.digits
_PLAIN_LABEL = "value"
# letter of a template -> alphabet, mark at the start, mark at the end
_FIELDS: dict[str, tuple[str, str, str]] = {
    "A": (_LETTERS, "Kx9Qz7", "zW4Jq8"),
    "H": ("0123456789abcdef", "c0f3e7b4d8", "b9d1a52e6f"),
    "B": (string.ascii_uppercase + "234567", "QX7ZJ", "K3WVQ"),
    "U": (_UPPER, "QX9ZJ7", "K8WVQ4"),
    "D": (string.digits, "", ""),
}
MARKS = tuple(mark for _, *marks in _FIELDS.values() for mark in marks if mark)
_FIELD = re.compile(r"\{([A-Z])(\d+)\}")
_FEWEST_MARKED = 12
_COLUMNS = 76


class Shape(NamedTuple):
    """A kind of secret; `{A36}` in its template is 36 random letters. No label: known by shape."""

    name: str
    template: str
    label: str = ""

    def drawn(self, source: random.Random) -> str:
        """Return a new secret."""
        return _FIELD.sub(
            lambda field: _random_text(field[1], int(field[2]), source), self.template
        )


def _random_text(kind: str, length: int, source: random.Random) -> str:
    alphabet, head, tail = _FIELDS[kind]
    if length < _FEWEST_MARKED:
        head = tail = ""
    middle = length - len(head) - len(tail)
    return head + "".join(source.choices(alphabet, k=middle)) + tail


SHAPES: tuple[Shape, ...] = (
    Shape("aws id", "AKIA{B16}"),
    Shape("aws temporary id", "ASIA{B16}"),
    Shape("github classic", "ghp_{A36}"),
    Shape("github oauth", "gho_{A36}"),
    Shape("github app", "ghs_{A36}"),
    Shape("github fine", "github_pat_{A22}_{A59}"),
    Shape("gitlab", "glpat-{A20}"),
    Shape("slack bot", "xoxb-{D12}-{D12}-{A24}"),
    Shape("slack app", "xapp-1-A0{U9}-{D13}-{H64}"),
    Shape("slack webhook", "https://hooks.slack.com/services/T{U9}/B{U9}/{A24}"),
    Shape("openai", "sk-{A20}T3Blbk{A22}"),
    Shape("openai project", "sk-proj-{A74}T3Blbk{A74}"),
    Shape("anthropic", "sk-ant-api03-{A93}AA"),
    Shape("stripe live", "sk_live_{A24}"),
    Shape("stripe restricted", "rk_live_{A24}"),
    Shape("stripe webhook", "whsec_{A32}"),
    Shape("google", "AIza{A35}"),
    Shape("google client", "GOCSPX-{A28}"),
    Shape("google access", "ya29.{A60}"),
    Shape("npm", "npm_{A36}"),
    Shape("pypi", "pypi-AgEIcHlwaS5vcmc{A60}"),
    Shape("huggingface", "hf_{A34}"),
    Shape("digitalocean", "dop_v1_{H64}"),
    Shape("shopify", "shpat_{H32}"),
    Shape("sendgrid", "SG.{A22}.{A43}"),
    Shape("telegram", "{D9}:AA{A33}"),
    Shape("vault", "hvs.{A30}"),
    Shape("databricks", "dapi{H32}"),
    Shape("docker", "dckr_pat_{A27}"),
    Shape("linear", "lin_api_{A40}"),
    Shape("grafana", "glsa_{A32}_{H8}"),
    Shape("age", "AGE-SECRET-KEY-1{U58}"),
    Shape("azure storage", "AccountKey={A86}=="),
    Shape("jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3OCJ9.{A43}"),
    Shape(
        "private key",
        "-----BEGIN PRIVATE KEY-----\n{A64}\n{A64}\n{A64}\n{A24}==\n-----END PRIVATE KEY-----\n",
    ),
    Shape("password", "S3cr3t!{A20}", "DB_PASSWORD"),
    Shape("api key", "{H32}", "SERVICE_API_KEY"),
    Shape("numbered token", "{A24}", "MY_GITHUB_TOKEN_2"),
    Shape("client secret", "{A28}", "client_secret"),
    Shape("aws secret", "{A40}", "AWS_SECRET_ACCESS_KEY"),
)


def _json(label: str, secret: str) -> str:
    return json.dumps({"user": "x", label: secret, "n": 1})


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _url64(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _lines(text: str) -> str:
    return "\n".join(text[at : at + _COLUMNS] for at in range(0, len(text), _COLUMNS))


# name -> how a secret stands in a text, under a label
FORMS: dict[str, Callable[[str, str], str]] = {
    "json": _json,
    "json in json": lambda label, secret: json.dumps({"body": _json(label, secret)}),
    "env": lambda label, secret: f"export {label}={secret}\nPATH=/bin\n",
    "url": lambda label, secret: f"https://host.invalid/x?{label}={quote(secret, safe='')}&b=1",
    "url login": lambda _, secret: f"postgres://me:{quote(secret, safe='')}@db.invalid:5432/x",
    "header": lambda _, secret: f"Authorization: Bearer {secret}",
    "base64": lambda label, secret: f"x {_base64(_json(label, secret))} y",
    "base64 for a url": lambda label, secret: _url64(_json(label, secret)),
    "base64 in a url": lambda label, secret: (
        f"https://host.invalid/?state={quote(_base64(_json(label, secret)), safe='')}&b=1"
    ),
    "base64 in lines": lambda label, secret: _lines(
        _base64(f"a text before it\n{_json(label, secret)}")
    ),
    "base64 value": lambda label, secret: json.dumps({"data": {label: _base64(secret)}}),
    "basic": lambda _, secret: f"Authorization: Basic {_base64(f'me:{secret}')}",
}


def text_of(shape: Shape, form: str, secret: str) -> str:
    """Return a text in which `secret` stands in `form`."""
    return FORMS[form](shape.label or _PLAIN_LABEL, secret)


def marked(text: bytes, at: int = 0) -> re.Match[bytes] | None:
    """Return where a drawn secret, or a half of one, stands in `text`, also in base64."""
    return _MARKED.search(text, at)


def spellings(text: str) -> Iterator[str]:
    """Yield a text as it is, and what it is in base64 after 0, 1 or 2 bytes of a group."""
    yield text
    for before in range(3):
        whole = base64.b64encode(bytes(before) + text.encode() + bytes(2)).decode()
        first, last = -(-before * 8 // 6), (before + len(text)) * 8 // 6
        yield whole[first:last]


_MARKED = re.compile("|".join(one for mark in MARKS for one in spellings(mark)).encode())
