"""What is a secret and what is not, by the own list alone and with kingfisher's rules."""

import base64
import hashlib
import json
import random
import re
import time
import uuid
from pathlib import Path
from urllib.parse import quote

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from bench import redact_shapes
from osiris_actors.redact_labels import names_secret
from osiris_actors.redactor import Redactor
from tests.actors.secret_shapes import (
    PASSWORDS,
    SHAPES,
    forms_of_password,
    forms_of_shape,
    forms_of_token,
    private_key,
    some,
)
from tests.actors.transcripts import HERE, messages

KEY = b"k" * 32
OWN = Redactor(KEY)
SENTINEL = re.compile(r"\[\[secret:([\w.-]+):([0-9a-f]{8})\]\]")
FORMS = [
    *((secret, text) for secret in SHAPES.values() for text in forms_of_shape(secret)),
    *((secret, text) for secret in PASSWORDS for text in forms_of_password(secret)),
    *(
        (secret, text)
        for secret in PASSWORDS
        if len(secret) > 15
        for text in forms_of_token(secret)
    ),
]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Redactor:
    redactor = Redactor(KEY)
    redactor.load(tmp_path_factory.mktemp("home") / "rules")
    return redactor


def leaks(secret: str, clean: str) -> bool:
    encoded = base64.b64encode(secret.encode()).decode().rstrip("=")[:-2]
    return secret in clean or encoded in clean


@pytest.mark.parametrize(("secret", "text"), FORMS)
@pytest.mark.promise("redaction")
def test_a_secret_is_replaced_in_every_form(secret: str, text: str) -> None:
    clean, hits = OWN.redact(text)

    assert hits > 0
    assert not leaks(secret, clean)
    assert SENTINEL.search(clean)


def test_all_of_it_holds_with_all_rules(full: Redactor) -> None:
    assert full.has_all_rules
    for secret, text in FORMS:
        clean, hits = full.redact(text)
        assert hits > 0, text
        assert not leaks(secret, clean), text


def test_what_is_clean_stays_clean(full: Redactor) -> None:
    for redactor in (OWN, full):
        for _, text in FORMS:
            clean, _ = redactor.redact(text)
            assert redactor.redact(clean) == (clean, 0)
            assert OWN.redact_tree({"password": clean, clean: [clean]})[1] == 0


def test_kingfisher_finds_what_the_own_list_does_not_know(full: Redactor) -> None:
    text = "DD_API " + "glrt-" + some(20) + " and discord " + "mfa." + some(84)
    secret = "dckr_pat_" + some(27)

    assert OWN.redact(f"docker login -p {secret}")[1] == 0
    clean, hits = full.redact(f"docker login -p {secret}")

    assert (hits, secret in clean) == (1, False)
    assert full.redact(text)[1] >= OWN.redact(text)[1]


def test_a_private_key_is_replaced_whole() -> None:
    pem = private_key()

    for text in (pem, json.dumps({"key": pem}), pem.replace("\n", "\r\n"), pem[:400]):
        clean, hits = OWN.redact(text)
        assert hits == 1
        assert pem[40:100] not in clean
    assert OWN.redact("-----BEGIN PRIVATE KEY----- is the first line") == (
        "-----BEGIN PRIVATE KEY----- is the first line",
        0,
    )


def test_the_same_secret_is_the_same_sentinel_under_one_key() -> None:
    secret = SHAPES["github classic"]
    texts = (f"a {secret} b {secret}", f"GITHUB_TOKEN={secret}", json.dumps({"token": secret}))
    encoded = base64.b64encode(f"it is {secret} here".encode()).decode()

    sentinels = {
        found[0] for text in (*texts, encoded) for found in SENTINEL.finditer(OWN.redact(text)[0])
    }
    other = {
        found[0] for text in texts for found in SENTINEL.finditer(Redactor(b"x").redact(text)[0])
    }

    assert len(sentinels) == 1
    assert len(other) == 1
    assert sentinels != other
    assert OWN.redact_tree({"token": secret})[0] == {"token": next(iter(sentinels))}


def test_a_password_is_one_sentinel_wherever_it_stands() -> None:
    secret = PASSWORDS[2]
    texts = (f"DB_PASSWORD={secret}", f'{{"password": "{secret}"}}', f"pg://u:{secret}@host/x")

    assert len({SENTINEL.findall(OWN.redact(text)[0])[0] for text in texts}) == 1


def test_the_text_around_a_secret_is_kept() -> None:
    secret = SHAPES["npm"]

    clean, hits = OWN.redact(f"é漢🍸\x00 {secret} \ud800 after\r\n")

    assert hits == 1
    assert SENTINEL.sub("*", clean) == "é漢🍸\x00 * \ud800 after\r\n"


