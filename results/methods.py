#!/usr/bin/env python3
"""Writes the tables of docs/reproduction.md from the committed results, and keeps further results. The runs themselves are studies/*.yaml.

    results/methods.py table              the tables of docs/reproduction.md, from the files below results/ and into the page
    results/methods.py store RESULT.json FILE.json.gz    keeps a result in the form of those files, without the places that it names

Give "go run ./results" after store: it writes results/runs.csv and the charts.
"""

import argparse
import csv
import dataclasses
import gzip
import json
import math
import os
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
OUT = RESULTS / "cifar100"
SCORES = OUT / "tuning.csv"
PAGE = ROOT / "docs" / "reproduction.md"

OPTIONS = {"ewc++": "method.ewc++.lambda=100", "mir": "method.mir.candidates=50", "gss": "method.gss.subset_size=10"}
WITHOUT_MEMORY = {"finetune", "ewc++", "lwf", "offline"}
NAMES = {"finetune": "Finetune", "offline": "Offline", "ewc++": "EWC++", "lwf": "LwF", "er": "ER", "mir": "MIR", "gss": "GSS",
         "icarl": "iCaRL", "agem": "A-GEM", "gdumb": "GDumb"}

# The flags of each benchmark's data and stream, by the name of the folder of its results.
NS_MINI = ["--data", "mini-imagenet", "--tasks", "10", "--shift"]
BENCHMARKS = {
    "cifar100": ["--data", "cifar100", "--tasks", "20"],
    "mini-imagenet": ["--data", "mini-imagenet", "--tasks", "20"],
    "ns-mini-noise": [*NS_MINI, "noise"],
    "ns-mini-occlusion": [*NS_MINI, "occlusion"],
    "ns-mini-blur": [*NS_MINI, "blur", "--blur", "cross-image"],  # as published
    "ns-mini-blur-per-image": [*NS_MINI, "blur"],
}


@dataclasses.dataclass(frozen=True)
class Setting:
    """What is tuned: the rate, and for some methods more. The memory is that of the tuning run, 0 without one."""
    method: str
    memory: int
    lr: float
    weight_decay: float
    option: str = ""  # of the method, with its value

    @property
    def flags(self):
        return ["--lr", f"{self.lr:g}", "--weight-decay", f"{self.weight_decay:f}".rstrip("0"), *(["--set", self.option] if self.option else [])]


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
    benchmark: str = "cifar100"

    @property
    def name(self):
        return "-".join([self.method + ("" if self.trick == "none" else "+" + self.trick.replace("*", "star")), f"m{self.memory}",
                         *[value.split(".")[-1].replace("=", "") if option == "--set" else option.strip("-") + value
                           for option, value in self.changed],
                         f"s{self.seed}",
                         *([] if self.evaluation == "final" else [self.evaluation])])

    @property
    def file(self):
        return RESULTS / self.benchmark / self.folder / (self.name + ".json.gz")

    def read(self):
        """The result, None where there is none."""
        if not self.file.exists():
            return None
        result = json.loads(gzip.decompress(self.file.read_bytes()))
        config, method = result["config"], result["method"]
        found = (method["name"], config["memory"] if "memory" in result else 0, config["seed"], "+".join(method["tricks"]) or "none",
                 config["eval"], config["protocol"])
        wanted = self.method, self.memory, self.seed, self.trick, self.evaluation, self.protocol
        if found != wanted:
            sys.exit(f"{self.file}: it is of the run {found}, and its name says {wanted}")
        return result


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
    for memory in (10000, 1000):  # as many seeds as the other gate has
        yield Cell("methods", "gss", memory, 2)
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


def metrics():
    """The plain methods, tested on every task before and after each one: forgetting, learning accuracy and transfer."""
    for seed in (1, 2, 3):
        for method in ("finetune", "ewc++", "lwf"):
            yield Cell("metrics", method, 0, seed, evaluation="all")
        for method in ("er", "mir", "gss", "icarl", "agem"):
            yield Cell("metrics", method, 5000, seed, evaluation="all")
    yield Cell("metrics", "gdumb", 1000, 1, evaluation="all")


def mini():
    """The other benchmarks that were run at M = 5,000, with the settings that were found on CIFAR-100."""
    for seed in (1, 2):
        for method, memory in (("finetune", 0), ("er", 5000)):
            yield Cell("methods", method, memory, seed, benchmark="mini-imagenet")
    for benchmark in BENCHMARKS:
        if benchmark.startswith("ns-mini"):
            yield Cell("methods", "er", 5000, 1, benchmark=benchmark)
            if benchmark != "ns-mini-blur-per-image":
                yield Cell("methods", "finetune", 0, 1, benchmark=benchmark)
    for method in ("mir", "gdumb"):
        yield Cell("methods", method, 5000, 1, benchmark="mini-imagenet")


