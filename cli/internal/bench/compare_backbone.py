#!/usr/bin/env python3
"""Compare features of pretrained networks with PyTorch and ONNX Runtime on this machine: alternates the three, prints medians and ratios.

usage: cli/internal/bench/compare_backbone.py [--rounds 5] [--threads 2] [--seconds 2] [--networks efficientnet-lite0,torchvision-resnet18]

All compute features of pictures of 224 pixels in float32 with as many threads: one picture at a time, and 32 at a time. Weights are random. ocl's time
is that of BenchmarkFeatures of package nn/backbone, which uses two threads, and contains the conversion of bytes into numbers. A ratio above 1 says that
ocl is faster. Needs `pip install torch torchvision onnx onnxruntime timm efficientnet-lite-pytorch`.
"""
import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time

import onnxruntime
import torch
import torchvision


TRANSFORMERS = {"dinov2-vits14": "vit_small_patch14_dinov2", "dinov2-vitb14": "vit_base_patch14_dinov2", "deit-s16": "deit_small_patch16_224",
                "augreg-vitb16": "vit_base_patch16_224"}


def network(name):
    """The network without its classifier."""
    if name == "efficientnet-lite0":
        from efficientnet_lite_pytorch import EfficientNet
        net = EfficientNet.from_name("efficientnet-lite0")
        net._dropout, net._fc = torch.nn.Identity(), torch.nn.Identity()
    elif name in TRANSFORMERS:
        import timm
        net = timm.create_model(TRANSFORMERS[name], pretrained=False, num_classes=0, img_size=224)
    else:
        net = getattr(torchvision.models, name.removeprefix("torchvision-"))()
        net.fc = torch.nn.Identity()
    return net.eval()


def repeated(call, seconds):
    """The median of milliseconds of calls, for so many seconds; one call before them does not count."""
    call()
    begin, times = time.perf_counter(), []
    while not times or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def run_ocl(binary, name, pictures, seconds):
    """Milliseconds of BenchmarkFeatures."""
    out = subprocess.run([binary, "-test.run", "^$", "-test.bench", f"Features/{name}/{pictures}$", "-test.benchtime", f"{seconds}s"],
                         check=True, capture_output=True, text=True).stdout
    return float(re.search(r"([\d.]+) ns/op", out)[1]) / 1e6


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--threads", type=int, default=2)
    a.add_argument("--seconds", type=float, default=2)
    a.add_argument("--networks", default="efficientnet-lite0,torchvision-resnet18")
    o = a.parse_args()
    torch.set_num_threads(o.threads)
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        binary = os.path.join(folder, "backbone.test")
        subprocess.run(["go", "test", "-c", "-o", binary, "./nn/backbone"], cwd=root, check=True)
        print(f"{'network':22} {'pictures':>8} {'ocl':>9} {'onnxruntime':>11} {'PyTorch':>9} {'onnxruntime / ocl':>18} {'PyTorch / ocl':>14}")
        for name in o.networks.split(","):
            net = network(name)
            file = os.path.join(folder, name + ".onnx")
            torch.onnx.export(net, torch.zeros(1, 3, 224, 224), file, input_names=["x"], dynamic_axes={"x": {0: "n"}}, opset_version=18, dynamo=False)
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = o.threads
            session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
            for n in (1, 32):
                x = torch.rand(n, 3, 224, 224)
                laid, array = x.to(memory_format=torch.channels_last), x.numpy()
                last = net.to(memory_format=torch.channels_last)
                times = {"ocl": [], "onnxruntime": [], "torch": []}
                for _ in range(o.rounds):
                    times["ocl"].append(run_ocl(binary, name, n, o.seconds))
                    times["onnxruntime"].append(repeated(lambda: session.run(None, {"x": array}), o.seconds))
                    times["torch"].append(repeated(lambda: last(laid), o.seconds))
                m = {k: statistics.median(v) for k, v in times.items()}
                print(f"{name:22} {n:8} {m['ocl']:9.1f} {m['onnxruntime']:11.1f} {m['torch']:9.1f} {m['onnxruntime'] / m['ocl']:18.2f} {m['torch'] / m['ocl']:14.2f}", flush=True)


if __name__ == "__main__":
    main()
