#!/usr/bin/env python3
"""Labels images by a model that `ocl export RUN --to onnx` wrote. It needs onnxruntime, NumPy and Pillow, and nothing of ocl.

    python3 examples/onnx/label.py more.onnx photos/*.jpg
"""

import json
import sys

import numpy
import onnxruntime
from PIL import Image, ImageOps


def pixels_of(file, channels):
    """The pixels of an image file, uint8 [channels,height,width], as ocl reads them: upright, and of 16 bits the upper byte."""
    image = ImageOps.exif_transpose(Image.open(file))
    if image.mode.startswith("I"):  # 16 bits of grey, which convert would cut off at 255
        image = Image.fromarray((numpy.asarray(image) >> 8).astype(numpy.uint8))
    image = image.convert("L" if channels == 1 else "RGB")
    return numpy.asarray(image).reshape(image.height, image.width, channels).transpose(2, 0, 1)


def main(model, *files):
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = json.loads(session.get_modelmeta().custom_metadata_map.get("class_names", "null"))
    channels = session.get_inputs()[0].shape[1]
    outputs = [o.name for o in session.get_outputs() if o.name in ("label", "unknown")]  # unknown is there if the run is calibrated
    failed = 0
    for file in files:
        try:
            pixels = pixels_of(file, channels)
        except (OSError, Image.DecompressionBombError) as error:  # no image, or none that Pillow reads
            print(f"{file}: {error}", file=sys.stderr)
            failed += 1
            continue
        answer = dict(zip(outputs, session.run(outputs, {"images": pixels[None]})))
        label = answer["label"][0]
        name = names[label] if names else label
        print(file, "unknown" if answer.get("unknown", [False])[0] else name, sep="\t")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
