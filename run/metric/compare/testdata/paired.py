#!/usr/bin/env python3
"""Writes paired.json, with which TestPairedGolden compares: what SciPy computes of pairs of lists.

    pip install scipy && python3 run/metric/compare/testdata/paired.py > run/metric/compare/testdata/paired.json

The p-values after Holm's method are of statsmodels' definition, written out: SciPy has none.
"""

import json

import numpy as np
import scipy
from scipy import stats

draw = np.random.default_rng(7)


def case(a, b):
    a, b = np.asarray(a, float), np.asarray(b, float)
    t = stats.ttest_rel(a, b)
    interval = t.confidence_interval(0.95)
    flip = stats.permutation_test((a - b,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided")
    return {"a": a.tolist(), "b": b.tolist(), "mean": float(np.mean(a - b)), "half": float(interval.high - interval.low) / 2,
            "t": float(t.statistic), "p": float(t.pvalue), "sign_flip": float(flip.pvalue)}


def holm(p):
    order, out, least = np.argsort(p, kind="stable"), [0.0] * len(p), 0.0
    for k, i in enumerate(order):
        least = max(least, min((len(p) - k) * p[i], 1.0))
        out[i] = least
    return {"p": list(p), "holm": out}


cases = [case([3, 5, 4], [1, 2, 3]), case([0.169888, 0.207666, 0.172333], [0.18, 0.182777, 0.188333])]
for n in (2, 3, 5, 10, 15):
    for shift in (0, 0.5, 2):
        cases.append(case(draw.normal(shift, 1, n), draw.normal(0, 1, n)))
cases.append(case([1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5]))  # ties: many sums are equal
families = [holm([0.01, 0.04, 0.03]), holm([0.5]), holm([0.2, 0.001, 0.04, 0.04, 0.9, 0.012]), holm(draw.uniform(0, 0.2, 12).tolist())]
print(json.dumps({"scipy": scipy.__version__, "cases": cases, "families": families}, indent=1))
