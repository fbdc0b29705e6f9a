"""Works out the verdicts of survey/results/cells.csv again, from its values, and counts them: python3 survey/results/verdicts.py (needs SciPy: pip install scipy)."""

import collections, csv, math, pathlib, statistics
from scipy.stats import t

families, counts, others = collections.defaultdict(list), collections.Counter(), 0
with open(pathlib.Path(__file__).parent / "cells.csv", newline="") as file:
    for cell in csv.DictReader(file):  # a cell counts when it has its runs, which in the confirmation are five
        cell["ran"] = len(cell["values"].split()) >= (5 if cell["runs"] == "confirmation" else 1)
        cell["x"] = [float(v) for v in cell["values"].split() if v != "NaN"]
        families[cell["runs"], cell["table"], cell["data"]].append(cell)
for (name, _, _), cells in families.items():
    tested = [c for c in cells if c["ran"] and c["x"]]
    wide = [c["x"] for c in tested if len(c["x"]) >= 3]
    freedom = sum(len(x) - 1 for x in wide)
    pooled = math.sqrt(sum((len(x) - 1) * statistics.variance(x) for x in wide) / freedom) if freedom else math.nan
    for c in tested:
        n, runs, half, mean = len(c["x"]), int(c["published_n"]), float(c["published_half"]), float(c["published"])
        d, df, s = statistics.mean(c["x"]) - mean, n - 1 if n >= 3 else freedom, statistics.stdev(c["x"]) if n >= 3 else pooled
        a, b = s / math.sqrt(n), half / t.ppf(0.975, runs - 1)
        error = math.hypot(a, b)
        v = error**4 / (a**4 / max(df, 1) + b**4 / (runs - 1))
        whole = n >= 3 and n == len(c["values"].split())  # runs of which one diverged do not agree
        c["agrees"], c["p"] = whole and abs(d) + t.ppf(0.95, v) * error < min(2, mean / 5), 2 * t.sf(abs(d) / error, v)
        c["overlap"] = n >= 3 and abs(d) <= t.ppf(0.975, df) * a + half, n >= 3 and abs(d) < 2  # the former rule
    tested, most = sorted((c for c in tested if c["p"] == c["p"]), key=lambda c: c["p"]), 0  # a p-value that is no number is no test
    for k, c in enumerate(tested):  # Holm's correction
        most = c["holm"] = max(most, (len(tested) - k) * c["p"])
    for c in cells:
        verdict = "agrees" if c.get("agrees") else "differs" if c.get("holm", 1) <= 0.05 else "undecided" if c["ran"] else "not run"
        counts[name, verdict], others = counts[name, verdict] + 1, others + (verdict != c["verdict"])
        counts[name, "agrees, and its setting was chosen by nearness"] += verdict == "agrees" and c["chosen_by_nearness"] != ""
        former = all(c.get("overlap", [False]))
        counts[name, "agreed by the former rule"] += former
        counts[name, "agreed by the former rule, and its setting was chosen by nearness"] += former and c["chosen_by_nearness"] != ""
for (name, verdict), n in sorted(counts.items()):
    print(f"{name}: {n} {verdict}")
print(f"{others} verdicts are other ones than in the file")
