"""Writes pillow.json: what Pillow makes of small images, and files of kinds that Go has no encoder for.

Run it in this folder: python3 pillow.py. It needs Pillow and numpy. pillow.json was made with Pillow 13.0.0.
"""

import base64
import io
import json

import numpy as np
from PIL import Image, ImageOps


def text(b):
    return base64.b64encode(bytes(b)).decode()


def planes(image):
    return text(np.ascontiguousarray(np.asarray(image.convert("RGB")).transpose(2, 0, 1)))


def pattern(w, h):
    """The same pixels as pattern in picture_test.go: every value, sharp edges."""
    y, x, c = np.meshgrid(np.arange(h), np.arange(w), np.arange(3), indexing="ij")
    return Image.fromarray(((x * 37 + y * 91 + c * 53 + x * y * 7) % 256).astype(np.uint8))


def smooth(w, h):
    """Colours that change slowly, so that a lossy file of few bytes holds them."""
    y, x = np.mgrid[0:h, 0:w]
    return Image.fromarray(np.stack([40 + 150 * x // w, 200 - 120 * y // h, 60 + 80 * (x + y) // (w + h)], 2).astype(np.uint8))


def resize(image, w, h, by=Image.BILINEAR):
    """Across, then down: the only order before Pillow 13, which takes the other one for images that shrink far more in height."""
    return image.resize((w, image.height), by).resize((w, h), by)


def crop(image, side, rim=0, by=Image.BILINEAR):
    """torchvision's Resize(side + 2 rim) and CenterCrop(side)."""
    whole = side + 2 * rim
    w, h = image.size
    short, long = min(w, h), max(w, h)
    to = (whole, int(whole * long / short)) if w <= h else (int(whole * long / short), whole)
    image = resize(image, *to, by)
    left, top = int(round((to[0] - side) / 2.0)), int(round((to[1] - side) / 2.0))
    return image.crop((left, top, left + side, top + side))


def resized():
    for w, h, side in [(61, 47, 16), (20, 33, 16), (33, 20, 15), (5, 7, 12), (7, 7, 7), (40, 8, 8), (8, 8, 3), (1, 9, 4), (100, 3, 2), (16, 19, 16), (2, 2, 5)]:
        for fit in ["crop", "stretch"]:
            image = pattern(w, h)
            image = crop(image, side) if fit == "crop" else resize(image, side, side)
            yield {"w": w, "h": h, "side": side, "fit": fit, "planes": planes(image)}
        yield {"w": w, "h": h, "side": side, "fit": "bicubic crop", "planes": planes(crop(pattern(w, h), side, by=Image.BICUBIC))}
        yield {"w": w, "h": h, "side": side, "rim": 2, "fit": "bicubic crop", "planes": planes(crop(pattern(w, h), side, 2, Image.BICUBIC))}
        yield {"w": w, "h": h, "side": side, "fit": "bicubic stretch", "planes": planes(resize(pattern(w, h), side, side, Image.BICUBIC))}


def saved(image, format, **options):
    b = io.BytesIO()
    image.save(b, format, **options)
    return bytearray(b.getvalue())


def exif(orientation):
    e = Image.Exif()
    e[0x0112] = orientation
    return e


def files():
    image = smooth(16, 16)
    flat = Image.new("RGB", (16, 16), (200, 30, 90))
    clear = image.convert("RGBA")
    clear.putalpha(Image.fromarray((np.arange(256).reshape(16, 16)).astype(np.uint8)))
    small = dict(quality=90, optimize=True)
    cmyk = saved(image.convert("CMYK"), "JPEG", **small)
    ycck = bytearray(cmyk)
    adobe = ycck.index(b"Adobe")
    assert ycck[adobe + 11] == 0
    ycck[adobe + 11] = 2  # the same numbers, called YCCK
    yield "jpeg 4:4:4", saved(image, "JPEG", subsampling=0, **small)
    yield "jpeg 4:2:2", saved(image, "JPEG", subsampling=1, **small)
    yield "jpeg 4:2:0", saved(image, "JPEG", subsampling=2, **small)
    yield "jpeg progressive", saved(image, "JPEG", subsampling=0, progressive=True, **small)
    yield "jpeg grey", saved(image.convert("L"), "JPEG", **small)
    yield "jpeg rgb", saved(image, "JPEG", keep_rgb=True, **small)
    yield "jpeg cmyk", cmyk
    yield "jpeg ycck", ycck
    yield "jpeg orientation 6", saved(image, "JPEG", exif=exif(6), subsampling=0, **small)
    yield "png orientation 8", saved(image, "PNG", exif=exif(8))
    yield "webp", saved(image, "WEBP", quality=95)
    yield "webp flat", saved(flat, "WEBP", quality=95)
    yield "webp lossless", saved(image, "WEBP", lossless=True)
    yield "webp alpha", saved(clear, "WEBP", quality=95, exact=True)
    yield "webp lossless alpha", saved(clear, "WEBP", lossless=True, exact=True)
    yield "webp orientation 5", saved(image, "WEBP", lossless=True, exif=exif(5))
    yield "webp animated", saved(flat, "WEBP", save_all=True, append_images=[image])
    strips = dict(tiffinfo={278: 5})  # rows
    yield "tiff", saved(image, "TIFF")
    yield "tiff lzw", saved(image, "TIFF", compression="tiff_lzw", **strips)
    yield "tiff deflate", saved(image, "TIFF", compression="tiff_adobe_deflate", **strips)
    yield "tiff packbits", saved(image, "TIFF", compression="packbits", **strips)
    yield "tiff predicted", saved(image, "TIFF", compression="tiff_lzw", tiffinfo={317: 2})
    yield "tiff grey", saved(image.convert("L"), "TIFF", compression="tiff_lzw")
    yield "tiff bits", saved(image.convert("1"), "TIFF")
    yield "tiff palette", saved(image.convert("P", palette=Image.Palette.ADAPTIVE, colors=200), "TIFF", compression="tiff_adobe_deflate")
    yield "tiff alpha", saved(clear, "TIFF", compression="tiff_lzw")
    yield "tiff orientation 6", saved(image, "TIFF", compression="tiff_lzw", tiffinfo={274: 6})


def decoded():
    for name, file in files():
        image = ImageOps.exif_transpose(Image.open(io.BytesIO(bytes(file))))
        yield {"name": name, "file": text(file), "planes": planes(image)}


with open("pillow.json", "w") as f:
    json.dump({"resized": list(resized()), "decoded": list(decoded())}, f, indent=0)
    f.write("\n")
