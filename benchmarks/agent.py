"""What an agent costs: the played conversations of the tests, one a language, counted and priced.

Run: ``python benchmarks/agent.py [--languages python,c,…] [--model NAME …]``. The conversations are those in
which a good agent builds a harness from nothing in four turns; commands, evaluations and proofs are real, the
model is played, and its tokens are counted as four characters each. A real model thinks, looks and errs more:
read the figures as the floor of what a harness costs, and for how they grow with turns.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "conformance"))

from played_agents import EXAMPLES, from_nothing
from played_models import PlayedAnthropic

from pytest_funcmem.audit.world import open_world
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AgentUse, Harness
from pytest_funcmem.harness.agent.builder import AGENT_PROGRAMS, AgentBuilder
from pytest_funcmem.models.prices import price_of


def main() -> None:
    """Play, count, price, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--languages", default=",".join(EXAMPLES))
    parser.add_argument(
        "--model", action="append", help="whose list price (repeatable; default: three sizes of one family)"
    )
    options = parser.parse_args()
    models = options.model or ["claude-haiku-4-5", "claude-sonnet-5", "claude-opus-4-8"]
    os.environ["ANTHROPIC_API_KEY"] = "played"
    found: dict[str, dict[str, object]] = {}
    for language in options.languages.split(","):
        example = EXAMPLES[language]
        world = open_world(
            "auto",
            [language],
            workers=1,
            image=None,
            runtime=None,
            progress=lambda line: print(line, file=sys.stderr),
            more_programs=AGENT_PROGRAMS,
        )
        uses: list[AgentUse] = []
        with PlayedAnthropic(from_nothing(language)) as server, world.sandbox as sandbox:
            os.environ["ANTHROPIC_BASE_URL"] = server.url
            agents = AgentBuilder(Settings(builder="agent", agent=f"anthropic:{models[0]}"))
            began = time.monotonic()
            harness = agents.build(example.function, sandbox, seed=0, used=uses.append)
            seconds = time.monotonic() - began
            agents.close()
        (use,) = uses
        found[language] = {
            "harness": isinstance(harness, Harness),
            "strength": harness.evidence.strength if isinstance(harness, Harness) else None,
            "turns": use.turns,
            "input": use.input_tokens,
            "output": use.output_tokens,
            "cache_read": use.cache_read_tokens,
            "cache_write": use.cache_write_tokens,
            "seconds": round(seconds, 1),
            "cost": {model: round(_cost(model, use), 4) for model in models},
        }
    print(
        f"{'language':<10}{'harness':>8}{'turns':>6}{'read':>8}{'cached':>8}{'kept':>8}{'written':>8}{'s':>7}",
        *(f"{model:>18}" for model in models),
    )
    for language, row in found.items():
        print(
            f"{language:<10}{'yes' if row['harness'] else 'no':>8}{row['turns']:>6}{row['input']:>8}"
            f"{row['cache_read']:>8}{row['cache_write']:>8}{row['output']:>8}{row['seconds']:>7}",
            *(f"{f'${cost}':>18}" for cost in row["cost"].values()),
        )
    print(json.dumps({"conversations": found}))


def _cost(model: str, use: AgentUse) -> float:
    price = price_of(model)
    if price is None:
        raise SystemExit(f"no list price of {model} is known")
    return price.of(
        use.input_tokens,
        use.output_tokens,
        cache_read=use.cache_read_tokens,
        cache_write=use.cache_write_tokens,
    )


if __name__ == "__main__":
    main()
