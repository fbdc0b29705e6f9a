#!/usr/bin/env python3
"""Makes boundaries.json for learn/learner/boundaries_test.go: A-GEM, EWC++ and LwF, written from their equations in PyTorch.

usage: boundaries.py > boundaries.json        needs `pip install torch` (2.15 was used, CPU)

Two tasks of ten steps on a small perceptron. Images, labels and initial parameters are functions of an index (u01), and the
slots of the memory are drawn by a PCG of this file's own from the sources that the learner draws from, so the file holds
results only: losses, parameters, retrieved slots, and which sample is in which slot. Values are those of a float64 run.
A tolerance is FACTOR times the largest distance of float32 runs, which differ in rounding only, from it, and a unit in the
last place for what the file rounds.
"""
import hashlib
import json
import math

import torch
import torch.nn.functional as F

FACTOR = 6.0
STEPS, TASK, BATCH, CLASSES, PIXELS, HIDDEN = 20, 10, 5, 6, 16, 12
LR, DECAY, CAPACITY, REPLAY, SEED = 0.1, 0.01, 12, 4, 1
M64, M128 = (1 << 64) - 1, (1 << 128) - 1


def mix(z):
    """splitmix64's output for state z."""
    z = (z + 0x9E3779B97F4A7C15) & M64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
    return z ^ (z >> 31)


def u01(key, n):
    """n numbers in [0,1) of stream key."""
    return [(mix(key << 32 | i) >> 40) / 2.0**24 for i in range(n)]


class Source:
    """PCG-DXSM with 128 bits of state, the SHA-256 of seed and name."""

    def __init__(self, seed, name):
        h = hashlib.sha256(seed.to_bytes(8, "little") + name.encode()).digest()
        self.state = int.from_bytes(h[0:8], "little") << 64 | int.from_bytes(h[8:16], "little")

    def number(self):
        self.state = (self.state * 0x2360ED051FC65DA44385DF649FCCF645 + 0x5851F42D4C957F2D14057B7EF767814F) & M128
        hi, lo = self.state >> 64, self.state & M64
        hi = (hi ^ hi >> 32) * 0xDA942042E4DD58B5 & M64
        return (hi ^ hi >> 48) * (lo | 1) & M64

    def below(self, n):
        """A number in [0, n), without bias."""
        if n & (n - 1) == 0:
            return self.number() & (n - 1)
        product = self.number() * n
        while product & M64 < (1 << 64) % n:
            product = self.number() * n
        return product >> 64


