#!/usr/bin/env python3
"""Makes testdata/blur.json of blur_test.go: made-up images, blurred by scipy and by scikit-image.

usage: golden.py [OUT=blur.json]        needs numpy, scipy and scikit-image (2.4.6, 1.17.1 and 0.26.0 were used)

Images are functions of their index (pixel below), so the file holds results only. scikit-image is called as the survey's
code calls it: one array [N,H,W,C], all of whose axes but the last are blurred. The script stops if both libraries differ.
"""
import json
import sys

import numpy as np
from scipy.ndimage import gaussian_filter
from skimage.filters import gaussian

SURVEY = [0.28, 0.56, 0.83, 1.11, 1.39, 1.67, 1.94, 2.22, 2.5]


def pixel(i, p):
    """The byte p of image i."""
    return (i * i * 5 + i * 83 + p * p * 7 + p * 29 + i * p * 13) % 251


def made(n, c, h, w):
    x = np.array([[pixel(i, p) for p in range(c * h * w)] for i in range(n)], dtype=np.float64)
    return x.reshape(n, c, h, w) / 255


def case(sigma, n, shape, across):
    x = made(n, *shape)
    ours = gaussian_filter(x, (sigma * across, 0, sigma, sigma), mode="nearest", truncate=4)
    last = np.moveaxis(x, 1, -1)
    if across:
        theirs = gaussian(last, sigma=sigma, channel_axis=-1)
    else:
        theirs = np.stack([gaussian(image, sigma=sigma, channel_axis=-1) for image in last])
    assert np.abs(np.moveaxis(theirs, -1, 1) - ours).max() < 1e-12
    values = [round(float(v), 7) for v in ours.ravel()]
    return {"sigma": sigma, "images": n, "shape": shape, "cross_image": across, "values": values}


# Each survey strength on small images, one on an image wider than the Gaussian, and three across more images than it covers.
cases = [case(s, 1, (2, 5, 7), False) for s in SURVEY]
cases += [case(1.11, 1, (1, 3, 24), False)]
cases += [case(s, 24, (1, 3, 2), True) for s in (0.56, 1.39, 2.5)]
with open(sys.argv[1] if len(sys.argv) > 1 else "blur.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
