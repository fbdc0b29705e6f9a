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
    for c in cells:
        n, runs, half, mean = len(c["x"]), int(c["published_n"]), float(c["published_half"]), float(c["published"])
        b, margin = half / t.ppf(0.975, runs - 1), min(2, mean / 5)
        # whatever our runs, and however many they are; the confirmation has no such verdict
        c["undecidable"] = t.ppf(0.95, runs - 1) * b >= margin and name != "confirmation"
        if n < 3 or not c["ran"]:  # no test
            continue
        d, a = statistics.mean(c["x"]) - mean, statistics.stdev(c["x"]) / math.sqrt(n)
        error = math.hypot(a, b)
        v = error**4 / (a**4 / (n - 1) + b**4 / (runs - 1))
        whole = n == len(c["values"].split())  # runs of which one diverged do not agree
        c["agrees"], c["p"] = whole and abs(d) + t.ppf(0.95, v) * error < margin, 2 * t.sf(abs(d) / error, v)
        c["overlaps"] = abs(d) <= t.ppf(0.975, n - 1) * a + half and abs(d) < 2
    tested, most = sorted((c for c in cells if "p" in c), key=lambda c: c["p"]), 0
    for k, c in enumerate(tested):  # Holm's correction
        most = c["holm"] = max(most, (len(tested) - k) * c["p"])
    for c in cells:
        verdict = (
            "agrees" if c.get("agrees") else "differs" if c.get("holm", 1) <= 0.05
            else "undecidable" if c["undecidable"] else "undecided" if c["ran"] else "not run"
        )
        counts[name, verdict], others = counts[name, verdict] + 1, others + (verdict != c["verdict"])
        counts[name, "agrees, and its setting was chosen by nearness"] += verdict == "agrees" and c["chosen_by_nearness"] != ""
        former = c.get("overlaps", False)
        counts[name, "agreed by the former rule"] += former
        counts[name, "agreed by the former rule, and its setting was chosen by nearness"] += former and c["chosen_by_nearness"] != ""
for (name, verdict), n in sorted(counts.items()):
    print(f"{name}: {n} {verdict}")
print(f"{others} verdicts are other ones than in the file")
