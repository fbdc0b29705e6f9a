#!/usr/bin/env python3
"""Makes the golden files of learn/learner/mir_gss_golden_test.go: twenty steps of MIR and of GSS-Greedy in PyTorch, from the equations.

usage: mir_gss.py [OUT=.] [CASES=…]        needs `pip install torch` (1.13 was used, CPU)

Everything runs in float64, which is the reference, and in float32 in ways that differ only in rounding: with and without
oneDNN, batches in order and reversed (channels-last crashes PyTorch 2.15 at this width). A tolerance is C times the largest distance of a float32 run. All runs must make the same
choices; the script says by what margin, and fails where they do not. Nor may an argument of ReLU in a training pass be so near
to 0 that rounding could switch its gradient: SEEDS meet both, that of MIR by the widest gap of the seeds 1 to 79. Images, labels and initial parameters are functions of
their index (u01), random numbers come from Go's PCG (Source), so the files hold neither.

A file has: the case; for each step the loss (sum of both means), the replayed slots and the sample in each slot after the step
(sample i of step t is t·batch + i); GSS's scores after the last step; every STRIDE-th element of each tensor of the state
after steps 4 and 20, in the order of state_dict without the counters.
"""
import copy
import hashlib
import json
import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

C, STEPS, STRIDE, NF, SIZE, CLASSES = 6.0, 20, 13, 2, 32, 6
BATCH, REPLAY, CAPACITY, LR, DECAY = 5, 4, 12, 0.03, 0.01
KINK, MARGIN = 4e-7, 2e-5  # least distances of ReLU's arguments from 0, and of numbers that decide a choice
SEEDS = {"mir": 29, "mir-statistics-moved": 29, "gss": 2, "gss-subset-sample": 2, "gss-gate-batch": 3}
CASES = {
    "mir": dict(candidates=9),
    "mir-statistics-moved": dict(candidates=9, statistics="moved"),
    "gss": dict(subset_size=3, subset="batch", gate="sample"),
    "gss-subset-sample": dict(subset_size=3, subset="sample", gate="sample"),
    "gss-gate-batch": dict(subset_size=1, subset="batch", gate="batch"),
}
M64, M128 = (1 << 64) - 1, (1 << 128) - 1


def mix(z):
    """splitmix64's output for state z."""
    z = (z + 0x9E3779B97F4A7C15) & M64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
    return z ^ (z >> 31)


def u01(key, n):
    """n numbers in [0,1) of stream key: the upper 24 bits, exact in float32."""
    return torch.tensor([(mix(key << 32 | i) >> 40) / 2.0**24 for i in range(n)], dtype=torch.float64)


class Source:
    """Go's math/rand/v2 on a PCG whose state is the SHA-256 of seed and name, as package rng makes it."""

    def __init__(self, seed, name):
        h = hashlib.sha256(seed.to_bytes(8, "little") + name.encode()).digest()
        self.state = int.from_bytes(h[:8], "little") << 64 | int.from_bytes(h[8:16], "little")

    def uint64(self):
        self.state = (self.state * (2549297995355413924 << 64 | 4865540595714422341) + (6364136223846793005 << 64 | 1442695040888963407)) & M128
        hi, lo = self.state >> 64, self.state & M64
        hi ^= hi >> 32
        hi = hi * 0xDA942042E4DD58B5 & M64
        hi ^= hi >> 48
        return hi * (lo | 1) & M64

    def int_n(self, n):
        if n & (n - 1) == 0:
            return self.uint64() & (n - 1)
        while True:
            product = self.uint64() * n
            if product & M64 >= (1 << 64) % n:
                return product >> 64

    def float64(self):
        return (self.uint64() & (1 << 53) - 1) / 2.0**53

    def sample(self, n, k):
        """Floyd's draw of k of the numbers below n."""
        out = []
        for j in range(n - min(k, n), n):
            i = self.int_n(j + 1)
            out.append(j if i in out else i)
        return out

    def shuffle(self, v):
        for i in range(len(v) - 1, 0, -1):
            j = self.int_n(i + 1)
            v[i], v[j] = v[j], v[i]


