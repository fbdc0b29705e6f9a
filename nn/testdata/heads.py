#!/usr/bin/env python3
"""Makes heads.json for nn/heads_golden_test.go: the cosine head of LUCIR (Hou et al. 2019) and the projection head of SCR
(Mai et al. 2021), each behind a hidden layer, through four SGD steps in PyTorch.

usage: heads.py [OUT=.]        needs torch (Debian's 1.13 was used, CPU)

Steps run in float64: forward, the loss mean_b Σ_o (w(o)·z + z²/2), w(o) = sin(1.3·o + 0.2) over all B·Outputs elements o,
backward, then θ ← θ − 0.1·∂L/∂θ. Inputs and first parameters are functions of their index (README.md): parameter
number t has v(t, i)/sqrt(in), but sigma is 1.5; images of step s are u(1000+s, i). The file holds the outputs and the
gradients of each step, the loss, and the last parameters, all in PyTorch's order.
"""
import json
import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter

from golden import u01

CHANNELS, HEIGHT, WIDTH, HIDDEN, BATCH, STEPS, LR = 2, 3, 5, 13, 4, 4, 0.1


class CosineLinear(nn.Module):
    """As in LUCIR's modified_linear.py."""

    def __init__(self, features, classes):
        super().__init__()
        self.weight = Parameter(torch.empty(classes, features))
        self.sigma = Parameter(torch.empty(1))

    def forward(self, x):
        return self.sigma * F.linear(F.normalize(x, p=2, dim=1), F.normalize(self.weight, p=2, dim=1))


class Net(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.hidden = nn.ModuleList([nn.Linear(CHANNELS * HEIGHT * WIDTH, HIDDEN)])
        if kind == "cosine":
            self.linear = CosineLinear(HIDDEN, 6)
        else:  # as in SCR's SupConResNet with head="mlp"
            self.head = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 9))

    def forward(self, x):
        f = F.relu(self.hidden[0](x.flatten(1)))
        return self.linear(f) if hasattr(self, "linear") else self.head(f)


def start(net):
    fan = 1
    for t, (name, p) in enumerate(net.named_parameters()):
        if p.dim() == 2:
            fan = p.shape[1]
        value = (2 * u01(t, p.numel()) - 1) / math.sqrt(fan)
        p.data = torch.full((1,), 1.5, dtype=torch.float64) if name.endswith("sigma") else value.to(torch.float32).double().reshape(p.shape)


def case(kind):
    net = Net(kind).double()
    start(net)
    steps = []
    for s in range(STEPS):
        x = u01(1000 + s, BATCH * CHANNELS * HEIGHT * WIDTH).reshape(BATCH, CHANNELS, HEIGHT, WIDTH)
        z = net(x)
        w = torch.sin(1.3 * torch.arange(z.numel(), dtype=torch.float64) + 0.2).reshape(z.shape)
        loss = (w * z + z**2 / 2).sum() / BATCH
        net.zero_grad()
        loss.backward()
        steps.append(dict(loss=loss.item(), outputs=z.flatten().tolist(), gradients=[dict(name=n, values=p.grad.flatten().tolist()) for n, p in net.named_parameters()]))
        with torch.no_grad():
            for p in net.parameters():
                p -= LR * p.grad
    return dict(head=kind, steps=steps, last=[dict(name=n, values=p.flatten().tolist()) for n, p in net.named_parameters()])


out = sys.argv[1] if len(sys.argv) > 1 else "."
with open(f"{out}/heads.json", "w") as f:
    text = json.dumps([case("cosine"), case("projection")], indent=None)
    f.write(json.dumps(json.loads(text, parse_float=lambda v: float(f"{float(v):.10g}")), separators=(",", ":")).replace("],", "],\n") + "\n")
