#!/usr/bin/env python3
"""Runs ER in PyTorch on the class order of a result of ocl, as the survey's authors do, and prints a line of cifar100/torch.csv.

usage: survey/results/torch_er.py DIR RESULT.json.gz [RESULT.json.gz ...] [--threads 1]        needs `pip install torch numpy safetensors`

DIR has cifar-100-binary. A result says which classes each task has, the seed, the memory, the learning rate and the weight decay. All
other draws are PyTorch's and NumPy's, from the same seed: weights, the order of images within a task, and the memory. The loss is
that of the new batch and that of the stored one, each in a pass of its own, summed; of a new batch the reservoir draws each slot below
the number of images seen before it (docs/deviations.md). The accuracy is the mean over the tasks after the last of them.
"""
import argparse
import gzip
import json
import os
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/pytorch"))
from load_ocl import ReducedResNet18

BATCH, CLASSES = 10, 100


def cifar(directory, split):
    """Images (n,3,32,32) in [0,1] and fine labels of a split."""
    raw = np.fromfile(os.path.join(directory, "cifar-100-binary", split + ".bin"), np.uint8).reshape(-1, 2 + 3072)
    images = torch.from_numpy(raw[:, 2:].reshape(-1, 3, 32, 32).copy()).float() / 255
    return images, torch.from_numpy(raw[:, 1].astype(np.int64))


class Reservoir:
    def __init__(self, capacity):
        self.capacity, self.seen, self.held = capacity, 0, []

    def add(self, samples):
        """Stores numbers of images."""
        room = min(len(samples), self.capacity - len(self.held))
        self.held += samples[:room]
        self.seen += room
        rest = samples[room:]
        slots = np.floor(np.random.uniform(0, self.seen, len(rest))).astype(int) if rest else []
        for slot, sample in zip(slots, rest):
            if slot < self.capacity:
                self.held[slot] = sample
        self.seen += len(rest)

    def draw(self, size):
        return [self.held[i] for i in np.random.choice(len(self.held), min(size, len(self.held)), replace=False)]


def train(result, images, labels, tell):
    """A network that has learned the stream of a result."""
    config = result["config"]
    net = ReducedResNet18((3, 32, 32), CLASSES)
    optimizer = torch.optim.SGD(net.parameters(), lr=config["optimizer"]["lr"], weight_decay=config["optimizer"]["weight_decay"])
    memory = Reservoir(config["memory"])
    for number, task in enumerate(result["stream"]["tasks"]):
        here = torch.isin(labels, torch.tensor(task["classes"])).nonzero().flatten().numpy()
        np.random.shuffle(here)
        net.train()
        for at in range(0, len(here) - BATCH + 1, BATCH):
            new = here[at:at + BATCH].tolist()
            optimizer.zero_grad()
            F.cross_entropy(net(images[new]), labels[new]).backward()
            if memory.held:
                old = memory.draw(config["replay"]["batch"])
                F.cross_entropy(net(images[old]), labels[old]).backward()
            optimizer.step()
            memory.add(new)
        tell(number + 1)
    return net


def accuracy(net, tasks, images, labels):
    """Mean over the tasks of the accuracy on the test images of each."""
    net.eval()
    found = []
    with torch.no_grad():
        for task in tasks:
            here = torch.isin(labels, torch.tensor(task["classes"]))
            found.append((net(images[here]).argmax(1) == labels[here]).float().mean().item())
    return sum(found) / len(found)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("directory")
    parser.add_argument("results", nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    train_set, test_set = cifar(args.directory, "train"), cifar(args.directory, "test")
    for path in args.results:
        with gzip.open(path) as f:
            result = json.load(f)
        config, start = result["config"], time.time()
        if config["data"]["name"] != "cifar100" or config["protocol"] != "survey" or config["replay"]["iterations"] != 1:
            raise SystemExit(f"torch_er: {path}: want a run of one iteration on cifar100 in the survey's protocol")
        torch.manual_seed(config["seed"])
        np.random.seed(config["seed"])
        net = train(result, *train_set, lambda n: print(f"seed {config['seed']}: {n} tasks, {time.time() - start:.0f} s", file=sys.stderr))
        found = accuracy(net, result["stream"]["tasks"], *test_set)
        print(f"{config['seed']},{found:.6f},{torch.__version__.split('+')[0]}", flush=True)


if __name__ == "__main__":
    main()
