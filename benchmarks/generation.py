"""How much faster the engine completes functions than one plain ``generate`` of 500 tokens after the other.

All run in this process, on the same model and prompts, in fp32. The plain way is one prompt at a time through
``model.generate`` for 500 tokens, greedy, with a cache; ``ratio`` compares with it. A second plain way, which
``model.generate`` for 500 tokens, greedy, with a cache; ``ratio`` compares with it. A second plain way, which
as text, and the engine's ids must begin the plain ones.

Run it as ``python benchmarks/generation.py``; without ``--model`` it trains the demo pair, or finds it in
``.cache/demo``. On cores that others use too, set ``OMP_WAIT_POLICY=PASSIVE``, so that threads which wait do
not take time from those that work. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import Completion, Prompt, SourceFunction
from pytest_funcmem.languages.python import PythonFrontend
from pytest_funcmem.models.batches import plan_batches
from pytest_funcmem.models.open_model import open_model

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Completions in the order of the functions, the tokens generated for them, and the seconds it took."""

    texts: tuple[str, ...]
    ids: tuple[tuple[int, ...], ...]
    seconds: float

    @property
    def tokens(self) -> int:
        """Generated tokens of all prompts."""
        return sum(map(len, self.ids))


def main() -> int:
    """Run both ways and print how they compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--model", type=Path, metavar="DIR", help="checkpoint (default: the demo pair's target)"
    )
    parser.add_argument("--prompts", type=Path, metavar="PATH", help="Python file or directory of functions")
    parser.add_argument("--batch-size", type=int, default=Settings().batch_size, metavar="N")
    parser.add_argument("--max-new-tokens", type=int, default=Settings().max_new_tokens, metavar="N")
    parser.add_argument(
        "--min-lines", type=int, default=1, metavar="N", help="fewest body lines of a function"
    )
    parser.add_argument("--limit", type=int, default=None, metavar="N", help="take the first N functions")
    parser.add_argument(
        "--threads", type=int, default=None, metavar="N", help="torch threads of the plain way"
    )
    options = parser.parse_args()
    if options.model is None or options.prompts is None:
        sys.path.insert(0, str(ROOT / "examples" / "demo"))
        pair = importlib.import_module("pair").ensure_pair(ROOT / ".cache" / "demo" / "pair")
        options.model = options.model or pair.target
        options.prompts = options.prompts or pair.sources
    functions = read_functions(options.prompts, options.min_lines)[: options.limit]
    if not functions:
        print(f"no function with {options.min_lines} lines or more in {options.prompts}", file=sys.stderr)
        return 4

    settings = Settings(batch_size=options.batch_size, device="cpu")
    model = open_model(f"hf:{options.model}", settings)
    cutter = model.cutter()
    prompts = [cutter.cut(function, prefix_tokens=settings.prefix_tokens) for function in functions]
    model.complete(functions[:1], prompts[:1], max_new_tokens=8)  # what is done once only is not measured
    engine = run_engine(model, functions, prompts, options.max_new_tokens)
    plain = run_plain(options.model, prompts, options.max_new_tokens, options.threads, until_end=False)
    ended = run_plain(options.model, prompts, options.max_new_tokens, options.threads, until_end=True)

    same = [
        up_to_the_end(function, engine.texts[place]) == up_to_the_end(function, other.texts[place])
        and engine.ids[place] == other.ids[place][: len(engine.ids[place])]
        for place, function in enumerate(functions)
        for other in (plain, ended)
    ]
    identical = sum(both for both in map(all, zip(same[::2], same[1::2], strict=True)))
    for function, first, second in zip(functions, same[::2], same[1::2], strict=True):
        if not (first and second):
            print(f"differs: {function.key}")
    print(f"{options.model}: {len(functions)} prompts, batches of {options.batch_size}, fp32 on the CPU")
    print(f"{'':36}{'seconds':>10}{'tokens':>10}{'tokens/s':>10}{'ratio':>8}")
    rows = (
        ("engine", engine),
        (f"generate, {options.max_new_tokens} tokens each", plain),
        ("generate, until the text ends", ended),
    )
    for name, timed in rows:
        print(
            f"{name:36}{timed.seconds:10.2f}{timed.tokens:10}{timed.tokens / timed.seconds:10.0f}"
            f"{timed.seconds / engine.seconds:8.1f}"
        )
    print(f"{identical} of {len(functions)} identical up to the function's end")
    figures = {
        "prompts": len(functions),
        "identical": identical,
        "ratio": round(plain.seconds / engine.seconds, 2),
        "tokens_per_s": round(engine.tokens / engine.seconds, 1),
        "ratio_until_end": round(ended.seconds / engine.seconds, 2),
    }
    print(json.dumps(figures))
    return 0 if identical == len(functions) else 1


def read_functions(path: Path, min_lines: int) -> list[SourceFunction]:
    """Find the functions of a file or of all files below a directory, in the order of their paths."""
    frontend = PythonFrontend()
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [
        function
        for file in files
        for function in frontend.scan(file.read_text(encoding="utf-8"), path=file.name).functions
        if len(function.body.strip().splitlines()) >= min_lines
    ]


def run_engine(
    model: Any, functions: list[SourceFunction], prompts: list[Prompt], max_new_tokens: int
) -> Timed:
    """Complete all prompts as an audit does: in planned batches, each row until its function has ended."""
    found: dict[int, Completion] = {}
    started = time.perf_counter()
    for batch in plan_batches(prompts, model.batch_size):
        completions = model.complete(
            [functions[place] for place in batch],
            [prompts[place] for place in batch],
            max_new_tokens=max_new_tokens,
        )
        found.update(zip(batch, completions, strict=True))
    seconds = time.perf_counter() - started
    ordered = [found[place] for place in range(len(prompts))]
    return Timed(
        texts=tuple(completion.text for completion in ordered),
        ids=tuple(completion.token_ids or () for completion in ordered),
        seconds=seconds,
    )


def run_plain(
    path: Path, prompts: list[Prompt], max_new_tokens: int, threads: int | None, *, until_end: bool
) -> Timed:
    """Complete one prompt after the other with transformers' own ``generate``.

    Texts are cut at the end-of-text token; without ``until_end`` the model goes on behind it.
    """
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        generation = transformers.GenerationConfig(
            do_sample=False,
            max_new_tokens=max_new_tokens,
            eos_token_id=tokenizer.eos_token_id if until_end else None,
            pad_token_id=tokenizer.eos_token_id,
        )
        module.generation_config = generation

        def complete(prompt: Prompt) -> tuple[int, ...]:
            inputs = tokenizer(prompt.text, return_tensors="pt")
            size = inputs["input_ids"].shape[1]
            ids = module.generate(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
            return tuple(ids[0, size:].tolist())

        def warm_up(count: int) -> float:
            torch.set_num_threads(count)
            begun = time.perf_counter()
            module.generate(**tokenizer(prompts[0].text, return_tensors="pt"), max_new_tokens=24)
            return time.perf_counter() - begun

        usual = torch.get_num_threads()
        warm_up(usual)
        torch.set_num_threads(threads if threads is not None else min((1, usual), key=warm_up))
        started = time.perf_counter()
        ids = tuple(complete(prompt) for prompt in prompts)
        seconds = time.perf_counter() - started
        torch.set_num_threads(usual)
        end = tokenizer.eos_token_id
        heads = [row[: row.index(end)] if end in row else row for row in ids]
        return Timed(texts=tuple(map(tokenizer.decode, heads)), ids=ids, seconds=seconds)


def up_to_the_end(function: SourceFunction, completion: str) -> str:
    """The part of a completion that is the function's, blanks at its end aside."""
    return PythonFrontend().candidate(function, completion).body.rstrip()


if __name__ == "__main__":
    sys.exit(main())
