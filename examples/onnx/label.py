#!/usr/bin/env python3
"""Labels images by a model that `ocl export RUN --to onnx` wrote. It needs onnxruntime, NumPy and Pillow, and nothing of ocl.

    python3 examples/onnx/label.py more.onnx photos/*.jpg
"""

import json
import sys

import numpy
import onnxruntime
from PIL import Image, ImageOps


def main(model, *files):
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = json.loads(session.get_modelmeta().custom_metadata_map.get("class_names", "null"))
    channels = session.get_inputs()[0].shape[1]
    failed = 0
    for file in files:
        try:
            image = ImageOps.exif_transpose(Image.open(file)).convert("L" if channels == 1 else "RGB")
        except (OSError, Image.DecompressionBombError) as error:  # no image, or none that Pillow reads
            print(f"{file}: {error}", file=sys.stderr)
            failed += 1
            continue
        pixels = numpy.asarray(image).reshape(image.height, image.width, channels)
        (label,) = session.run(["label"], {"images": pixels.transpose(2, 0, 1)[None]})
        print(file, names[label[0]] if names else label[0], sep="\t")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