def errors():
    for method in ("agem", "er", "mir"):
        yield Cell("errors", method, 5000, 1, protocol="standard", evaluation="seen")


def examined():
    """Runs with one thing changed. Those of the first loop have the teacher in the mode that is not the default."""
    for seed in (1, 2, 3):
        yield Cell("examined", "lwf", 0, seed, changed=(("--teacher", "evaluation"),))
        yield Cell("examined", "gss", 5000, seed, changed=(("--set", "method.gss.gate=sample"),))
        yield Cell("examined", "ewc++", 0, seed, changed=(("--lr", "0.001"), ("--weight-decay", "0.0001")))  # the best at this weight decay
        for memory in (1000, 5000) if seed > 1 else (1000, 5000, 10000):
            yield Cell("examined", "icarl", memory, seed, changed=(("--teacher", "evaluation"),))
        for trick in ("kdc", "kdc*"):
            yield Cell("examined", "er", 5000, seed, trick, changed=(("--teacher", "evaluation"),))
            if seed == 1 or seed == 2 and trick == "kdc":
                yield Cell("examined", "mir", 5000, seed, trick, changed=(("--teacher", "evaluation"),))
        if seed < 3:
            yield Cell("examined", "er", 5000, seed, "kdc*", changed=(("--set", "replay.kdc_star=authors"),))
            yield Cell("examined", "ewc++", 0, seed, changed=(("--lr", "0.01"), ("--weight-decay", "0.0001")))
            for memory in (1000, 10000):
                yield Cell("examined", "gss", memory, seed, changed=(("--set", "method.gss.gate=sample"),))
            yield Cell("examined", "gdumb", 1000, seed, changed=(("--lr", "0.01"),))
            for lr in ("0.01", "0.03"):
                yield Cell("examined", "agem", 5000, seed, "rv", changed=(("--lr", lr),))


def store(result, file):
    """Keeps a result, compressed and without the places that it names: they say nothing to others, and no number depends on them."""
    result["config"]["data"].pop("dir", None)
    result["provenance"].pop("command", None)
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    # Without a time, so that the same result gives the same bytes.
    part.write_bytes(gzip.compress((json.dumps(result, separators=(",", ":")) + "\n").encode(), 9, mtime=0))
    os.replace(part, file)


def scores():
    """The accuracy that each setting reached, NaN of one that diverged."""
    if not SCORES.exists():
        return {}
    with open(SCORES, encoding="utf-8", newline="") as f:
        return {Setting(r["method"], int(r["memory"]), float(r["lr"]), float(r["weight_decay"]), r["option"]): float(r["average_accuracy"])
                for r in csv.DictReader(f)}


def setting_of(result):
    """The setting that a run had."""
    method, config = result["method"], result["config"]
    option = OPTIONS.get(method["name"], "").split("=")[0]
    if option:
        option += f"={method['options'][option.split('.')[-1]]:g}"
    return Setting(method["name"], 0 if method["name"] in WITHOUT_MEMORY else config["memory"], config["optimizer"]["lr"],
                   config["optimizer"]["weight_decay"], option)


def best(method, memory):
    """The setting with the best score. Finetune has ER's, Offline is not tuned, and a memory that was not tuned has the setting of 5,000."""
    if method == "offline":
        return Setting("offline", 0, 0.1, 0.0001)
    tried = {s: v for s, v in scores().items() if s.method == {"finetune": "er"}.get(method, method) and not math.isnan(v)}
    at = memory if any(s.memory == memory for s in tried) else 5000
    return dataclasses.replace(max((s for s in tried if s.memory == at), key=tried.get), method=method)


def paper(name, column=None):
    """The values of a table of the survey, by row (and column where none is named), then by memory: mean and interval, None where it has none."""
    found = {}
    with open(ROOT / "survey" / name, encoding="utf-8", newline="") as f:
        for line in csv.DictReader(f):
            if column in (None, line["column"]):
                row = line["row"] if column else (line["row"], line["column"])
                found.setdefault(row, {})[int(line["memory"])] = float(line["mean"]), float(line["interval"]) if line["interval"] else None
    return found


