#!/usr/bin/env python3
"""Runs the comparison of all methods on CIFAR-100 of docs/reproduction.md, one run a core.

    results/methods.py DATA_DIR tune     the learning rates of table:hyper, on the first two tasks -> results/cifar100/tuning.csv
    results/methods.py DATA_DIR run      every method with the best of them -> results/cifar100/methods/*.json
    results/methods.py DATA_DIR tricks   ER, MIR and A-GEM with the tricks of table:trick_cifar -> results/cifar100/tricks/*.json
    results/methods.py DATA_DIR errors   their error analysis after each of 20 tasks (table:trick_motivation) -> results/cifar100/errors/*.json
    results/methods.py DATA_DIR examine  what disagrees, with one thing changed -> results/cifar100/examined/*.json
    results/methods.py DATA_DIR lambda   EWC++ with rising λ at a rate of 0.1, and the step at which its loss is no number -> lambda.csv
    results/methods.py table             the tables of docs/reproduction.md, from those files and into it

DATA_DIR holds cifar-100-binary. What is finished is kept and what was stopped goes on, so each may be run again at any
time. --work DIR (default runs/methods) takes the experiments, --jobs N is how many at once, --only er,mir the methods.
"""

import argparse
import concurrent.futures
import csv
import dataclasses
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "results" / "cifar100"
SCORES = OUT / "tuning.csv"
PAGE = ROOT / "docs" / "reproduction.md"

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


@dataclasses.dataclass(frozen=True)
class Cell:
    """One run: of a method with a memory of some samples and a trick. changed is what an examination changes: options and their values."""
    folder: str
    method: str
    memory: int
    seed: int
    trick: str = "none"
    evaluation: str = "final"
    protocol: str = "survey"
    changed: tuple = ()

    @property
    def name(self):
        return "-".join([self.method + ("" if self.trick == "none" else "+" + self.trick.replace("*", "star")), f"m{self.memory}",
                         *[value.split(".")[-1].replace("=", "") if option == "--set" else option.strip("-") + value
                           for option, value in self.changed],
                         f"s{self.seed}",
                         *([] if self.evaluation == "final" else [self.evaluation])])

    @property
    def file(self):
        return OUT / self.folder / (self.name + ".json")

    def read(self):
        return json.loads(self.file.read_text()) if self.file.exists() else None


def methods():
    """The comparison of all methods, runs of several seeds first."""
    for seed in (1, 2, 3):
        for method in ("finetune", "ewc++", "lwf"):
            yield Cell("methods", method, 0, seed)
        for method in ("gdumb", "icarl", "er", "agem", "mir", "gss"):
            yield Cell("methods", method, 5000, seed)
        for method in ("icarl", "er", "gdumb"):
            yield Cell("methods", method, 1000, seed)
    for memory in (10000, 1000):
        for method in ("gdumb", "icarl", "er", "agem", "mir", "gss"):
            if memory == 10000 or method in ("agem", "mir", "gss"):
                yield Cell("methods", method, memory, 1)
    for seed in (2, 3):  # by class means the first seed is more than 3 points away
        yield Cell("methods", "er", 10000, seed)
    yield Cell("methods", "gdumb", 1000, 1, evaluation="seen")
    yield Cell("methods", "offline", 0, 1)


def tricks():
    """The rows of table:trick_cifar that are no plain run and no other classifier of one."""
    for seed in (1, 2, 3):
        for method in ("er", "mir"):
            yield Cell("tricks", method, 5000, seed, "rv")
        for trick in ("lb", "kdc", "kdc*", "ss"):
            yield Cell("tricks", "er", 5000, seed, trick)
            if seed == 1:
                yield Cell("tricks", "mir", 5000, seed, trick)
        if seed == 1:
            yield Cell("tricks", "agem", 5000, seed, "rv")
            yield Cell("tricks", "er", 5000, seed, "mi")
    for memory in (10000, 1000):
        for method in ("mir", "er"):
            yield Cell("tricks", method, memory, 1, "rv")
    for method, trick in (("agem", "rv"), ("mir", "kdc")):  # off, and examined with two seeds
        yield Cell("tricks", method, 5000, 2, trick)


