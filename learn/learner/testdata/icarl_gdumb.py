#!/usr/bin/env python3
"""Makes icarl.json and gdumb.json: twenty steps of iCaRL, and of GDumb's training, in PyTorch from the equations.

usage: icarl_gdumb.py [OUT=.]        needs `pip install torch` (1.13 was used, CPU)

The random numbers are those of the Go program: Source below is its named source (a PCG-DXSM seeded by SHA-256), drawn from in
the order that its docstrings give. Images and labels are functions of their index (u01), so the files do not hold them. All
runs in float64, which is the reference, and in float32 in three ways that differ only in rounding; a tolerance is C times
the largest distance of a float32 run from the reference.
"""
import hashlib
import json
import math
import os
import struct
import sys

import torch
import torch.nn.functional as F

C, SEED = 6.0, 1
M64, M128 = (1 << 64) - 1, (1 << 128) - 1


class Source:
    """A random source by seed and name: math/rand/v2's PCG and what is drawn from it."""

    def __init__(self, name, seed=SEED):
        h = hashlib.sha256(struct.pack("<Q", seed) + name.encode()).digest()
        hi, lo = struct.unpack("<QQ", h[:16])
        self.state = hi << 64 | lo

    def u64(self):
        self.state = (self.state * (2549297995355413924 << 64 | 4865540595714422341) + (6364136223846793005 << 64 | 1442695040888963407)) & M128
        hi, lo = self.state >> 64, self.state & M64
        hi ^= hi >> 32
        hi = hi * 0xDA942042E4DD58B5 & M64
        hi ^= hi >> 48
        return hi * (lo | 1) & M64

    def float(self):
        return (self.u64() & ((1 << 53) - 1)) / 2.0**53

    def below(self, n):
        if n & (n - 1) == 0:
            return self.u64() & 0xFFFFFFFF & (n - 1)
        prod = (self.u64() >> 32) * n
        if prod & 0xFFFFFFFF < n:
            least = (-n & 0xFFFFFFFF) % n
            while prod & 0xFFFFFFFF < least:
                prod = (self.u64() >> 32) * n
        return prod >> 32

    def shuffle(self, v):
        for i in range(len(v) - 1, 0, -1):
            j = self.below(i + 1)
            v[i], v[j] = v[j], v[i]

    def subset(self, n, k):
        """k of n without replacement, Floyd's draw."""
        out = []
        for j in range(n - min(k, n), n):
            i = self.below(j + 1)
            out.append(j if i in out else i)
        return out


def mix(z):
    z = (z + 0x9E3779B97F4A7C15) & M64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
    return z ^ (z >> 31)


def u01(stream, i):
    return (mix(stream << 32 | i) >> 40) / 2.0**24


