"""Writes vits.safetensors: what the libraries compute of two drawn pictures with drawn weights, for every vision transformer.

    python3 vits.py DINOV2 > vits.safetensors

DINOV2 is the folder dinocell of dinocell 0.74 from PyPI, which holds a copy of Facebook's source.
Of each case there are the features, and of three blocks some channels of some tokens. The metadata have the names and shapes of
all tensors that the library saves, of the first block only; the text tower has shapes of one number. Weights and pictures follow from the
formulas of drawn() and pictures(), which vits_test.go has too. Needs torch, safetensors, numpy, timm, open_clip_torch and transformers.
"""

import importlib.metadata
import json
import math
import re
import sys
import tempfile

import numpy
import torch
from safetensors.torch import load_file, save, save_file

BLOCKS = (0, 5, 10)
IMAGENET = [[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]]
HALVES = [[0.5] * 3] * 2
CLIP = [[0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]]
BLOCK = re.compile(r"\b(?:blocks|layer|layers|resblocks)\.\d+\.")


def noise(n, seed):
    """n numbers of 32 bits."""
    x = numpy.arange(n, dtype=numpy.uint32) * numpy.uint32(2654435761) + numpy.uint32(seed)
    x ^= x >> 16
    x *= numpy.uint32(0x7FEB352D)
    x ^= x >> 15
    x *= numpy.uint32(0x846CA68B)
    return x ^ x >> 16


def drawn(name, shape):
    """The values of a tensor."""
    seed = 2166136261
    for c in name.encode():
        seed = (seed ^ c) * 16777619 % 2**32
    u = (noise(math.prod(shape), seed) >> 8).astype(numpy.float32) * numpy.float32(2**-23) - numpy.float32(1)
    if "pos" in name or "token" in name or "class_embedding" in name:
        v = u * numpy.float32(0.5)
    elif len(shape) > 1:
        v = u * numpy.float32(math.sqrt(3 / math.prod(shape[1:])))
    elif re.search(r"weight$|gamma$|lambda1$", name):
        v = u * numpy.float32(0.25) + numpy.float32(0.75)
    else:
        v = u * numpy.float32(0.25)
    return torch.from_numpy(v.reshape(shape))


def pictures(n, side):
    """uint8 [n,3,side,side]."""
    i, c, y, x = numpy.ogrid[:n, :3, :side, :side]
    wave = x * (3 + i) + y * (5 + 2 * c) + (x * y >> 4) * (1 + c)
    return (wave + (noise(n * 3 * side * side, 7) >> 27).reshape(n, 3, side, side).astype(numpy.int64) & 255).astype(numpy.uint8)


def hub(name):
    from dinov2.dinov2.hub import backbones
    m = getattr(backbones, name)(pretrained=False)
    return m, m.blocks, lambda x: m.forward_features(x)["x_norm_clstoken"]


def timm_(name, size=None, stored=None):
    """stored is the side of the pictures of the file, of which timm resamples the positions."""
    import timm
    from timm.models.vision_transformer import checkpoint_filter_fn
    m = timm.create_model(name, pretrained=False, num_classes=512 if "clip" in name else 0)
    if stored:
        inner = timm.create_model(name, pretrained=False, num_classes=0, img_size=224)
        return m, inner.blocks, lambda x: inner(x), lambda sd: inner.load_state_dict(checkpoint_filter_fn(dict(sd), inner))
    return m, m.blocks, lambda x: m(x)


def face(model, config, feature, **settings):
    """The names of files are not those that the library has in memory, so that weights go through a file."""
    import transformers
    kind = getattr(transformers, model)
    with tempfile.TemporaryDirectory() as folder:
        kind(getattr(transformers, config)(**settings)).save_pretrained(folder)
        file = folder + "/model.safetensors"
        weights = {k: half("CLIP" in model, drawn(k, tuple(v.shape))) for k, v in load_file(file).items()}
        save_file(weights, file, metadata={"format": "pt"})
        m = kind.from_pretrained(folder)
    blocks = next(b for b in m.modules() if isinstance(b, torch.nn.ModuleList) and len(b) == 12)
    return m, blocks, lambda x: feature(m(x)), weights


def half(quick, v):
    """OpenAI's weights are exact in 16 bits, by which they are told from others."""
    return v.half().float() if quick and v.dim() > 1 else v


def clip(name, quick):
    import open_clip
    m = open_clip.create_model(name, pretrained=None, force_quick_gelu=quick)
    return m, m.visual.transformer.resblocks, lambda x: m.encode_image(x)


