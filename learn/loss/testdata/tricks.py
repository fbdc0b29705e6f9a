#!/usr/bin/env python3
"""Makes tricks.json for learn/loss/tricks_test.go: losses and gradients of the tricks' criteria, from their formulas in PyTorch.

usage: tricks.py > tricks.json        needs `pip install torch` (2.15 was used, CPU)

Everything is in float64 on logits that float32 holds exactly, so the file's values are those of the formulas.
"""
import json

import torch
import torch.nn.functional as F

K = 7  # classes
BATCHES = {  # labels, old classes, new classes
    "mixed": ([5, 0, 2, 5, 6], [0, 1, 2, 3], [4, 5, 6]),
    "one label": ([3, 3, 3], [0, 3], [1, 6]),
    "one row": ([6], [0, 1, 2, 3], [4, 5, 6]),
    "all labels": ([6, 5, 4, 3, 2, 1, 0], [0, 1, 2, 3], [4, 5, 6]),
    "no old class": ([1, 4, 1], [], [1, 2, 4]),
    "no new class": ([1, 4, 1], [1, 2, 4], []),
    "empty": ([], [0, 1], [2, 3]),
}


def values(n, seed):
    """n × K logits in 64ths."""
    g = torch.Generator().manual_seed(seed)
    return torch.randint(-256, 257, (n, K), generator=g).double() / 64


def among(z, y, classes):
    at = torch.tensor([classes.index(k) for k in y.tolist()])
    return F.cross_entropy(z[:, classes], at, reduction="sum")


def lb(z, y, old, new):
    return among(z, y, sorted(set(y.tolist()))) / len(y)


def ss(z, y, old, new):
    total = z.sum() * 0
    for classes in (old, new):
        mine = torch.tensor([k in classes for k in y.tolist()])
        if mine.any():
            total = total + among(z[mine], y[mine], classes)
    return total / len(y)


def kd(z, teacher):
    return 4 * (-F.softmax(teacher / 2, 1) * F.log_softmax(z / 2, 1)).sum(1).mean()


def mixed(power, labels=lambda z, y, old, new: F.cross_entropy(z, y)):
    def loss(z, y, old, new, teacher):
        weight = (len(new) / (len(old) + len(new))) ** power
        hard = labels(z, y, old, new)
        return hard if teacher is None else weight * hard + (1 - weight) * kd(z, teacher)
    return loss


def undistilled(labels=lambda z, y, old, new: F.cross_entropy(z, y)):
    return lambda z, y, old, new, teacher: (len(new) / (len(old) + len(new))) ** 0.5 * labels(z, y, old, new)


def lwf_mc(z, y, old, new, teacher):
    targets = F.one_hot(y, K).double()
    only_old = [k for k in old if k not in new]
    if teacher is not None:
        targets[:, only_old] = torch.sigmoid(teacher[:, only_old])
    return F.binary_cross_entropy_with_logits(z, targets, reduction="none").sum(1).mean()


CRITERIA = {
    "lb": lambda z, y, old, new, teacher: lb(z, y, old, new),
    "ss": lambda z, y, old, new, teacher: ss(z, y, old, new),
    "kdc": mixed(1), "kdc*": mixed(0.5), "kdc+lb": mixed(1, lb), "kdc*+ss": mixed(0.5, ss),
    "kdc* authors": undistilled(), "kdc* authors+lb": undistilled(lb), "lwf mc": lwf_mc,
}


def case(criterion, batch, seed):
    labels, old, new = BATCHES[batch]
    z, y = values(len(labels), seed).requires_grad_(), torch.tensor(labels, dtype=torch.long)
    teacher = values(len(labels), seed + 100) if old else None
    loss, d = torch.zeros(()), torch.zeros_like(z)
    if len(labels) > 0:
        loss = CRITERIA[criterion](z, y, old, new, teacher)
        (d,) = torch.autograd.grad(loss, z)
    return dict(criterion=criterion, batch=batch, labels=labels, old=old, new=new, share=len(new) / (len(old) + len(new)),
                logits=z.flatten().tolist(), teacher=None if teacher is None else teacher.flatten().tolist(),
                loss=loss.item(), gradient=d.flatten().tolist())


if __name__ == "__main__":
    cases = [case(c, b, i) for c in CRITERIA for i, b in enumerate(BATCHES)]
    print(json.dumps(dict(torch=torch.__version__, classes=K, cases=cases), separators=(",", ":")).replace('{"criterion"', '\n{"criterion"'))
