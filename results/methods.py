#!/usr/bin/env python3
"""Runs the comparison of all methods on CIFAR-100 of docs/reproduction.md, one run a core.

    results/methods.py DATA_DIR tune     the learning rates of table:hyper, on the first two tasks -> results/cifar100/tuning.csv
    results/methods.py DATA_DIR run      every cell with the best of them -> results/cifar100/methods/*.json
    results/methods.py DATA_DIR lambda   EWC++ with rising λ at a rate of 0.1, and the step at which its loss is no number -> lambda.csv
    results/methods.py table             the rows of docs/reproduction.md, from those files

DATA_DIR holds cifar-100-binary. What is finished is kept and what was stopped goes on, so each may be run again at any
time. --work DIR (default runs/methods) takes the experiments, --jobs N is how many at once, --only er,mir the methods.
"""

import argparse
import concurrent.futures
import csv
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "results" / "cifar100" / "methods"
SCORES = ROOT / "results" / "cifar100" / "tuning.csv"

FOUR = [0.0001, 0.001, 0.01, 0.1]
SEVEN = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1]
RATES = {
    "er": SEVEN, "agem": SEVEN, "icarl": SEVEN, "lwf": SEVEN, "ewc++": FOUR, "mir": FOUR, "gss": FOUR,
    "gdumb": [0.001, 0.01, 0.1],
}
OPTIONS = {
    "ewc++": ["--set", "method.ewc++.lambda=100"],
    "mir": ["--set", "method.mir.candidates=50"],
    "gss": ["--set", "method.gss.subset_size=10"],
}
WITHOUT_MEMORY = {"finetune", "ewc++", "lwf", "offline"}
NAMES = {"finetune": "Finetune", "offline": "Offline", "ewc++": "EWC++", "lwf": "LwF", "er": "ER", "mir": "MIR", "gss": "GSS",
         "icarl": "iCaRL", "agem": "A-GEM", "gdumb": "GDumb"}


def cells():
    """The runs that the comparison asks for, those of several seeds first: method, memory, seed, evaluation."""
    for seed in (1, 2, 3):
        for method in ("finetune", "ewc++", "lwf"):
            yield method, 0, seed, "final"
        for method in ("gdumb", "icarl", "er", "agem", "mir", "gss"):
            yield method, 5000, seed, "final"
        for method in ("icarl", "er", "gdumb"):
            yield method, 1000, seed, "final"
    for memory in (10000, 1000):
        for method in ("gdumb", "icarl", "er", "agem", "mir", "gss"):
            if memory == 10000 or method in ("agem", "mir", "gss"):
                yield method, memory, 1, "final"
    yield "gdumb", 1000, 1, "seen"
    yield "offline", 0, 1, "final"


def decay(method):
    return 0.000001 if method == "gdumb" else 0.0001


def command(args, method, memory, seed, protocol, rate, evaluation):
    line = [str(args.work / "ocl"), "run", "--data", "cifar100", "--data-dir", args.data, "--method", method, "--tasks", "20",
            "--protocol", protocol, "--seed", str(seed), "--lr", str(rate),
            "--weight-decay", f"{decay(method):g}", "--eval", evaluation, "--workers", "1"]
    if method not in WITHOUT_MEMORY:
        line += ["--memory", str(memory)]
    return line + OPTIONS.get(method, [])


def run(args, name, line):
    """Runs or continues an experiment and returns its result; None where it did not come to its end, finished or diverged."""
    out = args.work / name
    with open(args.work / (name + ".log"), "w", encoding="utf-8") as log:
        code = subprocess.run([*line, "--out", str(out)], stdout=log, stderr=subprocess.STDOUT, check=False).returncode
    found = list(out.glob("*/result.json"))
    if code != 0 or not found:  # what an earlier or interrupted run left is no result
        print(f"{name}: exit status {code}, see {args.work / (name + '.log')}", file=sys.stderr, flush=True)
        return None
    return json.loads(found[0].read_text())


def several(args, work):
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for _ in pool.map(lambda w: w(), work):
            pass


def tune(args):
    """Tries each rate once, with the first seed and M = 5,000, and keeps every score."""
    def score(method, rate):
        name = f"tuning-{method.replace('+', 'p')}-lr{rate:g}"
        result = run(args, name, command(args, method, 5000, 1, "tuning", rate, "final"))
        if result is None:
            return
        accuracy = result["metrics"].get("average_accuracy", math.nan) if result["outcome"]["state"] == "finished" else math.nan
        add_score({"method": method, "lr": rate, "weight_decay": decay(method), "options": " ".join(OPTIONS.get(method, [])[1:]),
                   "average_accuracy": accuracy, "outcome": result["outcome"]["state"], "revision": result["provenance"]["revision"][:7]})
        print(f"{name}: {100 * accuracy:.1f} %", flush=True)

    have = {(s["method"], float(s["lr"])) for s in scores()}
    # The long ones first, so that no core waits for one of them at the end.
    several(args, [lambda m=m, r=r: score(m, r) for m in sorted(RATES, key=lambda m: m not in ("gdumb", "gss", "mir")) if wanted(args, m)
                   for r in RATES[m] if (m, r) not in have])