def image(sample, label, shape):
    """Pixels in [0,1): a coarse pattern of the label and noise of the sample's own."""
    c, h, w = shape
    v = [0.75 * u01(3000 + label, (p * 4 + y * 4 // h) * 4 + x * 4 // w) + 0.25 * u01(1000 + sample, (p * h + y) * w + x)
         for p in range(c) for y in range(h) for x in range(w)]
    return ((255 * torch.tensor(v, dtype=torch.float64)).round() / 255).float().reshape(c, h, w)  # of 8 bits, as a memory stores them


def drawn(src, count, bound):
    return torch.tensor([(2 * src.float() - 1) * bound for _ in range(count)], dtype=torch.float64).float()


class MLP:
    """Linear–ReLU–Linear, on flattened images."""

    def __init__(self, sizes, src, dtype):
        self.p, self.dtype = [], dtype
        for i, o in zip(sizes, sizes[1:]):
            self.p.append(drawn(src, i * o, i**-0.5).reshape(i, o).to(dtype).requires_grad_())
            self.p.append(drawn(src, o, i**-0.5).to(dtype).requires_grad_())

    def logits(self, x):
        return F.relu(x.flatten(1).to(self.dtype) @ self.p[0] + self.p[1]) @ self.p[2] + self.p[3]

    def flat(self):
        return torch.cat([p.detach().double().flatten() for p in self.p])


class ResNet:
    """The survey's reduced ResNet-18 of width nf for 32×32 images.

    γ = 0.3 and β = 1.5 keep activations five deviations from ReLU's kink: of the millions in twenty steps some would otherwise
    lie so near that rounding decides their side.
    """

    def __init__(self, nf, classes, src, dtype):
        self.p, self.running, self.dtype, self.nf, self.names = {}, {}, dtype, nf, []
        self.conv("conv1", 3, nf, 9, src)
        self.norm("bn1", nf)
        i = nf
        for s in range(4):
            o = nf << s
            for b in range(2):
                name = f"layer{s+1}.{b}"
                self.conv(name + ".conv1", i, o, 9, src)
                self.norm(name + ".bn1", o)
                self.conv(name + ".conv2", o, o, 9, src)
                self.norm(name + ".bn2", o)
                if s > 0 and b == 0:
                    self.conv(name + ".short", i, o, 1, src)
                    self.norm(name + ".shortn", o)
                i = o
        self.put("w", drawn(src, i * classes, i**-0.5).reshape(i, classes))
        self.put("b", drawn(src, classes, i**-0.5))

    def put(self, name, v):
        self.p[name] = v.to(self.dtype).requires_grad_()
        self.names.append(name)

    def conv(self, name, i, o, taps, src):
        v = drawn(src, i * taps * o, (i * taps) ** -0.5).reshape(i, taps, o)  # the engine's order
        self.put(name, v)

    def norm(self, name, n):
        self.put(name + ".g", torch.full((n,), 0.3))
        self.put(name + ".b", torch.full((n,), 1.5))
        self.running[name] = [torch.zeros(n, dtype=self.dtype), torch.ones(n, dtype=self.dtype)]

    def copy(self):
        other = object.__new__(ResNet)
        other.__dict__.update(self.__dict__)
        other.p = {k: v.detach().clone() for k, v in self.p.items()}
        other.running = {k: [a.clone() for a in v] for k, v in self.running.items()}
        return other

    def cn(self, x, conv, norm, stride, train):
        w = self.p[conv]
        i, taps, o = w.shape
        side = math.isqrt(taps)
        z = F.conv2d(x, w.permute(2, 0, 1).reshape(o, i, side, side), stride=stride, padding=side // 2)
        mean, var = self.running[norm]
        return F.batch_norm(z, mean, var, self.p[norm + ".g"], self.p[norm + ".b"], train, 0.1, 1e-5)

    def features(self, x, train):
        x = F.relu(self.cn(x.to(self.dtype), "conv1", "bn1", 1, train))
        for s in range(4):
            for b in range(2):
                name, stride = f"layer{s+1}.{b}", 2 if s > 0 and b == 0 else 1
                y = F.relu(self.cn(x, name + ".conv1", name + ".bn1", stride, train))
                y = self.cn(y, name + ".conv2", name + ".bn2", 1, train)
                x = F.relu(y + (self.cn(x, name + ".short", name + ".shortn", stride, train) if name + ".short" in self.p else x))
        return F.avg_pool2d(x, 4).flatten(1)

    def logits(self, x, train):
        return self.features(x, train) @ self.p["w"] + self.p["b"]

    def flat(self):
        return torch.cat([self.p[k].detach().double().flatten() for k in self.names])

    def stats(self):
        return torch.cat([a.double() for v in self.running.values() for a in v])


# iCaRL ---------------------------------------------------------------------------------------------------------------------------

ICARL = dict(nf=2, classes=7, tasks=[[4, 1, 0], [2, 5, 3]], steps=10, batch=5, replay=4, memory=12, lr=0.01, decay=0.001, test=40)


def icarl(dtype, order=lambda rows: rows):
    """order permutes the rows of a pass, which changes nothing but rounding."""
    c = ICARL
    net = ResNet(c["nf"], c["classes"], Source("network/init"), dtype)
    retrieve, update = Source("memory/retrieve"), Source("memory/update")
    memory, seen, columns, teacher = [], 0, [], None  # memory: (sample, label)
    out = dict(loss=[], replayed=[], written=[], predictions=[], margin=[])
    sample = 0
    for t, classes in enumerate(c["tasks"]):
        columns += [y for y in classes if y not in columns]
        earlier = list(range(len(memory)))
        for step in range(c["steps"]):
            batch = []
            for _ in range(c["batch"]):
                batch.append((sample, classes[mix(2000 << 32 | sample) % len(classes)]))
                sample += 1
            slots = [earlier[k] for k in retrieve.subset(len(earlier), c["replay"])] if teacher else []
            out["replayed"].append([memory[s][0] for s in slots])
            rows = order(batch + [memory[s] for s in slots])
            x = torch.stack([image(s, y, (3, 32, 32)) for s, y in rows])
            target = torch.zeros(len(rows), len(columns), dtype=dtype)
            if teacher:
                with torch.no_grad():
                    target[:, :] = torch.sigmoid(teacher.logits(x, False)[:, :len(columns)])
            for k, y in enumerate(columns):
                if y in classes:
                    target[:, k] = torch.tensor([float(label == y) for _, label in rows])
            z = net.logits(x, True)[:, :len(columns)]
            loss = F.binary_cross_entropy_with_logits(z, target, reduction="none").sum(1).mean()
            grads = torch.autograd.grad(loss, list(net.p.values()))
            with torch.no_grad():
                for p, g in zip(net.p.values(), grads):
                    p -= c["lr"] * (g + c["decay"] * p)
            written = []
            for pair in batch:  # reservoir
                slot = len(memory)
                if slot == c["memory"]:
                    slot = update.below(seen + 1)
                else:
                    memory.append(None)
                seen += 1
                written.append(slot if slot < c["memory"] else -1)
                if written[-1] >= 0:
                    memory[slot] = pair
            earlier = [s for s in earlier if s not in written]
            out["loss"].append(loss.item())
            out["written"].append(written)
        teacher = net.copy()
        labels, margins = ncm(net, memory, c)
        out["predictions"].append(labels)
        out["margin"].append(margins)
    out["memory"] = [s for s, _ in memory]
    out["params"], out["running"] = net.flat(), net.stats()
    return out


def ncm(net, memory, c):
    """The class of the nearest mean for each test image, and by how much it is nearer than the next."""
    unit = lambda v: v / v.norm(dim=-1, keepdim=True)
    with torch.no_grad():
        phi = unit(net.features(torch.stack([image(s, y, (3, 32, 32)) for s, y in memory]), False))
        stored = sorted({y for _, y in memory})
        means = torch.stack([unit(phi[[i for i, (_, y) in enumerate(memory) if y == k]].mean(0)) for k in stored])
        test = torch.stack([image(9000 + i, i % 6, (3, 32, 32)) for i in range(c["test"])])
        d = (unit(net.features(test, False))[:, None] - means).norm(dim=2)
    near = d.topk(2, dim=1, largest=False)
    return [stored[k] for k in near.indices[:, 0]], (near.values[:, 1] - near.values[:, 0]).double().tolist()


# GDumb ---------------------------------------------------------------------------------------------------------------------------

GDUMB = dict(shape=(3, 8, 8), hidden=24, classes=9, stream=20, batch=5, memory=43, train_batch=8, epochs=4, lr=0.05, decay=0.01, clip=1.4, test=40)


def label_of(sample):
    """Classes appear one after the other."""
    return mix(2000 << 32 | sample) % (1 + sample // 12)


def greedy():
    """The memory after each batch of the stream, as samples by slot."""
    c, src, memory = GDUMB, Source("memory/update"), []
    history = []
    for sample in range(c["stream"] * c["batch"]):
        y, counts = label_of(sample), {}
        for s in memory:
            counts[label_of(s)] = counts.get(label_of(s), 0) + 1
        if y not in counts or counts[y] < c["memory"] / len(counts):
            if len(memory) >= c["memory"]:
                largest = [k for k in sorted(counts) if counts[k] == max(counts.values())]
                k = largest[src.below(len(largest))]
                members = [i for i, s in enumerate(memory) if label_of(s) == k]
                memory[members[src.below(len(members))]] = sample
            else:
                memory.append(sample)
        if sample % c["batch"] == c["batch"] - 1:
            history.append(list(memory))
    return history


def crop(x, src):
    c, h, w = x.shape
    pad = (max(h, w) + 7) // 8
    dy, dx, mirror = src.below(2 * pad + 1), src.below(2 * pad + 1), src.below(2)
    x = F.pad(x, (pad, pad, pad, pad))[:, dy:dy + h, dx:dx + w]
    return x.flip(2) if mirror else x


def cut(x, src):
    """CutMix of a batch: the mixed images, the partners, and the share of its own in each image."""
    n, _, h, w = x.shape
    side, rows = math.sqrt(1 - src.float()), list(range(n))
    src.shuffle(rows)
    cx = src.below(w)
    cy = src.below(h)
    x1, x2 = max(cx - int(w * side) // 2, 0), min(cx + int(w * side) // 2, w)
    y1, y2 = max(cy - int(h * side) // 2, 0), min(cy + int(h * side) // 2, h)
    mixed = x.clone()
    mixed[:, :, y1:y2, x1:x2] = x[rows][:, :, y1:y2, x1:x2]
    return mixed, rows, 1 - (x2 - x1) * (y2 - y1) / (w * h)


def rate(epoch, high, low):
    """An epoch at a tenth, then PyTorch's cosine restarts with T_0 = 1, T_mult = 2."""
    if epoch == 0:
        return high / 10
    p = torch.zeros(1, requires_grad=True)
    opt = torch.optim.SGD([p], lr=high)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, 1, 2, low)
    for _ in range(epoch - 1):
        opt.step()
        schedule.step()
    return opt.param_groups[0]["lr"]


def gdumb(dtype, original, order=lambda rows: rows):
    c, memory = GDUMB, greedy()[-1]
    seen = c["stream"] * c["batch"]
    pixels = c["shape"][0] * c["shape"][1] * c["shape"][2]
    net = MLP([pixels, c["hidden"], c["classes"]], Source(f"gdumb/init/{seen}"), dtype)
    shuffles, augment = Source(f"gdumb/order/{seen}"), Source(f"gdumb/augment/{seen}")
    opt = torch.optim.SGD(net.p, lr=c["lr"], weight_decay=c["decay"])
    if original:
        opt = torch.optim.SGD(net.p, lr=0.05, weight_decay=1e-6, momentum=0.9)
    slots, out = list(range(len(memory))), dict(loss=[], norm=[])
    for epoch in range(c["epochs"]):
        if original:
            opt.param_groups[0]["lr"] = rate(epoch, 0.05, 0.0005)
        shuffles.shuffle(slots)
        for i in range(len(slots) // c["train_batch"]):
            rows = [memory[s] for s in slots[i * c["train_batch"]:(i + 1) * c["train_batch"]]]
            x, y = torch.stack([image(s, label_of(s), c["shape"]) for s in rows]), torch.tensor([label_of(s) for s in rows])
            other, share = y, 1.0
            if original:
                x = torch.stack([crop(v, augment) for v in x])
                if augment.float() < 0.5:
                    x, partners, share = cut(x, augment)
                    other = y[partners]
            way = order(list(range(len(rows))))
            x, y, other = x[way], y[way], other[way]
            opt.zero_grad()
            z = net.logits(x)
            loss = share * F.cross_entropy(z, y) + (1 - share) * F.cross_entropy(z, other)
            loss.backward()
            out["norm"].append(torch.nn.utils.clip_grad_norm_(net.p, c["clip"]).item())
            opt.step()
            out["loss"].append(loss.item())
    test = torch.stack([image(9000 + i, i % c["classes"], c["shape"]) for i in range(c["test"])])
    top = net.logits(test).detach().topk(2, dim=1)
    out["predictions"], out["margin"] = top.indices[:, 0].tolist(), (top.values[:, 0] - top.values[:, 1]).double().tolist()
    out["params"] = net.flat()
    return out


# ----------------------------------------------------------------------------------------------------------------------------------


def golden(run, keys, stride):
    """The reference, and a tolerance for each of its quantities."""
    backwards = lambda rows: rows[::-1]
    want = run(torch.float64)
    others = [run(torch.float32), run(torch.float32, order=backwards)]
    torch.set_num_threads(1)
    with torch.backends.mkldnn.flags(enabled=False):
        others.append(run(torch.float32))
    out = {}
    for k in keys:
        v = torch.as_tensor(want[k], dtype=torch.float64)
        tol = C * max((torch.as_tensor(o[k], dtype=torch.float64) - v).abs().max().item() for o in others)
        out[k] = dict(tol=float(f"{tol:.3g}"), values=[float(f"{a:.9g}") for a in (v if k == "loss" else v[::stride]).tolist()])
        print(f"  {k}: tolerance {tol:.2g} of {v.abs().max().item():.2g}")
    flat = lambda v: [a for b in v for a in flat(b)] if isinstance(v, list) else [v]
    worst = C * max(max(abs(a - b) for a, b in zip(flat(o["margin"]), flat(want["margin"]))) for o in others)
    sure = lambda p, m: [sure(a, b) for a, b in zip(p, m)] if isinstance(p, list) else (p if m > worst else -1)
    out["predictions"] = sure(want["predictions"], want["margin"])
    p = flat(out["predictions"])
    print(f"  predictions: {len(set(p))} classes, {p.count(-1)} of {len(p)} too close to tell")
    return want, out


def write(folder, name, case, out):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        json.dump(dict(case=case, **out), f, separators=(",", ":"))
        f.write("\n")
    print(path, os.path.getsize(path), "bytes")


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "."
    torch.set_num_threads(2)
    stride = 9
    want, out = golden(icarl, ["loss", "params", "running"], stride)
    for k in ("replayed", "written", "memory"):
        out[k] = want[k]
    write(folder, "icarl.json", dict(ICARL, stride=stride), out)
    case = dict(GDUMB, stride=stride)
    result = dict(memory=greedy())
    for name, original in (("survey", False), ("original", True)):
        want, result[name] = golden(lambda dtype, order=lambda rows: rows: gdumb(dtype, original, order), ["loss", "params"], stride)
        print(f"  {sum(n > GDUMB['clip'] for n in want['norm'])} of {len(want['norm'])} steps are clipped")
    write(folder, "gdumb.json", case, result)


if __name__ == "__main__":
    main()
