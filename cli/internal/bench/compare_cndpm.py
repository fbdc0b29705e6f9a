#!/usr/bin/env python3
"""Compare the sleep of CN-DPM's experts with PyTorch on this machine: alternates BenchmarkExperts and the same steps here, prints medians and ratios.

usage: cli/internal/bench/compare_cndpm.py [--size 32] [--experts 1,10] [--steps sleep-vae,sleep-classifier] [--rounds 5] [--seconds 3]
                              [--threads 2] [--modes eager,channels_last] [--json FILE]

A step of a sleep takes 50 images: the codes by all encoders, 16 decodes of each by the last VAE and its gradients, one SGD
update; or the logits of all classifiers and the gradients of the last one. The networks have the sizes of those in the code
of CN-DPM's authors, in float32. A ratio above 1 says that ocl is faster than PyTorch's fastest mode in the same rounds. Needs Go and
`pip install torch`; give the machine nothing else to do.
"""
import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional as F

BATCH, DRAWS, LATENT, CLASSES = 50, 16, 64, 100
FIRST, GROWTH = {"vae": 32, "classifier": 20}, 4
LINE = re.compile(r"^BenchmarkExperts/\S+\s+\d+\s+(\d+) ns/op.*?([\d.]+) %peak")


class Encoder(nn.Module):
    """Reads, beside its own maps, those of the encoders before it."""

    def __init__(self, before, size):
        super().__init__()
        own = FIRST["vae"] if before == 0 else GROWTH
        every = FIRST["vae"] + GROWTH * before
        pixels = (size // 4) ** 2
        self.enc1 = nn.Conv2d(3, own, 3, padding=1)
        self.enc2 = nn.Conv2d(every, 2 * own, 3, padding=1)
        self.enc3 = nn.Linear(2 * every * pixels, 4 * own)
        self.mean = nn.Linear(4 * every, LATENT)
        self.log_variance = nn.Linear(4 * every, LATENT)

    def forward(self, x, sides):
        joined, codes = [], None
        for step, side in zip(("enc1", "enc2", "enc3"), sides):
            h = getattr(self, step)(x if codes is None else codes)
            h = F.relu(F.max_pool2d(h, 2)) if step != "enc3" else F.relu(h)
            codes = h if side is None else torch.cat([side, h], 1)
            joined.append(codes.detach())
            if step == "enc2":
                codes = codes.flatten(1)
        return self.mean(codes), self.log_variance(codes), joined


class Decoder(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.side = size // 4
        self.dec1 = nn.Linear(LATENT, 128)
        self.dec2 = nn.Linear(128, 64 * self.side ** 2)
        self.dec3 = nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1)
        self.dec4 = nn.ConvTranspose2d(32, 3, 4, stride=2, padding=1)

    def forward(self, z, channels_last):
        h = F.relu(self.dec2(F.relu(self.dec1(z)))).view(-1, 64, self.side, self.side)
        if channels_last:
            h = h.contiguous(memory_format=torch.channels_last)
        return torch.sigmoid(self.dec4(F.relu(self.dec3(h))))


class Block(nn.Module):
    def __init__(self, ins, outs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(ins, outs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outs, outs, 3, 1, 1, bias=False)
        self.short = nn.Conv2d(ins, outs, 1, stride, bias=False) if stride != 1 or ins != outs else None

    def forward(self, x):
        y = F.relu(F.instance_norm(self.conv1(x)))
        short = x if self.short is None else F.instance_norm(self.short(x))
        return F.relu(F.instance_norm(self.conv2(y)) + short)


class Classifier(nn.Module):
    def __init__(self, before):
        super().__init__()
        own = FIRST["classifier"] if before == 0 else GROWTH
        every = FIRST["classifier"] + GROWTH * before
        self.layer0 = nn.Conv2d(3, own, 3, padding=1, bias=False)
        self.layers = nn.ModuleList(Block(every << max(0, i - 1), own << i, 1 if i == 0 else 2) for i in range(4))
        self.linear = nn.Linear(8 * every, CLASSES)

    def forward(self, x, sides):
        joined, h = [], F.relu(F.instance_norm(self.layer0(x)))
        for i in range(5):
            if i == 4:
                h = h.mean((2, 3))
            h = h if sides[i] is None else torch.cat([sides[i], h], 1)
            joined.append(h.detach())
            if i < 4:
                h = self.layers[i](h)
        return F.log_softmax(self.linear(h), 1), joined


def vae_step(size, experts, channels_last):
    encoders, decoder = [Encoder(k, size) for k in range(experts)], Decoder(size)
    x = torch.rand(BATCH, 3, size, size)
    if channels_last:
        x = x.contiguous(memory_format=torch.channels_last)
        for m in (*encoders, decoder):
            m.to(memory_format=torch.channels_last)
    parameters = [*encoders[-1].parameters(), *decoder.parameters()]
    optimiser = torch.optim.SGD(parameters, lr=0.001, weight_decay=2e-5)

    def step():
        optimiser.zero_grad()
        sides = [None] * 3
        with torch.no_grad():
            for e in encoders[:-1]:
                sides = e(x, sides)[2]
        mean, log_variance, _ = encoders[-1](x, sides)
        eps = torch.randn(DRAWS, BATCH, LATENT)
        z = mean + torch.exp(0.5 * log_variance) * eps
        decoded = decoder(z.view(-1, LATENT), channels_last).view(DRAWS, BATCH, 3, size, size)
        nll = (((x - decoded) ** 2 + 0.001) / (2 + 1e-8) + 0.5 * math.log(2 * math.pi)).sum((2, 3, 4)).mean(0)
        nll = nll + 0.5 * (-log_variance + log_variance.exp() + mean ** 2 - 1).sum(1)
        nll.mean().backward()
        optimiser.step()

    return step


def classifier_step(size, experts, channels_last):
    nets = [Classifier(k) for k in range(experts)]
    x, y = torch.rand(BATCH, 3, size, size), torch.randint(CLASSES, (BATCH,))
    if channels_last:
        x = x.contiguous(memory_format=torch.channels_last)
        for m in nets:
            m.to(memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(nets[-1].parameters(), lr=0.001, weight_decay=2e-5)

    def step():
        optimiser.zero_grad()
        sides = [None] * 5
        with torch.no_grad():
            for n in nets[:-1]:
                sides = n(x, sides)[1]
        F.nll_loss(nets[-1](x, sides)[0], y).backward()
        optimiser.step()

    return step


STEPS = {"sleep-vae": vae_step, "sleep-classifier": classifier_step}


def run_torch(step, seconds):
    """Milliseconds of a step, the median of as many as fit."""
    times, end = [], time.perf_counter() + seconds
    step()
    while time.perf_counter() < end or len(times) < 3:
        begin = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def run_ocl(binary, name, size, experts, threads, seconds):
    """Milliseconds of a step, the mean of as many as fit, and the share of the peak in percent."""
    words = [binary, "-test.run", "^$", "-test.bench", f"^BenchmarkExperts$/^{name}$/^{size}$/^expert{experts}$", "-sides", str(size),
             "-test.cpu", str(threads), "-test.benchtime", f"{seconds}s"]
    out = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in out.splitlines():
        if m := LINE.match(line):
            return float(m[1]) / 1e6, float(m[2])
    raise SystemExit(f"compare_cndpm: {' '.join(words)} printed no time:\n{out}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--experts", type=lambda s: [int(x) for x in s.split(",")], default=[1, 10], help="1, 10 or both")
    parser.add_argument("--steps", type=lambda s: s.split(","), default=list(STEPS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3, help="of each program in a round")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--modes", type=lambda s: s.split(","), default=["eager", "channels_last"])
    parser.add_argument("--json", help="also write the rows to this file")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, "bench.test")
        subprocess.run(["go", "test", "-c", "-o", binary, "."], check=True, cwd=os.path.dirname(os.path.abspath(__file__)))
        for name in args.steps:
            for experts in args.experts:
                torch.manual_seed(1)
                steps = {m: STEPS[name](args.size, experts, m == "channels_last") for m in args.modes}
                ours, shares, theirs = [], [], {m: [] for m in args.modes}
                for number in range(args.rounds):
                    print(f"{name}, expert {experts}: round {number + 1} of {args.rounds}", file=sys.stderr)
                    ms, share = run_ocl(binary, name, args.size, experts, args.threads, args.seconds)
                    ours.append(ms)
                    shares.append(share)
                    for m in args.modes:
                        theirs[m].append(run_torch(steps[m], args.seconds))
                ratios = [min(theirs[m][i] for m in args.modes) / ours[i] for i in range(args.rounds)]
                rows.append({"step": name, "size": args.size, "expert": experts, "threads": args.threads, "rounds": args.rounds,
                             "torch": torch.__version__, "ocl_ms": statistics.median(ours), "peak_percent": statistics.median(shares),
                             "torch_ms": {m: statistics.median(theirs[m]) for m in args.modes},
                             "ratio": statistics.median(ratios), "ratio_range": [min(ratios), max(ratios)]})
    print(f"PyTorch {torch.__version__}, {args.threads} threads, {args.size}x{args.size} pixels, medians of {args.rounds} rounds\n")
    print("| step | expert | ocl, ms | of peak | " + " | ".join(f"PyTorch {m}, ms" for m in args.modes) + " | faster PyTorch / ocl |")
    print("|---|---" + "|---:" * (len(args.modes) + 3) + "|")
    for r in rows:
        print(f"| {r['step']} | {r['expert']} | {r['ocl_ms']:.1f} | {r['peak_percent']:.0f} % | "
              + " | ".join(f"{r['torch_ms'][m]:.1f}" for m in args.modes)
              + f" | {r['ratio']:.2f} ({r['ratio_range'][0]:.2f} to {r['ratio_range'][1]:.2f}) |")
    if args.json:
        with open(args.json, "w") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
