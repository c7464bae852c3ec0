"""Whether what stands behind a label is a secret.

Rule 1: the label must name a secret: `db_password` and `API-Key` do, `password_policy`, `tokens`
        and `next_token` do not.
Rule 2: the value must read like one: no placeholder, no code, no name of a variable, no plain word.
        A password may be a plain word, if it is quoted.
Rule 3: in JSON the label is the key, the name beside a `value`, or the option before it in a list.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_LAST_NAME = re.compile(r"([A-Za-z][\w.-]*)(?:\\?[\"']|%22|&quot;|\s|:|=|>|\+|%3[AaDd])*$")
_CLOSING = frozenset("\"'2;")  # the last character of a quote, of %22 and of &quot;

_SECRET = frozenset(
    {
        "password", "passwd", "pwd", "passphrase", "secret", "secrets", "credential",
        "credentials", "authorization", "cookie", "apikey",
    }
)  # fmt: skip
_PASSWORD = frozenset(
    {
        "password", "passwd", "pwd", "passphrase",
    }
)  # fmt: skip
# what a name must contain to name a secret
NAMES = r"(?i)passw|pwd|passphrase|secret|credential|authorization|cookie|key|token"
# words before `key` and `token` that make a secret of them
_KEYS = frozenset(
    {
        "api", "access", "secret", "auth", "account", "private", "signing", "encryption",
        "master", "service", "client",
    }
)  # fmt: skip
_TOKENS = frozenset(
    {
        "access", "auth", "refresh", "bearer", "session", "id", "csrf", "api", "bot", "deploy",
        "github", "gh", "gitlab", "slack", "npm", "hf", "personal", "security", "secret",
        "user", "admin", "vault", "x", "my", "oauth", "jwt",
    }
)  # fmt: skip
# words behind that make it something about a secret
_ABOUT = frozenset(
    {
        "name", "names", "type", "kind", "path", "file", "dir", "policy", "length", "len",
        "min", "max", "field", "fields", "hint", "url", "uri", "ref", "refs", "arn", "expires",
        "expiry", "expiration", "ttl", "count", "counts", "usage", "budget", "limit", "env",
        "var", "variable", "version", "manager", "label", "title", "text", "message", "error",
        "errors", "required", "enabled", "prompt", "placeholder", "scope", "scopes", "scan",
        "scanner", "detection", "provider", "store", "storage", "class", "rule", "rules",
        "pattern", "regex", "before", "after", "at", "in",
    }
)  # fmt: skip
_PLACEHOLDER = re.compile(
    r"(?i)xxx|your|example|placeholder|change.?me|redacted|dummy|\.\.\.|\*\*\*|<.*>|\$\{|\$\(|\{\{|^\$"
    r"|^%|process\.env|environ|getenv|^env\.|^secrets?\.|^arn:|^file:|^/run/|\[\[secret:"
)
_CODE = re.compile(
    r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+[!?]?|.*[()].*|[A-Z]+(?:_[A-Z]+)+|\d+(?:\.\d+)?"
    r"|.*\{[\w.!:]+\}.*|\w+\[.*|#[0-9A-Fa-f]{3,8}|AWS4-HMAC-SHA256"
)
_CODE_IF_BARE = re.compile(r".*[\[\]{}].*")
_PLAIN = re.compile(r"_*[A-Za-z]+(?:[_-][A-Za-z]+)*_*")
_WORDLIKE = frozenset(
    {
        "password", "passwd", "secret", "token", "string", "str", "text", "none", "null",
        "true", "false", "undefined", "required", "optional", "hidden", "empty", "missing",
        "invalid", "unknown", "default", "value", "number", "boolean", "object", "bytes",
        "admin", "root", "user", "test",
    }
)  # fmt: skip
_NAME = re.compile(r"-{0,2}[A-Za-z][\w.-]*")
_NAME_KEYS = ("name", "Name", "key", "Key", "header")
_VALUE_KEYS = ("value", "Value")
_PAIR = 2
_SHORTEST_WORD = 6
_SHORTEST_KEY = 8
_SHORTEST_COOKIE = 12
_FEWEST_CHARACTERS = 4


@lru_cache(maxsize=4_096)
def names_secret(name: str) -> bool:
    """Say whether what is called `name` is a secret."""
    words = [word.lower() for word in _WORDS.findall(name)]
    return any(
        _is_secret(word, words[place - 1] if place else "") and not _ABOUT & set(words[place + 1 :])
        for place, word in enumerate(words)
    )


def _is_secret(word: str, before: str) -> bool:
    return (
        word in _SECRET
        or (word in {"key", "keys"} and before in _KEYS)
        or (word == "token" and (before in _TOKENS or not before))
    )


def names_password(name: str) -> bool:
    """Say whether what is called `name` is chosen by a person, and so may be a word."""
    return any(word.lower() in _PASSWORD for word in _WORDS.findall(name))


def is_value(value: str, *, bare: bool, password: bool = False) -> bool:
    """Say whether `value` reads like a secret; `bare` ones stand without quotes."""
    if value.lower() in _WORDLIKE or _PLACEHOLDER.search(value) or _CODE.fullmatch(value):
        return False
    if " " in value or (bare and _CODE_IF_BARE.fullmatch(value)):
        return False
    if _PLAIN.fullmatch(value):
        return password and not bare and len(value) >= _SHORTEST_WORD
    enough = password or len(value) >= _SHORTEST_KEY
    return enough and len(set(value)) >= _FEWEST_CHARACTERS


def is_cookie(value: str) -> bool:
    """Say whether the text of a cookie header carries a value that reads like a secret."""
    values = (part.partition("=")[2].strip() for part in value.split(";"))
    return any(
        len(one) >= _SHORTEST_COOKIE and _has_digit(one) and is_value(one, bare=True)
        for one in values
    )


def _has_digit(value: str) -> bool:
    return any(char.isdigit() for char in value)


def is_labelled(before: str, value: str) -> bool:
    """Say whether `value`, with the text `before` it, is a secret by its label."""
    name = _LAST_NAME.search(before)
    if not name or before[: name.start()].endswith("::") or not names_secret(name[1]):
        return False
    in_environment = name[1].isupper() and before.endswith("=")
    bare = before[-1:] not in _CLOSING and not in_environment
    return is_value(value, bare=bare, password=names_password(name[1]))


def is_header(name: str) -> bool:
    """Say whether `name` is that of a header whose value has a scheme before the secret."""
    return name.lower().endswith("authorization")


def object_labels(value: Mapping[str, object]) -> dict[str, str]:
    """Return what each value of an object is labelled by: its key, or the name beside it.

    `{"name": "DB_PASSWORD", "value": ...}` labels what stands under `value`. No label is empty.
    """
    labels = {key: key if names_secret(key) else "" for key in value}
    beside = next((value[key] for key in _NAME_KEYS if key in value), None)
    if isinstance(beside, str) and names_secret(beside):
        labels |= {key: beside for key in _VALUE_KEYS if key in value}
    return labels


def list_labels(value: Sequence[object], label: str) -> list[str]:
    """Return what each item of a list is labelled by: the option, or in a pair the name, before it.

    The others have the `label` of the list.
    """
    labels = [label] * len(value)
    for at, item in enumerate(value[:-1]):
        is_name = isinstance(item, str) and bool(_NAME.fullmatch(item)) and names_secret(item)
        after = value[at + 1]
        is_option = isinstance(after, str) and after.startswith("-")
        if is_name and not is_option and (len(value) == _PAIR or str(item).startswith("-")):
            labels[at + 1] = str(item)
    return labels