def errors():
    for method in ("agem", "er", "mir"):
        yield Cell("errors", method, 5000, 1, protocol="standard", evaluation="seen")


def examined():
    taught = (("--teacher", "training"),)
    for seed in (1, 2, 3):
        yield Cell("examined", "lwf", 0, seed, changed=taught)
        if seed < 3:
            for method in ("er", "mir"):
                yield Cell("examined", method, 5000, seed, "kdc", changed=taught)
            yield Cell("examined", "ewc++", 0, seed, changed=(("--lr", "0.01"),))
            yield Cell("examined", "gss", 5000, seed, changed=(("--set", "method.gss.gate=batch"),))
            yield Cell("examined", "gdumb", 1000, seed, changed=(("--lr", "0.01"),))
            for lr in ("0.01", "0.03"):
                yield Cell("examined", "agem", 5000, seed, "rv", changed=(("--lr", lr),))


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
    if code not in (0, 3) or not found:  # 3: it diverged, which is a result; what an earlier or interrupted run left is none
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


def make(args, cells):
    def one(cell):
        if rate(cell.method) is None:
            print(f"{cell.name}: not all rates are tried yet; run `tune` first", file=sys.stderr)
            return
        line = command(args, cell.method, cell.memory, cell.seed, cell.protocol, rate(cell.method), cell.evaluation)
        if cell.method in ("er", "mir", "gss", "agem"):  # the same run also classifies by class means
            line += ["--classifiers", "head,ncm"]
        if cell.trick != "none":
            line += ["--trick", cell.trick]
        for option, value in cell.changed:  # the last of an option counts
            line += [option, value]
        result = run(args, cell.name if cell.folder == "methods" else f"{cell.folder}-{cell.name}", line)
        if result is not None:
            cell.file.parent.mkdir(parents=True, exist_ok=True)
            part = cell.file.with_suffix(".part")
            part.write_text(json.dumps(result, separators=(",", ":")) + "\n")
            os.replace(part, cell.file)
            print(f"{cell.name}: {100 * result['metrics'].get('average_accuracy', math.nan):.1f} %", flush=True)

    several(args, [lambda c=c: one(c) for c in cells if wanted(args, c.method) and not c.file.exists()])