def scores():
    if not SCORES.exists():
        return []
    with open(SCORES, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


scoring = threading.Lock()


def add_score(row):
    with scoring:
        all_rows = sorted([*scores(), row], key=lambda s: (s["method"], float(s["lr"])))
        part = SCORES.with_suffix(".part")
        with open(part, "w", encoding="utf-8", newline="") as f:
            w = csv.DictWriter(f, list(row), lineterminator="\n")
            w.writeheader()
            w.writerows(all_rows)
        os.replace(part, SCORES)


def rate(method):
    """The rate with the best score once all are tried; Finetune uses ER's, Offline 0.1."""
    if method == "offline":
        return 0.1
    of = {"finetune": "er"}.get(method, method)
    tried = [s for s in scores() if s["method"] == of]
    if not set(RATES[of]) <= {float(s["lr"]) for s in tried}:
        return None
    return float(max((s for s in tried if s["outcome"] == "finished"), key=lambda s: float(s["average_accuracy"]))["lr"])


def file(method, memory, seed, evaluation):
    return OUT / f"{method}-m{memory}-s{seed}{'' if evaluation == 'final' else '-' + evaluation}.json"


def runs(args):
    OUT.mkdir(parents=True, exist_ok=True)

    def cell(method, memory, seed, evaluation):
        to = file(method, memory, seed, evaluation)
        if rate(method) is None:
            print(f"{to.stem}: not all rates are tried yet; run `tune` first", file=sys.stderr)
            return
        line = command(args, method, memory, seed, "survey", rate(method), evaluation)
        if method in ("er", "mir", "gss", "agem"):  # the same run also classifies by class means
            line += ["--classifiers", "head,ncm"]
        result = run(args, to.stem, line)
        if result is not None:
            part = to.with_suffix(".part")
            part.write_text(json.dumps(result, separators=(",", ":")) + "\n")
            os.replace(part, to)
            print(f"{to.stem}: {100 * result['metrics'].get('average_accuracy', math.nan):.1f} %", flush=True)

    several(args, [lambda c=c: cell(*c) for c in cells() if wanted(args, c[0]) and not file(*c).exists()])


# The survey's average accuracy after the last task in per cent and its interval (table:nc), without memory or at 1,000, 5,000 and 10,000.
PAPER = {
    "finetune": {0: (3.7, 0.3)}, "offline": {0: (49.7, 2.6)}, "ewc++": {0: (3.7, 0.4)}, "lwf": {0: (7.2, 0.4)},
    "er": {1000: (7.6, 0.5), 5000: (17.0, 1.9), 10000: (18.4, 1.4)}, "mir": {1000: (7.6, 0.5), 5000: (18.2, 0.8), 10000: (19.3, 0.7)},
    "gss": {1000: (7.7, 0.5), 5000: (11.3, 0.9), 10000: (13.4, 0.6)}, "icarl": {1000: (16.7, 0.8), 5000: (19.2, 1.1), 10000: (18.8, 0.9)},
    "agem": {1000: (3.7, 0.4), 5000: (3.6, 0.2), 10000: (3.8, 0.2)}, "gdumb": {1000: (10.4, 1.1), 5000: (22.1, 0.9), 10000: (28.8, 0.9)},
}
# What the survey finds at each memory: the first is ahead of the second, or (=) as good.
ORDER = [(5000, "gdumb", ">", m) for m in ("icarl", "er", "mir", "gss", "agem")] + [
    (5000, "mir", ">", "er"), (5000, "agem", "=", "finetune")] + [(1000, "icarl", ">", m) for m in ("er", "gdumb")]
ALIKE = 1  # point: the most by which methods may differ that are as good as each other
QUANTILE = {2: 12.706, 3: 4.303}  # of Student's t, 97.5 %, one degree of freedom fewer


def interval(values):
    """Mean and half of the 95 % interval, None of a single value."""
    n = len(values)
    return statistics.mean(values), QUANTILE[n] * statistics.stdev(values) / math.sqrt(n) if n > 1 else None


def plus_minus(mean, half):
    return f"{mean:.1f}" if half is None else f"{mean:.1f} ± {half:.1f}"


def accuracy(result):
    """Average accuracy after the last task in per cent; None of a run that diverged, whatever it measured before."""
    return None if result["outcome"]["state"] == "diverged" else 100 * result["metrics"]["average_accuracy"]


def order(sign, mean, half):
    """Holds, fails or undecided: first > second by whether 0 is outside the interval, first ≈ second by whether the interval is
    inside or outside ALIKE to either side."""
    if sign == "=":
        return "holds" if abs(mean) + half <= ALIKE else "fails" if abs(mean) - half > ALIKE else "undecided"
    return "undecided" if abs(mean) <= half else "holds" if mean > 0 else "fails"


def verdict(mean, half, paper):
    """As issue 5 has it: of several seeds both means outside the other's interval, of one seed more than 3 points away."""
    off = abs(mean - paper[0]) > 3 if half is None else abs(mean - paper[0]) > max(paper[1], half)
    return f"{mean - paper[0]:+.1f}{', to be examined' if off else ''}"


def table(_):
    done = {}
    for method, memory, seed, evaluation in cells():
        path = file(method, memory, seed, evaluation)
        if path.exists():
            done.setdefault((method, memory, evaluation), {})[seed] = json.loads(path.read_text())
    print("| method | M | ocl | seeds | the paper | difference | class means | seconds | hyperparameters |\n|---|---|---|---|---|---|---|---|---|")
    for method in NAMES:
        for (_, memory, evaluation), results in sorted(((k, r) for k, r in done.items() if k[0] == method), key=lambda item: item[0][1:]):
            values = [accuracy(r) for r in results.values()]
            seeds = ", ".join(f"diverged at step {r['outcome']['step']:,}" if v is None else f"{v:.1f}" for v, r in zip(values, results.values()))
            ours, difference = "–", "–, to be examined"
            if None not in values:
                mean, half = interval(values)
                ours, difference = plus_minus(mean, half), verdict(mean, half, PAPER[method][memory])
            means = [100 * r["classifiers"]["ncm"]["metrics"]["average_accuracy"] for v, r in zip(values, results.values()) if v is not None and "classifiers" in r]
            seconds = statistics.median(sum(r["seconds"].values()) for r in results.values())
            o = next(iter(results.values()))["config"]["optimizer"]
            settings = f"lr {o['lr']:g}, wd {o['weight_decay']:g}" + "".join(", " + w.split(".")[-1] for w in OPTIONS.get(method, [])[1:])
            print(f"| {NAMES[method]}{', whole curve' if evaluation == 'seen' else ''} | {f'{memory:,}' if memory else '–'} | {ours} | "
                  f"{seeds} | {plus_minus(*PAPER[method][memory])} | {difference} | "
                  f"{plus_minus(*interval(means)) if means else '–'} | {seconds:,.0f} | {settings} |")
    print("\n| M | the survey | difference, same seeds | |\n|---|---|---|---|")
    for memory, first, sign, second in ORDER:
        a, b = (done.get((m, 0 if m in WITHOUT_MEMORY else memory, "final"), {}) for m in (first, second))
        pairs = [(accuracy(a[s]), accuracy(b[s])) for s in a if s in b]
        gaps = [x - y for x, y in pairs if None not in (x, y)]
        if len(gaps) < 2:
            continue
        mean, half = interval(gaps)
        print(f"| {memory:,} | {NAMES[first]} {sign.replace('=', '≈')} {NAMES[second]} | {mean:+.1f} ± {half:.1f} | {order(sign, mean, half)} |")


LAMBDAS = [0, 1, 3, 10, 30, 100, 300, 1000, 10000]


def sweep(args):
    """The survey's explosion of the regularisation term: its gradient is 2·λ·F̂·(θ − θ*), and a step diverges where lr·λ·F̂ > 1."""
    found = {}

    def one(strength):
        name = f"lambda-{strength}"
        line = command(args, "ewc++", 0, 1, "survey", 0.1, "final")
        line[line.index("method.ewc++.lambda=100")] = f"method.ewc++.lambda={strength}"
        result = run(args, name, line)
        if result is not None:
            found[strength] = [strength, result["outcome"]["state"], result["outcome"]["step"],
                               result["metrics"].get("average_accuracy", ""), result["provenance"]["revision"][:7]]
            print(name, *found[strength][1:], flush=True)

    several(args, [lambda v=v: one(v) for v in reversed(LAMBDAS)])
    with open(SCORES.with_name("lambda.csv"), "w", encoding="utf-8", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["lambda", "outcome", "step", "average_accuracy", "revision"])
        w.writerows(found[k] for k in sorted(found))


def wanted(args, method):
    return not args.only or method in args.only.split(",")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("words", nargs="+", metavar="[DATA_DIR] tune|run|lambda|table")
    p.add_argument("--work", type=pathlib.Path, default=ROOT / "runs" / "methods")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--only", default="")
    args = p.parse_args()
    if args.words == ["table"]:
        return table(args)
    if len(args.words) != 2 or args.words[1] not in ("tune", "run", "lambda"):
        p.error("want DATA_DIR and tune, run or lambda, or table alone")
    args.data = args.words[0]
    args.work = args.work.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    if not (args.work / "ocl").exists():
        subprocess.run(["go", "build", "-buildvcs=true", "-o", str(args.work / "ocl"), "./cmd/ocl"], cwd=ROOT, check=True)
    {"tune": tune, "run": runs, "lambda": sweep}[args.words[1]](args)


if __name__ == "__main__":
    main()
