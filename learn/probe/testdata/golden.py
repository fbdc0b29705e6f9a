#!/usr/bin/env python3
"""Makes sklearn.json for learn/probe/golden_test.go: a logistic regression of scikit-learn.

usage: golden.py > sklearn.json        needs `pip install scikit-learn` (1.9 was used)

Features and labels are those of the test: number i of stream 1 of splitmix64 in [-1,1), times 4, and the class of a sample is where
its feature of this number, of the first four, is largest; one in five has the next class. The last feature is 2 for all. Half of the
samples are for fitting. The weights are those of standardised features.
"""
import json

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

ROWS, FEATURES, CLASSES = 240, 7, 4
MASK = (1 << 64) - 1


def uniform(stream, i):
    z = ((stream << 32 | i) + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return ((z ^ z >> 31) >> 40) / (1 << 24)


x = np.array([(2 * uniform(1, i) - 1) * 4 for i in range(ROWS * FEATURES)]).reshape(ROWS, FEATURES)
x[:, -1] = 2
y = x[:, :CLASSES].argmax(1)
y[::5] = (y[::5] + 1) % CLASSES
half = ROWS // 2
scaler = StandardScaler().fit(x[:half])
model = LogisticRegression(C=1, tol=1e-12, max_iter=100000).fit(scaler.transform(x[:half]), y[:half])
logits = model.decision_function(scaler.transform(x[half:]))
top = np.sort(logits, 1)
print(json.dumps({"sklearn": sklearn.__version__, "weights": model.coef_.T.tolist(), "classes": logits.argmax(1).tolist(),
                  "close": (top[:, -1] - top[:, -2] < 1e-2).tolist()}))