def test_in_json_texts_keys_and_values_of_secret_keys_are_replaced() -> None:
    token = SHAPES["slack bot"]
    value = {
        "args": ["run", f"--header=Authorization: Bearer {some(30)}", 7, None, True, 1.5],
        "nested": {
            "api-key": "abc123def456",
            "password": "hunter2",
            "Authorization": "Basic dXNlcjpwYXNz",
        },
        token: "in a key",
        "secrets": ["a1b2c3d4e5", "plain"],
        "count": 3,
    }

    clean, hits = OWN.redact_tree(value)

    assert hits == 6
    shown = json.dumps(clean)
    for secret in ("abc123def456", "hunter2", "dXNlcjpwYXNz", token, "a1b2c3d4e5"):
        assert secret not in shown
    assert clean["args"][0] == "run"
    assert clean["args"][2:] == [7, None, True, 1.5]
    assert clean["count"] == 3


def test_a_clean_json_value_is_returned_as_it_is() -> None:
    value = {"tool": "Bash", "args": {"command": "ls -la", "n": [1, 2, {"x": "é"}]}, "ok": True}

    assert OWN.redact_tree(value) == (value, 0)


@pytest.mark.parametrize(
    "value",
    [
        {"argv": ["mysql", "--password", "S3cr3t!of9", "-h", "x"]},
        {"env": [{"name": "DB_PASSWORD", "value": "S3cr3t!of9"}]},
        {"set": [["db_password", "S3cr3t!of9"]]},
        "<password>S3cr3t!of9</password>",
        "machine db login me password S3cr3t!of9",
        "sshpass -p 'S3cr3t!of9' ssh db",
        "curl -s -u me:S3cr3t!of9 https://host.invalid/",
        "data=%7B%22password%22%3A+%22S3cr3t%21of9%22%7D&n=1",
        json.dumps({"auth": base64.b64encode(b"me:S3cr3t!of9").decode()}),
    ],
)
def test_a_password_is_found_by_what_stands_beside_it(value: object) -> None:
    clean, hits = OWN.redact_tree({"args": value})

    shown = json.dumps(clean)
    assert hits == 1
    assert [half for half in ("S3cr3t", "of9", "bWU6UzNjcjN0") if half in shown] == []


def test_a_cookie_of_a_command_is_found() -> None:
    secret = some(24)

    assert secret not in OWN.redact(f"curl -b 'session={secret}' https://host.invalid")[0]


def test_what_stands_beside_no_secret_is_kept() -> None:
    value = {
        "argv": ["login", "--password", "--host", "db-1.internal", "--token-file", "/run/t0k3n"],
        "env": [
            {"name": "PATH", "value": "/usr/bin:/bin9"},
            {"name": "password_policy", "value": "a1b2c3d4"},
        ],
        "pair": ["tokens", "a1b2c3d4e5"],
        "xml": "<token>identifier</token> <password/>",
    }

    assert OWN.redact_tree(value) == (value, 0)


INNOCENT = [
    '"auth": "basic"',
    "curl -u $USER:$PASSWORD https://host.invalid/%20a",
    "100%25 of%20the https://host.invalid/a%2Fb?next=%2Fhome%2Fuser%2Fproject&page=2",
    hashlib.sha256(b"x").hexdigest(),
    hashlib.sha1(b"x", usedforsecurity=False).hexdigest(),
    str(uuid.UUID(int=2**127 + 7)),
    "sha512-" + base64.b64encode(hashlib.sha512(b"x").digest()).decode(),
    '"integrity": "sha512-' + base64.b64encode(hashlib.sha512(b"y").digest()).decode() + '"',
    "mem://sha256:" + hashlib.sha256(b"z").hexdigest(),
    "SEAL=sha256:3f9a1c5e8d21c21b",
    '{"token_usage": {"input_tokens": 8, "output_tokens": 3}, "max_tokens": 4096}',
    '{"next_page_token": "CAUQAA1234567890abcdef", "pageToken": "abc123def456"}',
    "apiKey = await getApiKeyForModel(nextModel);",
    'api_key = os.environ["OPENAI_API_KEY"]',
    'password = getpass.getpass("Password: ")',
    "password: string;",
    "  password: ${DB_PASSWORD}",
    "API_KEY=your_api_key_here",
    'GH_TOKEN="github_pat_xxxx"',
    "export TOKEN=$(cat token.txt)",
    "https://user@host.invalid/path and http://host:8080/x@y",
    "git clone ssh://git@host.invalid:2222/x.git",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "secret_name: projects/x/secrets/y",
    'if (token === "end") { secrets.push(key) }',
    "Cookie: theme=dark; lang=en",
    "basic economy passenger, bearer of bad news",
    "class=sk-loading-indicator-with-a-long-name-and-more",
    "authorization: HTTPAuthorizationCredentials = Depends(scheme)",
    "AKIA",
    "eyJ",
]