# Average accuracy after the last task in per cent, by name of the method in the paper, then by memory, 0 without one.
PAPER = paper("nc.csv", "Split CIFAR-100")
# With tricks, by trick and method. N/A is the method alone, which PAPER has too.
TRICKED = paper("trick_cifar.csv")
# Counts of test images and ratios of the error analysis, by method and column, at a memory of 5,000.
ERRORS = paper("trick_motivation.csv")
# Of the other benchmarks that were run, by the name of its results, method and memory. The survey has one blur, which is across images.
PUBLISHED = {"mini-imagenet": paper("nc.csv", "Split Mini-ImageNet"), "ns-mini-noise": paper("ni.csv", "Mini-ImageNet-Noise"),
             "ns-mini-occlusion": paper("ni.csv", "Mini-ImageNet-Occlusion"), "ns-mini-blur": paper("ni.csv", "Mini-ImageNet-Blur")}
# What the survey finds at each memory: the first is ahead of the second, or (=) as good.
ORDER = [(5000, "gdumb", ">", m) for m in ("icarl", "er", "mir", "gss", "agem")] + [
    (5000, "mir", ">", "er"), (5000, "agem", "=", "finetune")] + [(1000, "icarl", ">", m) for m in ("er", "gdumb")] + [(1000, "lwf", "=", "er")]
ALIKE = 1  # point: the most by which methods may differ that are as good as each other
NEAR = 2  # points: means that are as far from each other do not agree, however wide the intervals
SEEDS = 3  # of fewer no interval is given: that of two is 12.7 times their distance from the mean, and agrees with anything
QUANTILES = {3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}  # of Student's t, 97.5 %, by number of seeds


def interval(values):
    """Mean and half of the 95 % interval, None of fewer than three values."""
    n = len(values)
    return statistics.mean(values), QUANTILES[n] * statistics.stdev(values) / math.sqrt(n) if n >= SEEDS else None


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


def verdict(mean, half, published):
    """Whether a mean agrees with the paper's, by the intervals of both. Fewer than three seeds decide nothing."""
    difference = abs(mean - published[0])
    if half is None:
        return "undecided"
    if difference > half + published[1]:
        return "differs"
    return "agrees" if difference < NEAR else "undecided"


def group(cells):
    """The results there are, by all of a cell but its seed, then by seed."""
    found = {}
    for cell in cells:
        if (result := cell.read()) is not None:
            found.setdefault(dataclasses.replace(cell, seed=0), {})[cell.seed] = result
    for cell, results in found.items():
        if len(settings := {setting_of(r) for r in results.values()}) > 1:
            sys.exit(f"{cell.folder}, {cell.method}, memory {cell.memory}: its runs have different settings, {settings}")
    return found


def flags(cell, results=None):
    """What distinguishes a cell's command from the one above its table: as it was run, or as it is to be run where there is no result."""
    setting = setting_of(next(iter(results.values()))) if results else best(cell.method, cell.memory)
    parts = [f"--method {cell.method}", f"--memory {cell.memory}" if cell.memory else "", "" if cell.trick == "none" else f"--trick '{cell.trick}'",
             " ".join(setting.flags[:2]), "" if setting.weight_decay == 0.0001 else " ".join(setting.flags[2:4]),
             "" if cell.evaluation == "final" else f"--eval {cell.evaluation}", " ".join(setting.flags[4:]),
             *[f"{o} {v}" for o, v in cell.changed if o not in ("--lr", "--weight-decay")]]
    return "`" + " ".join(filter(None, parts)) + "`"


def title(*columns):
    return f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"


def table():
    """Writes each table between its two comments in docs/reproduction.md."""
    again = sorted({c.method for c in [*methods(), *tricks()] if (r := c.read()) and dataclasses.replace(best(c.method, c.memory), memory=0)
                    != dataclasses.replace(setting_of(r), memory=0)})
    if again:
        print(f"runs of {', '.join(again)} have another setting than the best in {SCORES.name}: run them again", file=sys.stderr)
    done = group(methods())
    tricked = {**done, **group(tricks())}
    cells = list(all_cells(tricked))
    tables = {"count": table_count(cells), "cells": table_cells(cells), "order": table_order(done), "metrics": table_metrics(group(metrics())),
              "errors": table_errors(group(errors())), "mini": table_mini(group(mini())), "examined": table_examined(group(examined()), tricked)}
    text = PAGE.read_text()
    for name, lines in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
        if text.count(begin) != 1 or text.count(end) != 1:
            sys.exit(f"{PAGE}: want {begin.strip()} and {end.strip()} once each, around the table")
        text = text[:text.index(begin)] + begin + "\n".join(lines) + "\n" + text[text.index(end):]
    part = PAGE.with_suffix(".part")
    part.write_text(text)
    os.replace(part, PAGE)