S, B = {"hidden_size": 384, "num_attention_heads": 6}, {"hidden_size": 768, "num_attention_heads": 12}
V, P = {"intermediate_size": 1536} | S, {"intermediate_size": 3072} | B
FIRST = lambda y: y.last_hidden_state[:, 0]
CASES = {
    # name: architecture, source, values of pixels, gelu, how to make it
    "hub-s14": ("dinov2-vits14", IMAGENET, "erf", lambda: hub("dinov2_vits14")),
    "hub-s14-reg4": ("dinov2-vits14-reg4", IMAGENET, "erf", lambda: hub("dinov2_vits14_reg")),
    "hub-b14": ("dinov2-vitb14", IMAGENET, "erf", lambda: hub("dinov2_vitb14")),
    "hub-b14-reg4": ("dinov2-vitb14-reg4", IMAGENET, "erf", lambda: hub("dinov2_vitb14_reg")),
    "timm-s14": ("dinov2-vits14", IMAGENET, "erf", lambda: timm_("vit_small_patch14_dinov2", stored=518)),
    "timm-s14-reg4": ("dinov2-vits14-reg4", IMAGENET, "erf", lambda: timm_("vit_small_patch14_reg4_dinov2", stored=518)),
    "face-s14": ("dinov2-vits14", IMAGENET, "erf", lambda: face("Dinov2Model", "Dinov2Config", FIRST, image_size=518, patch_size=14, **S)),
    "face-s14-reg4": ("dinov2-vits14-reg4", IMAGENET, "erf", lambda: face("Dinov2WithRegistersModel", "Dinov2WithRegistersConfig", FIRST, image_size=518, patch_size=14, **S)),
    "timm-deit": ("deit-s16", IMAGENET, "erf", lambda: timm_("deit_small_patch16_224")),
    "timm-s16": ("augreg-vits16", HALVES, "erf", lambda: timm_("vit_small_patch16_224")),
    "timm-b16": ("augreg-vitb16", HALVES, "erf", lambda: timm_("vit_base_patch16_224")),
    "face-b16": ("augreg-vitb16", HALVES, "erf", lambda: face("ViTModel", "ViTConfig", FIRST, add_pooling_layer=True, **P)),
    "clip-b32-openai": ("clip-vitb32", CLIP, "quick", lambda: clip("ViT-B-32", True)),
    "clip-b32-laion": ("clip-vitb32", CLIP, "erf", lambda: clip("ViT-B-32", False)),
    "clip-b16-openai": ("clip-vitb16", CLIP, "quick", lambda: clip("ViT-B-16", True)),
    "face-clip-b16": ("clip-vitb16", CLIP, "quick", lambda: face("CLIPVisionModelWithProjection", "CLIPVisionConfig", lambda y: y.image_embeds, patch_size=16, projection_dim=512, **P)),
    "timm-clip-b32": ("clip-vitb32", CLIP, "quick", lambda: timm_("vit_base_patch32_clip_quickgelu_224")),
}


def run(case, kept, metadata):
    architecture, (mean, std), gelu, make = CASES[case]
    model, blocks, features, *more = make()
    text = lambda name: case.startswith("clip") and not name.startswith("visual.")
    if more and not callable(more[0]):
        weights = more[0]
    else:
        weights = {k: v if text(k) else half(gelu == "quick", drawn(k, tuple(v.shape))) for k, v in model.state_dict().items()}
        (more[0] if more else model.load_state_dict)(weights)
    for m in {id(model): model, id(blocks): blocks}.values():
        m.eval()
    seen = []
    for b in BLOCKS:
        blocks[b].register_forward_hook(lambda _, args, out: seen.append(out[0] if isinstance(out, tuple) else out))
    x = (torch.from_numpy(pictures(2, 224)).float() / 255 - torch.tensor(mean).view(-1, 1, 1)) / torch.tensor(std).view(-1, 1, 1)
    with torch.no_grad():
        y = features(x)
    kept[case + ".features"] = y.contiguous()
    for b, h in zip(BLOCKS, seen):
        tokens = [0, 1, 6, h.shape[1] - 1]
        kept[f"{case}.block{b}"] = h[:, tokens, ::32].contiguous()
    metadata[case] = json.dumps({"architecture": architecture, "gelu": gelu, "mean": mean, "std": std, "tensors": {
        k: [1] if text(k) else list(v.shape) for k, v in weights.items() if not BLOCK.search(k) or BLOCK.search(k).group().endswith(".0.")}}, separators=(",", ":"))
    print(case, tuple(y.shape), float(y.abs().max()), file=sys.stderr)


def main():
    sys.path.insert(0, sys.argv[1])
    kept, metadata = {}, {m: importlib.metadata.version(m) for m in ("torch", "timm", "open_clip_torch", "transformers")}
    for case in CASES:
        run(case, kept, metadata)
    sys.stdout.buffer.write(save(kept, metadata=metadata))


if __name__ == "__main__":
    main()
