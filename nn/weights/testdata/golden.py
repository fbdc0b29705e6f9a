"""Write the golden files of packages safetensors and weights with PyTorch: python3 nn/weights/testdata/golden.py

The networks are tiny and drawn from a seed. Pixel i of the images is (37·i mod 256) / 255. `go test` compares without Python.
"""

import json
import pathlib
import sys

import numpy
import safetensors
import torch
from safetensors.torch import save_file

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parents[2] / "examples" / "pytorch"))
from load_ocl import MLP, ReducedResNet18  # noqa: E402

torch.manual_seed(1)
torch.set_num_threads(1)
cases = {}
for name, net, shape, dtype in [
    ("resnet18", ReducedResNet18([1, 26, 25], 3, 1), [1, 26, 25], torch.float16),
    ("mlp", MLP([2, 4, 3], 3, [5, 4]), [2, 4, 3], torch.float32),
]:
    with torch.no_grad():
        for key, v in net.state_dict().items():
            if key.endswith("running_mean"):
                v.uniform_(-0.3, 0.3)
            elif key.endswith("running_var"):
                v.uniform_(0.5, 1.5)
            elif "bn" in key or ".1." in key and "shortcut" in key:
                v.copy_(v + torch.randn(v.shape) / 4 if v.is_floating_point() else v)
        state = {k: v.to(dtype) if v.is_floating_point() else v for k, v in net.state_dict().items()}
        save_file(state, here / f"{name}.safetensors")
        net.load_state_dict(state)
        net.eval()
        count = 2 * shape[0] * shape[1] * shape[2]
        x = ((torch.arange(count) * 37) % 256 / 255).float().view(2, *shape)
        cases[name] = {"shape": shape, "classes": 3, "logits": net(x).tolist(), "features": net.features(x).tolist()}

versions = {"python": sys.version.split()[0], "torch": torch.__version__, "safetensors": safetensors.__version__, "numpy": numpy.__version__}
(here / "golden.json").write_text(json.dumps({"versions": versions, "cases": cases}, indent=1) + "\n")

# Of package safetensors: a file that its writer must reproduce, and numbers of every type that its reader converts.
folder = here.parents[1] / "safetensors" / "testdata"
folder.mkdir(exist_ok=True)
save_file({"b": torch.tensor([[1.0, -2.5, 3e-30], [float("inf"), 0.1, -0.0]]), "a \u00e9": torch.tensor([7, -1]), "one": torch.tensor(0.25), "none": torch.zeros(0, 3)},
          folder / "reference.safetensors")
numbers = torch.tensor([0.0, -0.0, 1.0, -2.5, 0.1, 65504.0, 6e-8, 3e-5, float("inf"), float("-inf"), 1e30, 1e300, 3.0e-320], dtype=torch.float64)
types = {}
for dtype in [torch.float64, torch.float32, torch.float16, torch.bfloat16]:
    v = numbers.to(dtype)
    types[str(dtype).removeprefix("torch.")] = v
    types[str(dtype).removeprefix("torch.") + ".wanted"] = v.to(torch.float32).clone()
save_file(types, folder / "types.safetensors")
