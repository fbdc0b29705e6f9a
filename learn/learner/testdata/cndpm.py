#!/usr/bin/env python3
"""Makes cndpm.json for learn/learner/cndpm_golden_test.go: two sleeps and ten wake steps of CN-DPM in PyTorch, from its description.

usage: cndpm.py > cndpm.json        needs `pip install torch` (1.13 was used, CPU)

Four batches are stored, and each two of them make an expert: ten steps of its autoencoder and ten of its classifier. Then both
experts wake for ten batches, some samples of which are stored. Images, initial parameters, codes and the samples of a sleep are
functions of an index (u01), so the file holds results only. All runs in float64, which is the reference, and in float32 in
two ways that differ only in rounding; a tolerance is C times the largest distance of a float32 run from the reference. All runs
must send the same samples to the memory, and the script says by what margin.
"""
import json
import math
import sys

import torch
import torch.nn.functional as F

C = 6.0
M64 = (1 << 64) - 1
SIDE, CLASSES, BATCH, CAPACITY = 12, 6, 5, 10
FEATURES, GROWTH, LATENT, DRAWS = 5, 2, 4, 2  # of autoencoders
WIDTH, WIDEN = 4, 2  # of classifiers
VAE_STEPS, NET_STEPS, SLEEP_BATCH = 10, 10, 5
LR, RATE, L2, CLIP, WAKE, CHILL = 0.01, 0.5, 1e-3, 0.5, 0.2, 0.5
FIRST = 50  # number of the first sample: none of its images puts a ReLU of a step where rounding switches it
LOG_ALPHA = float(sys.argv[1]) if len(sys.argv) > 1 else 2.8
WAKES = 10


def mix(z):
    """splitmix64's output for state z."""
    z = (z + 0x9E3779B97F4A7C15) & M64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
    return z ^ (z >> 31)


def u01(key, i):
    """Number i of stream key, in [0,1)."""
    return (mix(key << 32 | i) >> 40) / 2.0**24


