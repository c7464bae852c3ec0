"""Made-up secrets in their real shapes (`bench.redact_shapes`), and more forms of them."""

import base64
import json
import random
import string
from collections.abc import Iterator

from bench import redact_shapes

_ALL = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_random = random.Random(20)


def some(length: int, alphabet: str = _ALL) -> str:
    return "".join(_random.choices(alphabet, k=length))


# those that are known by their shape alone, to the own list
_KINGFISHER_S = {"docker"}
SHAPES: dict[str, str] = {
    shape.name: shape.drawn(_random)
    for shape in redact_shapes.SHAPES
    if not shape.label and shape.name not in {"private key", *_KINGFISHER_S}
}
PASSWORDS = ("hunter2", "S3cr3t!Passw0rd", some(20), "correct9horse", some(32, _HEX))


def forms_of_shape(secret: str) -> Iterator[str]:
    """Yield texts in which a secret stands that is known by its shape."""
    yield f"the value is {secret} here"
    yield secret
    yield json.dumps({"a": secret})
    yield json.dumps(json.dumps({"a": secret}))
    yield f"SOME_THING={secret}\n"
    yield f"https://host.invalid/x?a={secret}&b=1"
    yield base64.b64encode(f"it is {secret} here".encode()).decode()
    yield base64.b64encode(secret.encode()).decode()
    yield f"x {base64.urlsafe_b64encode(json.dumps({'token': secret}).encode()).decode()} y"


def forms_of_password(secret: str) -> Iterator[str]:
    """Yield texts in which a secret stands that is known by its label."""
    yield json.dumps({"user": "x", "password": secret})
    yield json.dumps({"db_password": secret}, indent=2)
    yield json.dumps(json.dumps({"password": secret}))
    yield f"export DB_PASSWORD={secret}\n"
    yield f"DB_PASSWORD='{secret}'"
    yield f"  password: {secret}\n"
    yield f'password = "{secret}"'
    yield f"postgres://user:{secret}@db.internal:5432/x"
    yield f"mysql --password {secret} -h x"
    yield f"mysql --password={secret} -h x"
    yield base64.b64encode(json.dumps({"password": secret}).encode()).decode()
    yield "Authorization: Basic " + base64.b64encode(f"user:{secret}".encode()).decode()


def forms_of_token(secret: str) -> Iterator[str]:
    """Yield texts in which a long secret stands that is known by its label."""
    yield f"MY_GITHUB_TOKEN_2={secret}\n"
    yield f"https://host.invalid/?token={secret}&x=1"
    yield f"Authorization: Bearer {secret}"
    yield f'curl -H "Authorization: token {secret}" x'
    yield f'curl -H "x-api-key: {secret}" x'
    yield json.dumps({"headers": {"Authorization": f"Bearer {secret}"}})
    yield f"Cookie: theme=dark; session={secret}"
    yield f"Set-Cookie: sid={secret}; Path=/; HttpOnly"
    yield f"aws_secret_access_key = {secret}{secret}"[:64]
    yield f"{{'client_secret': '{secret}'}}"


def private_key() -> str:
    body = "\n".join(some(64) for _ in range(8))
    return f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n{some(24)}==\n-----END RSA PRIVATE KEY-----\n"
