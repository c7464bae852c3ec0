"""What a secret looks like: the project's own short list.

Rule 1: a row is a name and a pattern; its first group, or the whole match, is the secret.
Rule 2: secrets known by their shape have their vendor's name; those known only by what stands
        before them are all called `credential`, so that one secret is one name wherever it stands.
Rule 3: what stands behind a label is checked further (`redact_labels`).
"""

import re
from typing import Literal, NamedTuple

CREDENTIAL = "credential"
BASE64 = "base64"
URL = "url"
SENTINEL = re.compile(rb"\[\[secret:[\w.-]{1,80}:[0-9a-f]{8}\]\]")

# how a find is checked: by the label before it, as a value, as one a person chose, as cookies, not;
# what is encoded is looked into
Check = Literal["label", "value", "password", "cookie", "shape", "encoded"]


class Row(NamedTuple):
    """One shape of a secret; `hint` occurs wherever `pattern` does and is cheaper to look for."""

    name: str
    pattern: str
    check: Check = "shape"
    hint: str = ""


_LABEL = (
    r"(?:passw(?:or)?d|passphrase|pwd|secret|credential|token|api[_-]?key|(?:access|secret|auth|account"
    r"|private|signing|encryption|master|service)[_-]?key)"
)
_CREDENTIAL = r"[A-Za-z0-9._~+/=!@#$%^&*:-]"  # what stands in a header
_QUOTE = r"(?:\\?[\"']|%22|&quot;)"
_IS = r"(?::|:?=>?|%3[AaDd])"
# base64 of ASCII text: the top bit of each of three bytes is zero
_B64 = "[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]"