@dataclasses.dataclass(frozen=True)
class Compared:
    """A cell of the survey's tables for CIFAR-100 beside our runs of it, by seed."""
    label: str
    method: str  # as the paper names it
    trick: str
    memory: int
    published: tuple
    cell: Cell | None  # None where ocl does not have the method
    results: dict

    @property
    def values(self):
        """Our accuracy of each seed; the trick NCM is the other classifier of the plain runs."""
        return [means(r) if self.trick == "ncm" else accuracy(r) for r in self.results.values()]

    @property
    def verdict(self):
        finished = [v for v in self.values if v is not None]
        if not self.results:
            return "not run"
        return verdict(*interval(finished), self.published) if finished else "undecided"


def all_cells(done):
    """Every cell of table:nc and of table:trick_cifar for CIFAR-100; those without a trick are in both and come once."""
    names = {title: name for name, title in NAMES.items()}

    def compare(label, title, trick, memory, published):
        name = names.get(title)
        plain = trick in ("none", "ncm")
        cell = name and Cell("methods" if plain else "tricks", name, memory, 0, "none" if plain else trick)
        results = {s: r for s, r in done.get(cell, {}).items() if trick != "ncm" or "classifiers" in r}
        return Compared(label, title, trick, memory, published, cell, results)

    for title, by_memory in PAPER.items():
        for memory, published in by_memory.items():
            yield compare("table:nc", title, "none", memory, published)
    for title in ("A-GEM", "ER", "MIR"):
        for (row, method), by_memory in TRICKED.items():
            if method == title and row not in ("N/A", "Best OCI"):
                for memory, published in by_memory.items():
                    yield compare("table:trick_cifar", title, row.lower(), memory, published)


VERDICTS = ("agrees", "differs", "undecided", "not run")


def table_count(cells):
    yield title("cells of", *VERDICTS, "all")
    for label in ("table:nc", "table:trick_cifar", None):
        of = [c.verdict for c in cells if label in (None, c.label)]
        yield f"| {label or 'both'} | {' | '.join(str(of.count(v)) for v in VERDICTS)} | {len(of)} |"


def table_cells(cells):
    yield title("method", "trick", "M", "ocl", "seeds", "the paper", "difference", "verdict", "class means", "memory: first two, middle, last task", "flags")
    for c in cells:
        finished = [v for v in c.values if v is not None]
        diverged = len(c.values) - len(finished)
        ours = plus_minus(*interval(finished)) if finished else "–"
        if diverged:
            ours += f" ({diverged} of {len(c.values)} diverged)"
        by_means = [v for v in map(means, c.results.values()) if v is not None] if c.trick != "ncm" else []
        yield "| " + " | ".join([
            c.method, "–" if c.trick == "none" else c.trick.upper(), f"{c.memory:,}" if c.memory else "–", ours,
            ", ".join(f"{v:.1f}" for v in finished) or "–", plus_minus(*c.published),
            signed(statistics.mean(finished) - c.published[0]) if finished else "–", c.verdict,
            plus_minus(*interval(by_means)) if by_means else "–", held(c), flags(c.cell, c.results) if c.cell else "ocl does not have it"]) + " |"


def means(result):
    """Average accuracy by class means in per cent; None of a run that did not measure it or diverged."""
    if "ncm" not in result.get("classifiers", {}) or accuracy(result) is None:
        return None
    return 100 * result["classifiers"]["ncm"]["metrics"]["average_accuracy"]


def held(c):
    """The shares of the memory that the first two tasks, those in the middle and the last one hold after the last task, with the first seed."""
    if c.method not in ("GSS", "GDumb", "ER") or c.trick == "ncm" or not c.results:
        return "–"
    result = c.results[min(c.results)]
    tasks, counts = result["stream"]["tasks"], result["memory"]["class_counts"][-1]
    by_task = [sum(counts.get(str(k), 0) for k in t["classes"]) for t in tasks]
    shares = [sum(by_task[:2]), sum(by_task[2:-1]), by_task[-1]]
    return ", ".join(f"{100 * n / sum(by_task):.0f}" for n in shares) + " %"


