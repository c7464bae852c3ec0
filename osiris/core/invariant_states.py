"""States that rules require: what sets them, what clears them, and when they are stale.

| a finished call of `set_by`                 | the state    |
| succeeded, and its own exit status is known | holds        |
| failed                                      | does not     |
| succeeded, its status hidden by a pipe, ... | as it was    |
| ran nothing (--help, --collect-only)        | as it was    |

Rule 1: a call that changes a path under `cleared_by`, or goes by a name of `cleared_by_tool`,
        clears the state; of the steps of one call the last one counts.
Rule 2: a state is stale as soon as a file under `files` is newer than it, or there are more
        than MAX_ENTRIES entries to look at. Folders of `SKIPPED` are not looked into.
Rule 3: what was not looked up counts as stale.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from osiris.core import plain
from osiris.core.invariant_calls import Deed, Step
from osiris.core.invariant_globs import Globs

MAX_ENTRIES: Final = 20_000
_SHOWN: Final = 80


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Names of folders whose files are made, not written.
SKIPPED: Final = _words(
    ".git .hg .svn .osiris node_modules .venv venv __pycache__ .tox .nox .mypy_cache .ruff_cache "
    ".pytest_cache .hypothesis .gradle .next .nuxt .turbo .cache target dist build out coverage "
    "htmlcov site-packages"
)

SOURCES: Final = (
    "**/*.{py,pyi,pyx,js,jsx,ts,tsx,mjs,cjs,vue,svelte,go,rs,java,kt,kts,scala,groovy,clj}",
    "**/*.{c,h,cc,cpp,cxx,hpp,hh,m,mm,cs,fs,vb,swift,rb,php,pl,pm,lua,r,jl,dart,zig,nim}",
    "**/*.{ex,exs,erl,hs,ml,mli,elm,sql,sh,bash,ps1,proto,graphql,css,scss,html,tf}",
    "**/{pyproject.toml,setup.cfg,setup.py,conftest.py,tox.ini,pytest.ini,package.json}",
    "**/{Cargo.toml,go.mod,go.sum,pom.xml,build.gradle,Gemfile,composer.json,mix.exs}",
    "**/{Makefile,CMakeLists.txt,tsconfig.json,.eslintrc*,ruff.toml,.rubocop.yml}",
)

# state -> the names of what sets it when it succeeds
SET_BY: Final[dict[str, str]] = {
    "tests_passed": "pytest py.test unittest tox nox trial nose2 ward jest vitest mocha ava "
    "ctest rspec minitest phpunit pest busted bats ginkgo gotestsum nextest "
    "{npm,pnpm,yarn,bun}.{test,t} {npm,pnpm,yarn,bun}.run.{test,tests,test.*} "
    "{go,cargo,deno,dotnet,mix,swift,flutter,dart,stack,cabal,sbt,lein,rails,bazel,zig}.test "
    "cargo.nextest.run zig.build.test {make,gmake,just,task,rake}.{test,tests,check} "
    "{rake,crystal}.spec {gradle,gradlew}.{test,check} {mvn,mvnw}.{test,verify} composer.test "
    "manage.py.test run.tests run.tests.{sh,py} test.sh",
    "lint_passed": "ruff.check flake8 pylint pycodestyle eslint stylelint biome.{check,lint} "
    "oxlint jshint standard {npm,pnpm,yarn,bun}.lint {npm,pnpm,yarn,bun}.run.{lint,lint.*} "
    "cargo.clippy golangci.lint.run go.vet staticcheck rubocop standardrb "
    "{make,gmake,just,task,rake}.lint {gradle,gradlew}.{lint,ktlintcheck,detekt} ktlint detekt "
    "swiftlint swiftlint.lint shellcheck clang.tidy phpcs credo mix.credo dart.analyze "
    "flutter.analyze deno.lint hlint pre.commit.run tflint",
}

# state -> what to do about it
REMEDIES: Final[dict[str, str]] = {
    "tests_passed": "run the tests by themselves (no | or || or ; behind them), then try again",
    "lint_passed": "run the linter by itself (no | or || or ; behind it), then try again",
}


class State(Struct, frozen=True):
    """A state of the project, as a rule names it."""

    name: str
    set_by: Globs
    cleared_by: Globs
    cleared_by_tool: Globs
    files: Globs

    @property
    def remedy(self) -> str:
        """Return what to do when it does not hold."""
        run = ", ".join(self.set_by.texts[:3])
        by_hand = f"run {run} by itself and let it succeed, then try again"
        return REMEDIES.get(self.name, by_hand)


class Standing(Struct, frozen=True, array_like=True):
    """How a state stands: since when, whether it holds, and what made it so."""

    at_ms: int
    ok: bool
    by: str = ""


class Newest(Struct, frozen=True):
    """The newest file of a state; `too_many`: there were more entries than MAX_ENTRIES."""

    path: str = ""
    mtime_ms: int = 0
    too_many: bool = False


class StateChange(Struct, frozen=True, array_like=True):
    """What a finished call does to a state; `by` says it in a few words."""

    state: str
    ok: bool
    by: str


def built_in() -> dict[str, State]:
    """Return the states that need no [[state]]."""
    sources, no_tools = Globs(SOURCES, "path"), Globs((), "name")
    return {
        name: State(name, Globs(tools.split(), "name"), sources, no_tools, sources)
        for name, tools in SET_BY.items()
    }


def newest(state: State, entries: Iterable[tuple[str, int]]) -> Newest:
    """Return the newest of (path from the root, mtime in ms) that is a file of `state`.

    Takes at most MAX_ENTRIES; the caller leaves the folders of SKIPPED out.
    """
    found = Newest()
    for number, (path, mtime_ms) in enumerate(entries):
        if number >= MAX_ENTRIES:
            return Newest(too_many=True)
        if mtime_ms > found.mtime_ms and state.files.first([path]) is not None:
            found = Newest(path, mtime_ms)
    return found


def failing(state: State, standing: Standing | None, looked_up: Newest | None) -> str:
    """Return why a state does not hold, in a few words; empty if it holds."""
    if standing is None:
        return f"{state.name} was never set"
    if not standing.ok:
        return f"{state.name} does not hold: {plain.one_line(standing.by, _SHOWN)}"
    if not state.files.texts:
        return ""
    if looked_up is None:
        return f"{state.name} is stale: its files could not be looked up"
    if looked_up.too_many:
        return f"{state.name} is stale: more than {MAX_ENTRIES:,} files to compare, narrow `files`"
    if looked_up.mtime_ms > standing.at_ms:
        path = plain.one_line(looked_up.path, _SHOWN)
        return f"{state.name} is stale: {path} changed after it"
    return ""


def changes(states: Mapping[str, State], deed: Deed, *, ok: bool | None) -> tuple[StateChange, ...]:
    """Return what a finished call does to states; `ok` None: its outcome was not reported."""
    found: dict[str, StateChange] = {}
    # a tool that failed changed nothing; a shell line may have got half way
    may_change = ok is not False or deed.is_shell
    for step in deed.steps:
        for state in states.values():
            change = _set(state, step, ok=ok)
            if change is None and may_change:
                change = _cleared(state, step)
            if change is not None:
                found[state.name] = change
    return tuple(found.values())


def _set(state: State, step: Step, *, ok: bool | None) -> StateChange | None:
    name = None if step.is_dry or ok is None else state.set_by.first(step.names)
    if name is None:
        return None
    if not ok:
        return StateChange(state.name, ok=False, by=f"{plain.one_line(name, _SHOWN)} failed")
    passed = StateChange(state.name, ok=True, by=plain.one_line(name, _SHOWN))
    return passed if step.reports else None


def _cleared(state: State, step: Step) -> StateChange | None:
    path = state.cleared_by.first(step.changed)
    if path is not None:
        return StateChange(state.name, ok=False, by=f"{plain.one_line(path, _SHOWN)} changed")
    name = state.cleared_by_tool.first(step.names)
    if name is not None:
        return StateChange(state.name, ok=False, by=f"{plain.one_line(name, _SHOWN)} ran")
    return None