# The survey's average accuracy after the last task in per cent and its interval (table:nc), without memory or at 1,000, 5,000 and 10,000.
PAPER = {
    "finetune": {0: (3.7, 0.3)}, "offline": {0: (49.7, 2.6)}, "ewc++": {0: (3.7, 0.4)}, "lwf": {0: (7.2, 0.4)},
    "er": {1000: (7.6, 0.5), 5000: (17.0, 1.9), 10000: (18.4, 1.4)}, "mir": {1000: (7.6, 0.5), 5000: (18.2, 0.8), 10000: (19.3, 0.7)},
    "gss": {1000: (7.7, 0.5), 5000: (11.3, 0.9), 10000: (13.4, 0.6)}, "icarl": {1000: (16.7, 0.8), 5000: (19.2, 1.1), 10000: (18.8, 0.9)},
    "agem": {1000: (3.7, 0.4), 5000: (3.6, 0.2), 10000: (3.8, 0.2)}, "gdumb": {1000: (10.4, 1.1), 5000: (22.1, 0.9), 10000: (28.8, 0.9)},
}
# table:trick_cifar, by method and trick, at 1,000, 5,000 and 10,000.
TRICKED = {m: {t: dict(zip((1000, 5000, 10000), zip(v[::2], v[1::2]))) for t, v in rows.items()} for m, rows in {
    "er": {"none": (7.6, 0.5, 17.0, 1.9, 18.4, 1.4), "lb": (14.0, 2.0, 19.0, 2.6, 20.4, 1.2), "kdc": (11.7, 0.8, 10.9, 1.9, 11.9, 2.2),
           "kdc*": (12.6, 0.5, 21.2, 1.1, 24.2, 1.9), "mi": (8.6, 0.5, 19.7, 0.9, 26.4, 1.2), "ss": (12.3, 2.1, 20.9, 1.0, 23.1, 1.2),
           "ncm": (14.6, 0.7, 27.6, 1.0, 31.0, 1.0), "rv": (12.0, 0.8, 26.9, 2.8, 32.0, 5.3)},
    "mir": {"none": (7.6, 0.5, 18.2, 0.8, 19.3, 0.7), "lb": (15.1, 0.6, 21.1, 0.8, 22.5, 0.9), "kdc": (12.0, 0.5, 12.3, 0.7, 11.8, 0.6),
            "kdc*": (12.4, 0.5, 20.7, 0.8, 23.2, 1.2), "mi": (8.5, 0.4, 17.7, 1.0, 25.9, 1.2), "ss": (14.0, 0.5, 21.6, 0.7, 24.5, 0.7),
            "ncm": (13.7, 0.5, 27.0, 0.5, 30.0, 0.6), "rv": (9.7, 0.5, 28.1, 0.6, 35.2, 0.5)},
    "agem": {"none": (3.7, 0.4, 3.6, 0.2, 3.8, 0.2), "ncm": (9.5, 0.9, 11.7, 0.6, 11.5, 0.7), "rv": (4.5, 0.4, 22.5, 1.3, 30.7, 1.2)},
}.items()}
# table:trick_motivation: e(n,o), e(n,n), e(o,o), e(o,n), er(n,o), er(o,n).
ERRORS = {"agem": "0, 177, 0, 9,500, 0 %, 100 %", "er": "37, 148, 2,269, 5,852, 20 %, 72 %", "mir": "54, 113, 2,770, 5,330, 32 %, 66 %"}
# What the survey finds at each memory: the first is ahead of the second, or (=) as good.
ORDER = [(5000, "gdumb", ">", m) for m in ("icarl", "er", "mir", "gss", "agem")] + [
    (5000, "mir", ">", "er"), (5000, "agem", "=", "finetune")] + [(1000, "icarl", ">", m) for m in ("er", "gdumb")]
ALIKE = 1  # point: the most by which methods may differ that are as good as each other
SEEDS = 3  # of fewer no interval is given: that of two is 12.7 times their distance from the mean, and agrees with anything
QUANTILE = 4.303  # of Student's t, 97.5 %, two degrees of freedom


def interval(values):
    """Mean and half of the 95 % interval, None of fewer than three values."""
    return statistics.mean(values), QUANTILE * statistics.stdev(values) / math.sqrt(SEEDS) if len(values) == SEEDS else None


def plus_minus(mean, half):
    return f"{mean:.1f}" if half is None else f"{mean:.1f} ± {half:.1f}"


def signed(v):
    return f"{round(v, 1) + 0.0:+.1f}".replace("-", "−")  # never −0.0


def accuracy(result):
    """Average accuracy after the last task in per cent; None of a run that diverged, whatever it measured before."""
    return None if result["outcome"]["state"] == "diverged" else 100 * result["metrics"]["average_accuracy"]


def order(sign, mean, half):
    """Holds, fails or undecided: first > second by whether 0 is outside the interval, first ≈ second by whether the interval is
    inside or outside ALIKE to either side."""
    if sign == "=":
        return "holds" if abs(mean) + half <= ALIKE else "fails" if abs(mean) - half > ALIKE else "undecided"
    return "undecided" if abs(mean) <= half else "holds" if mean > 0 else "fails"


