"""The one table of options: it makes the command line, the ini file, audit files and the reference page.

An option named ``tau-func`` is ``--funcmem-tau-func`` on the command line, ``funcmem_tau_func`` in an ini
file and ``tau_func`` in ``NAME.funcmem.toml``. The command line beats an audit file, which beats the ini
file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from pytest_funcmem.core.errors import UsageError

__all__ = ["OPTIONS", "Option", "Settings", "parse_value", "settings_from"]

OptionKind = Literal["text", "path", "choice", "float", "int", "flag"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One setting.

    Attributes:
        name: Words joined by hyphens, without the prefix.
        kind: What its text is parsed into.
        default: Value where it is given nowhere; repeatable options default to ().
        help: One sentence for the command line and the reference page.
        metavar: What stands for the value in the help.
        choices: Accepted texts of a ``choice``.
        low: Smallest accepted number.
        high: Largest accepted number.
        repeatable: Whether it may be given several times (a list in an audit file, lines in an ini file).
    """

    name: str
    kind: OptionKind
    default: Any
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    repeatable: bool = False

    @property
    def flag(self) -> str:
        """Name on the command line."""
        return f"--funcmem-{self.name}"

    @property
    def field(self) -> str:
        """Name in ``Settings`` and in audit files."""
        return self.name.replace("-", "_")

    @property
    def ini(self) -> str:
        """Name in ini files."""
        return f"funcmem_{self.field}"


