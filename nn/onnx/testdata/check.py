"""Runs models that ocl wrote with onnxruntime, and compares what comes out with what ocl says.

Prepare:

    python3 -m venv /tmp/onnx && /tmp/onnx/bin/pip install onnx onnxruntime pillow

The tests of Go alone need no Python. They compare with goldens that this script wrote for the small models beside it:

    go test ./nn/onnx -run TestGolden -update       # writes NAME.onnx anew
    /tmp/onnx/bin/python nn/onnx/testdata/check.py golden

Trained runs are exported and compared by a test that calls this script with "compare DIR":

    OCL_ONNX_PYTHON=/tmp/onnx/bin/python OCL_ONNX_RUNS=runs/er5k OCL_DATA=DIR \\
        go test ./cli -run TestONNXRuntimeAgrees -count=1 -v
"""

import base64
import json
import os
import sys

import numpy as np
import onnx
import onnxruntime
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
TOLERANCE = 1e-4  # of logits and scores; relative where they are larger than 1


def session(path):
    """Checks a model as strictly as onnx can, and opens it with its prepared pixels as one more output."""
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    sides = json.loads({p.key: p.value for p in model.metadata_props}["image_size"])
    model.graph.output.append(onnx.helper.make_tensor_value_info("pixels", onnx.TensorProto.UINT8, ["batch"] + sides))
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def run(s, images):
    return dict(zip([o.name for o in s.get_outputs()], s.run(None, {"images": images})))


def apart(got, want):
    """The largest difference, relative where numbers are larger than 1."""
    return float(np.max(np.abs(got.astype(np.float64) - want) / np.maximum(1, np.abs(want)))) if got.size else 0.0


def photograph(random, n, c, h, w):
    """Images with soft parts and edges."""
    y, x = np.mgrid[0:h, 0:w]
    out = np.empty((n, c, h, w), np.uint8)
    for image in out:
        for plane in image:
            a, b, phase = random.uniform(-0.4, 0.4, 3)
            wave = 110 + 70 * np.sin(a * x + b * y + 9 * phase) + 60 * (x + 2 * y > random.integers(1, h + w))
            plane[:] = np.clip(wave + random.normal(0, 12, (h, w)), 0, 255)
    return out


def golden():
    random = np.random.default_rng(20)
    for name in ["resnet18", "mlp", "sure", "energy"]:
        s = session(f"{HERE}/{name}.onnx")
        c = s.get_inputs()[0].shape[1]
        h, w = [o.shape for o in s.get_outputs() if o.name == "pixels"][0][2:]
        cases = []
        for n, height, width in [(2, h, w), (1, h + 6, w + 15), (1, h - 5, w - 2), (1, h, w + 5), (1, 2 * h + 10, 2 * w + 13)]:
            images = photograph(random, n, c, height, width)
            out = run(s, images)
            text = lambda a: base64.b64encode(np.ascontiguousarray(a).tobytes()).decode()
            cases.append({"shape": list(images.shape), "images": text(images), "pixels": text(out.pop("pixels")),
                          "outputs": {k: [float(x) for x in v.ravel()] for k, v in out.items()}})
        with open(f"{HERE}/{name}.json", "w") as f:
            json.dump({"onnxruntime": onnxruntime.__version__, "onnx": onnx.__version__, "cases": cases}, f, indent=1)
            f.write("\n")


def compare(folder):
    with open(f"{folder}/case.json") as f:
        case = json.load(f)
    s = session(f"{folder}/model.onnx")
    if case["files"]:
        each = [np.asarray(Image.open(f"{folder}/{name}").convert("RGB")).transpose(2, 0, 1)[None] for name in case["files"]]
    else:
        images = np.fromfile(f"{folder}/images.u8", np.uint8).reshape(case["shape"])
        each = [images[i : i + 100] for i in range(0, len(images), 100)]
    got = {}
    for images in each:
        for name, v in run(s, np.ascontiguousarray(images)).items():
            got.setdefault(name, []).append(v)
    got = {name: np.concatenate(v) for name, v in got.items()}
    n, failed = len(got["label"]), False
    print(f"onnxruntime {onnxruntime.__version__}, onnx {onnx.__version__}, {n} images")
    steps = np.abs(got["pixels"].astype(int).ravel() - np.fromfile(f"{folder}/pixels.u8", np.uint8))
    print(f"  pixels: {np.count_nonzero(steps)} of {steps.size} differ, by at most {steps.max()}")
    failed |= steps.max() > (1 if case["files"] else 0)
    for name in case["values"]:
        want = np.fromfile(f"{folder}/{name}.f32", np.float32).reshape(got[name].shape)
        largest = apart(got[name], want)
        print(f"  {name}: largest difference {largest:.2e}, of values from {want[want > -1e8].min():.3g} to {want.max():.3g}")
        failed |= steps.max() == 0 and not largest <= TOLERANCE
    for name, by in case["labels"].items():
        want = np.fromfile(f"{folder}/{name}.i32", np.int32)
        other = np.flatnonzero(got[name] != want)
        print(f"  {name}: {len(other)} of {n} differ")
        for i in other:
            two = np.sort(got[by][i])[-2:]
            print(f"    image {i}: {got[name][i]} instead of {want[i]}; {by} {two[1]:.6f} and {two[0]:.6f}")
            failed |= steps.max() == 0 and not two[1] - two[0] <= 2 * TOLERANCE * max(1, abs(two[1]))
    if "probabilities" in got:
        failed |= not apart(got["probabilities"].sum(axis=1), np.ones(n)) <= 1e-5
    sys.exit("the model and ocl disagree" if failed else 0)


if __name__ == "__main__":
    if sys.argv[1:] == ["golden"]:
        golden()
    elif len(sys.argv) == 3 and sys.argv[1] == "compare":
        compare(sys.argv[2])
    else:
        sys.exit(__doc__)