def verdict(cell, mean, half, paper):
    """The difference, and whether it is off: of three seeds both means outside the other's interval, of fewer more than 3 points away."""
    off = abs(mean - paper[0]) > 3 if half is None else abs(mean - paper[0]) > max(paper[1], half)
    if not off:
        return signed(mean - paper[0])
    examination = any((c.method, c.memory, c.trick) == (cell.method, cell.memory, cell.trick) and c.file.exists() for c in examined())
    return signed(mean - paper[0]) + (", off: see Examined" if examination else ", off")


def group(cells):
    """The results there are, by all of a cell but its seed, then by seed."""
    found = {}
    for cell in cells:
        if (result := cell.read()) is not None:
            found.setdefault(dataclasses.replace(cell, seed=0), {})[cell.seed] = result
    return found


def by_means(results):
    """Average accuracies by class means in per cent, of the runs that measured them."""
    return [100 * r["classifiers"]["ncm"]["metrics"]["average_accuracy"] for r in results if "classifiers" in r and accuracy(r) is not None]


def compared(cell, values, paper):
    """Columns: our mean and interval, the values, the paper's, the difference. A value that is None diverged."""
    if None in values:
        return f"{values.count(None)} of {len(values)} diverged | | {plus_minus(*paper)} | off"
    ours = interval(values)
    seeds = ", ".join(f"{v:.1f}" for v in values) if len(values) > 1 else ""
    return f"{plus_minus(*ours)} | {seeds} | {plus_minus(*paper)} | {verdict(cell, *ours, paper)}"


def flags(cell):
    """What distinguishes a cell's command from the one above its table."""
    changed = dict(cell.changed)
    parts = [f"--method {cell.method}", f"--memory {cell.memory}" if cell.memory else "", "" if cell.trick == "none" else f"--trick '{cell.trick}'",
             f"--lr {changed.pop('--lr', rate(cell.method))}", "--weight-decay 0.000001" if cell.method == "gdumb" else "",
             "" if cell.evaluation == "final" else f"--eval {cell.evaluation}", *OPTIONS.get(cell.method, []),
             *[f"{o} {v}" for o, v in changed.items()]]
    return "`" + " ".join(filter(None, parts)) + "`"


def title(*columns):
    return f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"


def table(_):
    """Writes each table between its two comments in docs/reproduction.md."""
    done = group(methods())
    tricked = {**done, **group(tricks())}
    tables = {"methods": table_methods(done), "order": table_order(done), "tricks": table_tricks(tricked),
              "errors": table_errors(group(errors())), "examined": table_examined(group(examined()), tricked)}
    text = PAGE.read_text()
    for name, lines in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
        if text.count(begin) != 1 or text.count(end) != 1:
            sys.exit(f"{PAGE}: want {begin.strip()} and {end.strip()} once each, around the table")
        text = text[:text.index(begin)] + begin + "\n".join(lines) + "\n" + text[text.index(end):]
    part = PAGE.with_suffix(".part")
    part.write_text(text)
    os.replace(part, PAGE)


def table_methods(done):
    yield title("method", "M", "ocl", "seeds", "the paper", "difference", "class means", "seconds", "flags")
    for cell, results in sorted(done.items(), key=lambda item: (list(NAMES).index(item[0].method), item[0].memory, item[0].evaluation)):
        means = by_means(results.values())
        seconds = statistics.median(sum(r["seconds"].values()) for r in results.values())
        yield (f"| {NAMES[cell.method]}{', whole curve' if cell.evaluation == 'seen' else ''} | {f'{cell.memory:,}' if cell.memory else '–'} | "
               f"{compared(cell, [accuracy(r) for r in results.values()], PAPER[cell.method][cell.memory])} | "
               f"{plus_minus(*interval(means)) if means else '–'} | {seconds:,.0f} | {flags(cell)} |")


