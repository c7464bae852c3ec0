"""The demo's closing table: 80 columns, no colour needed."""

from osiris.cli.demo_result import Result

WIDTH = 64
BAR = 40

# kind of overhead -> how it reads
KINDS = {
    "schema": "tool schemas, once an agent",
    "instructions": "instructions, once an agent",
    "arguments": "call arguments",
    "reply": "replies",
    "manifest": "manifests",
    "stub": "stubs in place of payloads",
    "recall": "recalled text",
}


def show(result: Result) -> str:
    """Return the table."""
    return "\n".join(
        ("", *_tokens(result), "", *_proofs(result), "", *_capped(result), _verdict(result), "")
    )


def _tokens(result: Result) -> tuple[str, ...]:
    base, used = result.baseline_tokens, result.osiris_tokens
    rows = [_row(f"  {name}", result.overhead.get(kind, 0)) for kind, name in KINDS.items()]
    delivered = used - sum(result.overhead.values())
    if delivered:
        rows.append(_row("  short texts, delivered whole", delivered))
    return (
        _row("Tokens a model reads (o200k)", None),
        "-" * WIDTH,
        _row("without OSIRIS: every payload whole", base),
        _bar(base, base),
        _row("with OSIRIS: everything it says and is told", used),
        _bar(used, base),
        *rows,
        "-" * WIDTH,
        _row(f"net, {result.net_pct:+.1f} %", result.net_tokens),
    )


def _proofs(result: Result) -> tuple[str, ...]:
    audit, tally = result.audit, result.tally
    killed = "kill -9 during a call" if tally.owner_killed else "no"
    return (
        _said("handoff to a second agent", tally.handoff or "failed"),
        _said("facts recalled and checked", f"{tally.facts_found} of {tally.facts_needed}"),
        _said("owner killed", killed),
        _said("acknowledged changes lost", f"{result.acked_lost} of {len(tally.acknowledged)}"),
        _said(
            "payloads verified by hash",
            f"{audit['items_verified']} of {audit['items_externalized']}",
        ),
        _said("audit", "lossless, accounts balance" if audit["ok"] else "FAILED"),
    )


def _capped(result: Result) -> tuple[str, ...]:
    rows = (f"  {host:<12}{net:>+12,}" for host, net in sorted(result.capped.items()))
    return ("Net against hosts that cut long results themselves:", *rows, "")


def _verdict(result: Result) -> str:
    word = "Everything held" if result.is_ok else "SOMETHING DID NOT HOLD"
    return f"{word}. {result.seconds:.1f} s."


def _row(label: str, amount: int | None) -> str:
    shown = "" if amount is None else f"{amount:,}"
    return f"{label:<{WIDTH - 12}}{shown:>12}".rstrip()


def _said(label: str, value: str) -> str:
    return f"{label:<30}{value:>{WIDTH - 30}}"


def _bar(amount: int, most: int) -> str:
    return "  " + "#" * max(1, round(BAR * amount / most))
