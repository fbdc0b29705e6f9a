#!/usr/bin/env python3
"""Compare the engine with PyTorch on this machine: alternates `ocl bench engine` and torch_step.py, prints medians and ratios.

usage: cli/internal/bench/compare_torch.py [--sizes 32,84,128] [--rounds 5] [--seconds 6] [--threads 2] [--modes eager,channels_last]
                              [--ocl "go run ./cmd/ocl"] [--torch ../shared/peers/torch_step.py]

Both measure a survey step (two passes of 10 images, one SGD update) and the evaluation of 200 images, in float32, with
as many threads. A ratio above 1 says that ocl is faster than PyTorch's fastest mode in the same rounds. Needs
`pip install torch`; give the machine nothing else to do.
"""
import argparse
import json
import re
import shlex
import statistics
import subprocess
import sys

LINE = re.compile(r"(\d+)x\d+, (\w+): pass of \d+ [\d.]+ ms .*survey step ([\d.]+) ms, evaluation of 200 ([\d.]+) ms")


def run_ocl(command, size, threads, seconds):
    """One report of `ocl bench engine --json` for one size."""
    words = shlex.split(command) + ["bench", "engine", "--json", "all", "--quiet", "--size", str(size),
                                    "--workers", str(threads), "--seconds", str(seconds)]
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


def run_torch(script, size, threads, modes):
    """Milliseconds of {mode: (step, evaluation)} for one size."""
    words = [sys.executable, script, str(threads), "10", str(size), ",".join(modes)]
    out = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    got = {m[2]: (float(m[3]), float(m[4])) for m in LINE.finditer(out)}
    if set(got) != set(modes):
        raise SystemExit(f"compare_torch: {script}: found modes {sorted(got)}; want {sorted(modes)}; its output was:\n{out}")
    return got


def spread(ms):
    """The median of the rounds, with the least and the most."""
    return f"{statistics.median(ms):.1f} ({min(ms):.1f} to {max(ms):.1f})"


def compare(args, size):
    """Medians over all rounds for one size."""
    ours, torch = {"step": [], "evaluation": []}, {m: {"step": [], "evaluation": []} for m in args.modes}
    peaks, kernel, convolution = [], "", ""
    for number in range(args.rounds):
        print(f"{size}x{size}: round {number + 1} of {args.rounds}", file=sys.stderr)
        report = run_ocl(args.ocl, size, args.threads, args.seconds)
        kernel, convolution = report["kernel"], report.get("convolution", "direct")  # older programs had no other
        peaks.append(report["peak_gflops"])
        ours["step"].append(report["steps"][0]["ms"])
        ours["evaluation"].append(200e3 / report["evaluation"][0]["images_per_second"])
        for mode, (step, evaluation) in run_torch(args.torch, size, args.threads, args.modes).items():
            torch[mode]["step"].append(step)
            torch[mode]["evaluation"].append(evaluation)
    rows = []
    for what in ("step", "evaluation"):
        mine = statistics.median(ours[what])
        theirs = [statistics.median(torch[m][what]) for m in args.modes]
        rows.append({"size": size, "what": what, "kernel": kernel, "convolution": convolution,
                     "peak_gflops": statistics.median(peaks),
                     "ocl": spread(ours[what]), "torch": [spread(torch[m][what]) for m in args.modes],
                     "ratio": min(theirs) / mine})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=lambda s: [int(x) for x in s.split(",")], default=[32, 84, 128])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--modes", type=lambda s: s.split(","), default=["eager", "channels_last"])
    parser.add_argument("--ocl", default="go run ./cmd/ocl")
    parser.add_argument("--torch", default="../shared/peers/torch_step.py")
    args = parser.parse_args()
    rows = []
    for size in args.sizes:
        rows += compare(args, size)
    print(f"kernel {rows[0]['kernel']}, convolution {rows[0]['convolution']}, {args.threads} threads, "
          f"FMA peak {rows[0]['peak_gflops']:.1f} GFLOP/s. Times are the median (least to most) of {args.rounds} rounds\n")
    print("| size | what | ocl, ms | " + " | ".join(f"PyTorch {m}, ms" for m in args.modes) + " | fastest PyTorch / ocl |")
    print("|---|---" + "|---:" * (len(args.modes) + 2) + "|")
    for r in rows:
        print(f"| {r['size']}×{r['size']} | {r['what']} | {r['ocl']} | "
              + " | ".join(r["torch"]) + f" | {r['ratio']:.2f} |")


if __name__ == "__main__":
    main()
