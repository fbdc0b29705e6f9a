"""Load a network that `ocl export RUN --to safetensors` wrote, and predict with it in PyTorch.

    python3 load_ocl.py er.safetensors image.png...

prints the class of each image, which must have the size that the network learned. Needs torch, safetensors, numpy and pillow.
"""

import json
import sys

import torch
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from torch import nn


class Block(nn.Module):
    """A basic residual block: two 3x3 convolutions, and a 1x1 one beside them where the shape changes."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class CosineLinear(nn.Module):
    """sigma times the cosines of the features and the rows of weight."""

    def __init__(self, inputs, classes):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(classes, inputs))
        self.sigma = nn.Parameter(torch.empty(1))

    def forward(self, x):
        return self.sigma * F.linear(F.normalize(x), F.normalize(self.weight))


class ReducedResNet18(nn.Module):
    """The survey's network: `width` channels in the first stage, no pooling before the last 4x4 average."""

    def __init__(self, shape, classes, width=20, head=nn.Linear):
        super().__init__()
        channels, height, width_px = shape
        self.conv1 = nn.Conv2d(channels, width, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        inputs = width
        for stage in range(4):
            outputs = width << stage
            first = Block(inputs, outputs, 1 if stage == 0 else 2)
            setattr(self, f"layer{stage + 1}", nn.Sequential(first, Block(outputs, outputs, 1)))
            inputs = outputs
            if stage > 0:
                height, width_px = (height + 1) // 2, (width_px + 1) // 2
        self.linear = head(inputs * (height // 4) * (width_px // 4), classes)

    def features(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return F.avg_pool2d(x, 4).flatten(1)

    def forward(self, x):
        return self.linear(self.features(x))


class MLP(nn.Module):
    """Hidden layers with ReLU, or a cosine, on the image as one row: channel by channel, each row by row."""

    def __init__(self, shape, classes, hidden, head=nn.Linear, activation=F.relu):
        super().__init__()
        self.activation = activation
        sizes = [shape[0] * shape[1] * shape[2], *hidden]
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.linear = head(sizes[-1], classes)

    def features(self, x):
        x = x.flatten(1)
        for layer in self.hidden:
            x = self.activation(layer(x))
        return x

    def forward(self, x):
        return self.linear(self.features(x))


class Predictor:
    """A network of ocl with what its file says about images and classes."""

    def __init__(self, path):
        want = "Give a file that `ocl export RUN --to safetensors` wrote"
        try:
            with safe_open(path, "pt") as f:
                self.about = dict(f.metadata() or {})
                tensors = {name: f.get_tensor(name) for name in f.keys()}
        except (OSError, SafetensorError) as error:
            raise ValueError(f"{path}: this cannot be read as a safetensors file ({error}). {want}") from error
        if "architecture" not in self.about:
            raise ValueError(f"{path}: the file does not say which network it holds. {want}")
        shape, classes = json.loads(self.about["shape"]), int(self.about["classes"])
        head = {"linear": nn.Linear, "cosine": CosineLinear, "projection": lambda *_: nn.Identity()}[self.about.get("head", "linear")]
        tensors = {name: t for name, t in tensors.items() if not name.startswith("head.")}  # a projection, which no prediction needs
        if self.about["architecture"] in ("mlp", "linear"):  # linear has no hidden layer
            self.net = MLP(shape, classes, json.loads(self.about.get("hidden", "[]")), head,
                           {"relu": F.relu, "cos": torch.cos}[self.about.get("activation", "relu")])
        elif self.about["architecture"] == "resnet18":
            self.net = ReducedResNet18(shape, classes, int(self.about["width"]), head)
        else:
            raise ValueError(f"{path}: this script does not have the network {self.about['architecture']}. Add its class to the script")
        self.means, self.mean_classes = tensors.pop("ncm.means", None), tensors.pop("ncm.classes", None)
        # strict: nothing is missing and nothing is left over. Batch norm's num_batches_tracked, which no prediction
        # needs, may be absent.
        self.net.load_state_dict(tensors, strict=True)
        self.net.eval()
        self.embeddings = "embeddings" in self.about
        if not self.embeddings:
            self.mean = torch.tensor(json.loads(self.about["mean"])).view(-1, 1, 1)
            self.std = torch.tensor(json.loads(self.about["std"])).view(-1, 1, 1)
        self.names = json.loads(self.about["class_names"]) if "class_names" in self.about else [str(k) for k in range(classes)]

    def normalise(self, pixels):
        """Images [N,C,H,W] of uint8, or embeddings [N,D], as the network takes them."""
        if self.embeddings:
            return pixels.half().float()  # as ocl keeps them
        return (pixels.float() / 255 - self.mean) / self.std

    @torch.no_grad()
    def predict(self, x):
        """The class of each normalised image."""
        if self.about["classifier"] == "head":
            return self.net(x).argmax(1)
        nearest = torch.cdist(F.normalize(self.net.features(x)), self.means).argmin(1)
        return self.mean_classes[nearest]


def main(path, *images):
    import numpy
    from PIL import Image

    try:
        p = Predictor(path)
    except ValueError as error:
        sys.exit(str(error))
    channels, height, width = json.loads(p.about["shape"])
    for name in images:
        try:
            image = Image.open(name).convert("L" if channels == 1 else "RGB")
        except (OSError, Image.DecompressionBombError) as error:
            sys.exit(f"{name}: this cannot be read as an image ({error}). Give an image file, such as a PNG")
        if image.size != (width, height):
            sys.exit(f"{name}: the image has {image.width}x{image.height} pixels, but the network learned {width}x{height}. "
                     "Resize it first, or use `ocl predict`, which resizes as the run did")
        pixels = torch.from_numpy(numpy.array(image))
        pixels = pixels[None] if channels == 1 else pixels.permute(2, 0, 1)
        print(name, p.names[p.predict(p.normalise(pixels[None]))])


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