@pytest.mark.parametrize("text", INNOCENT)
@pytest.mark.promise("redaction")
def test_hashes_ids_code_and_placeholders_are_left_alone(text: str, full: Redactor) -> None:
    assert OWN.redact(text) == (text, 0)
    assert full.redact(text) == (text, 0)
    assert OWN.redact_tree({"text": [text]}) == ({"text": [text]}, 0)


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("password", True),
        ("DB_PASSWORD", True),
        ("dbPassword", True),
        ("x-api-key", True),
        ("MY_GITHUB_TOKEN_2", True),
        ("accessToken", True),
        ("aws_secret_access_key", True),
        ("token", True),
        ("Set-Cookie", True),
        ("tokens", False),
        ("max_tokens", False),
        ("nextToken", False),
        ("key", False),
        ("password_policy", False),
        ("secretName", False),
        ("tokenType", False),
        ("monkey", False),
        ("", False),
    ],
)
def test_a_label_names_a_secret_or_something_about_one(name: str, is_secret: bool) -> None:  # noqa: FBT001  (a column)
    assert names_secret(name) is is_secret


@given(st.text(max_size=80))
def test_no_text_is_an_error_and_what_has_no_secret_is_unchanged(text: str) -> None:
    clean, hits = OWN.redact(text)

    assert hits or clean == text
    assert OWN.redact(clean)[0] == clean


async def test_until_the_rules_are_there_the_own_list_works(tmp_path: Path) -> None:
    redactor = Redactor(KEY)
    assert redactor.redact(SHAPES["npm"])[1] == 1
    assert not redactor.has_all_rules

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(redactor.start, tmp_path / "rules")
            await redactor.ready()

    assert redactor.has_all_rules


async def test_without_the_rules_ready_still_returns(tmp_path: Path) -> None:
    redactor = Redactor(KEY)
    (tmp_path / "rules").write_text("a file where the folder should be")

    with trio.fail_after(60):
        await redactor.start(tmp_path / "rules")
        await redactor.ready()

    assert not redactor.has_all_rules
    assert redactor.redact(SHAPES["npm"])[1] == 1


def test_hostile_text_takes_no_more_than_its_share_of_time() -> None:
    pieces = [
        "password",
        "secret",
        "=",
        ": ",
        '"',
        "\\'",
        " ",
        "\n",
        "ghp_",
        "sk-",
        "eyJ",
        ".",
        "Bearer ",
    ]
    text = "".join(pieces[number * 7919 % 13] + some(number % 23) for number in range(60_000))
    began = time.thread_time()

    OWN.redact(text)

    assert time.thread_time() - began < 0.5 * len(text) / 1_000_000 + 0.5


@pytest.mark.skipif(not HERE, reason="no ../shared/transcripts here")
def test_real_transcripts_hold_no_false_hit() -> None:
    texts = (message.get("text") or "" for message in messages())

    assert [(text[:80], hits) for text in texts if (hits := OWN.redact(text)[1])] == []


ALL_SHAPES = [(shape, form) for shape in redact_shapes.SHAPES for form in redact_shapes.FORMS]


@pytest.mark.promise("redaction")
def test_no_half_of_a_secret_is_left_in_any_form(full: Redactor) -> None:
    source = random.Random(7)
    planted = [
        (shape.name, form, redact_shapes.text_of(shape, form, shape.drawn(source)))
        for shape, form in ALL_SHAPES
    ]

    left = [
        (name, form)
        for name, form, text in planted
        if redact_shapes.marked(full.redact(text)[0].encode())
        or redact_shapes.marked(json.dumps(full.redact_tree({"a": [text], text: 1})[0]).encode())
    ]

    assert len(planted) >= 40 * 4
    assert all(redact_shapes.marked(text.encode()) for *_, text in planted)
    assert left == []


def test_what_stands_encoded_around_a_secret_is_kept_where_it_can_be() -> None:
    token = SHAPES["npm"]
    text = f"https://host.invalid/a%20b/{token}/c?q=x%20y&state=clean%2Fpath&n=1"

    clean, hits = OWN.redact(text)

    assert hits == 1
    assert SENTINEL.sub("*", clean) == text.replace(token, "*")


def test_a_secret_is_found_in_base64_that_an_address_has_encoded_once_more() -> None:
    token = SHAPES["npm"]
    encoded = quote(base64.b64encode(f"?~?>{token}".encode()).decode(), safe="")

    clean, hits = OWN.redact(f"https://host.invalid/?a={encoded}")

    assert "%2F" in encoded
    assert hits == 1
    assert redact_shapes.marked(clean.encode()) is None


def test_zero_bytes_do_not_blind_the_rules(full: Redactor) -> None:
    secret = "dckr_pat_" + some(27)
    text = f"docker login -p {secret}\n" + "\0a" * 100

    assert secret not in full.redact(text)[0]
