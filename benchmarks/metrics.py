"""Pairs per second of each metric on one core, beside the packages that people use for the same.

Run as ``python benchmarks/metrics.py [--pairs 2000] [--seconds 20]``. Pairs are functions of the corpora in
``../shared/corpora`` (or ``$FUNCMEM_SHARED``), each with a changed version of itself or with another one.
Every metric and every package sees the same pairs in the same order, for at most ``--seconds`` each; packages
that are not installed are left out, and ``--codebleu-python`` names an interpreter that has ``codebleu``.

Then, each metric in a process of its own: the largest memory with a tenth of the pairs and with all of them,
which should be alike, and time and memory for a function of 4,000 tokens and a tree of 20,000 nodes, which
are to stay below 5 s and 1 GiB, with what the score says of a limit that was met. The last line is JSON.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import re
import resource
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pytest_funcmem.core.protocols import CodePair
from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.core.registry import load

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = ("python", "java", "c", "rust", "go")
METRICS = ("bleu", "edit", "lcs", "exact", "codebleu", "codebleu-syntax", "codebleu-dataflow", "tsed")
SEED = 20261130

Scorer = Callable[[CodePair], Any]


def shared_directory() -> Path:
    """Where the corpora lie."""
    return Path(os.environ.get("FUNCMEM_SHARED") or ROOT.parent / "shared")


def corpus_functions(shared: Path) -> Iterator[SourceFunction]:
    """The functions that the corpora name, in the order of their files."""
    for language in LANGUAGES:
        frontend = load("language", language)()
        with (shared / "corpora" / f"{language}.jsonl").open(encoding="utf-8") as rows:
            for row in map(json.loads, rows):
                wanted = {(item["qualname"], item["line"]) for item in row["functions"]}
                for function in frontend.scan(row["content"], path=row["path"]).functions:
                    if (function.qualname, function.line) in wanted:
                        yield function


def corpus_pairs(shared: Path, count: int) -> list[CodePair]:
    """Pairs of functions: four changed versions of each function, then other functions; always the same."""
    chance = random.Random(SEED)
    functions = list(corpus_functions(shared))
    pairs: list[CodePair] = []
    while len(pairs) < count:
        order = list(functions)
        chance.shuffle(order)
        for function in order:
            if chance.random() < 0.7:
                candidate = changed(function.code, chance)
            else:
                others = [other for other in functions if other.language == function.language]
                candidate = chance.choice(others).code
            pairs.append(CodePair(language=function.language, original=function.code, candidate=candidate))
    return pairs[:count]


def changed(code: str, chance: random.Random) -> str:
    """A version of a function as a model might give it: names, constants or lines differ."""
    for _ in range(chance.randint(1, 3)):
        match chance.randrange(4):
            case 0:
                names = sorted(set(re.findall(r"\b[a-z_]{3,}\b", code)))
                if names:
                    code = re.sub(rf"\b{chance.choice(names)}\b", f"renamed_{chance.randrange(9)}", code)
            case 1:
                code = re.sub(r"\b[1-9]\b", str(chance.randint(10, 99)), code)
            case 2:
                lines = code.split("\n")
                if len(lines) > 6:
                    del lines[chance.randrange(3, len(lines) - 1)]
                code = "\n".join(lines)
            case _:
                lines = code.split("\n")
                if len(lines) > 6:
                    place = chance.randrange(2, len(lines) - 3)
                    lines[place], lines[place + 1] = lines[place + 1], lines[place]
                code = "\n".join(lines)
    return code


def rate(score: Callable[[CodePair], Any], pairs: Iterable[CodePair], seconds: float) -> tuple[float, int]:
    """Pairs per second, and how many pairs were scored before the time was up."""
    # Time of this process on its core: other work on the machine slows the run, not the figures.
    done, start = 0, time.process_time()
    for pair in pairs:
        score(pair)
        done += 1
        if time.process_time() - start > seconds:
            break
    return done / (time.process_time() - start), done


# ---------------------------------------------------------------------------------------------- packages


def peer_scorers() -> dict[str, tuple[str, Scorer]]:
    """Installed packages by name: the metric that each is a peer of, and how to ask it."""
    found: dict[str, tuple[str, Scorer]] = {}
    if importlib.util.find_spec("nltk"):
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

        smoothing = SmoothingFunction().method3
        found["nltk-bleu"] = (
            "bleu",
            lambda pair: sentence_bleu(
                [pair.original.split()], pair.candidate.split(), smoothing_function=smoothing
            ),
        )
    if importlib.util.find_spec("Levenshtein"):
        import Levenshtein

        found["python-Levenshtein"] = (
            "edit",
            lambda pair: Levenshtein.distance(pair.original, pair.candidate),
        )
    if importlib.util.find_spec("apted") and (tsed := tsed_package()):
        found["tsed"] = (
            "tsed",
            lambda pair: tsed.Calculate(pair.language, pair.original, pair.candidate, 1.0, 0.8, 1.0),
        )
    return found


def tsed_package() -> Any:
    """The authors' package, on the grammars that are installed here; None where it is not installed."""
    if importlib.util.find_spec("TSED") is None:
        return None
    pack_name = "tree_sitter_language_pack"
    if pack_name not in sys.modules and importlib.util.find_spec(pack_name) is None:
        import tree_sitter

        pack: Any = types.ModuleType(pack_name)
        pack.SupportedLanguage = str
        pack.get_parser = lambda name: tree_sitter.Parser(
            tree_sitter.Language(importlib.import_module(f"tree_sitter_{name}").language())
        )
        sys.modules[pack_name] = pack
    return importlib.import_module("TSED")


