"""Makes adwin.json: where river's ADWIN finds a change in streams of errors, and its window and mean after each number that it looks at.

    python3 -m venv v && v/bin/pip install river==0.26.1 && v/bin/python adwin.py > adwin.json
"""
import json

from river import drift


def numbers(seed):
    """A stream of 0 and 1 whose share of ones changes, from a generator that Go has too."""
    x = seed
    for i in range(6000):
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
        share = [0.2, 0.5, 0.5, 0.3, 0.9, 0.88][i // 1000]
        yield int((x >> 40) / 2**24 < share)


streams = []
for seed in range(1, 9):
    a = drift.ADWIN(delta=0.002, clock=32)
    found, windows = [], []
    for i, x in enumerate(numbers(seed)):
        a.update(x)
        if a.drift_detected:
            found.append(i)
        if (i + 1) % 500 == 0:
            windows.append([int(a.width), a.estimation])
    streams.append({"seed": seed, "found": found, "windows": windows})
print(json.dumps(streams))