def sample(number):
    """Image and label of a sample of the stream: a pattern of its class and noise, in 255ths."""
    task = number // (TASK * BATCH)
    label = task * (CLASSES // 2) + mix(5000 << 32 | number) % (CLASSES // 2)
    pixels = [round(255 * (0.6 * a + 0.4 * b)) for a, b in zip(u01(3000 + label, PIXELS), u01(4000 + number, PIXELS))]
    return (torch.tensor(pixels, dtype=torch.float32) / 255).double(), label


def initial():
    """Weights v/√fan_in and biases 0.1·v of v in [-1,1), in the order hidden, then output; rounded to float32."""
    out = []
    for t, shape in enumerate([(HIDDEN, PIXELS), (HIDDEN,), (CLASSES, HIDDEN), (CLASSES,)]):
        v = 2 * torch.tensor(u01(t, math.prod(shape)), dtype=torch.float64).view(shape) - 1
        out.append((v / math.sqrt(shape[1]) if len(shape) > 1 else 0.1 * v).float().double())
    return out


class Run:
    """Finetune; what a method does differently it overrides. order is that of the rows of a batch, which moves rounding alone."""

    def __init__(self, dtype, order):
        self.theta = [p.to(dtype).requires_grad_() for p in initial()]
        self.dtype, self.order = dtype, order
        self.losses, self.slots, self.memory = [], [], []

    def forward(self, x, theta=None):
        w1, b1, w2, b2 = theta or self.theta
        return F.relu(x @ w1.T + b1) @ w2.T + b2

    def batch(self, numbers):
        rows = [sample(n) for n in numbers][::self.order]
        return torch.stack([x for x, _ in rows]).to(self.dtype), torch.tensor([y for _, y in rows])

    def cross_entropy(self, numbers):
        x, y = self.batch(numbers)
        return F.cross_entropy(self.forward(x), y)

    def grad(self, loss):
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss, self.theta)])

    def run(self):
        after = {}
        for t in range(STEPS):
            loss, g = self.step(t // TASK, t % TASK, list(range(t * BATCH, (t + 1) * BATCH)))
            self.losses.append(loss.item())
            with torch.no_grad():
                at = 0
                for p in self.theta:
                    d = g[at:at + p.numel()].view(p.shape)
                    p -= LR * (d + DECAY * p)
                    at += p.numel()
            self.stored(t)
            if t % TASK == TASK - 1:
                after[t + 1] = self.flat().tolist()
                self.end(t // TASK)
        return dict(losses=self.losses, params=after, slots=self.slots, memory=self.memory)

    def flat(self):
        return torch.cat([p.detach().flatten() for p in self.theta])

    def step(self, task, i, numbers):
        loss = self.cross_entropy(numbers)
        return loss, self.grad(loss)

    def stored(self, t):
        pass

    def end(self, task):
        pass


class AGEM(Run):
    def __init__(self, dtype, order):
        super().__init__(dtype, order)
        self.retrieve, self.update = Source(SEED, "memory/retrieve"), Source(SEED, "memory/update")
        self.projected = 0

    def step(self, task, i, numbers):
        loss, g = super().step(task, i, numbers)
        if task == 0:
            self.slots.append([])
            return loss, g
        chosen, n = [], len(self.memory)
        for j in range(n - min(REPLAY, n), n):  # Floyd: j + 1 candidates, and j itself where the draw was taken before
            k = self.retrieve.below(j + 1)
            chosen.append(j if k in chosen else k)
        self.slots.append(chosen)
        other = self.cross_entropy([self.memory[k] for k in chosen])
        reference = self.grad(other)
        if g @ reference < 0:
            g = g - (g @ reference) / (reference @ reference) * reference
            self.projected += 1
        return loss + other, g

    def stored(self, t):
        for number in range(t * BATCH, (t + 1) * BATCH):  # reservoir: as many samples were seen before as number says
            if len(self.memory) < CAPACITY:
                self.memory.append(number)
                continue
            k = self.update.below(number + 1)
            if k < CAPACITY:
                self.memory[k] = number


class EWC(Run):
    strength, alpha, every, normalise = 2.0, 0.9, 3, True

    def __init__(self, dtype, order):
        super().__init__(dtype, order)
        self.fisher = torch.zeros_like(self.flat())
        self.tmp, self.weight = self.fisher.clone(), None

    def step(self, task, i, numbers):
        if (i + 1) % self.every == 0:
            self.fisher = (1 - self.alpha) * self.fisher + self.alpha / self.every * self.tmp
            self.tmp = torch.zeros_like(self.tmp)
        loss = self.cross_entropy(numbers)
        if self.weight is not None:
            theta = torch.cat([p.flatten() for p in self.theta])
            loss = loss + self.strength * (self.weight * (theta - self.anchor) ** 2).sum()
        g = self.grad(loss)
        self.tmp = self.tmp + g**2
        return loss, g

    def end(self, task):
        self.anchor, self.weight = self.flat(), self.fisher.clone()
        if self.normalise:
            self.weight = (self.fisher - self.fisher.min()) / (self.fisher.max() - self.fisher.min() + 1e-32)


class RawEWC(EWC):
    strength, every, normalise = 50.0 / 2, 1, False


class LwF(Run):
    teacher, seen = None, 0

    def step(self, task, i, numbers):
        loss, new = self.cross_entropy(numbers), CLASSES // 2
        if self.teacher is not None:
            x, _ = self.batch(numbers)
            w = new / (self.seen + new)
            loss = w * loss + (1 - w) * self.distil(self.forward(x), self.forward(x, self.teacher))
        return loss, self.grad(loss)

    def distil(self, z, target):
        return 4 * (-F.softmax(target / 2, 1) * F.log_softmax(z / 2, 1)).sum(1).mean()

    def end(self, task):
        self.teacher = [p.detach().clone() for p in self.theta]
        self.seen += CLASSES // 2


class LwFMC(LwF):
    def step(self, task, i, numbers):
        x, y = self.batch(numbers)
        targets = F.one_hot(y, CLASSES).to(self.dtype)
        if self.teacher is not None:
            old = slice(0, CLASSES // 2)
            targets[:, old] = torch.sigmoid(self.forward(x, self.teacher)[:, old])
        loss = F.binary_cross_entropy_with_logits(self.forward(x), targets, reduction="none").sum(1).mean()
        return loss, self.grad(loss)


def case(name, method):
    exact = method(torch.float64, 1)
    want = exact.run()
    runs = [method(dtype, order).run() for dtype, order in [(torch.float32, 1), (torch.float32, -1)]]
    for r in runs:
        assert r["slots"] == want["slots"] and r["memory"] == want["memory"]
    if name == "agem":
        assert 0 < exact.projected < TASK, exact.projected
    far = lambda a, b: max(abs(x - y) for x, y in zip(a, b))
    largest = max(max(far(r["params"][t], want["params"][t]) for r in runs) for t in want["params"])
    return dict(
        name=name, losses=[round(v, 9) for v in want["losses"]],
        loss_tol=FACTOR * max(far(r["losses"], want["losses"]) for r in runs) + 1e-9,
        params={t: [round(v, 8) for v in p] for t, p in want["params"].items()}, param_tol=FACTOR * largest + 1e-8,
        slots=want["slots"], memory=want["memory"])


if __name__ == "__main__":
    torch.set_num_threads(1)
    cases = [case(n, m) for n, m in [("finetune", Run), ("agem", AGEM), ("ewc++", EWC), ("ewc++ raw", RawEWC), ("lwf", LwF), ("lwf mc", LwFMC)]]
    head = dict(steps=STEPS, task=TASK, batch=BATCH, classes=CLASSES, pixels=PIXELS, hidden=HIDDEN, lr=LR, weight_decay=DECAY,
                capacity=CAPACITY, replay=REPLAY, seed=SEED, torch=torch.__version__)
    print(json.dumps(dict(head, cases=cases), separators=(",", ":")).replace('{"name"', '\n{"name"'))