CODEBLEU_PROGRAM = """
import json, logging, sys, time
logging.disable(logging.CRITICAL)
from codebleu import calc_codebleu
done, start = 0, time.process_time()
for line in sys.stdin:
    pair = json.loads(line)
    calc_codebleu([pair["original"]], [pair["candidate"]], pair["language"])
    done += 1
    if time.process_time() - start > float(sys.argv[1]):
        break
print(done / (time.process_time() - start), done)
"""


def codebleu_rate(python: str, pairs: Iterable[CodePair], seconds: float) -> tuple[float, int] | None:
    """Pairs per second of the package ``codebleu``, in a process of its own; None where it is not there."""
    lines = "\n".join(
        json.dumps({"language": pair.language, "original": pair.original, "candidate": pair.candidate})
        for pair in pairs
    )
    done = subprocess.run(
        [python, "-c", CODEBLEU_PROGRAM, str(seconds)],
        input=lines,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    if done.returncode != 0:
        return None
    figure, count = done.stdout.split()
    return float(figure), int(count)


ALONE_PROGRAM = r"""
import json, re, sys, time
from pathlib import Path
from pytest_funcmem.core.protocols import CodePair
from pytest_funcmem.metrics.choice import open_metric
metric = open_metric(sys.argv[1])
metric.scores([CodePair(language="python", original="a = b", candidate="b = a")])
start, notes, value = time.process_time(), set(), None
def pairs():
    for line in sys.stdin:
        yield CodePair(**json.loads(line))
for score in metric.scores(pairs()):
    value = score.value
    notes.add(score.note)
seconds = time.process_time() - start
# Of this program alone: ru_maxrss would count what its parent held when it was started.
peak = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024
print(json.dumps({"seconds": seconds, "peak_mb": peak, "value": value, "notes": sorted(notes - {""})}))
"""


def alone(metric: str, pairs: Iterable[CodePair]) -> dict[str, Any]:
    """Processor seconds, largest memory and notes of a metric in a process of its own."""
    lines = "\n".join(
        json.dumps({"language": pair.language, "original": pair.original, "candidate": pair.candidate})
        for pair in pairs
    )
    done = subprocess.run(
        [sys.executable, "-c", ALONE_PROGRAM, metric], input=lines, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def large_pairs() -> dict[str, CodePair]:
    """A function of 4,000 tokens and one whose tree has 20,000 nodes, each with a changed version."""
    lines = [f"    total += rates[{n}] * {n + 3} - shift_{n % 7}" for n in range(4000 // 6)]
    tokens = "def f(rates, total):\n" + "\n".join(lines) + "\n    return total\n"
    calls = [f"    a{n % 50} = g(h(a{n % 31}, {n}), [b{n % 13}, -c])" for n in range(20_000 // 15)]
    nodes = "def f(b):\n" + "\n".join(calls) + "\n    return a1\n"
    other_tokens = tokens.replace("total", "amount").replace("* 9 ", "* 11 ")
    other_nodes = nodes.replace("[b", "[d").replace("h(a1,", "h(c,")
    return {
        "4,000 tokens": CodePair(language="python", original=tokens, candidate=other_tokens),
        "20,000 nodes": CodePair(language="python", original=nodes, candidate=other_nodes),
    }


def apted_rows() -> Iterator[tuple[int, float, float]]:
    """Nodes of each tree, and seconds of our distance and of the package ``apted``, where it is installed."""
    if importlib.util.find_spec("apted") is None:
        return
    from apted import APTED, PerEditOperationConfig

    from pytest_funcmem.metrics.flat_tree import flatten
    from pytest_funcmem.metrics.tree_distance import LabelledTree, prefix, tree_distance
    from pytest_funcmem.metrics.tsed import labelled_tree

    class Node:
        def __init__(self, name: str) -> None:
            self.name = name
            self.children: list[Node] = []

    def nodes_of(tree: LabelledTree) -> Node:
        nodes = [Node(label) for label in tree.labels]
        for node, parent in zip(nodes, tree.parents, strict=True):
            if parent >= 0:
                nodes[parent].children.append(node)
        return nodes[0]

    pair = large_pairs()["20,000 nodes"]
    trees = [labelled_tree(flatten("python", text)) for text in (pair.original, pair.candidate)]
    tree_distance(*(prefix(tree, 20) for tree in trees), delete=5, insert=4, rename=5)
    for size in (100, 200, 400, 800):
        small = [prefix(tree, size) for tree in trees]
        start = time.process_time()
        ours = tree_distance(*small, delete=5, insert=4, rename=5) / 5
        middle = time.process_time()
        theirs = APTED(*map(nodes_of, small), PerEditOperationConfig(1.0, 0.8, 1.0)).compute_edit_distance()
        end = time.process_time()
        assert abs(ours - theirs) < 1e-9, (ours, theirs)
        yield size, middle - start, end - middle


def peak_mb() -> float:
    """Largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=20.0, help="longest time for one metric")
    parser.add_argument(
        "--codebleu-python", default=os.environ.get("FUNCMEM_CODEBLEU_PYTHON") or sys.executable
    )
    parser.add_argument(
        "--no-memory", dest="memory", action="store_false", help="leave the comparison of memory out"
    )
    options = parser.parse_args()
    # One core: numeric libraries read these when they are loaded, which happens with the first score.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    pairs = corpus_pairs(shared_directory(), options.pairs)
    per_s: dict[str, float] = {}
    peer_per_s: dict[str, float] = {}
    print(f"{len(pairs)} pairs, at most {options.seconds:g} s each\n")
    print(f"{'metric':28}{'pairs/s':>10}{'pairs':>8}{'peak MB':>9}")
    for name in METRICS:
        metric = load("metric", name)()
        metric.scores(pairs[:1])
        per_s[name], done = rate(lambda pair, metric=metric: metric.scores((pair,)), pairs, options.seconds)
        print(f"{name:28}{per_s[name]:10.1f}{done:8}{peak_mb():9.0f}")
    print()
    peers = {"codebleu": "codebleu"}
    measured = codebleu_rate(options.codebleu_python, pairs, options.seconds)
    if measured:
        peer_per_s["codebleu"] = measured[0]
    for name, (metric_name, score) in peer_scorers().items():
        peers[name] = metric_name
        score(pairs[0])
        peer_per_s[name], _ = rate(score, pairs, options.seconds)
    for name, figure in peer_per_s.items():
        ours = per_s[peers[name]]
        print(f"{name:28}{figure:10.1f}   {peers[name]} is {ours / figure:.2f} times as fast")
    print(f"\n{'tree distance, s':28}{'ours':>10}{'apted':>10}")
    distances = {}
    for size, mine, theirs in apted_rows():
        distances[size] = [round(mine, 4), round(theirs, 3)]
        print(f"{f'{size} nodes each':28}{mine:10.3f}{theirs:10.2f}   {theirs / mine:.0f} times", flush=True)
    print(f"\n{'memory, MB':28}{f'{len(pairs) // 10} pairs':>12}{f'{len(pairs)} pairs':>12}")
    peaks: dict[str, list[float]] = {}
    for name in METRICS if options.memory else ():
        peaks[name] = [round(alone(name, some)["peak_mb"], 1) for some in (pairs[: len(pairs) // 10], pairs)]
        print(f"{name:28}{peaks[name][0]:12.0f}{peaks[name][1]:12.0f}", flush=True)
    large: dict[str, dict[str, list[float]]] = {}
    for title, pair in large_pairs().items():
        print(f"\n{title:28}{'seconds':>12}{'peak MB':>12}")
        for name in METRICS:
            found = alone(name, [pair])
            large.setdefault(title, {})[name] = [round(found["seconds"], 3), round(found["peak_mb"], 1)]
            said = "; ".join(found["notes"])
            print(f"{name:28}{found['seconds']:12.2f}{found['peak_mb']:12.0f}  {said}".rstrip(), flush=True)
    print(
        json.dumps(
            {
                "pairs": len(pairs),
                "per_s": {name: round(figure, 2) for name, figure in per_s.items()},
                "peer_per_s": {name: round(figure, 2) for name, figure in peer_per_s.items()},
                "peak_mb_at": peaks,
                "large": large,
                "tree_distance_s": distances,
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
