#!/usr/bin/env python3
"""Makes the golden files of nn/golden_test.go: ten SGD steps of the survey's reduced ResNet-18 in PyTorch.

usage: golden.py [OUT=.] [CASES=32,84,128]        needs `pip install torch` (2.15 was used, CPU); README.md has the format

Everything runs in float64, which is the reference, and several times in float32, in ways that differ only in rounding:
contiguous, channels-last, without oneDNN, and with the batch reversed. A quantity's tolerance is C times the largest
distance of any float32 run from the float64 run. Nothing is drawn from torch's generator: images, labels and initial
parameters are functions of their index (u01 below), so the files need not hold them.
"""
import json
import math
import struct
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

C = 6.0  # tolerance over the worst of the float32 runs
STEPS, DECAY, NF, SAMPLES = 10, 0.01, 20, 40
CASES = {32: dict(batch=10, classes=100, lr=0.1), 84: dict(batch=2, classes=100, lr=0.02), 128: dict(batch=2, classes=50, lr=0.01)}
MARGIN = 8.0  # no activation of step 1 is closer to ReLU's kink than this times its layer's largest float32 error
M64 = (1 << 64) - 1


def mix(z):
    """splitmix64's output for state z."""
    z = (z + 0x9E3779B97F4A7C15) & M64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
    return z ^ (z >> 31)


def u01(key, n):
    """n numbers in [0,1) of stream key: the upper 24 bits, exact in float32."""
    return torch.tensor([(mix(key << 32 | i) >> 40) / 2.0**24 for i in range(n)], dtype=torch.float64)


class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.shortcut = nn.Sequential()
        if stride != 1 or i != o:
            self.shortcut = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        self.argument = self.bn2(self.conv2(y)) + self.shortcut(x)
        return F.relu(self.argument)