OPTIONS: tuple[Option, ...] = (
    Option(
        name="model",
        kind="text",
        default=(),
        metavar="SPEC",
        repeatable=True,
        help="Target model under audit: hf:PATH_OR_ID[@REVISION], openai:BASE_URL#MODEL or replay:FILE "
        "(repeatable: several checkpoints in one run).",
    ),
    Option(
        name="reference",
        kind="text",
        default=None,
        metavar="SPEC",
        help="Reference model, without exposure to the audited functions; same forms as the target.",
    ),
    Option(
        name="source",
        kind="path",
        default=(),
        metavar="PATH",
        repeatable=True,
        help="File, directory, .jsonl or .parquet data set whose functions are audited (repeatable).",
    ),
    Option(
        name="preset",
        kind="text",
        default=None,
        metavar="NAME",
        help="Named set of settings that the other options override; 'paper' is the paper's setup.",
    ),
    Option(
        name="builder",
        kind="choice",
        default="local",
        metavar="NAMES",
        choices=("local", "agent", "local,agent"),
        help="What builds harnesses: local (no LLM), agent, or agent where local fails.",
    ),
    Option(
        name="sandbox",
        kind="choice",
        default="auto",
        metavar="NAME",
        choices=("auto", "docker", "namespace"),
        help="Where audited code runs: Docker, the embedded namespace sandbox, or whichever answers.",
    ),
    Option(
        name="store",
        kind="path",
        default=".funcmem",
        metavar="DIR",
        help="Directory of finished results; an audit goes on from what it holds.",
    ),
    Option(
        name="report",
        kind="text",
        default=(),
        metavar="FORMAT:FILE",
        repeatable=True,
        help="Report file to write, such as json:audit.jsonl or html:audit.html (repeatable).",
    ),
    Option(
        name="mask",
        kind="flag",
        default=False,
        help="Hide code bodies, literals and values in every report: failures, JUnit and report files.",
    ),
    Option(
        name="baseline",
        kind="path",
        default=None,
        metavar="FILE",
        help="File of accepted leaks (TOML): those are xfail, expired and new ones fail.",
    ),
    Option(
        name="update-baseline",
        kind="flag",
        default=False,
        help="Write this run's leaks to the baseline; what is known of earlier ones is kept.",
    ),
    Option(
        name="accept-who",
        kind="text",
        default=None,
        metavar="NAME",
        help="Who accepts the leaks that --funcmem-update-baseline adds; the login name otherwise.",
    ),
    Option(
        name="accept-until",
        kind="text",
        default=None,
        metavar="YYYY-MM-DD",
        help="Last day on which the leaks that --funcmem-update-baseline adds are accepted; "
        "otherwise 90 days from now.",
    ),
    Option(
        name="accept-reason",
        kind="text",
        default=None,
        metavar="TEXT",
        help="Why the leaks that --funcmem-update-baseline adds are accepted.",
    ),
    Option(
        name="max-rate",
        kind="text",
        default=(),
        metavar="[KIND][/LANGUAGE]=RATE",
        repeatable=True,
        help="Largest rate of leaks, held against the upper bound of its 95 % interval, such as 0.01, "
        "functional=0.02 or verbatim/java=0.005 (repeatable); such leaks are then xfail.",
    ),
    Option(
        name="stop-early",
        kind="flag",
        default=False,
        help="With --funcmem-max-rate: audit in random order and stop once the question is settled.",
    ),
    Option(
        name="time-budget",
        kind="float",
        default=None,
        low=0.001,
        high=31_536_000.0,
        metavar="SECONDS",
        help="Audit in a seeded random order and skip what is not reached in so many seconds.",
    ),
    Option(
        name="tau-func",
        kind="float",
        default=0.8,
        low=0.0,
        high=1.0,
        metavar="T",
        help="Share of equal output states from which two functions count as equal.",
    ),
    Option(
        name="tau-text",
        kind="float",
        default=0.75,
        low=0.0,
        high=1.0,
        metavar="T",
        help="BLEU from which a completion counts as near-verbatim.",
    ),
    Option(
        name="inputs",
        kind="int",
        default=10,
        low=1,
        high=1000,
        metavar="N",
        help="Input states in a harness.",
    ),
    Option(
        name="min-inputs",
        kind="int",
        default=8,
        low=1,
        high=1000,
        metavar="N",
        help="Distinct valid input states that a harness needs.",
    ),
    Option(
        name="min-coverage",
        kind="float",
        default=0.8,
        low=0.0,
        high=1.0,
        metavar="C",
        help="Share of the original's executable lines that a harness must reach.",
    ),
    Option(
        name="min-outputs",
        kind="int",
        default=2,
        low=1,
        high=1000,
        metavar="N",
        help="Distinct outputs that a harness needs.",
    ),
    Option(
        name="min-lines",
        kind="int",
        default=10,
        low=1,
        high=100_000,
        metavar="N",
        help="Fewest body lines of an audited function.",
    ),
    Option(
        name="max-lines",
        kind="int",
        default=50,
        low=1,
        high=100_000,
        metavar="N",
        help="Most body lines of an audited function.",
    ),
    Option(
        name="prefix-tokens",
        kind="int",
        default=250,
        low=0,
        high=1_000_000,
        metavar="N",
        help="Most tokens of preceding text in a prompt.",
    ),
    Option(
        name="max-new-tokens",
        kind="int",
        default=500,
        low=1,
        high=1_000_000,
        metavar="N",
        help="Most tokens of a completion.",
    ),
    Option(
        name="seed",
        kind="int",
        default=0,
        low=0,
        high=2**31 - 1,
        metavar="N",
        help="Seed of everything that draws.",
    ),
    Option(
        name="min-conclusive",
        kind="float",
        default=0.5,
        low=0.0,
        high=1.0,
        metavar="SHARE",
        help="Smallest share of functions that must be decided for a run to exit 0; none decided never does.",
    ),
    Option(
        name="dtype",
        kind="choice",
        default="float32",
        metavar="TYPE",
        choices=("float32", "bfloat16", "float16"),
        help="Number format of hf: models; float32 keeps completions independent of the batch.",
    ),
    Option(
        name="device",
        kind="text",
        default="auto",
        metavar="DEVICE",
        help="Torch device of hf: models; auto takes a GPU where there is one.",
    ),
    Option(
        name="batch-size",
        kind="int",
        default=16,
        low=1,
        high=4096,
        metavar="N",
        help="Prompts that an hf: model completes together; requests in flight to an openai: server.",
    ),
    Option(
        name="float-tolerance",
        kind="float",
        default=1e-9,
        low=0.0,
        high=1.0,
        metavar="R",
        help="Relative difference up to which two floats are equal; 0 is strict.",
    ),
    Option(
        name="budget",
        kind="float",
        default=60.0,
        low=0.1,
        high=86_400.0,
        metavar="SECONDS",
        help="Processor seconds the local builder may spend on a function; on the clock ten times as many.",
    ),
    Option(
        name="agent",
        kind="text",
        default=None,
        metavar="SPEC",
        help="Model of the agent that builds harnesses: anthropic:MODEL or openai:BASE_URL#MODEL.",
    ),
    Option(
        name="agent-limit",
        kind="text",
        default=None,
        metavar="LIMITS",
        help="Most that the agent of one function may use: turns=N,tokens=N,seconds=S,cost=USD, any of them "
        "(default turns=40,tokens=1500000,seconds=1800).",
    ),
    Option(
        name="agent-run-limit",
        kind="text",
        default=None,
        metavar="LIMITS",
        help="Most that all agents of a run may use, in the same form; none starts that could pass it.",
    ),
    Option(
        name="agents",
        kind="int",
        default=4,
        low=1,
        high=1024,
        metavar="N",
        help="Agents at one time.",
    ),
    Option(
        name="no-widening",
        kind="flag",
        default=False,
        help="Judge by harnesses as they were built, even where a candidate fails only because it uses a "
        "module of the standard library, or a way to read a file, that the original does not use.",
    ),
    Option(
        name="workers",
        kind="int",
        default=0,
        low=0,
        high=1024,
        metavar="N",
        help="Sandbox workers at one time; 0 means one per core.",
    ),
    Option(
        name="metrics",
        kind="text",
        default=(),
        metavar="NAMES",
        repeatable=True,
        help="Metrics whose scores are added to records and reports, with commas between them: bleu, edit, "
        "lcs, exact, codebleu, codebleu-syntax, codebleu-dataflow, tsed, embedding:MODEL, judge:PROMPT@SPEC.",
    ),
    Option(
        name="filter",
        kind="text",
        default=None,
        metavar="RATER",
        help="What rates from 1 to 10 how much logic worth protecting a function holds: local (its syntax "
        "tree), anthropic:MODEL, openai:BASE_URL#MODEL, hf:PATH_OR_ID or labels:FILE. Off by default.",
    ),
    Option(
        name="min-severity",
        kind="int",
        default=3,
        low=1,
        high=10,
        metavar="N",
        help="With --funcmem-filter, functions rated lower are left out.",
    ),
    Option(
        name="judge-max-cost",
        kind="float",
        default=None,
        low=0.0,
        high=1e9,
        metavar="USD",
        help="Most dollars that each judge of --funcmem-metrics and --funcmem-filter may spend in a run.",
    ),
    Option(
        name="prices",
        kind="path",
        default=None,
        metavar="FILE",
        help='JSON file of prices by model, in dollars for a million tokens: {"MODEL": [INPUT, OUTPUT]}.',
    ),
    Option(
        name="image",
        kind="text",
        default=None,
        metavar="IMAGE",
        help="Docker image to run Python in, instead of the one this package builds.",
    ),
    Option(
        name="packages",
        kind="text",
        default=(),
        metavar="NAME",
        repeatable=True,
        help="Debian package that the Docker images have beside their own, for functions and agents "
        "(repeatable).",
    ),
    Option(
        name="runtime",
        kind="text",
        default=None,
        metavar="RUNTIME",
        help="Container runtime that Docker uses, such as runsc (gVisor) or kata; its default otherwise.",
    ),
    Option(
        name="server-timeout",
        kind="float",
        default=300.0,
        low=0.1,
        high=86_400.0,
        metavar="SECONDS",
        help="Seconds to wait for one answer of an openai: server.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every option with its value; one audit has one of these."""

    model: tuple[str, ...] = ()
    reference: str | None = None
    source: tuple[str, ...] = ()
    preset: str | None = None
    builder: str = "local"
    sandbox: str = "auto"
    store: str = ".funcmem"
    report: tuple[str, ...] = ()
    mask: bool = False
    baseline: str | None = None
    update_baseline: bool = False
    accept_who: str | None = None
    accept_until: str | None = None
    accept_reason: str | None = None
    max_rate: tuple[str, ...] = ()
    stop_early: bool = False
    time_budget: float | None = None
    tau_func: float = 0.8
    tau_text: float = 0.75
    inputs: int = 10
    min_inputs: int = 8
    min_coverage: float = 0.8
    min_outputs: int = 2
    min_lines: int = 10
    max_lines: int = 50
    prefix_tokens: int = 250
    max_new_tokens: int = 500
    seed: int = 0
    min_conclusive: float = 0.5
    dtype: str = "float32"
    device: str = "auto"
    batch_size: int = 16
    float_tolerance: float = 1e-9
    budget: float = 60.0
    agent: str | None = None
    agent_limit: str | None = None
    agent_run_limit: str | None = None
    agents: int = 4
    no_widening: bool = False
    workers: int = 0
    metrics: tuple[str, ...] = ()
    filter: str | None = None
    min_severity: int = 3
    judge_max_cost: float | None = None
    prices: str | None = None
    image: str | None = None
    packages: tuple[str, ...] = ()
    runtime: str | None = None
    server_timeout: float = 300.0

    @property
    def target(self) -> str | None:
        """The target model, where there is one; of several, the first."""
        return self.model[0] if self.model else None


PRESETS: Mapping[str, Mapping[str, Any]] = {
    # The paper's section 4; these are the defaults, named so that a changed default cannot move them.
    "paper": {
        "tau_func": 0.8,
        "tau_text": 0.75,
        "inputs": 10,
        "min_inputs": 8,
        "min_coverage": 0.8,
        "min_outputs": 2,
        "min_lines": 10,
        "max_lines": 50,
        "prefix_tokens": 250,
        "max_new_tokens": 500,
    },
}


def parse_value(option: Option, raw: object, *, where: str) -> Any:
    """Turn what the user gave for an option into its value.

    Args:
        option: The option.
        raw: Text from a command line or ini file, or a TOML value.
        where: Place for error messages.

    Raises:
        UsageError: It is not a value of this option.
    """
    if option.repeatable:
        items = raw if isinstance(raw, (list, tuple)) else [raw]
        return tuple(_parse_one(option, item, where=where) for item in items)
    return _parse_one(option, raw, where=where)


def _parse_one(option: Option, raw: object, *, where: str) -> Any:
    match option.kind:
        case "text" | "path":
            if isinstance(raw, str) and raw:
                return raw
            raise _refusal(option, raw, where, "a non-empty text")
        case "choice":
            if isinstance(raw, str) and raw in option.choices:
                return raw
            raise _refusal(option, raw, where, "one of " + ", ".join(option.choices))
        case "float" | "int":
            return _parse_number(option, raw, where=where)
        case "flag":
            if isinstance(raw, bool):
                return raw
            if isinstance(raw, str) and raw.lower() in ("true", "yes", "on", "1", "false", "no", "off", "0"):
                return raw.lower() in ("true", "yes", "on", "1")
            raise _refusal(option, raw, where, "true or false")


def _parse_number(option: Option, raw: object, *, where: str) -> int | float:
    whole = option.kind == "int"
    expected = f"{'a whole number' if whole else 'a number'} from {option.low:g} to {option.high:g}"
    if isinstance(raw, bool) or not isinstance(raw, (str, int, float)):
        raise _refusal(option, raw, where, expected)
    try:
        value: int | float = int(raw) if whole and not isinstance(raw, float) else float(raw)
    except ValueError:
        raise _refusal(option, raw, where, expected) from None
    if whole and isinstance(value, float):
        if not value.is_integer():
            raise _refusal(option, raw, where, expected)
        value = int(value)
    if not option.low <= value <= option.high:  # also refuses NaN
        raise _refusal(option, raw, where, expected)
    return value


def _refusal(option: Option, raw: object, where: str, expected: str) -> UsageError:
    return UsageError(
        f"{raw!r} is not a value of {option.flag}.",
        where=where,
        expected=expected,
        remedy=f"Set {option.flag}={option.metavar or 'VALUE'}, or leave it out for {option.default!r}.",
    )


def settings_from(layers: Sequence[tuple[str, Mapping[str, Any]]]) -> Settings:
    """Merge layers of parsed values, the later ones beating the earlier.

    Args:
        layers: (place for messages, values by field name); a named preset lies below all of them.

    Raises:
        UsageError: Unknown preset, or values that contradict each other.
    """
    merged: dict[str, Any] = {}
    for _, values in layers:
        merged.update(values)
    preset = merged.get("preset")
    if preset is not None:
        if preset not in PRESETS:
            raise UsageError(
                f"There is no preset named {preset!r}.",
                where="--funcmem-preset",
                expected="one of " + ", ".join(sorted(PRESETS)),
                remedy="Name one of these, or leave the option out.",
            )
        merged = {**PRESETS[preset], **merged}
    settings = Settings(**merged)
    if settings.min_lines > settings.max_lines:
        raise UsageError(
            f"No function can have at least {settings.min_lines} and at most {settings.max_lines} lines.",
            where="--funcmem-min-lines, --funcmem-max-lines",
            remedy="Lower the one or raise the other.",
        )
    if settings.min_inputs > settings.inputs:
        raise UsageError(
            f"A harness of {settings.inputs} input states cannot have {settings.min_inputs} valid ones.",
            where="--funcmem-inputs, --funcmem-min-inputs",
            remedy="Lower --funcmem-min-inputs or raise --funcmem-inputs.",
        )
    if settings.stop_early and not settings.max_rate:
        raise UsageError(
            "Without a maximal rate there is no question that could be settled early.",
            where="--funcmem-stop-early",
            remedy="Add --funcmem-max-rate=RATE; to stop at the first leak, use pytest's -x.",
        )
    if "agent" in settings.builder and settings.agent is None:
        raise UsageError(
            "The agent that is to build harnesses has no model.",
            where=f"--funcmem-builder={settings.builder}",
            remedy="Add --funcmem-agent=anthropic:MODEL or --funcmem-agent=openai:BASE_URL#MODEL.",
        )
    if settings.update_baseline and settings.baseline is None:
        raise UsageError(
            "There is no baseline to write to.",
            where="--funcmem-update-baseline",
            remedy="Add --funcmem-baseline=FILE.",
        )
    return settings


def _table_matches_settings() -> None:
    table = {option.field: option.default for option in OPTIONS}
    record = {item.name: item.default for item in fields(Settings)}
    if table != record:
        raise AssertionError(
            f"OPTIONS and Settings differ: {sorted(set(table.items()) ^ set(record.items()))}"
        )


_table_matches_settings()
