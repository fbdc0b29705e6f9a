"""Writes NAME.json: ten steps each of ER-ACE, DER++ and SCR and of tricks with ER, from their equations, in float64.

    apt-get install python3-torch
    cd testdata && /usr/bin/python3 golden.py

The network is a perceptron with one hidden layer (ReLU), whose initial parameters are in the files: weights [out,in] and
biases, layer by layer. Each step has a batch of four 8-bit images [1,4,4]. The memory
keeps every sample: row i of step t is in slot 4t+i. The slots that a step replays are in the files, one list a draw. A step
is one of plain SGD.
"""
import json

import torch
import torch.nn.functional as F

B, SIDE, HIDDEN, CLASSES, STEPS, REPLAY, LR = 4, 4, 8, 6, 10, 5, 0.1
ALPHA, BETA, TAU, PROJECTED = 0.7, 0.4, 0.07, 5
LAS_TAU, RHO, PCR_TAU = 0.7, 0.3, 0.25
torch.set_default_dtype(torch.float64)
torch.manual_seed(7)

state = 1


def below(n):
    """The next number in [0,n) of a small generator."""
    global state
    state = (state * 1103515245 + 12345) % 2**31
    return (state >> 12) % n


def make_stream():
    """Two tasks of three classes. An image is the pattern of its class with noise."""
    patterns = [[below(180) for _ in range(SIDE * SIDE)] for _ in range(CLASSES)]
    steps = []
    for t in range(STEPS):
        y = [below(3) + (3 if t >= STEPS // 2 else 0) for _ in range(B)]
        # The first batch lacks class 2, and class 1 comes back in the second task.
        if t == 0:
            y = [0, 1, 0, 0]
        if t == 6:
            y[2] = 1
        steps.append((y, [[p + below(75) for p in patterns[k]] for k in y]))
    return steps


stream = make_stream()


def layer(o, i, scale):
    return [scale * torch.randn(o, i), 0.1 * torch.randn(o)]


def images(rows):
    return torch.tensor([stream[t][1][i] for t, i in rows]) / 255.0


def labels(rows):
    return torch.tensor([stream[t][0][i] for t, i in rows])


def mirrored(x):
    return x.view(-1, SIDE, SIDE).flip(2).reshape(len(x), -1)


def slots(n, stored):
    """n different slots of those that are filled."""
    chosen = []
    while len(chosen) < min(n, stored):
        k = below(stored)
        if k not in chosen:
            chosen.append(k)
    return chosen


def rows(chosen):
    return [(k // B, k % B) for k in chosen]


def run(name, theta, step, draws):
    """Ten steps. step returns the loss, or None for no step."""
    theta = [p.clone().requires_grad_() for p in theta]
    flat = lambda: [round(v, 7) for p in theta for v in p.detach().flatten().tolist()]
    out = dict(lr=LR, batch=B, side=SIDE, hidden=HIDDEN, classes=CLASSES, start=flat(), steps=[])
    for t in range(STEPS):
        drawn = [slots(REPLAY, t * B) for _ in range(draws)]
        incoming = [(t, i) for i in range(B)]
        loss = step(theta, t, incoming, [rows(d) for d in drawn])
        if loss is not None:
            grads = torch.autograd.grad(loss, theta)
            with torch.no_grad():
                for p, g in zip(theta, grads):
                    p -= LR * g
        out["steps"].append(dict(labels=stream[t][0], pixels=sum(stream[t][1], []), slots=drawn,
                                 loss=0 if loss is None else round(loss.item(), 7), params=flat()))
    return theta, out


def trunk(theta, x):
    return F.relu(x @ theta[0].T + theta[1])


def logits(theta, x):
    return trunk(theta, x) @ theta[2].T + theta[3]


classifier = layer(HIDDEN, SIDE * SIDE, 0.4) + layer(CLASSES, HIDDEN, 0.5)


def write(name, out):
    with open(name, "w") as f:
        json.dump(out, f, separators=(",", ":"))


# ER-ACE: the softmax of the incoming rows has the classes of the batch and those that were never observed.
observed = set()


def er_ace(theta, t, incoming, drawn):
    y = labels(incoming)
    active = [k for k in range(CLASSES) if k in y.tolist() or k not in observed]
    z = logits(theta, images(incoming))[:, active]
    loss = F.cross_entropy(z, torch.tensor([active.index(k) for k in y.tolist()]))
    observed.update(y.tolist())
    if drawn[0]:
        loss = loss + F.cross_entropy(logits(theta, images(drawn[0])), labels(drawn[0]))
    return loss


write("erace.json", run("er-ace", classifier, er_ace, 1)[1])

# DER++: the outputs of stored samples stay near those that the network had when they were learned.
stored = {}


def der_pp(theta, t, incoming, drawn):
    z = logits(theta, images(incoming))
    loss = F.cross_entropy(z, labels(incoming))
    for row, out in zip(incoming, z.detach()):
        stored[row] = out
    if drawn[0]:
        old = torch.stack([stored[row] for row in drawn[0]])
        loss = loss + ALPHA * ((logits(theta, images(drawn[0])) - old) ** 2).mean()
        loss = loss + BETA * F.cross_entropy(logits(theta, images(drawn[1])), labels(drawn[1]))
    return loss


write("derpp.json", dict(run("der++", classifier, der_pp, 2)[1], alpha=ALPHA, beta=BETA))

# SCR: supervised contrastive loss of the images and their mirrors, and class means of the features.
contrast = layer(HIDDEN, SIDE * SIDE, 0.4) + layer(HIDDEN, HIDDEN, 0.5) + layer(PROJECTED, HIDDEN, 0.5)


def project(theta, x):
    out = F.relu(trunk(theta, x) @ theta[2].T + theta[3]) @ theta[4].T + theta[5]
    return out / out.norm(dim=1, keepdim=True)


def scr(theta, t, incoming, drawn):
    if not drawn[0]:
        return None
    both = incoming + drawn[0]
    x, y = images(both), labels(both)
    p = torch.cat([project(theta, x), project(theta, mirrored(x))])
    y = torch.cat([y, y])
    loss = 0
    for i in range(len(y)):
        others = [a for a in range(len(y)) if a != i]
        positive = [j for j in others if y[j] == y[i]]
        total = torch.logsumexp(torch.stack([p[i] @ p[a] / TAU for a in others]), 0)
        loss = loss - sum(p[i] @ p[j] / TAU - total for j in positive) / len(positive)
    return loss / len(y)


theta, out = run("scr", contrast, scr, 1)
everything = [(t, i) for t in range(STEPS) for i in range(B)]
unit = lambda v: v / v.norm(dim=-1, keepdim=True)
features, y = unit(trunk(theta, images(everything))), labels(everything)
means = torch.stack([unit(features[y == k].mean(0)) for k in range(CLASSES)])
distance = ((features[:, None] - means) ** 2).sum(2)
two = distance.topk(2, 1, largest=False)[0]
out.update(tau=TAU, projected=PROJECTED, predicted=distance.argmin(1).tolist(), margin=(two[:, 1] - two[:, 0]).min().item())
write("scr.json", out)

# las: cross entropy of the logits plus tau times the logarithm of how many rows each class has in the last two steps.
las_steps = []


def las(theta, t, incoming, drawn):
    las_steps.append(labels(incoming).tolist() + (labels(drawn[0]).tolist() if drawn[0] else []))
    recent = sum(las_steps[-2:], [])
    present = [k for k in range(CLASSES) if k in recent]
    shift = LAS_TAU * torch.log(torch.tensor([float(recent.count(k)) for k in present]))

    def adjusted(rows):
        z = logits(theta, images(rows))[:, present] + shift
        return F.cross_entropy(z, torch.tensor([present.index(k) for k in labels(rows).tolist()]))

    return adjusted(incoming) + (adjusted(drawn[0]) if drawn[0] else 0)


write("las.json", dict(run("las", classifier, las, 1)[1], tau=LAS_TAU))

# lode: a softmax over the classes of the batch, and beta times what is left of that over all classes.
lode_observed = set()


def lode(theta, t, incoming, drawn):
    y = labels(incoming)
    batch = sorted(set(y.tolist()))
    old = len(lode_observed - set(batch))
    beta = RHO * len(batch) / old if old else 1.0
    z = logits(theta, images(incoming))
    inside, everything = torch.logsumexp(z[:, batch], 1), torch.logsumexp(z, 1)
    loss = (inside - z[torch.arange(len(y)), y] + beta * (everything - inside)).mean()
    lode_observed.update(y.tolist())
    if drawn[0]:
        loss = loss + F.cross_entropy(logits(theta, images(drawn[0])), labels(drawn[0]))
    return loss


write("lode.json", dict(run("lode", classifier, lode, 1)[1], rho=RHO))

# PCR: cosines with the weights of the classes of all rows of the step, both views, each class as often as it has rows.
proxies = layer(HIDDEN, SIDE * SIDE, 0.4) + layer(CLASSES, HIDDEN, 0.5)[:1]


def pcr(theta, t, incoming, drawn):
    if not drawn[0]:
        return None
    x, y = images(incoming + drawn[0]), labels(incoming + drawn[0])
    x, y = torch.cat([x, mirrored(x)]), torch.cat([y, y])
    f = trunk(theta, x)
    z = F.normalize(f) @ F.normalize(theta[2]).T / PCR_TAU
    return -(z[torch.arange(len(y)), y] - torch.logsumexp(z[:, y], 1)).mean()


out = run("pcr", proxies, pcr, 1)[1]
# The scale of the head is a parameter that stays.
for at in [out] + out["steps"]:
    key = "start" if at is out else "params"
    at[key] = at[key] + [round(1 / PCR_TAU, 7)]
write("pcr.json", dict(out, tau=PCR_TAU))

# mkd: the answers of an exponential mean of the network, for mirrored images and for the images as they came. Both losses
# are cross entropies, which differ from the divergences by what no parameter changes.
MKD_WEIGHT, MKD_T, MKD_ALPHA = 2.5, 3.0, 0.2
mean = None


def mkd(theta, t, incoming, drawn):
    global mean
    now = [p.detach().clone() for p in theta]
    mean = now if mean is None else [(1 - MKD_ALPHA) * m + MKD_ALPHA * p for m, p in zip(mean, now)]

    def follow(z, answers):
        return MKD_T**2 * F.cross_entropy(z / MKD_T, F.softmax(answers / MKD_T, 1))

    def both(rows):
        x, y = images(rows), labels(rows)
        answers = logits(mean, mirrored(x))
        z = logits(theta, mirrored(x))
        return F.cross_entropy(z, y) + MKD_WEIGHT / 2 * (follow(z, answers) + follow(logits(theta, x), answers))

    return both(incoming) + (both(drawn[0]) if drawn[0] else 0)


theta, out = run("mkd", classifier, mkd, 1)
last = [(1 - MKD_ALPHA) * m + MKD_ALPHA * p.detach() for m, p in zip(mean, theta)]
half = [round(v, 7) for m, p in zip(last, theta) for v in ((m + p.detach()) / 2).flatten().tolist()]
write("mkd.json", dict(out, weight=MKD_WEIGHT, temperature=MKD_T, alpha=MKD_ALPHA, predicting=half))