assert [Source(1, "memory/update").uint64()] == [0x1CC3468C2C8627A1]
assert (lambda s: [s.int_n(1000), s.int_n(1000)])(Source(1, "network/init")) == [295, 793]


nearest = math.inf  # the argument of ReLU in training mode that came nearest to 0


def relu(x, training):
    global nearest
    if training:
        nearest = min(nearest, x.detach().abs().min().item())
    return F.relu(x)


class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.shortcut = nn.Sequential()
        if stride != 1 or i != o:
            self.shortcut = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        y = self.conv2(relu(self.bn1(self.conv1(x)), self.training))
        return relu(self.bn2(y) + self.shortcut(x), self.training)


class Net(nn.Module):
    """The survey's reduced ResNet-18, two channels wide."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, NF, 3, 1, 1, bias=False), nn.BatchNorm2d(NF)
        i = NF
        for k in range(4):
            o = NF << k
            setattr(self, f"layer{k+1}", nn.Sequential(Block(i, o, 1 if k == 0 else 2), Block(o, o, 1)))
            i = o
        self.linear = nn.Linear(i, CLASSES)

    def forward(self, x):
        x = relu(self.bn1(self.conv1(x)), self.training)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.linear(F.avg_pool2d(x, 4).flatten(1))


def start(net):
    """Initial parameters: number t of state_dict from stream t, rounded to float32. γ = 1 and β = 0 would be chaotic."""
    out = {}
    for t, (name, p) in enumerate(net.named_parameters()):
        v = 2 * u01(t, p.numel()) - 1
        if p.dim() > 1:
            v = v / math.sqrt(p[0].numel())
        elif name == "linear.bias":
            v = 0.1 * v
        elif name.endswith("weight"):
            v = 0.3 + 0.03 * v
        else:
            v = (0.0 if name.endswith("bn2.bias") else 0.5) + 0.1 * v
        out[name] = v.float().double().view(p.shape)
    return out


def batches():
    """Images and labels of each step: an image is a coarse pattern of its class, a coarse one and a fine one of its own."""
    n, out = SIZE // 8, []
    coarse = lambda key, b: u01(key, b * 3 * n * n).view(b, 3, n, n).repeat_interleave(8, 2).repeat_interleave(8, 3)
    pattern = coarse(5000, CLASSES)
    for t in range(STEPS):
        y = torch.tensor([mix((2000 + t) << 32 | i) % CLASSES for i in range(BATCH)])
        fine = u01(1000 + t, BATCH * 3 * SIZE * SIZE).view(BATCH, 3, SIZE, SIZE)
        value = 0.5 * pattern[y] + 0.25 * coarse(3000 + t, BATCH) + 0.25 * fine
        out.append((((255 * value).round() / 255).float().double(), y))  # of 8 bits, as a memory stores them
    return out


class Run:
    """One training of a case in one arithmetic."""

    def __init__(self, case, seed, dtype=torch.float64, flip=False):
        self.case, self.dtype, self.order = case, dtype, -1 if flip else 1
        self.net = Net()
        self.net.load_state_dict({**self.net.state_dict(), **start(self.net)})
        self.net = self.net.to(dtype)
        self.retrieval, self.update = Source(seed, "memory/retrieve"), Source(seed, "memory/update")
        self.memory, self.scores, self.seen = [], [], 0  # samples (x, y, id)
        self.margin, self.replaced = {}, 0
        self.log = []

    def near(self, what, gap):
        self.margin[what] = min(self.margin.get(what, math.inf), abs(gap))

    def stack(self, samples):
        samples = samples[:: self.order]
        return torch.stack([s[0] for s in samples]).to(self.dtype), torch.tensor([s[1] for s in samples])

    def flat(self, samples):
        """The gradient of the mean loss in evaluation mode, as one float64 vector."""
        self.net.eval()
        x, y = self.stack(samples)
        g = torch.autograd.grad(F.cross_entropy(self.net(x), y), list(self.net.parameters()))
        self.net.train()
        return torch.cat([v.flatten() for v in g]).double()

    def retrieve(self):
        if "candidates" not in self.case:
            return self.retrieval.sample(len(self.memory), REPLAY)
        drawn = self.retrieval.sample(len(self.memory), self.case["candidates"])
        moved = self.case.get("statistics") == "moved"
        if len(drawn) <= REPLAY and not (moved and drawn):
            return drawn
        x, y = self.stack([self.memory[i] for i in drawn])
        now, ahead = self.net if moved else copy.deepcopy(self.net), copy.deepcopy(self.net)
        with torch.no_grad():
            for p, q in zip(ahead.parameters(), self.net.parameters()):
                p -= LR * q.grad
            s = F.cross_entropy(ahead(x), y, reduction="none") - F.cross_entropy(now(x), y, reduction="none")
        if len(drawn) <= REPLAY:
            return drawn
        ranked = sorted(zip(drawn, s.tolist()[:: self.order]), key=lambda v: (-v[1], v[0]))
        self.near("rank", ranked[REPLAY - 1][1] - ranked[REPLAY][1])
        for a, b in zip(ranked[: REPLAY - 1], ranked[1:REPLAY]):
            self.near("order", a[1] - b[1])
        return [slot for slot, _ in ranked[:REPLAY]]

    def reservoir(self, incoming):
        for j, s in enumerate(incoming):
            if len(self.memory) < CAPACITY:
                self.memory.append(s)
            else:
                i = self.update.int_n(self.seen + j + 1)
                if i < CAPACITY:
                    self.memory[i] = s

    def draw(self, weights):
        """An index with probability in proportion to its weight."""
        u = self.update.float64() * sum(weights)
        for i, w in enumerate(weights):
            if w > 0:
                last = i
            u -= w
            self.near("slot", u)
            if u < 0:
                return i
        return last

    def closest(self, g, refs):
        return max([F.cosine_similarity(g, r, dim=0, eps=0).item() for r in refs], default=0.1)

    def takes(self, i, keep, c):
        r = self.update.float64()
        self.near("replace", r - keep / (keep + c))
        return r < keep / (keep + c)

    def gss(self, incoming):
        """alg:GSS, with one subset for all of incoming or one for each."""
        refs = None
        for s in incoming:
            if refs is None or self.case["subset"] == "sample":
                refs = [self.flat([self.memory[i]]) for i in self.update.sample(len(self.memory), self.case["subset_size"])]
            c = self.closest(self.flat([s]), refs) + 1
            if len(self.memory) < CAPACITY:
                self.memory.append(s)
                self.scores.append(c)
                continue
            self.near("gate", c - 1)
            if c < 1:
                i = self.draw(self.scores)
                if self.takes(i, self.scores[i], c):
                    self.memory[i], self.scores[i] = s, c
                    self.replaced += 1

    def gss_gate_batch(self, incoming):
        """The variant of the survey's public code (docs/deviations.md, GSS-Greedy)."""
        b = min(10, len(self.memory))
        n = min(self.case["subset_size"], len(self.memory) // b) if b else 0
        slots = self.update.sample(len(self.memory), n * b)
        self.update.shuffle(slots)
        refs = [self.flat([self.memory[i] for i in slots[k * b : (k + 1) * b]]) for k in range(n)]
        room = CAPACITY - len(self.memory)
        if room > 0:
            new = [(s, self.closest(self.flat([s]), refs)) for s in incoming[:room]]
            self.memory += [s for s, _ in new]
            self.scores += [c for _, c in new]
            return
        whole = self.closest(self.flat(incoming), refs)
        self.near("gate", whole)
        if whole >= 0:
            return
        lo, hi = min(self.scores), max(self.scores)
        weights = [(c - lo) / (hi - lo + 0.01) for c in self.scores]
        slots = []
        while len(slots) < len(incoming) and any(w > 0 for w in weights):
            slots.append(self.draw(weights))
            weights[slots[-1]] = 0
        for s, i in zip(incoming, slots):
            c = self.closest(self.flat([s]), refs)
            if self.takes(i, self.scores[i] + 1, c + 1):
                self.memory[i], self.scores[i] = s, c
                self.replaced += 1

    def step(self, t, x, y):
        incoming = [(x[i], y[i].item(), t * BATCH + i) for i in range(BATCH)]
        self.net.zero_grad()
        x, y = self.stack(incoming)
        loss = F.cross_entropy(self.net(x), y)
        loss.backward()
        slots = self.retrieve()
        total = loss.item()
        if slots:
            mx, my = self.stack([self.memory[i] for i in slots])
            replayed = F.cross_entropy(self.net(mx), my)
            replayed.backward()
            total += replayed.item()
        with torch.no_grad():
            for p in self.net.parameters():
                p -= LR * (p.grad + DECAY * p)
        if "candidates" in self.case:
            self.reservoir(incoming)
        elif self.case["gate"] == "batch":
            self.gss_gate_batch(incoming)
        else:
            self.gss(incoming)
        self.seen += BATCH
        self.log.append(dict(loss=total, slots=slots, memory=[s[2] for s in self.memory]))

    def state(self):
        parts = [v.detach().double().contiguous().flatten()[::STRIDE] for k, v in self.net.state_dict().items() if "num_batches" not in k]
        return torch.cat(parts)

    def all(self):
        self.states = {}
        for t, (x, y) in enumerate(DATA):
            self.step(t, x, y)
            if t + 1 in (4, STEPS):
                self.states[t + 1] = self.state()
        return self


def make(name, folder):
    global nearest
    case, seed = CASES[name], SEEDS[name]
    nearest = math.inf
    ref, runs = Run(case, seed).all(), []
    assert nearest >= KINK and min(ref.margin.values()) >= MARGIN, f"{name}: kink {nearest:.1e}, margins {ref.margin}; try another seed"
    kink = nearest
    for onednn in (True, False):
        for flip in (False, True):
            with torch.backends.mkldnn.flags(enabled=onednn):
                runs.append(Run(case, seed, torch.float32, flip).all())
    choices = lambda r: [(s["slots"], s["memory"]) for s in r.log]
    for r in runs:
        assert choices(r) == choices(ref), name + ": float32 chooses otherwise; try another seed"
    worst, steps = 0.0, []
    for t, s in enumerate(ref.log):
        worst = max([worst] + [abs(r.log[t]["loss"] - s["loss"]) for r in runs])
        steps.append(dict(loss=s["loss"], tol=float("%.2e" % (C * worst)), slots=s["slots"], memory=s["memory"]))
    head = dict(format=1, torch=torch.__version__.split("+")[0], tolerance_factor=C, seed=seed, batch=BATCH, replay=REPLAY,
                capacity=CAPACITY, lr=LR, weight_decay=DECAY, stride=STRIDE, classes=CLASSES, nf=NF, size=SIZE, options=case)
    scores_tol = C * max([abs(a - b) for r in runs for a, b in zip(r.scores, ref.scores)], default=0)
    head["scores"] = dict(values=ref.scores, tol=float("%.2e" % scores_tol))
    states = [dict(step=t, tol=float("%.2e" % (C * max((r.states[t] - v).abs().max().item() for r in runs) + 2.0**-24 * v.abs().max().item())),
                   values=[float("%.8g" % f) for f in v.tolist()]) for t, v in ref.states.items()]
    dump = lambda v: json.dumps(v, separators=(",", ":"))
    with open(f"{folder}/{name}.json", "w") as f:
        f.write(dump(head)[:-1] + ',\n"steps":[\n' + ",\n".join(map(dump, steps)) + '],\n"states":[\n' + ",\n".join(map(dump, states)) + "]}\n")
    print(f"{name}: losses {steps[0]['loss']:.4f} to {steps[-1]['loss']:.4f} ± {steps[-1]['tol']:.0e}, {ref.replaced} replaced, kink {kink:.1e}, margins",
          {k: float("%.1e" % v) for k, v in ref.margin.items()}, "tolerances of states", [s["tol"] for s in states], "of scores", head["scores"]["tol"])


DATA = batches()
if __name__ == "__main__":
    torch.set_num_threads(1)
    folder, *cases = sys.argv[1:] or ["."]
    for case in cases or CASES:
        make(case, folder)