def table_metrics(done):
    """Rows of the metrics that need all test sets; a column says "not run" where nothing is there yet."""
    keys = ("average_forgetting", "learning_accuracy", "bwt_plus", "fwt")
    yield title("method", "M", "seeds", "forgetting", "learning accuracy", "BWT⁺", "FWT")
    for cell in dict.fromkeys(dataclasses.replace(c, seed=0) for c in metrics()):
        of = [r for r in done.get(cell, {}).values() if accuracy(r) is not None]
        columns = [plus_minus(*interval([100 * r["metrics"][k] for r in of])) if of else "not run" for k in keys]
        yield f"| {NAMES[cell.method]} | {f'{cell.memory:,}' if cell.memory else '–'} | {len(of)} | {' | '.join(columns)} |"


def table_order(done):
    yield title("M", "the survey", "difference, same seeds", "")
    for memory, first, sign, second in ORDER:
        a, b = (done.get(Cell("methods", m, 0 if m in WITHOUT_MEMORY else memory, 0), {}) for m in (first, second))
        pairs = [(accuracy(a[s]), accuracy(b[s])) for s in a if s in b]
        gaps = [x - y for x, y in pairs if None not in (x, y)]
        if len(gaps) < SEEDS:
            yield f"| {memory:,} | {NAMES[first]} {sign.replace('=', '≈')} {NAMES[second]} | – | undecided: {len(gaps)} of {SEEDS} seeds |"
            continue
        mean, half = interval(gaps)
        yield f"| {memory:,} | {NAMES[first]} {sign.replace('=', '≈')} {NAMES[second]} | {signed(mean)} ± {half:.1f} | {order(sign, mean, half)} |"


def table_mini(done):
    yield title("benchmark", "method", "M", "ocl, seeds", "the paper", "difference", "class means", "flags")
    for cell, results in done.items():
        published = PUBLISHED.get(cell.benchmark, {}).get(NAMES[cell.method], {}).get(cell.memory)
        values = [v for v in map(accuracy, results.values()) if v is not None]
        by_means = [v for v in map(means, results.values()) if v is not None]
        yield "| " + " | ".join([
            cell.benchmark, NAMES[cell.method], f"{cell.memory:,}" if cell.memory else "–", ", ".join(f"{v:.1f}" for v in values) or "diverged",
            plus_minus(*published) if published else "–", signed(statistics.mean(values) - published[0]) if published and values else "–",
            ", ".join(f"{v:.1f}" for v in by_means) or "–", f"`{' '.join(BENCHMARKS[cell.benchmark])}` {flags(cell, results)}"]) + " |"


def table_errors(done):
    yield title("method", "e(n,o)", "e(n,n)", "e(o,o)", "e(o,n)", "er(n,o)", "er(o,n)", "the paper")
    for cell, results in done.items():
        last = results[1]["error_analysis"]["tasks"][-1]
        counts = [f"{last[k]:,}" for k in ("new_as_old", "new_as_new", "old_as_old", "old_as_new")]
        ratios = [f"{100 * last[k + '_of_errors']:.0f} % ({100 * last[k + '_of_samples']:.0f} %)" for k in ("new_as_old", "old_as_new")]
        published = [f"{ERRORS[NAMES[cell.method], c][5000][0]:,.0f}" + (" %" if c.startswith("er") else "")
                     for c in ("e(n,o)", "e(n,n)", "e(o,o)", "e(o,n)", "er(n,o)", "er(o,n)")]
        yield f"| {NAMES[cell.method]} | {' | '.join(counts + ratios)} | {', '.join(published)} |"


def table_examined(done, plain):
    yield title("changed", "ocl, seeds", "unchanged, same seeds", "the paper")
    for cell, results in done.items():
        tricked = cell.trick != "none"
        before = plain.get(dataclasses.replace(cell, folder="tricks" if tricked else "methods", changed=()), {})
        published = (TRICKED[cell.trick.upper(), NAMES[cell.method]] if tricked else PAPER[NAMES[cell.method]])[cell.memory]
        values = [", ".join("diverged" if v is None else f"{v:.1f}" for v in map(accuracy, of)) or "not run"
                  for of in (results.values(), [before[s] for s in results if s in before])]
        yield f"| {flags(cell, results)} | {' | '.join(values)} | {plus_minus(*published)} |"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(dest="command", required=True)
    commands.add_parser("table")
    keep = commands.add_parser("store")
    keep.add_argument("result", type=pathlib.Path)
    keep.add_argument("file", type=pathlib.Path)
    args = p.parse_args()
    if args.command == "table":
        table()
    else:
        store(json.loads(args.result.read_text()), args.file)


if __name__ == "__main__":
    main()