def table_order(done):
    yield title("M", "the survey", "difference, same seeds", "")
    for memory, first, sign, second in ORDER:
        a, b = (done.get(Cell("methods", m, 0 if m in WITHOUT_MEMORY else memory, 0), {}) for m in (first, second))
        pairs = [(accuracy(a[s]), accuracy(b[s])) for s in a if s in b]
        gaps = [x - y for x, y in pairs if None not in (x, y)]
        if len(gaps) < SEEDS:
            continue
        mean, half = interval(gaps)
        yield f"| {memory:,} | {NAMES[first]} {sign.replace('=', '≈')} {NAMES[second]} | {signed(mean)} ± {half:.1f} | {order(sign, mean, half)} |"


def table_tricks(done):
    """Row ncm is the other classifier of the plain runs; a trick's runs have both classifiers too."""
    yield title("method", "trick", "M", "ocl", "seeds", "the paper", "difference", "with class means", "flags")
    for method, papers in TRICKED.items():
        for trick, paper in papers.items():
            of = [(c, r.values()) for c, r in done.items() if c.method == method and c.trick == ("none" if trick == "ncm" else trick)]
            for cell, results in sorted(of, key=lambda item: item[0].memory):
                means = by_means(results)
                values = means if trick == "ncm" else [accuracy(r) for r in results]
                if values:
                    yield (f"| {NAMES[method]} | {'–' if trick == 'none' else trick.upper()} | {cell.memory:,} | "
                           f"{compared(dataclasses.replace(cell, trick=trick), values, paper[cell.memory])} | {'' if trick == 'ncm' or not means else plus_minus(*interval(means))} | {flags(cell)} |")


def table_errors(done):
    yield title("method", "e(n,o)", "e(n,n)", "e(o,o)", "e(o,n)", "er(n,o)", "er(o,n)", "the paper")
    for cell, results in done.items():
        last = results[1]["error_analysis"]["tasks"][-1]
        counts = [f"{last[k]:,}" for k in ("new_as_old", "new_as_new", "old_as_old", "old_as_new")]
        ratios = [f"{100 * last[k + '_of_errors']:.0f} % ({100 * last[k + '_of_samples']:.0f} %)" for k in ("new_as_old", "old_as_new")]
        yield f"| {NAMES[cell.method]} | {' | '.join(counts + ratios)} | {ERRORS[cell.method]} |"


def table_examined(done, plain):
    yield title("changed", "ocl, seeds", "unchanged, same seeds", "the paper")
    for cell, results in done.items():
        tricked = cell.trick != "none"
        before = plain.get(dataclasses.replace(cell, folder="tricks" if tricked else "methods", changed=()), {})
        paper = TRICKED[cell.method][cell.trick][cell.memory] if tricked else PAPER[cell.method][cell.memory]
        values = [", ".join("diverged" if v is None else f"{v:.1f}" for v in map(accuracy, of))
                  for of in (results.values(), [before[s] for s in results if s in before])]
        yield f"| {flags(cell)} | {' | '.join(values)} | {plus_minus(*paper)} |"


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
    p.add_argument("words", nargs="+", metavar="[DATA_DIR] WORD")
    p.add_argument("--work", type=pathlib.Path, default=ROOT / "runs" / "methods")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--only", default="")
    args = p.parse_args()
    if args.words == ["table"]:
        return table(args)
    work = {"tune": tune, "run": lambda a: make(a, methods()), "tricks": lambda a: make(a, tricks()), "errors": lambda a: make(a, errors()),
            "examine": lambda a: make(a, examined()), "lambda": sweep}
    if len(args.words) != 2 or args.words[1] not in work:
        p.error(f"want DATA_DIR and one of {', '.join(work)}, or table alone")
    args.data = args.words[0]
    args.work = args.work.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    if not (args.work / "ocl").exists():
        subprocess.run(["go", "build", "-buildvcs=true", "-o", str(args.work / "ocl"), "./cmd/ocl"], cwd=ROOT, check=True)
    work[args.words[1]](args)


if __name__ == "__main__":
    main()
