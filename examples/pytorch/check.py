"""Check that ocl and PyTorch compute the same logits from the same weights, in both directions.

    ocl export RUN --to safetensors -o er.safetensors
    go build -o logits ./examples/pytorch/logits
    python3 examples/pytorch/check.py er.safetensors cifar100 DIR --logits ./logits --ocl ocl

1. ocl to PyTorch: the exported file in PyTorch, on real test images.
2. PyTorch to ocl: a few training steps in PyTorch, the whole state_dict saved by safetensors, and read by ocl.
3. PyTorch to `ocl run network.init=FILE`: a run whose learning rate is next to nothing ends with the parameters of that file.

It prints the largest differences, and fails if a logit differs by more than 1e-4 or, in step 3, a parameter at all.
"""

import argparse
import gzip
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

from load_ocl import Predictor

TOLERANCE = 1e-4


def cifar100(folder, n):
    """Test images and labels of the binary version."""
    rows = numpy.fromfile(pathlib.Path(folder) / "test.bin", numpy.uint8).reshape(-1, 2 + 3072)[:n]
    return torch.from_numpy(rows[:, 2:].reshape(-1, 3, 32, 32).copy()), torch.from_numpy(rows[:, 1].astype(numpy.int64))


def mnist(folder, n):
    folder = pathlib.Path(folder)
    with gzip.open(folder / "t10k-images-idx3-ubyte.gz") as f:
        x = numpy.frombuffer(f.read(), numpy.uint8, offset=16).reshape(-1, 1, 28, 28)[:n]
    with gzip.open(folder / "t10k-labels-idx1-ubyte.gz") as f:
        y = numpy.frombuffer(f.read(), numpy.uint8, offset=8)[:n]
    return torch.from_numpy(x.copy()), torch.from_numpy(y.astype(numpy.int64))


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("weights")
    a.add_argument("data", choices=["cifar100", "mnist"])
    a.add_argument("folder")
    a.add_argument("--logits", required=True, help="the program of examples/pytorch/logits")
    a.add_argument("--ocl", help="the command, for step 3")
    a.add_argument("--images", type=int, default=1000)
    o = a.parse_args()
    torch.manual_seed(1)
    p = Predictor(o.weights)
    pixels, labels = {"cifar100": cifar100, "mnist": mnist}[o.data](o.folder, o.images)
    x = p.normalise(pixels)
    work = pathlib.Path(tempfile.mkdtemp())
    save_file({"images": x.contiguous()}, work / "images.safetensors")
    failed = False

    def compare(what, weights):
        nonlocal failed
        subprocess.run([o.logits, weights, work / "images.safetensors", work / "logits.safetensors"], check=True)
        ours = load_file(work / "logits.safetensors")
        with torch.no_grad():
            theirs, features = p.net(x), p.net.features(x)
        worst = (theirs - ours["logits"]).abs().max().item()
        failed |= not worst <= TOLERANCE
        agree = (theirs.argmax(1) == ours["logits"].argmax(1)).float().mean().item()
        print(f"{what}: logits differ by at most {worst:.1e} (largest {theirs.abs().max():.1f}), features by {(features - ours['features']).abs().max():.1e}; "
              f"{agree:.1%} of the classes agree, accuracy {(p.predict(x) == labels).float().mean():.2%} of {len(x)} images")

    compare("ocl to PyTorch", o.weights)

    p.net.train()
    optimiser = torch.optim.SGD(p.net.parameters(), lr=0.01)
    for i in range(10):
        batch = slice(20 * i, 20 * i + 20)
        optimiser.zero_grad()
        F.cross_entropy(p.net(x[batch]), labels[batch]).backward()
        optimiser.step()
    p.net.eval()
    trained = work / "pytorch.safetensors"
    save_file(p.net.state_dict(), trained, metadata=p.about)
    compare("PyTorch to ocl", trained)

    if o.ocl:
        network = ["--network", p.about["architecture"]]
        network += ["network.hidden=" + p.about["hidden"].strip("[]")] if "hidden" in p.about else ["network.width=" + p.about["width"]]
        network += ["network.head=" + p.about["head"]] if "head" in p.about else []
        subprocess.run([o.ocl, "run", "--quiet", "--no-report", f"network.init={trained}", "--lr", "1e-30", "--method", "finetune", "--data", o.data, "--data-dir", o.folder,
                        "data.train_per_class=1", "data.test_per_class=1", "--out", work / "run", *network], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([o.ocl, "export", work / "run", "--to", "safetensors", "-o", work / "run.safetensors"], check=True, stdout=subprocess.DEVNULL)
        before, after = p.net.state_dict(), load_file(work / "run.safetensors")
        parameters = [name for name, _ in p.net.named_parameters()]
        worst = max((before[name] - after[name]).abs().max().item() for name in parameters)
        failed |= not worst < 1e-20
        print(f"PyTorch to ocl run network.init=FILE: {len(parameters)} parameters differ by at most {worst:.1e}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
