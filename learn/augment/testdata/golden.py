"""Writes torchvision.json: what torchvision 0.14 makes of one small image by each function that package augment has.

    apt-get install python3-torchvision
    /usr/bin/python3 golden.py > torchvision.json

The image is 8-bit, [3,7,9]. Colours are changed on k/255 in float32, and so are moves and crops. The functions of 8-bit
levels (posterize, equalize) get the bytes. The factors and angles of RandAugment are those of torchvision's _apply_op
and _augmentation_space at magnitude 9 of 30 in both directions.
"""
import json
import math

import torch
import torchvision.transforms.functional as F
from torchvision.transforms import InterpolationMode
from torchvision.transforms.autoaugment import RandAugment, _apply_op

H, W = 7, 9
state = 1
pixels = []
for i in range(3 * H * W):
    state = (state * 1103515245 + 12345) % 2**31
    # A slope with noise, so that neighbours differ and the histogram has steps.
    pixels.append(min(255, 20 + 2 * (i % (H * W)) + (state >> 16) % (60 + 20 * (i // (H * W)))))
byte = torch.tensor(pixels, dtype=torch.uint8).reshape(3, H, W)
x = byte.float() / 255

cases = []


def case(name, args, y):
    y = y.float() / 255 if y.dtype == torch.uint8 else y
    cases.append({"name": name, "args": args, "out": [round(float(v), 6) for v in y.flatten()]})


for f in (0.6, 1.37):
    case("brightness", [f], F.adjust_brightness(x, f))
    case("contrast", [f], F.adjust_contrast(x, f))
    case("saturation", [f], F.adjust_saturation(x, f))
    case("sharpness", [f], F.adjust_sharpness(x, f))
for f in (-0.1, 0.07, 0.45):
    case("hue", [f], F.adjust_hue(x, f))
case("grey", [], F.rgb_to_grayscale(x, num_output_channels=3))
for box in ([1, 2, 5, 4], [0, 0, 7, 9], [3, 5, 1, 4]):
    case("crop", box, F.resized_crop(x, *box, [H, W], InterpolationMode.BILINEAR))
case("flip", [], F.hflip(x))
case("autocontrast", [], F.autocontrast(x))
case("equalize", [], F.equalize(byte))
# An image with enough pixels that equalizing changes it: the same one repeated eight times each way.
large = byte.repeat(1, 8, 8)
case("equalize", [8], F.equalize(large)[:, :H, :W])
for bits in (4, 7):
    case("posterize", [bits], F.posterize(byte, bits))
for t in (0.7, 0.25):
    case("solarize", [t], F.solarize(x, t))

space = RandAugment()._augmentation_space(31, [H, W])
for op in ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate"):
    for m in (9, 27):
        for sign in (1, -1):
            size = float(space[op][0][m]) * sign
            case(op, [m * sign], _apply_op(x, op, size, InterpolationMode.NEAREST, None))
for m in (9, 27):
    for op in ("Brightness", "Color", "Contrast", "Sharpness"):
        for sign in (1, -1):
            case(op, [m * sign], _apply_op(x, op, float(space[op][0][m]) * sign, InterpolationMode.NEAREST, None))
    case("Posterize", [m], _apply_op(byte, "Posterize", float(space["Posterize"][0][m]), InterpolationMode.NEAREST, None))
    case("Solarize", [m], _apply_op(x, "Solarize", float(space["Solarize"][0][m]) / 255, InterpolationMode.NEAREST, None))

print(json.dumps({"pixels": pixels, "height": H, "width": W, "cases": cases}, separators=(",", ":")))