class Net(nn.Module):
    def __init__(self, size, classes):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, NF, 3, 1, 1, bias=False), nn.BatchNorm2d(NF)
        i, side = NF, size
        for k in range(4):
            o, stride = NF << k, 1 if k == 0 else 2
            setattr(self, f"layer{k+1}", nn.Sequential(Block(i, o, stride), Block(o, o, 1)))
            i, side = o, side if k == 0 else (side + 1) // 2
        self.linear = nn.Linear(8 * NF * (side // 4) ** 2, classes)

    def features(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return F.avg_pool2d(x, 4).flatten(1)


def bias(t, c, attempt, base):
    """The bias of channel c of a batch norm, number t of state_dict; attempt is 0 but where a kink is near."""
    return float(torch.tensor(base + 0.1 * (2 * ((mix(t << 32 | attempt << 16 | c) >> 40) / 2.0**24) - 1)).float())


def initial(net):
    """Parameters in the order of state_dict, number t drawn from stream t; one rounding to float32 each.

    PyTorch's own γ = 1, β = 0 make ten steps chaotic (float32 runs part company after three): γ = 0.3 and β = 0.5, with
    0 where a shortcut is added, keep one activation in twenty negative, and the rounding errors small.
    """
    out = {}
    for t, (name, p) in enumerate(net.named_parameters()):
        v = 2 * u01(t, p.numel()) - 1
        if name == "linear.weight":
            v = 0.3 * v / math.sqrt(p[0].numel())
        elif p.dim() > 1:
            v = v / math.sqrt(p[0].numel())
        elif name == "linear.bias":
            v = 0.1 * v
        elif name.endswith("weight"):
            v = 0.3 + 0.03 * v
        else:
            v = torch.tensor([bias(t, c, 0, base(name)) for c in range(p.numel())])
        out[name] = v.float().double().view(p.shape)
    return out


def base(name):
    return 0.0 if name.endswith("bn2.bias") else 0.5


def kinks(net):
    """ReLU's arguments by the name of the batch-norm bias that shifts them, in the order of the forward pass."""
    seen = {}
    net.bn1.register_forward_hook(lambda m, i, o: seen.__setitem__("bn1.bias", o.detach().double()))
    for name, m in net.named_modules():
        if isinstance(m, Block):
            m.bn1.register_forward_hook(lambda m, i, o, n=name: seen.__setitem__(n + ".bn1.bias", o.detach().double()))
            m.register_forward_hook(lambda m, i, o, n=name: seen.__setitem__(n + ".bn2.bias", m.argument.detach().double()))
    return seen


def clear(case, size, init, batch):
    """Moves the biases of channels with an activation of step 1 near 0, where rounding could switch ReLU's gradient."""
    def forward(dtype, fmt=torch.contiguous_format):
        net = Net(size, case["classes"])
        net.load_state_dict({**net.state_dict(), **init})
        net, seen = net.to(dtype).to(memory_format=fmt), kinks(net)
        with torch.no_grad():
            net.features(batch[0].to(dtype).contiguous(memory_format=fmt))
        return seen
    number = {k: t for t, k in enumerate(init)}
    ref = forward(torch.float64)
    runs = [forward(torch.float32), forward(torch.float32, torch.channels_last)]
    margin = {k: MARGIN * max((r[k] - ref[k]).abs().max().item() for r in runs) for k in ref}
    moved = 0
    for k in ref:
        now, attempts = forward(torch.float64)[k], {}
        for c in range(now.shape[1]):
            x, a = now[:, c], 0
            while (x + bias(number[k], c, a, base(k)) - init[k][c].item()).abs().min().item() < margin[k]:
                a += 1
            if a:
                init[k][c] = bias(number[k], c, a, base(k))
                moved += 1
    now = forward(torch.float64)
    assert all(now[k].abs().min().item() > 0.9 * margin[k] for k in now)
    return moved


def data(case, size, t):
    """Images and labels of step t (1, 2, …): fine grain of stream 1000+t, squares of 8 of 3000+t, labels of 2000+t."""
    b, k, n = case["batch"], case["classes"], -(-size // 8)
    fine = u01(1000 + t, b * 3 * size * size).view(b, 3, size, size)
    squares = u01(3000 + t, b * 3 * n * n).view(b, 3, n, n).repeat_interleave(8, 2).repeat_interleave(8, 3)
    x = (0.75 * squares[:, :, :size, :size] + 0.25 * fine).float().double()
    y = torch.tensor([mix((2000 + t) << 32 | i) % k for i in range(b)])
    return x, y


def run(case, size, init, batches, dtype=torch.float64, fmt=torch.contiguous_format, flip=False, fault=""):
    """One training; returns {quantity: float64 tensor}. fault is one wrong line, to see that the tolerances notice."""
    net = Net(size, case["classes"])
    net.load_state_dict({**net.state_dict(), **init})
    net = net.to(dtype).to(memory_format=fmt)
    params = dict(net.named_parameters())
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d) and fault == "eps":
            m.eps = 1.1e-5
        if isinstance(m, nn.BatchNorm2d) and fault == "momentum":
            m.momentum = 0.1003
    order = slice(None) if not flip else torch.arange(case["batch"] - 1, -1, -1)
    keep = lambda v: v.detach().double().contiguous().clone()
    out, losses = {}, []
    for t in range(1, STEPS + 1):
        x, y = (v[order] for v in batches[t])
        x = x.to(dtype).contiguous(memory_format=fmt).requires_grad_(t == 1)
        f = net.features(x)
        logits = net.linear(f)
        loss = F.cross_entropy(logits, y)
        net.zero_grad()
        loss.backward()
        losses.append(loss.item())
        if t == 1:
            for k, v in (("features", f), ("logits", logits), ("input_grad", x.grad)):
                out[k] = keep(v[order])
            for k, p in params.items():
                out["grad/" + k] = keep(p.grad)
        with torch.no_grad():
            for k, p in params.items():
                decay = 0 if fault == "decay" or fault == "decay-matrices" and p.dim() == 1 else DECAY
                p -= case["lr"] * (p.grad + decay * p)
            if fault == "biased":
                n = case["batch"] * size * size
                net.bn1.running_var.mul_((n - 1) / n)
        if t in (1, 2, STEPS):
            for k, v in net.state_dict().items():
                if "num_batches" not in k and (t > 1 or "running" in k):
                    out[f"state{t}/" + k] = keep(v)
    net.eval()
    with torch.no_grad():
        x = batches[STEPS + 1][0].to(dtype).contiguous(memory_format=fmt)
        out["eval_logits"] = keep(net.linear(net.features(x)))
    out["loss"] = torch.tensor(losses, dtype=torch.float64)
    return out


def stride(n):
    """The distance of the stored elements: odd, no multiple of 3 or 5, so that they visit all taps and channels."""
    if n <= SAMPLES:
        return 1
    s = -(-n // SAMPLES)
    while s % 2 == 0 or s % 3 == 0 or s % 5 == 0:
        s += 1
    return s


def make(size, folder):
    case = CASES[size]
    net = Net(size, case["classes"])
    init = initial(net)
    batches = {t: data(case, size, t) for t in range(1, STEPS + 2)}
    moved = clear(case, size, init, batches[1])
    ref = run(case, size, init, batches)
    runs = []
    for onednn in (True, False):
        for kw in (dict(), dict(fmt=torch.channels_last), dict(flip=True), dict(flip=True, fmt=torch.channels_last)):
            with torch.backends.mkldnn.flags(enabled=onednn):
                runs.append(run(case, size, init, batches, torch.float32, **kw))
    for r in [ref, *runs]:
        r.update({"start/" + k: v for k, v in init.items() if k.endswith("bias") and k != "linear.bias"})
    head = {"format": 1, "size": size, "batch": case["batch"], "classes": case["classes"], "nf": NF, "lr": case["lr"],
            "weight_decay": DECAY, "steps": STEPS, "torch": torch.__version__.split("+")[0], "tolerance_factor": C,
            "parameters": [{"name": k, "shape": list(p.shape)} for k, p in net.named_parameters()], "loss": [], "quantities": []}
    worst = 0.0
    for t in range(STEPS):
        worst = max([worst] + [abs((r["loss"] - ref["loss"])[t].item()) for r in runs])
        head["loss"].append({"value": ref["loss"][t].item(), "tol": C * worst})
    blob, tols = [], {}
    for name, v in ref.items():
        if name == "loss":
            continue
        n, s = v.numel(), 1 if name in ("logits", "eval_logits") or name.startswith("start/") else stride(v.numel())
        diffs = [r[name] - v for r in runs]
        part = v.flatten()[::s].float()
        # Errors that are independent add up to rms·√n in the sum; a lucky zero in all runs must not be the tolerance.
        spread = max(d.norm().item() for d in diffs)
        tols[name] = C * max(d.abs().max().item() for d in diffs) + 2.0**-24 * part.abs().max().item()
        head["quantities"].append({
            "name": name, "shape": list(v.shape), "stride": s, "offset": sum(map(len, blob)), "tol": tols[name],
            "sum": v.sum().item(), "sum_tol": C * max([spread] + [abs(d.sum().item()) for d in diffs]),
            "norm": v.norm().item(), "norm_tol": C * max([spread / math.sqrt(n)] + [abs((r[name].norm() - v.norm()).item()) for r in runs])})
        blob.append(part.tolist())
    flat = [f for part in blob for f in part]
    with open(f"{folder}/resnet18-{size}.f32", "wb") as f:
        f.write(struct.pack(f"<{len(flat)}f", *flat))
    for q in head["quantities"]:
        q.update({k: float("%.2e" % q[k]) for k in ("tol", "sum_tol", "norm_tol")}, sum=float("%.12e" % q["sum"]), norm=float("%.12e" % q["norm"]))
    with open(f"{folder}/resnet18-{size}.json", "w") as f:
        rows = lambda k: ",\n  ".join(json.dumps(q, separators=(",", ":")) for q in head[k])
        top = json.dumps({k: v for k, v in head.items() if not isinstance(v, list)})[1:-1]
        f.write("{" + top + "".join(f',\n "{k}": [\n  {rows(k)}]' for k in ("parameters", "loss", "quantities")) + "}\n")
    rel = lambda p: max((tols[k] / ref[k].abs().max().item(), k) for k in tols if k.startswith(p))
    print(f"{size}: {moved} biases moved, {len(flat)} numbers; largest tolerance over the quantity's maximum:")
    for p in ("logits", "input_grad", "grad/", "state1/", "state2/", "state10/", "eval_logits"):
        print("  %-12s %.1e %s" % (p, *rel(p)))
    print("  losses", " ".join(f"{l['value']:.4f}±{l['tol']:.0e}" for l in head["loss"]))
    for fault in ("decay", "decay-matrices", "eps", "momentum", "biased"):
        bad = run(case, size, init, batches, fault=fault)
        seen = [k for k in tols if k in bad and not (bad[k] - ref[k]).abs().max().item() <= tols[k]]
        print(f"  fault {fault}: {len(seen)} of {len(tols)} quantities notice, first {seen[:1]}", flush=True)


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "."
    for size in (sys.argv[2] if len(sys.argv) > 2 else "32,84,128").split(","):
        make(int(size), folder)
