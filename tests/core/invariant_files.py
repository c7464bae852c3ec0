"""Rules files that are wrong: what the refusal names, and what the fix says."""

from osiris.core.invariant_file import MAX_BYTES


def one(line: str) -> str:
    """Return a file with one invariant `a`."""
    return f"[[invariant]]\nid = 'a'\n{line}"


def for_x(line: str) -> str:
    return one(f"when = {{ tool = 'x' }}\n{line}")


Wrong = tuple[str, str, str]

# file, what the refusal names, a part of the fix; its JSON Schema refuses each of these too
OF_SHAPE: tuple[Wrong, ...] = (
    ("x = 1", "has no key 'x'", "use only: invariant, state, check, example"),
    ("[invariant]\nid = 'a'", "[invariant] is one table", "write [[invariant]]"),
    ("invariant = [3]", "invariant 1: Expected `object`, got `int`", ""),
    ("\n\n" + one("whn = {}"), "line 3, invariant 'a': has no key 'whn'", "write when"),
    (one(""), "line 1, invariant 'a': needs 'when'", "add when"),
    (one("when = {}"), "invariant 'a': it has no condition", "name a tool, a folder"),
    (one("when = { tol = 'x' }"), "line 1, invariant 'a': when has no key 'tol'", "write tool"),
    (one("when = { tool = 3 }"), "invariant 'a': when.tool: Expected", "a glob or a list"),
    (one("when = { tool = [] }"), "invariant 'a': a condition without a glob", "leave it out"),
    (one("when = { tool = '' }"), "invariant 'a': a condition without a glob", "leave it out"),
    (one("when = { args = { x = [] } }"), "invariant 'a': args.x without a glob", "leave it out"),
    (one("when = { args = { x = 1979-05-27 } }"), "invariant 'a': when.args: Expected", "globs"),
    (one(f"when = {{ path_glob = '{'*' * 10_000}' }}"), "has 10,000 wildcards", "at most 16"),
    (for_x("verdict = 'deny'"), "verdict: Invalid enum", "write warn or block"),
    (for_x("require = { state = [] }"), "it requires no state", "name one"),
    (for_x("require = { state = 3 }"), "require.state: ", "the name of a state"),
    (for_x("require = 'tests_passed'"), "require: ", "require = { state"),
    (for_x(f"message = '{'m' * 301}'"), "message: ", "at most 300"),
    ("[[invariant]]\nid = 'a b'\nwhen = { tool = 'x' }", "id: it is no such name", "letters"),
    ("[[invariant]]\nid = 'osiris.x'\nwhen = { tool = 'x' }", "are OSIRIS's own", "without"),
    ("[[state]]\nname = 'x'\nset_by = []", "state 'x': set_by is empty", "commands"),
    ("[[state]]\nname = 'x'", "line 1, state 'x': needs 'set_by'", "add set_by"),
    ("[[check]]\nid = 'x'\ncommand = ''", "check 'x': command: ", "a line of words"),
    ("[[check]]\nid = 'x'\ncommand = []", "check 'x': command: ", "a line of words"),
    ("[[check]]\nid = 'x'\ncommand = 'a'\ntimeout_s = 0", "check 'x': timeout_s: ", "1 to 3600"),
    ("[[check]]\nid = 'x'\ncommand = 'a'\ncwd = 3", "check 'x': cwd: ", "a folder below"),
    ("[[example]]\ncall = { tool = 'x' }\nexpect = 'deny'", "example 1: expect: ", "allow, warn"),
    ("[[example]]\nexpect = 'allow'", "line 1, example 1: needs 'call'", "add call"),
    ("[[invariant]]\n" * 201, "invariant", ""),
)

# what only the parser sees: syntax, other tables, what a glob means
OF_MEANING: tuple[Wrong, ...] = (
    ("[[invariant]\n", "line 1: Expected", "correct the TOML"),
    ("a = 'b", "line 1: Expected", "correct the TOML"),
    ("a = 1\n\nb" + ".b" * 21 + " = 1", "line 3: more than 20 dots", "[[tables]]"),
    ("a = " + "[" * 100_000, "values nested too deep", "two levels"),
    ("a = " + "9" * 5_000, "Exceeds the limit", "correct the TOML"),
    ("#" * (MAX_BYTES + 1), "262,145 bytes", "at most 262,144 bytes"),
    (one(f"when = {{ path_glob = '{'*a' * 50}' }}"), "has 50 wildcards", "at most 16"),
    (one("when = { path_glob = 'a\\b' }"), "invariant 'a': glob 'a\\\\b' has a \\", "with /"),
    (for_x("require = { state = 'test_passed' }"), "no state", "write tests_passed"),
    (for_x("require = { state = 'zzz' }"), "no state 'zzz'", "add [[state]]"),
    (for_x("") + "\n" + for_x(""), "line 5, invariant 'a': its name is taken", "another"),
    ("[[state]]\nname = 'x'\nset_by = '*'", "state 'x': set_by matches every call", "commands"),
    ("[[check]]\nid = 'x'\ncommand = 'a | b'", "command needs a shell for |", "a list of words"),
    ("[[check]]\nid = 'x'\ncommand = 'a $B'", "command needs a shell for $", "a list of words"),
    ("[[check]]\nid = 'x'\ncommand = 'a \"b'", "command has a quote", "a list of words"),
    ("[[check]]\nid = 'x'\ncommand = ' '", "command is empty", "a list of words"),
    ("[[check]]\nid = 'x'\ncommand = 'a'\ncwd = '../b'", "cwd leads out", "below its root"),
    ("[[check]]\nid = 'x'\ncommand = 'a'\ncwd = '/b'", "cwd leads out", "below its root"),
    ("[[check]]\nid = 'x'\ncommand = 'a'\n" * 2, "line 4, check 'x': its name is taken", "another"),
)