def image(sample, label):
    """The pattern of a label and the noise of a sample."""
    v = []
    for i in range(3 * SIDE * SIDE):
        p, y, x = i // (SIDE * SIDE), i // SIDE % SIDE, i % SIDE
        v.append(round(255 * (0.75 * u01(3000 + label, (p * 4 + y * 4 // SIDE) * 4 + x * 4 // SIDE) + 0.25 * u01(1000 + sample, i))) / 255)
    return v


def label(step, i):
    """Labels 0 to 2 in the first two batches, 3 to 5 in the next two, 0 to 5 afterwards."""
    return int(u01(2000, step * BATCH + i) * 3) + (3 if step in (2, 3) else 0) if step < 4 else int(u01(2000, step * BATCH + i) * 6)


class Chance:
    """What is drawn, in the order of the draws."""

    def __init__(self):
        self.normal = self.slot = 0

    def normals(self, n, dtype):
        """Codes [n,DRAWS,LATENT] of mean 0 and variance 1."""
        v = []
        for _ in range(n * DRAWS * LATENT):
            i, self.normal = self.normal, self.normal + 1
            v.append(2 * (u01(7000, 3 * i) + u01(7000, 3 * i + 1) + u01(7000, 3 * i + 2) - 1.5))
        return torch.tensor(v, dtype=dtype).reshape(n, DRAWS, LATENT)

    def slots(self, n):
        v = []
        for _ in range(SLEEP_BATCH):
            v.append(int(u01(8000, self.slot) * n))
            self.slot += 1
        return v


class Parameters:
    """Named tensors, drawn in the order in which they are asked for, U(-1/sqrt(fan in), 1/sqrt(fan in))."""

    def __init__(self, expert, dtype):
        self.expert, self.dtype, self.all = expert, dtype, {}

    def new(self, name, shape, fan):
        stream = 5000 + 100 * self.expert + len(self.all)
        n = math.prod(shape)
        v = torch.tensor([(2 * u01(stream, i) - 1) / math.sqrt(fan) for i in range(n)], dtype=torch.float32)  # as the engine holds them
        self.all[name] = v.to(self.dtype).reshape(shape).requires_grad_()

    def __getitem__(self, name):
        return self.all[name]


class Expert:
    def __init__(self, number, before, dtype):
        """number is 0 for the placeholder; before are the experts whose features it reads."""
        self.before = before
        n = len(before)
        nf, cat = (GROWTH if n else FEATURES), FEATURES + GROWTH * n
        p = self.p = Parameters(number, dtype)
        small = (SIDE // 4) ** 2
        p.new("enc1.weight", (nf, 3, 3, 3), 27), p.new("enc1.bias", (nf,), 27)
        p.new("enc2.weight", (2 * nf, cat, 3, 3), 9 * cat), p.new("enc2.bias", (2 * nf,), 9 * cat)
        p.new("enc3.weight", (4 * nf, small * 2 * cat), small * 2 * cat), p.new("enc3.bias", (4 * nf,), small * 2 * cat)
        p.new("latent.weight", (2 * LATENT, 4 * cat), 4 * cat), p.new("latent.bias", (2 * LATENT,), 4 * cat)
        p.new("dec1.weight", (128, LATENT), LATENT), p.new("dec1.bias", (128,), LATENT)
        p.new("dec2.weight", (small * 64, 128), 128), p.new("dec2.bias", (small * 64,), 128)
        p.new("dec3.weight", (64, 32, 4, 4), 32 * 16), p.new("dec3.bias", (32,), 32 * 16)
        p.new("dec4.weight", (32, 3, 4, 4), 3 * 16), p.new("dec4.bias", (3,), 3 * 16)
        self.vae = list(p.all)
        nf, cat = (WIDEN if n else WIDTH), WIDTH + WIDEN * n
        p.new("layer0.weight", (nf, 3, 3, 3), 27)
        width = cat
        for stage in range(4):
            out = nf << stage
            name = f"layer{stage + 1}.0"
            p.new(f"{name}.conv1.weight", (out, width, 3, 3), 9 * width)
            p.new(f"{name}.conv2.weight", (out, out, 3, 3), 9 * out)
            if stage > 0 or width != out:
                p.new(f"{name}.shortcut.weight", (out, width, 1, 1), width)
            width = cat << stage
        p.new("linear.weight", (CLASSES, cat << 3), cat << 3), p.new("linear.bias", (CLASSES,), cat << 3)
        self.net = [name for name in p.all if name not in self.vae]

    # The features of an expert, its own behind those before it, which get no gradient.
    def joined(self, maps, key, own):
        maps[key] = own if not self.before else torch.cat([self.before[-1].last[key].detach(), own], 1)
        return maps[key]

    def encode(self, x):
        maps, p = {}, self.p
        for e in self.before[-1:]:
            e.encode(x)
        h = self.joined(maps, "h1", F.relu(F.max_pool2d(F.conv2d(x, p["enc1.weight"], p["enc1.bias"], padding=1), 2)))
        h = F.relu(F.max_pool2d(F.conv2d(h, p["enc2.weight"], p["enc2.bias"], padding=1), 2))
        h = self.joined(maps, "h2", h.flatten(1))
        h = self.joined(maps, "h3", F.relu(F.linear(h, p["enc3.weight"], p["enc3.bias"])))
        self.last = maps
        h = F.linear(h, p["latent.weight"], p["latent.bias"])
        return h[:, :LATENT], h[:, LATENT:]

    def nll(self, x, eps):
        """The negative lower bound of each image."""
        mean, logvar = self.encode(x)
        p, total = self.p, 0
        for d in range(DRAWS):
            z = mean + torch.exp(0.5 * logvar) * eps[:, d]
            h = F.relu(F.linear(z, p["dec1.weight"], p["dec1.bias"]))
            h = F.relu(F.linear(h, p["dec2.weight"], p["dec2.bias"])).reshape(-1, 64, SIDE // 4, SIDE // 4)
            h = F.relu(F.conv_transpose2d(h, p["dec3.weight"], p["dec3.bias"], stride=2, padding=1))
            y = torch.sigmoid(F.conv_transpose2d(h, p["dec4.weight"], p["dec4.bias"], stride=2, padding=1))
            total = total + (((x - y) ** 2 + 0.001) / (2 + 1e-8) + 0.5 * math.log(2 * math.pi)).flatten(1).sum(1)
        return total / DRAWS + 0.5 * (-logvar + torch.exp(logvar) + mean**2 - 1).sum(1)

    def classify(self, x):
        maps, p = {}, self.p
        for e in self.before[-1:]:
            e.classify(x)
        norm = lambda v: F.instance_norm(v, eps=1e-5)
        h = F.relu(norm(F.conv2d(x, p["layer0.weight"], padding=1)))
        for stage in range(4):
            h = self.joined(maps, f"c{stage}", h)
            name, stride = f"layer{stage + 1}.0", 1 if stage == 0 else 2
            y = F.relu(norm(F.conv2d(h, p[f"{name}.conv1.weight"], padding=1, stride=stride)))
            y = norm(F.conv2d(y, p[f"{name}.conv2.weight"], padding=1))
            short = h
            if f"{name}.shortcut.weight" in p.all:
                short = norm(F.conv2d(h, p[f"{name}.shortcut.weight"], stride=stride))
            h = F.relu(y + short)
        h = self.joined(maps, "pool", h.mean((2, 3)))
        self.last = maps
        return F.log_softmax(F.linear(h, p["linear.weight"], p["linear.bias"]), 1)

    def d_nll(self, x, y):
        """The value is that of the chilled classifier, the gradient that of the other."""
        logp = self.classify(x)
        plain = F.nll_loss(logp, y, reduction="none")
        cold = F.nll_loss(F.log_softmax(logp / CHILL, 1), y, reduction="none")
        return plain - plain.detach() + cold.detach()

    def step(self, names, lr, gradients):
        with torch.no_grad():
            for name, g in zip(names, gradients):
                self.p[name].sub_(lr * g.clamp(-CLIP, CLIP))

    def state(self):
        return [v.detach().flatten()[:: max(1, v.numel() // 16)].tolist() for v in self.p.all.values()]


def run(dtype):
    chance, out = Chance(), {"sleeps": [], "states": [], "wakes": []}
    blank, experts, counts = Expert(0, [], dtype), [], []
    sample = lambda step: (torch.tensor([image(FIRST + step * BATCH + i, label(step, i)) for i in range(BATCH)], dtype=torch.float32).to(dtype).reshape(BATCH, 3, SIDE, SIDE),
                           torch.tensor([label(step, i) for i in range(BATCH)]))
    for part in range(2):
        xs, ys = zip(*[sample(2 * part + i) for i in range(2)])
        x, y = torch.cat(xs), torch.cat(ys)
        e = Expert(part + 1, list(experts), dtype)
        losses = []
        for kind, steps in ((e.vae, VAE_STEPS), (e.net, NET_STEPS)):
            for _ in range(steps):
                at = chance.slots(len(x))
                own = [e.p[name] for name in kind]
                if kind is e.vae:
                    loss = e.nll(x[at], chance.normals(SLEEP_BATCH, dtype)).mean()
                else:
                    loss = e.d_nll(x[at], y[at]).mean()
                losses.append(loss.item())
                loss = loss + L2 * sum((v**2).sum() for v in own)
                e.step(kind, LR * (1 if kind is e.vae else RATE), torch.autograd.grad(loss, own))
        experts.append(e)
        counts.append(math.log(len(x) + 1))
        out["sleeps"].append(losses)
    out["states"].append([e.state() for e in experts])
    out["margin"] = 1e9
    for step in range(4, 4 + WAKES):
        x, y = sample(step)
        nll = [e.nll(x, chance.normals(BATCH, dtype)) for e in [blank] + experts]
        cold = [e.d_nll(x, y) for e in [blank] + experts]
        both = torch.stack([a + b for a, b in zip(nll, cold)], 1)
        joint = both.detach() - torch.tensor([LOG_ALPHA] + counts, dtype=dtype)
        stored = joint.argmin(1) == 0
        out["margin"] = min(out["margin"], (joint[:, 0] - joint[:, 1:].min(1).values).abs().min().item())
        e = torch.exp(joint.min(1, keepdim=True).values - joint)
        e[:, 0] = 0
        r = e / (e.sum(1, keepdim=True) + 1e-7)
        counts = torch.logaddexp(torch.tensor(counts, dtype=dtype), torch.log(r[:, 1:].sum(0))).tolist()
        loss = (both * r)[~stored].sum()
        if loss.requires_grad and (~stored).any():
            for k, ex in enumerate(experts):
                for kind, rate in ((ex.vae, 1), (ex.net, RATE)):
                    g = torch.autograd.grad(loss, [ex.p[n] for n in kind], retain_graph=True)
                    ex.pending = getattr(ex, "pending", []) + [(kind, rate, g)]
            for ex in experts:
                for kind, rate, g in ex.pending:
                    ex.step(kind, WAKE * LR * rate, g)
                ex.pending = []
        prior = torch.tensor(counts, dtype=dtype)
        out["wakes"].append({
            "nll": torch.stack(nll, 1).tolist(), "chilled": torch.stack(cold, 1).tolist(), "stored": stored.int().tolist(),
            "share": r[:, 1:].tolist(), "counts": list(counts), "loss": loss.item() / max(1, int((~stored).sum())),
        })
    out["states"].append([e.state() for e in experts])
    return out


def flat(v):
    if isinstance(v, (int, float)):
        return [float(v)]
    return [x for part in v for x in flat(part)]


torch.set_num_threads(1)
ref = run(torch.float64)
others = []
for dnn in (True, False):
    torch.backends.mkldnn.enabled = dnn
    others.append(run(torch.float32))


def golden(of):
    values = flat(of(ref))
    far = max(max(abs(a - b) for a, b in zip(values, flat(of(o)))) for o in others)
    return {"Tol": float("%.2g" % (C * far + 1e-12)), "Values": [float("%.9g" % v) for v in values]}


print("stored", [w["stored"] for w in ref["wakes"]], "margin", ref["margin"], [o["margin"] for o in others], file=sys.stderr)
for o in others:
    assert [w["stored"] for w in o["wakes"]] == [w["stored"] for w in ref["wakes"]]
print("share", [[round(x, 3) for x in flat(w["share"])] for w in ref["wakes"]], file=sys.stderr)
print("joint", [[round(a + b, 2) for a, b in zip(flat(w["nll"]), flat(w["chilled"]))] for w in ref["wakes"]], file=sys.stderr)
assert sum(flat([w["stored"] for w in ref["wakes"]])) in range(1, CAPACITY), "want some samples stored, and no third expert"
json.dump({
    "LogAlpha": LOG_ALPHA,
    "Stored": [w["stored"] for w in ref["wakes"]],
    "Sleeps": golden(lambda o: o["sleeps"]),
    "Asleep": [golden(lambda o: o["states"][0][k]) for k in range(2)],
    "NLL": golden(lambda o: [w["nll"] for w in o["wakes"]]),
    "Chilled": golden(lambda o: [w["chilled"] for w in o["wakes"]]),
    "Share": golden(lambda o: [w["share"] for w in o["wakes"]]),
    "Counts": golden(lambda o: [w["counts"] for w in o["wakes"]]),
    "Loss": golden(lambda o: [w["loss"] for w in o["wakes"]]),
    "Awake": [golden(lambda o: o["states"][1][k]) for k in range(2)],
}, sys.stdout, separators=(",", ":"))
print()
