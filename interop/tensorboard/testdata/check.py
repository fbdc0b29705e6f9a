"""Reads what ocl exports with TensorBoard itself, and compares every number, rounded to 32 bits, with result.json and events.jsonl.

    python3 -m venv /tmp/board && /tmp/board/bin/pip install tensorboard pillow
    /tmp/board/bin/python interop/tensorboard/testdata/check.py EXPERIMENT LOGDIR TABLE.csv

EXPERIMENT is the folder of an experiment. LOGDIR and TABLE.csv are what the exports of its runs to TensorBoard and to
CSV wrote. The script stops at the first number that differs. It was written for TensorBoard 2.21.
"""

import csv
import io
import json
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from datetime import datetime

import numpy as np
from PIL import Image
from tensorboard import version
from tensorboard.backend.event_processing import event_accumulator, event_file_loader
from tensorboard.util import tensor_util


def seconds(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Run:
    """What the files of a run say: scalars[tag] = [(step, wall time, value)], images[tag] = [step]."""

    def __init__(self, folder):
        with open(os.path.join(folder, "result.json")) as f:
            self.result = json.load(f)
        with open(os.path.join(folder, "events.jsonl")) as f:
            events = [json.loads(line) for line in f]
        self.scalars, self.images = {}, {}
        self.started = seconds(self.result["provenance"]["started"])
        self.tasks = len(self.result["stream"]["tasks"])
        self.after, between = {}, {}
        for e in events:
            at = seconds(e["time"])
            if e["event"] == "evaluation" and e.get("between"):
                between[e["step"]] = at
            elif e["event"] in ("step", "evaluation"):
                self.after[e["task"]] = at
            if e["event"] == "step":
                for key in ("loss", "running_accuracy"):
                    if key in e:
                        self.add("step/" + key, e["step"], at, e[key])
        r = self.result
        for e in r.get("evaluations", []):
            at = between[e["step"]]
            for j, v in enumerate(e["accuracy"]):
                self.add("between/" + self.task(j), e["step"], at, v)
            known = [v for v in e["accuracy"] if v is not None]
            self.add("between/average_accuracy", e["step"], at, sum(known) / len(known))
        self.classifier("", r)
        for name, c in r.get("classifiers", {}).items():
            self.classifier("-" + name, c)
        for i, row in enumerate(r.get("memory", {}).get("class_counts", [])):
            self.add("memory/samples", i + 1, self.after[i], sum(row.values()))
        for i, row in enumerate(r.get("memory", {}).get("task_counts", [])):
            for j in range(i + 1):
                self.add("memory/" + self.task(j), i + 1, self.after[i], row.get(str(j), 0))

    def task(self, j):
        return "task_%0*d" % (len(str(self.tasks)), j + 1)

    def add(self, tag, step, at, v):
        if v is not None:
            self.scalars.setdefault(tag, []).append((step, at, v))

    def classifier(self, suffix, c):
        rows = c["accuracy"]
        for i, row in enumerate(rows):
            for j, v in enumerate(row):
                self.add("accuracy%s/%s" % (suffix, self.task(j)), i + 1, self.after[i], v)
            known = row[: i + 1]
            if None in known:
                continue
            # Every row by the formulas of the survey; the last one is in the result.
            self.add("metrics%s/average_accuracy" % suffix, i + 1, self.after[i], sum(known) / len(known))
            if i > 0:
                lost = [max(rows[l][j] for l in range(j, i)) - row[j] for j in range(i)]
                self.add("metrics%s/average_forgetting" % suffix, i + 1, self.after[i], sum(lost) / len(lost))
        for key, v in c["metrics"].items():
            tag = "metrics%s/%s" % (suffix, key)
            if tag in self.scalars:
                assert np.isclose(self.scalars[tag][-1][2], v, rtol=0, atol=1e-12), (tag, v)
            else:  # only the last row is known here
                self.scalars[tag] = [None]
                self.add(tag, len(rows), self.after[len(rows) - 1], v)
        for e in c.get("error_analysis", {}).get("tasks", []):
            i = e["task"]
            for key in ("new_as_old", "old_as_new"):
                for of in ("of_samples", "of_errors"):
                    self.add("errors%s/%s_%s" % (suffix, key, of), i + 1, self.after[i], e.get(key + "_" + of))
            for group in ("logits", "head"):
                for key, v in e.get(group, {}).items():
                    self.add("%s%s/%s" % (group, suffix, key), i + 1, self.after[i], v)
            self.images.setdefault("confusion%s/by_task" % suffix, []).append(i + 1)
        if "error_analysis" in c:
            self.images["confusion%s/by_class" % suffix] = [c["error_analysis"]["tasks"][-1]["task"] + 1]


def check_scalars(tag, want, got):
    """got may have more points than a metric for which only the last one is known here: None stands for the others."""
    if None in want:
        want = [w for w in want if w is not None]
        got = got[-len(want):]
    assert len(got) == len(want), (tag, got, want)
    for g, w in zip(got, want):
        exact = not tag.startswith(("metrics", "between/average"))
        assert g[0] == w[0], (tag, g, w)
        assert abs(g[1] - w[1]) < 1e-5, (tag, g, w)
        assert g[2] == np.float32(w[2]) if exact else np.isclose(g[2], w[2], rtol=1e-6, atol=1e-7), (tag, g, w)


def check_files(run, folder):
    acc = event_accumulator.EventAccumulator(folder, size_guidance={event_accumulator.TENSORS: 0})
    acc.Reload()
    tags = set(acc.Tags()["tensors"])
    wanted = set(run.scalars) | set(run.images)
    assert tags == wanted, (tags ^ wanted)
    points = 0
    for tag, want in run.scalars.items():
        got = [(e.step, e.wall_time, tensor_util.make_ndarray(e.tensor_proto).item()) for e in acc.Tensors(tag)]
        check_scalars(tag, want, got)
        points += len(got)
        meta = acc.SummaryMetadata(tag)
        assert meta.plugin_data.plugin_name == "scalars" and meta.display_name and meta.summary_description, (tag, meta)
        if tag.startswith("metrics") and want[-1] is not None:
            name = re.sub("^metrics-?", "", tag.split("/")[0])
            source = run.result["classifiers"][name] if name else run.result
            key = tag.split("/")[1]
            if key in source["metrics"]:
                assert got[-1][2] == np.float32(source["metrics"][key]), (tag, got[-1])
    images = 0
    for tag, steps in run.images.items():
        events = acc.Tensors(tag)
        assert [e.step for e in events] == steps, (tag, steps)
        for e in events:
            width, height, encoded = tensor_util.make_ndarray(e.tensor_proto)
            with Image.open(io.BytesIO(encoded)) as im:
                im.load()
                assert im.size == (int(width), int(height)), (tag, im.size)
                assert len(im.convert("RGB").getcolors(1 << 24)) > 2, tag
            images += 1
        assert acc.SummaryMetadata(tag).plugin_data.plugin_name == "images", tag
    assert acc.FirstEventTimestamp() == run.started, (acc.FirstEventTimestamp(), run.started)
    (name,) = os.listdir(folder)
    loaded = list(event_file_loader.EventFileLoader(os.path.join(folder, name)).Load())
    assert loaded[0].file_version == "brain.Event:2", loaded[0]
    assert len(loaded) == 1 + points + images, (len(loaded), points, images)
    return points, images


def check_served(logdir, runs, fast):
    """Starts tensorboard and fetches every series; fast is true for the data server in Rust, false for Python."""
    server = subprocess.Popen(
        [os.path.join(os.path.dirname(sys.executable), "tensorboard"), "--logdir", logdir, "--port", "0", "--load_fast", fast,
         "--samples_per_plugin", "scalars=1000000,images=1000"],
        stderr=subprocess.PIPE, text=True)
    try:
        address = ""
        for line in server.stderr:
            if found := re.search(r"(http://\S+)", line):
                address = found.group(1).rstrip("/")
                break
        assert address, "tensorboard does not say its address"

        def fetch(path, query="", **args):
            with urllib.request.urlopen(address + path + "?" + (query or urllib.parse.urlencode(args))) as f:
                return f.read()

        for _ in range(100):  # it loads in the background
            tags = json.loads(fetch("/data/plugin/scalars/tags"))
            pictures = json.loads(fetch("/data/plugin/images/tags"))
            if all(set(tags.get(n, {})) == set(r.scalars) and set(pictures.get(n, {})) == set(r.images) for n, r in runs.items()):
                break
            subprocess.run(["sleep", "0.2"], check=True)
        for name, run in runs.items():
            assert set(tags[name]) == set(run.scalars), set(tags[name]) ^ set(run.scalars)
            for tag, want in run.scalars.items():
                assert tags[name][tag]["displayName"] and tags[name][tag]["description"], tags[name][tag]
                got = json.loads(fetch("/data/plugin/scalars/scalars", run=name, tag=tag))
                want = [w for w in want if w is not None]
                got = [(int(step), at, value) for at, step, value in got][-len(want):]
                assert len(got) == len(want), (tag, len(got), len(want))
                for g, w in zip(got, want):
                    assert g[0] == w[0] and abs(g[1] - w[1]) < 1e-3, (tag, g, w)
                    assert np.isclose(g[2], w[2], rtol=1e-6, atol=1e-7), (tag, g, w)
            for tag, steps in run.images.items():
                got = json.loads(fetch("/data/plugin/images/images", run=name, tag=tag, sample=0))
                assert [int(g["step"]) for g in got] == steps, (tag, got)
                for g in got:
                    with Image.open(io.BytesIO(fetch("/data/plugin/images/individualImage", g["query"]))) as im:
                        im.load()
    finally:
        server.terminate()
        server.wait()


def check_table(path, runs):
    """Compares some of the table with the results: all of accuracy, the classes, the confusion and the metrics."""
    with open(path, newline="") as f:
        lines = list(csv.DictReader(f))
    assert {l["run"] for l in lines} == set(runs), path
    for name, run in runs.items():
        mine = [l for l in lines if l["run"] == name]
        r = run.result
        first = r["config"]["classifiers"][0]
        assert {l["seed"] for l in mine} == {str(r["config"]["seed"])}

        def values(classifier, quantity, *columns):
            return {tuple(int(l[c]) for c in columns): float(l["value"]) for l in mine if (l["classifier"], l["quantity"]) == (classifier, quantity)}

        for classifier, c in [(first, r), *r.get("classifiers", {}).items()]:
            want = {(i, j): v for i, row in enumerate(c["accuracy"]) for j, v in enumerate(row) if v is not None}
            assert values(classifier, "accuracy", "task", "test_set") == want
            last = len(c["accuracy"]) - 1
            for key, v in c["metrics"].items():
                assert values(classifier, key, "task")[(last,)] == v, key
            confusion = c["error_analysis"]["confusion"]
            assert values(classifier, "confusion", "class", "predicted") == {(y, k): n for y, row in enumerate(confusion) for k, n in enumerate(row) if n}
            for e in c["error_analysis"]["tasks"]:
                assert values(classifier, "errors_new_as_old", "task")[(e["task"],)] == e["new_as_old"]
        want = {(i, k): v for i, row in enumerate(r["accuracy_per_class"]) for k, v in enumerate(row) if v is not None}
        assert values(first, "accuracy_per_class", "task", "class") == want
        loss = {(s,): v for s, _, v in run.scalars["step/loss"]}
        assert values("", "loss", "step") == loss
        want = {(i, int(k)): n for i, row in enumerate(r["memory"]["class_counts"]) for k, n in row.items()}
        assert values("", "memory_class_count", "task", "class") == want
    return len(lines)


def check_golden():
    """Reads the file that the Go tests hold the writer to."""
    path = os.path.join(os.path.dirname(__file__), "small.tfevents")
    events = event_file_loader.EventFileLoader(path).Load()
    got = [(e.step, e.wall_time, v.tag, tensor_util.make_ndarray(v.tensor)) for e in events for v in e.summary.value]
    at = seconds("2026-11-22T10:15:30.250Z")
    assert [g[:3] for g in got] == [(1, at + 1, "step/loss"), (2, at + 2, "step/loss"), (1 << 40, 0, "confusion/by_task")], got
    assert got[0][3] == 2.5 and got[1][3] == np.float32(-0.1), got
    with Image.open(io.BytesIO(got[2][3][2])) as im:
        assert np.asarray(im).tolist() == [[0, 255]], np.asarray(im)


def main():
    experiment, logdir, table = sys.argv[1:]
    runs = {n: Run(os.path.join(experiment, n)) for n in sorted(os.listdir(experiment)) if os.path.exists(os.path.join(experiment, n, "result.json"))}
    assert runs, experiment + " has no runs"
    check_golden()
    for name, run in runs.items():
        points, images = check_files(run, os.path.join(logdir, name))
        print(f"{name}: {len(run.scalars)} tags with {points} scalars equal, {images} images decode")
    for fast in ("true", "false"):
        check_served(logdir, runs, fast)
        print(f"tensorboard {version.VERSION} --load_fast={fast} serves all of it")
    print(f"{table}: {check_table(table, runs)} lines")


main()
