#!/usr/bin/env python3
"""Compare predictions with PyTorch and ONNX Runtime on this machine: alternates the three, prints medians and ratios.

usage: cli/internal/bench/compare_predict.py [--sizes 32,84] [--rounds 5] [--threads 2] [--seconds 0.3] [--onnx FILE,...]
                                [--ocl "go run ./cmd/ocl"] [--json FILE]

All run the survey's reduced ResNet-18 (width 20, 100 classes) in float32 with as many threads: one image at a time, and 200
at a time. The ONNX file is made from the PyTorch network by torch.onnx.export, which folds batch norm into convolutions as
ONNX Runtime would; the last column of each ratio above 1 says that ocl is faster. Both the median and the least time are
compared: on a shared machine the least is that of the quiet moments. Needs `pip install torch onnx onnxruntime`.

--onnx gives ONNX Runtime what `ocl export --to onnx` wrote instead, a file for each of the sizes, of runs with that network:

    ocl run --data cifar100 --data-dir DIR --tasks 5 data.train_per_class=5 --method er --out er
    ocl export er --to onnx -o er.onnx
    cli/internal/bench/compare_predict.py --sizes 32 --onnx er.onnx

These files take pixels (uint8) of any size, and their graph scales, normalises and labels too. Images of the right size are
given, and all outputs are asked for, so ONNX Runtime then does a little more than PyTorch does.
"""
import argparse
import json
import os
import shlex
import statistics
import subprocess
import tempfile
import time

import numpy
import onnx
import onnxruntime
import torch
import torch.nn.functional as functional
from torch import nn

CLASSES, WIDTH, BATCH = 100, 20, 200


class Block(nn.Module):
    """A basic block: two convolutions and a shortcut."""

    def __init__(self, ins, outs, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(ins, outs, 3, stride, 1, bias=False), nn.BatchNorm2d(outs)
        self.conv2, self.bn2 = nn.Conv2d(outs, outs, 3, 1, 1, bias=False), nn.BatchNorm2d(outs)
        self.short = nn.Sequential()
        if stride != 1 or ins != outs:
            self.short = nn.Sequential(nn.Conv2d(ins, outs, 1, stride, bias=False), nn.BatchNorm2d(outs))

    def forward(self, x):
        y = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(y)) + self.short(x))


def network(size):
    """The reduced ResNet-18 for images of one size."""
    layers = [nn.Conv2d(3, WIDTH, 3, 1, 1, bias=False), nn.BatchNorm2d(WIDTH), nn.ReLU()]
    ins = WIDTH
    for times, stride in ((1, 1), (2, 2), (4, 2), (8, 2)):
        for first in (True, False):
            layers.append(Block(ins, WIDTH * times, stride if first else 1))
            ins = WIDTH * times
    features = nn.Sequential(*layers, nn.AvgPool2d(4), nn.Flatten()).eval()
    return nn.Sequential(features, nn.Linear(features(torch.zeros(1, 3, size, size)).shape[1], CLASSES)).eval()


def repeated(call, seconds):
    """Milliseconds of calls, for so many seconds; one call before them does not count."""
    call()
    begin, times = time.perf_counter(), []
    while not times or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def run_ocl(command, size, threads):
    """(median, least) milliseconds of one image and of a batch by `ocl bench predict`."""
    words = shlex.split(command) + ["bench", "predict", "--json", "all", "--quiet", "--size", str(size), "--workers", str(threads), "--repeat", "1"]
    got = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)["predict"][0]
    return {"one": (got["one_ms"], got["one_least_ms"]), "batch": (got["batch_ms"], got["batch_least_ms"])}


def exported(path, size, options):
    """A session of a file that ocl wrote, which must be of the network that the others run."""
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    about, shapes = session.get_modelmeta().custom_metadata_map, {o.name: o.shape for o in session.get_outputs()}
    if session.get_inputs()[0].name != "images" or "image_size" not in about:
        raise SystemExit(f"{path}: ocl did not write this file. Give one of `ocl export --to onnx`")
    if json.loads(about["image_size"]) != [3, size, size] or shapes.get("logits", [0])[-1] != CLASSES:
        raise SystemExit(f"{path}: it is of images {about['image_size']}, outputs {shapes}. "
                         f"Give one of 3x{size}x{size} and logits of {CLASSES} classes, or other --sizes")
    weights = sum(int(numpy.prod(w.dims)) for w in onnx.load(path).graph.initializer)
    want = sum(p.numel() for p in network(size).parameters())
    if abs(weights / want - 1) > 0.02:  # batch norm is folded, and constants are added
        raise SystemExit(f"{path}: the graph has {weights} numbers, but this network has {want}. "
                         f"Give one of a run with --network resnet18 network.width={WIDTH}")
    return session


