#!/usr/bin/env python3
"""A server to compare with `ocl serve`: FastAPI and PyTorch, with ER learning in a thread.

usage: cli/internal/bench/serve_peer.py [--port 8200] [--threads 2] [--size 32] [--memory 5000] [--batch 10] [--queue 1000] [--lr 0.1]
                           [--channels-last]

It has the survey's reduced ResNet-18, and answers the requests that `ocl bench serve` sends, in the same way:

    python3 cli/internal/bench/serve_peer.py --port 8200 &
    ocl bench serve --url http://127.0.0.1:8200

A thread takes labelled pictures off a queue, makes ER steps (10 incoming pictures, then 10 of a reservoir), and publishes a copy of the
weights every 100 ms at most. Predictions run in the threads of FastAPI on the copy. It keeps nothing on the disk, so its
acknowledgements promise less. Needs `pip install torch fastapi uvicorn pillow numpy`.
"""
import argparse
import copy
import io
import queue
import random
import resource
import threading
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from PIL import Image

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--port", type=int, default=8200)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--size", type=int, default=32)
parser.add_argument("--memory", type=int, default=5000)
parser.add_argument("--batch", type=int, default=10)
parser.add_argument("--queue", type=int, default=1000)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--channels-last", action="store_true")
args = parser.parse_args()
torch.set_num_threads(args.threads)
torch.manual_seed(0)
FORMAT = torch.channels_last if args.channels_last else torch.contiguous_format
CAPACITY = 256  # outputs of the head, as the daemon has


class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.c2, self.b2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        same = stride == 1 and i == o
        self.sc = nn.Sequential() if same else nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        return F.relu(self.b2(self.c2(F.relu(self.b1(self.c1(x))))) + self.sc(x))


class Net(nn.Module):
    def __init__(self, size, width=20, classes=CAPACITY):
        super().__init__()
        self.c, self.b = nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        blocks, i = [], width
        for k in range(4):
            o = width << k
            blocks += [Block(i, o, 1 if k == 0 else 2), Block(o, o, 1)]
            i = o
        self.blocks = nn.Sequential(*blocks)
        side = size
        for _ in range(3):
            side = (side + 1) // 2
        self.fc = nn.Linear(8 * width * (side // 4) ** 2, classes)

    def forward(self, x):
        return self.fc(F.avg_pool2d(self.blocks(F.relu(self.b(self.c(x)))), 4).flatten(1))


class Learner:
    """ER: the step, its reservoir, and the copy that answers."""

    def __init__(self):
        self.net = Net(args.size).to(memory_format=FORMAT)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=args.lr)
        self.serving, self.version = copy.deepcopy(self.net).eval(), 0
        self.waiting, self.names = queue.Queue(args.queue), []
        self.x = torch.empty(args.memory, 3, args.size, args.size, dtype=torch.uint8)
        self.y = torch.empty(args.memory, dtype=torch.long)
        self.stored = self.seen = self.learned = 0
        self.published = 0.0
        self.lock = threading.Lock()  # of names, and of what is put into the queue

    def label(self, name):
        with self.lock:
            if name not in self.names:
                self.names.append(name)
            return self.names.index(name)

    def put(self, pictures, label):
        """Takes all pictures, or none where the queue is full."""
        with self.lock:
            if self.waiting.qsize() + len(pictures) > args.queue:
                return False
            for p in pictures:
                self.waiting.put((p, label))
            return True

    def run(self):
        while True:
            rows = [self.waiting.get()]
            end = time.monotonic() + 0.2
            while len(rows) < args.batch:
                try:
                    rows.append(self.waiting.get(timeout=max(0, end - time.monotonic())))
                except queue.Empty:
                    break
            self.step(torch.stack([r[0] for r in rows]), torch.tensor([r[1] for r in rows]))

    def step(self, x, y):
        self.net.train()
        self.opt.zero_grad()
        self.loss(x, y).backward()
        if self.stored:
            i = torch.randint(0, self.stored, (min(args.batch, self.stored),))
            self.loss(self.x[i], self.y[i]).backward()
        self.opt.step()
        for k in range(len(y)):  # reservoir
            slot = self.stored if self.stored < args.memory else random.randrange(self.seen + 1)
            if slot < args.memory:
                self.x[slot], self.y[slot] = x[k], y[k]
                self.stored = max(self.stored, slot + 1)
            self.seen += 1
        self.learned += len(y)
        if time.monotonic() - self.published > 0.1:
            fresh = copy.deepcopy(self.net).eval()
            self.serving, self.version, self.published = fresh, self.version + 1, time.monotonic()

    def loss(self, x, y):
        out = self.net((x.float() / 255).contiguous(memory_format=FORMAT))
        return F.cross_entropy(out[:, : len(self.names)], y)

    def predict(self, x):
        net, version = self.serving, self.version
        with torch.inference_mode():
            p = F.softmax(net((x.float() / 255).contiguous(memory_format=FORMAT))[:, : max(1, len(self.names))], 1)
            return p.topk(min(5, p.shape[1]), 1), version


learner, app = Learner(), FastAPI()


def pictures(kind, body):
    """uint8 [n,3,S,S] of a body: raw pixels, or one picture file."""
    if kind == "application/octet-stream":
        return torch.frombuffer(bytearray(body), dtype=torch.uint8).reshape(-1, 3, args.size, args.size)
    im = Image.open(io.BytesIO(body)).convert("RGB").resize((args.size, args.size), Image.BILINEAR)
    return torch.from_numpy(np.asarray(im).transpose(2, 0, 1).copy())[None]


@app.post("/v1/predictions")
async def predictions(request: Request):
    body, kind = await request.body(), request.headers.get("content-type")

    def work():
        (values, at), version = learner.predict(pictures(kind, body))
        names = learner.names
        return {"version": version, "measure": "probability", "predictions": [
            {"guesses": [{"class": names[k] if k < len(names) else "", "probability": v} for k, v in zip(ks, vs)]}
            for ks, vs in zip(at.tolist(), values.tolist())]}

    return await run_in_threadpool(work)


@app.post("/v1/samples", status_code=202)
async def samples(request: Request, label: str, id: str = ""):
    batch = pictures(request.headers.get("content-type"), await request.body())
    if not learner.put(list(batch), learner.label(label)):
        return Response(status_code=429, headers={"Retry-After": "1"})
    return {"samples": [{"id": id, "label": label, "state": "waiting"} for _ in batch]}


@app.post("/v1/classes", status_code=202)
async def classes(request: Request):
    name = (await request.json())["name"]
    learner.label(name)
    return {"name": name}


@app.get("/v1/status")
async def status():
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"samples": {"learned": learner.learned, "waiting": learner.waiting.qsize()}, "memory": {"bytes": memory},
            "disk": {"journal": 0, "snapshots": 0}}


@app.get("/readyz")
async def ready():
    return {"ready": True}


if __name__ == "__main__":
    threading.Thread(target=learner.run, daemon=True).start()
    uvicorn.run(app, host="127.0.0.1", port=args.port, log_level="warning", access_log=False)
