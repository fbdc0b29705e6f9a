"""Rebuilds paths.pkl, LUP.pkl and labels.pkl of CORe50 for its scenarios ni and nc from the manifest of its frames:

    python3 make.py core50_manifest.json FOLDER

LUP.pkl has lists of integers and labels.pkl arrays of NumPy, so that both forms are tested. The contents are those of the
published files as far as these two scenarios go. The bytes differ: the published files have more scenarios, and were
written by another pickler, which this script does not imitate.

`OCL_DATA=PARENT go test -run TestRealPickles ./data/internal/core50`, with FOLDER being PARENT/core50-pickles, compares
them with the tables.
"""

import json
import pickle
import sys

import numpy as np

with open(sys.argv[1]) as file:
    facts = json.load(file)
objects = range(1, facts["objects"] + 1)


def frames(sessions, of):
    for s in sessions:
        for o in facts["object_dir_order"]:
            if o in of:
                missing = set(facts["missing"].get(f"s{s}/o{o}", ()))
                for f in range(facts["frames_per_cell"]):
                    if f not in missing:
                        yield o, f"s{s}/o{o}/C_{s:02d}_{o:02d}_{f:03d}.png"


paths = [path for _, path in frames(range(1, facts["sessions"] + 1), objects)]
place = {path: i for i, path in enumerate(paths)}
test = list(frames(facts["test_sessions"], objects))


def runs():
    for order in facts["NI_session_order"]:
        yield "ni", list(objects), [list(frames([s], objects)) for s in order]
    for order in facts["NC_batch_order"]:
        groups = [facts["NC_batches_objects_1based"][g] for g in order]
        yield "nc", sum(groups, []), [list(frames(facts["train_sessions"], g)) for g in groups]


lup, labels = {"ni": [], "nc": []}, {"ni": [], "nc": []}
for scenario, order, batches in runs():
    label = {o: i for i, o in enumerate(order)}
    lup[scenario].append([[place[path] for _, path in batch] for batch in batches + [test]])
    labels[scenario].append([np.array([label[o] for o, _ in batch]) for batch in batches + [test]])

for name, content in {"paths": paths, "LUP": lup, "labels": labels}.items():
    with open(f"{sys.argv[2]}/{name}.pkl", "wb") as file:
        pickle.dump(content, file, 2)