ROWS: tuple[Row, ...] = (
    Row("aws-id", r"\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\b"),
    Row(
        "aws-secret",
        r"(?i)aws.{0,24}(?:secret|key).{0,24}?[\"'=:\s]([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)",
    ),
    Row("github", r"\b(gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{36,})"),
    Row("gitlab", r"\b(gl(?:pat|ptt|dt|rt|oas|cbt|soat|ft|imt|agent)-[A-Za-z0-9_-]{20,})"),
    Row("slack", r"\b(xox[abeoprs]-[A-Za-z0-9-]{12,}|xapp-\d-[A-Za-z0-9-]{20,})"),
    Row("slack", r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_+-]{30,80})"),
    Row("anthropic", r"\b(sk-ant-[A-Za-z0-9_-]{24,})"),
    Row("openai", r"\b(sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{24,}|sk-[A-Za-z0-9]{32,64})\b"),
    Row("stripe", r"\b((?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,})"),
    Row("google", r"\b(AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{24,})"),
    Row("npm", r"\b(npm_[A-Za-z0-9]{36})\b"),
    Row("pypi", r"\b(pypi-AgE[A-Za-z0-9_-]{50,})"),
    Row("huggingface", r"\b(hf_[A-Za-z0-9]{30,64})\b"),
    Row("digitalocean", r"\b(do[opr]_v1_[a-f0-9]{64})\b"),
    Row("shopify", r"\b(shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32})\b"),
    Row("sendgrid", r"\b(SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50})"),
    Row("telegram", r"\b(\d{8,10}(?::|%3[Aa])AA[A-Za-z0-9_-]{32,34})"),
    Row("vault", r"\b(hv[sb]\.[A-Za-z0-9_-]{24,})"),
    Row("databricks", r"\b(dapi[a-f0-9]{32}(?:-\d)?)\b"),
    Row("linear", r"\b(lin_(?:api|oauth)_[A-Za-z0-9]{32,64})\b"),
    Row("grafana", r"\b(gls[ac]_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8})\b"),
    Row("age", r"\b(AGE-SECRET-KEY-1[0-9A-Z]{58})"),
    Row("azure", r"(?i)AccountKey=([A-Za-z0-9+/]{86}==)"),
    Row("jwt", r"\b(eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})"),
    Row(
        "private-key",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|\s)*"
        r"(?:[A-Za-z-]+: [^\r\n\\]+(?:\\[nr]|\s)+)*"
        r"((?:[A-Za-z0-9+/=]{16,}(?:\\[nr]|\s)*)+[A-Za-z0-9+/=]*)",
    ),
    Row(
        CREDENTIAL,
        r"\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/@:\"'<>]*:([^\s/@\"'<>]{3,})@[A-Za-z0-9\[]",
        "password",
        r"://[^\s/@:\"'<>]*:[^\s/@\"'<>]{3,}@",
    ),
    Row(
        CREDENTIAL,
        rf"(?i){_LABEL}[\w-]*{_QUOTE}?\s*{_IS}[\s+]*{_QUOTE}([^\"'\\%\r\n]{{3,}}?){_QUOTE}",
        "label",
    ),
    Row(CREDENTIAL, rf"(?i)\b[\w.-]*{_LABEL}[\w-]*=([^\s\"'`;&|<>()\\,]{{6,}})", "label"),
    Row(
        CREDENTIAL,
        rf"(?im)^[ \t]*[\w.-]*{_LABEL}[\w-]*[ \t]*[:=][ \t]*([^\s\"'#,;(){{}}\[\]]{{6,}})"
        r"[ \t]*\r?$",
        "label",
    ),
    Row(CREDENTIAL, rf"(?i)--[\w-]*{_LABEL}[\w-]*\s+[\"']?([^\s\"'-][^\s\"']{{5,}})", "label"),
    Row(
        CREDENTIAL,
        r"(?i)[?&](?:[a-z]+_token|api_?key|token|key|secret|password|sig|signature|x-amz-signature)"
        r"=([^\s&#\"'<>\\]{8,})",
        "value",
    ),
    Row(
        CREDENTIAL,
        r"(?i)\bauthorization\\?[\"']?\s*[:=]\s*\\?[\"']?(?:bearer|basic|token|digest|apikey)\s+"
        rf"({_CREDENTIAL}{{8,}})",
        "password",
    ),
    Row(
        CREDENTIAL,
        r"(?i)\bauthorization\\?[\"']?\s*[:=]\s*\\?[\"']?([A-Za-z0-9._~+/=-]{8,})",
        "value",
    ),
    Row(CREDENTIAL, rf"(?i)\bbearer\s+({_CREDENTIAL}{{16,}})", "value"),
    Row(
        CREDENTIAL,
        r"(?i)\b(?:x-api-key|api-key|x-[a-z]+-token|private-token)"
        rf"\\?[\"']?\s*[:=]\s*\\?[\"']?({_CREDENTIAL}{{8,}})",
        "value",
    ),
    Row(
        CREDENTIAL,
        r"(?i)\b(?:set-)?cookie\\?[\"']?\s*:\s*\\?[\"']?([\w.-]+=[^\r\n\"'\\]{8,})",
        "cookie",
    ),
    Row(CREDENTIAL, rf"(?i)<[\w:.-]*{_LABEL}[\w-]*>([^<>\s]{{6,}})</", "label"),
    Row(CREDENTIAL, r"(?i)\bmachine\s+\S+\s+login\s+\S+\s+password\s+(\S{3,})", "password"),
    Row(CREDENTIAL, r"\bsshpass\s+-p\s*[\"']?([^\s\"']{3,})", "password"),
    Row(
        CREDENTIAL,
        r"\bcurl\b[^\r\n]*\s(?:-u|--user)[\s=]*[\"']?[^\s\"':]+:([^\s\"']{3,})",
        "password",
    ),
    Row(
        CREDENTIAL,
        r"\bcurl\b[^\r\n]*\s(?:-b|--cookie)[\s=]*[\"']?([\w.-]+=[^\r\n\"']{8,})",
        "cookie",
    ),
    Row(CREDENTIAL, rf"\"auth\\?\"\s*:\s*\\?\"((?:{_B64}){{3,}}[A-Za-z0-9+/=]*)", "value"),
    Row(
        BASE64,
        rf"(?:^|[^A-Za-z0-9+/_-])((?:(?:(?:{_B64}){{16,}}\r?\n)+(?:{_B64})*|(?:{_B64}){{5,}})"
        r"[A-Za-z0-9+/_-]{0,3}={0,2})",
        "encoded",
        rf"(?:{_B64}){{5}}",
    ),
    Row(URL, r"[?&][\w.-]+=([^\s&#\"'<>\\]{16,})", "encoded"),
    Row(
        URL,
        r"([A-Za-z0-9._~+/@:!*,;-]*%[0-9A-Fa-f]{2}[A-Za-z0-9._~+/@:!*,;%-]*)",
        "encoded",
        "%[0-9A-Fa-f]{2}",
    ),
)
