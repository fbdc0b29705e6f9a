#!/usr/bin/env python3
"""Makes tricks.json for learn/learner/tricks_golden_test.go: ER, MIR and A-GEM with each trick, from the equations in PyTorch.

usage: tricks.py > tricks.json        needs `pip install torch` (2.15 was used, CPU), and boundaries.py beside it

The network, its samples, its random numbers and the tolerances are those of boundaries.py. Parameters are those at the end of
each task, after the review; predictions, by the head and by the nearest class mean, are of all samples of the stream by these
parameters, -1 where the decision is too close for float32.
"""
import json
import math

import torch
import torch.nn.functional as F

from boundaries import BATCH, CLASSES, DECAY, FACTOR, HIDDEN, LR, PIXELS, REPLAY, SEED, STEPS, TASK, Run, Source, sample

CAPACITY, CANDIDATES, ITERATIONS, MARGIN = 14, 8, 5, 1e-3
NEW = CLASSES // 2  # classes of a task


class ER(Run):
    def __init__(self, dtype, order, labels="ce", distil=0, iterations=1, review=False):
        super().__init__(dtype, order)
        self.retrieve, self.update, self.shuffle = (Source(SEED, n) for n in ("memory/retrieve", "memory/update", "review"))
        self.labels, self.distil, self.iterations, self.review = labels, distil, iterations, review
        self.teacher, self.task, self.ends, self.heads, self.means = None, 0, [], [], []

    def criterion(self, numbers, theta=None):
        x, y = self.batch(numbers)
        z = self.forward(x, theta)
        loss = self.label_loss(z, y)
        if self.distil and self.teacher is not None:
            weight = (NEW / (NEW * (self.task + 1))) ** self.distil
            target = F.softmax(self.forward(x, self.teacher) / 2, 1)
            loss = weight * loss + (1 - weight) * 4 * (-target * F.log_softmax(z / 2, 1)).sum(1).mean()
        return loss

    def label_loss(self, z, y):
        if self.labels == "lb":
            present = sorted(set(y.tolist()))
            return F.cross_entropy(z[:, present], torch.tensor([present.index(k) for k in y.tolist()]))
        if self.labels == "ss":
            old, new = F.log_softmax(z[:, :NEW * self.task], 1), F.log_softmax(z[:, NEW * self.task:NEW * (self.task + 1)], 1)
            return F.nll_loss(torch.cat([old, new], 1), y)
        return F.cross_entropy(z, y)

    def floyd(self, size):
        chosen, n = [], len(self.memory)
        for j in range(n - min(size, n), n):
            k = self.retrieve.below(j + 1)
            chosen.append(j if k in chosen else k)
        return chosen

    def choose(self, g):
        return self.floyd(REPLAY)

    def step(self, numbers):
        loss = self.criterion(numbers)
        g = self.grad(loss)
        self.chosen = self.choose(g) if self.memory else []
        if self.chosen:
            other = self.reference([self.memory[k] for k in self.chosen])
            loss, g = loss + other, self.combine(g, self.grad(other))
        return loss, g

    def reference(self, numbers):
        return self.criterion(numbers)

    def combine(self, g, other):
        return g + other

    def move(self, g, rate):
        with torch.no_grad():
            at = 0
            for p in self.theta:
                p -= rate * (g[at:at + p.numel()].view(p.shape) + DECAY * p)
                at += p.numel()

    def store(self, t):
        for number in range(t * BATCH, (t + 1) * BATCH):
            if len(self.memory) < CAPACITY:
                self.memory.append(number)
                continue
            k = self.update.below(number + 1)
            if k < CAPACITY:
                self.memory[k] = number

    def end(self):
        if self.review:
            order = list(range(len(self.memory)))
            for i in range(len(order) - 1, 0, -1):
                j = self.shuffle.below(i + 1)
                order[i], order[j] = order[j], order[i]
            for at in range(0, len(order), REPLAY):
                self.move(self.grad(self.cross_entropy([self.memory[k] for k in order[at:at + REPLAY]])), LR / 10)
        self.teacher = [p.detach().clone() for p in self.theta]
        self.ends.append(self.flat().tolist())
        self.evaluate()
        self.task += 1

    def evaluate(self):
        x = torch.stack([sample(n)[0] for n in range(STEPS * BATCH)]).to(self.dtype)
        with torch.no_grad():
            self.heads.append(decide(self.forward(x)))
            w1, b1 = self.theta[:2]
            unit = lambda v: v / v.norm(dim=-1, keepdim=True)
            features = unit(F.relu(x @ w1.T + b1))
            label = torch.tensor([sample(n)[1] for n in self.memory])
            known = sorted(set(label.tolist()))
            means = torch.stack([unit(features[[n for n, y in zip(self.memory, label) if y == k]].mean(0)) for k in known])
            near = -((features[:, None] - means) ** 2).sum(2)
            self.means.append([known[k] if k >= 0 else -1 for k in decide(near)])

    def run(self):
        for t in range(STEPS):
            total = 0
            for _ in range(self.iterations):
                loss, g = self.step(list(range(t * BATCH, (t + 1) * BATCH)))
                total += loss.item() / self.iterations
                self.move(g, LR)
            self.losses.append(total)
            self.slots.append(self.chosen)
            self.store(t)
            if t % TASK == TASK - 1:
                self.end()
        return dict(losses=self.losses, slots=self.slots, memory=self.memory, ends=self.ends, heads=self.heads, means=self.means)


