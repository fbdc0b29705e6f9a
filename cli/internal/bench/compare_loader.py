#!/usr/bin/env python3
"""Compare building the cache of Mini-ImageNet with a PyTorch loader on this machine: alternates both, prints times and ratios.

usage: cli/internal/bench/compare_loader.py [--data ../shared/data] [--rounds 3] [--workers 2]

ocl decodes the 60,000 JPEGs, hashes them and writes them to a cache file (BenchmarkMiniImageNet/build of package data). The loader
decodes them with Pillow in worker processes and hands over batches of uint8 tensors; it writes nothing. A ratio above 1 says that
ocl is faster. Needs `pip install torch pillow numpy`; the files should have been read once before.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import numpy
import torch
from PIL import Image


class Images(torch.utils.data.Dataset):
    """The images of a folder as uint8 [3,84,84]."""

    def __init__(self, folder):
        self.files = sorted(folder.glob("*.jpg"))
        if not self.files:
            raise SystemExit(f"compare_loader: {folder} has no JPEG files. Use --data with the folder that holds mini-imagenet")

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with Image.open(self.files[i]) as image:
            return torch.from_numpy(numpy.array(image.convert("RGB")).transpose(2, 0, 1))


def run_torch(images, workers):
    """Seconds of one pass over all images."""
    start = time.perf_counter()
    count = sum(len(batch) for batch in torch.utils.data.DataLoader(images, batch_size=256, num_workers=workers))
    if count != len(images):
        raise SystemExit(f"compare_loader: the loader gave {count} of {len(images)} images")
    return time.perf_counter() - start


def run_ocl(program, data, workers):
    """Seconds of building the cache."""
    words = [program, "-test.run", "^$", "-test.bench", "^BenchmarkMiniImageNet$/^build$", "-test.benchtime", "1x", "-test.cpu", str(workers)]
    out = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | {"OCL_DATA": str(data)}).stdout
    found = re.search(r"([\d.]+) ns/op", out)
    if not found:
        raise SystemExit(f"compare_loader: the benchmark did not run; its output was:\n{out}")
    return float(found[1]) / 1e9


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared/data"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    images = Images(args.data / "mini-imagenet" / "images")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "data.test")
        subprocess.run(["go", "test", "-c", "-o", program, "./data"], check=True)
        for number in range(args.rounds):
            ocl, loader = run_ocl(program, args.data.resolve(), args.workers), run_torch(images, args.workers)
            ratios.append(loader / ocl)
            print(f"round {number + 1}: ocl {ocl:.1f} s, loader {loader:.1f} s, ratio {loader / ocl:.2f}", flush=True)
    print(f"{len(images)} images, {args.workers} workers: ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