def compare(args, size, path):
    """Rows of one size: what, then for each program the median of its medians and its least time."""
    net, options = network(size), onnxruntime.SessionOptions()
    options.intra_op_num_threads = args.threads
    if path:
        session, name, kind = exported(path, size, options), "images", "uint8"
    else:
        name, kind = "x", "float32"
        with tempfile.TemporaryDirectory() as folder:
            made = os.path.join(folder, "net.onnx")
            torch.onnx.export(net, (torch.zeros(1, 3, size, size),), made, input_names=[name], output_names=["y"],
                              dynamic_axes={name: {0: "n"}, "y": {0: "n"}}, dynamo=False)
            session = onnxruntime.InferenceSession(made, options, providers=["CPUExecutionProvider"])
    images = {"one": numpy.random.rand(1, 3, size, size).astype("float32"), "batch": numpy.random.rand(BATCH, 3, size, size).astype("float32")}
    found = {p: {w: [] for w in images} for p in ("ocl", "onnxruntime", "torch")}
    for number in range(args.rounds):
        print(f"{size}x{size}: round {number + 1} of {args.rounds}", flush=True)
        for what, pair in run_ocl(args.ocl, size, args.threads).items():
            found["ocl"][what].append(pair)
        for what, x in images.items():
            fed = {name: (255 * x).astype(kind) if kind == "uint8" else x}
            times = repeated(lambda: session.run(None, fed), args.seconds)
            found["onnxruntime"][what].append((statistics.median(times), min(times)))
            with torch.inference_mode():
                tensor = torch.from_numpy(x)
                times = repeated(lambda: net(tensor), args.seconds)
            found["torch"][what].append((statistics.median(times), min(times)))
    return [{"size": size, "what": what, "threads": args.threads, "rounds": args.rounds,
             **{p: {"median_ms": statistics.median(m for m, _ in found[p][what]), "least_ms": min(m for _, m in found[p][what])} for p in found}}
            for what in images]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=lambda s: [int(x) for x in s.split(",")], default=[32, 84])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.3, help="how long each measurement of ONNX Runtime and PyTorch lasts")
    parser.add_argument("--onnx", type=lambda s: s.split(","), help="files of `ocl export --to onnx`, one for each size")
    parser.add_argument("--ocl", default="go run ./cmd/ocl")
    parser.add_argument("--json", help="also write the rows to this file")
    args = parser.parse_args()
    paths = args.onnx or [None] * len(args.sizes)
    if len(paths) != len(args.sizes):
        parser.error(f"--onnx has {len(paths)} files, but --sizes {len(args.sizes)}. Give a file for each size")
    torch.set_num_threads(args.threads)
    rows = [row for size, path in zip(args.sizes, paths) for row in compare(args, size, path)]
    print(f"{args.threads} threads, {args.rounds} rounds; milliseconds: median (least)\n")
    print("| size | images | ocl | onnxruntime | PyTorch | onnxruntime / ocl | PyTorch / ocl |\n|---|---|---:|---:|---:|---:|---:|")
    for r in rows:
        cells = [f"{r[p]['median_ms']:.2f} ({r[p]['least_ms']:.2f})" for p in ("ocl", "onnxruntime", "torch")]
        ratios = [f"{r[p]['median_ms'] / r['ocl']['median_ms']:.2f} ({r[p]['least_ms'] / r['ocl']['least_ms']:.2f})" for p in ("onnxruntime", "torch")]
        print(f"| {r['size']}×{r['size']} | {1 if r['what'] == 'one' else BATCH} | " + " | ".join(cells + ratios) + " |")
    if args.json:
        with open(args.json, "w") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
