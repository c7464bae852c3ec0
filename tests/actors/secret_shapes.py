"""Made-up secrets in their real shapes, generated so that no file holds one."""

import base64
import json
import random
import string
from collections.abc import Iterator

_ALL = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_random = random.Random(20)


def some(length: int, alphabet: str = _ALL) -> str:
    return "".join(_random.choices(alphabet, k=length))


def _url64(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


_BASE32 = string.ascii_uppercase + "234567"
SHAPES: dict[str, str] = {
    "aws id": "AKIA" + some(16, _BASE32),
    "aws temporary id": "ASIA" + some(16, _BASE32),
    "github classic": "ghp_" + some(36),
    "github oauth": "gho_" + some(36),
    "github app": "ghs_" + some(36),
    "github fine": f"github_pat_{some(22)}_{some(59)}",
    "gitlab": "glpat-" + some(20),
    "slack bot": f"xoxb-{some(12, string.digits)}-{some(12, string.digits)}-{some(24)}",
    "slack app": f"xapp-1-A0{some(9, _BASE32)}-{some(13, string.digits)}-{some(64, _HEX)}",
    "openai": f"sk-{some(20)}T3Blbk{some(22)}",
    "openai project": f"sk-proj-{some(74)}T3Blbk{some(74)}",
    "anthropic": f"sk-ant-api03-{some(93)}AA",
    "stripe live": "sk_live_" + some(24),
    "stripe restricted": "rk_live_" + some(24),
    "stripe webhook": "whsec_" + some(32),
    "google": "AIza" + some(35),
    "google client": "GOCSPX-" + some(28),
    "google access": "ya29." + some(60),
    "npm": "npm_" + some(36),
    "pypi": "pypi-AgEIcHlwaS5vcmc" + some(60),
    "huggingface": "hf_" + some(34),
    "digitalocean": "dop_v1_" + some(64, _HEX),
    "shopify": "shpat_" + some(32, _HEX),
    "sendgrid": f"SG.{some(22)}.{some(43)}",
    "telegram": f"{some(9, '123456789')}:AA{some(33)}",
    "vault": "hvs." + some(30),
    "databricks": "dapi" + some(32, _HEX),
    "linear": "lin_api_" + some(40),
    "grafana": f"glsa_{some(32)}_{some(8, _HEX)}",
    "age": "AGE-SECRET-KEY-1" + some(58, string.digits + string.ascii_uppercase),
    "jwt": f"{_url64({'alg': 'HS256', 'typ': 'JWT'})}.{_url64({'sub': '12345678'})}.{some(43)}",
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
