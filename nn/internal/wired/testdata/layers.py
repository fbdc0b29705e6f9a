#!/usr/bin/env python3
"""Makes layers.json for nn/internal/wired/golden_test.go: the layers of a Wiring in PyTorch, at 32, 84 and 128 pixels.

usage: layers.py [OUT=.]        needs `pip install torch` (2.15 was used, CPU)

Each case is a layer or two, computed in float64, which is the reference, and in float32. The objective is
Σ w·y with w(i) = sin(1.3·i + 0.2) over the outputs in PyTorch's order. A quantity holds samples of an array: the
elements 0, stride, 2·stride, …, the sum, and how far any element may be from the reference: 6 times the largest
distance of any element of the float32 run, plus half a unit in the last place. The sum may be √size times as far: rounding
errors are not independent, because the values of a channel share a mean. Inputs and parameters are functions of their index (see
nn/testdata/README.md): parameter number t has v(t, i)/sqrt(fan) with fan = in · taps for all of them; inputs are v(100+k, i).
"""
import json
import math
import sys

import torch
import torch.nn.functional as F

from golden import u01

FACTOR, SAMPLES = 6.0, 12


def v(key, *shape):
    return (2 * u01(key, math.prod(shape)) - 1).reshape(*shape)


def weights(number, *shape, fan):
    return v(number, *shape) / math.sqrt(fan)


def transposed(s):
    w, b = weights(0, 36, 9, 4, 4, fan=36 * 16), weights(1, 9, fan=36 * 16)
    return [v(100, 2, 36, s // 4, s // 4)], [w, b], lambda x, p: [F.conv_transpose2d(x[0], p[0], p[1], stride=2, padding=1).relu()]


def pool(s):
    w, b = weights(0, 7, 3, 3, 3, fan=27), weights(1, 7, fan=27)
    return [v(100, 2, 3, s, s)], [w, b], lambda x, p: [F.max_pool2d(F.conv2d(x[0], p[0], p[1], padding=1), 2).relu()]


def norm(s):
    w1, w2 = weights(0, 5, 4, 3, 3, fan=36), weights(1, 5, 4, 1, 1, fan=4)
    return [v(100, 2, 4, s, s)], [w1, w2], lambda x, p: [
        (F.instance_norm(F.conv2d(x[0], p[0], stride=2, padding=1)) + F.instance_norm(F.conv2d(x[0], p[1], stride=2))).relu()]


def likelihood(s):
    """The end of a decoder: transposed convolution, sigmoid, and the nll of three rows for two targets."""
    w, b = weights(0, 8, 3, 4, 4, fan=8), weights(1, 3, fan=8)
    target = (v(102, 2, 3, s, s) + 1) / 2

    def run(x, p):
        y = torch.sigmoid(F.conv_transpose2d(x[0], p[0], p[1], stride=2, padding=1))
        t = target.to(y.dtype)[[0, 1, 1]]
        return [(((t - y) ** 2 + 0.001) / (2 + 1e-8) + 0.5 * math.log(2 * math.pi)).sum((1, 2, 3)), y.detach()]

    return [v(100, 3, 8, s // 2, s // 2)], [w, b], run


def latent(s):
    """Draws from codes of s values, and the divergence: outputs z and kl."""
    eps = 2 * v(102, 3, s)

    def run(x, p):
        mean, lv = x[0][:, :s], 4 * x[0][:, s:]
        return [mean + torch.exp(0.5 * lv) * eps.to(mean.dtype), 0.5 * (-lv + lv.exp() + mean**2 - 1).sum(1)]

    return [v(100, 3, 2 * s)], [], run


def softmax(s):
    return [30 * v(100, 3, s)], [], lambda x, p: [F.log_softmax(x[0], 1)]


def quantities(case, dtype):
    inputs, params, run = case
    x = [t.to(dtype).requires_grad_() for t in inputs]
    p = [t.to(dtype).requires_grad_() for t in params]
    outs = run(x, p)
    loss = sum((torch.sin(1.3 * torch.arange(o.numel(), dtype=torch.float64) + 0.2).to(dtype) * o.flatten()).sum() for o in outs if o.requires_grad)
    loss.backward()
    named = [(f"out{i}", o) for i, o in enumerate(outs)] + [(f"input_grad{i}", t.grad) for i, t in enumerate(x)] + [(f"grad{i}", t.grad) for i, t in enumerate(p)]
    return [(n, t.detach().double().flatten()) for n, t in named]


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else "."
    torch.set_num_threads(2)
    cases = []
    for make in (transposed, pool, norm, likelihood, latent, softmax):
        for s in (32, 84, 128):
            reference, single = quantities(make(s), torch.float64), quantities(make(s), torch.float32)
            listed = []
            for (name, a), (_, b) in zip(reference, single):
                distance = (a - b).abs().max().item()
                stride = max(1, a.numel() // SAMPLES)
                listed.append(dict(
                    name=name, size=a.numel(), stride=stride, values=[float(f"{x:.9g}") for x in a[::stride].tolist()],
                    tol=FACTOR * distance + 6e-8 * a.abs().max().item(), sum=a.sum().item()))
            cases.append(dict(layer=make.__name__, size=s, quantities=listed))
    with open(f"{out}/layers.json", "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")


if __name__ == "__main__":
    main()