def decide(scores):
    """Columns of the largest score, -1 where another is within MARGIN."""
    best, at = scores.topk(2, 1)
    return [k if d > MARGIN else -1 for k, d in zip(at[:, 0].tolist(), (best[:, 0] - best[:, 1]).tolist())]


class MIR(ER):
    def choose(self, g):
        drawn = self.floyd(CANDIDATES)
        if len(drawn) <= REPLAY:
            return drawn
        ahead, at = [], 0
        for p in self.theta:
            ahead.append((p - LR * g[at:at + p.numel()].view(p.shape)).detach())
            at += p.numel()
        numbers = [self.memory[k] for k in drawn]
        x = torch.stack([sample(n)[0] for n in numbers]).to(self.dtype)
        y = torch.tensor([sample(n)[1] for n in numbers])
        with torch.no_grad():
            rise = F.cross_entropy(self.forward(x, ahead), y, reduction="none") - F.cross_entropy(self.forward(x), y, reduction="none")
        ranked = sorted(zip((-rise).tolist(), drawn))
        return [k for _, k in ranked[:REPLAY]]


class AGEM(ER):
    """plain: the reference is of the loss on labels alone, as in the authors' code."""

    def __init__(self, dtype, order, plain=False, **trick):
        super().__init__(dtype, order, **trick)
        self.plain = plain

    def reference(self, numbers):
        x, y = self.batch(numbers)
        return self.label_loss(self.forward(x), y) if self.plain else self.criterion(numbers)

    def choose(self, g):
        return self.floyd(REPLAY) if self.task > 0 else []

    def combine(self, g, other):
        if g @ other < 0:
            g = g - (g @ other) / (other @ other) * other
        return g


TRICKS = {
    "none": {}, "lb": dict(labels="lb"), "ss": dict(labels="ss"), "kdc": dict(distil=1), "kdc*": dict(distil=0.5),
    "mi": dict(iterations=ITERATIONS), "rv": dict(review=True), "kdc*+lb+rv": dict(labels="lb", distil=0.5, review=True),
}


def case(name, method, trick, **options):
    want = method(torch.float64, 1, **TRICKS[trick], **options).run()
    runs = [method(torch.float32, order, **TRICKS[trick], **options).run() for order in (1, -1)]
    for r in runs:
        assert r["slots"] == want["slots"] and r["memory"] == want["memory"], (name, trick)
        for kind in ("heads", "means"):
            assert all(a == b or -1 in (a, b) for x, y in zip(r[kind], want[kind]) for a, b in zip(x, y))
    far = lambda a, b: max(abs(x - y) for x, y in zip(a, b))
    largest = max(far(a, b) for r in runs for a, b in zip(r["ends"], want["ends"]))
    assert largest < MARGIN / 100, largest
    return dict(
        name=name, trick=trick, **options, losses=[round(v, 9) for v in want["losses"]],
        loss_tol=FACTOR * max(far(r["losses"], want["losses"]) for r in runs) + 1e-9,
        ends=[[round(v, 8) for v in p] for p in want["ends"]], param_tol=FACTOR * largest + 1e-8,
        slots=want["slots"], memory=want["memory"], heads=want["heads"], means=want["means"])


if __name__ == "__main__":
    torch.set_num_threads(1)
    cases = [case(n, m, t) for n, m in [("er", ER), ("mir", MIR), ("agem", AGEM)] for t in TRICKS]
    cases += [case("agem", AGEM, t, plain=True) for t in TRICKS if "kdc" in t]
    head = dict(steps=STEPS, task=TASK, batch=BATCH, classes=CLASSES, pixels=PIXELS, hidden=HIDDEN, lr=LR, weight_decay=DECAY,
                capacity=CAPACITY, replay=REPLAY, candidates=CANDIDATES, iterations=ITERATIONS, seed=SEED, torch=torch.__version__)
    print(json.dumps(dict(head, cases=cases), separators=(",", ":")).replace('{"name"', '\n{"name"'))
