"""Writes the pickles of this folder: python3 make.py, with NumPy 2.

values-N.pkl is written by Python 3 in protocol N. values-py2-N.pkl is what Python 2 writes in protocol N: its strings are
bytes, its memo counts from 1, NumPy has its old names and 0 and 1 for truth values.
"""

import pickle
import struct

import numpy as np


class Python2(pickle._Pickler):
    dispatch = dict(pickle._Pickler.dispatch)

    def memoize(self, obj):
        self.write(self.put(len(self.memo) + 1))
        self.memo[id(obj)] = len(self.memo) + 1, obj

    def save_string(self, obj):
        raw = obj if isinstance(obj, bytes) else obj.encode()
        if self.proto == 0:
            text = repr(raw)[1:]
            self.write(b"S" + text.encode() + b"\n")
        elif len(raw) < 256:
            self.write(b"U" + bytes([len(raw)]) + raw)
        else:
            self.write(b"T" + struct.pack("<i", len(raw)) + raw)
        self.memoize(obj)

    dispatch[str] = save_string
    dispatch[bytes] = save_string

    def save_int(self, obj):
        if self.proto and -1 << 31 <= obj < 1 << 31:
            self.save_long(obj)
        else:
            self.write(b"I%d\n" % obj)

    dispatch[int] = save_int

    def save_global(self, obj, name=None):
        module = "numpy" if isinstance(obj, type) else "numpy.core.multiarray"
        self.write(f"c{module}\n{obj.__name__}\n".encode())
        self.memoize(obj)

    dispatch[type] = save_global

    def reducer_override(self, obj):
        if isinstance(obj, np.dtype):
            return np.dtype, (obj.str[1:], 0, 1), (3, obj.str[0], None, None, None, -1, -1, 0)
        if isinstance(obj, np.ndarray):
            make, args, (version, shape, dtype, fortran, raw) = obj.__reduce__()
            return make, args, (version, shape, dtype, fortran, raw)
        return NotImplemented


def write(name, value, protocol, kind=pickle.Pickler):
    with open(name, "wb") as f:
        kind(f, protocol).dump(value)


batch = [3, 1, 2]
values = {
    "text": "h\u00e9\n\\ \u2192",
    "bytes": b"\x00\n'\"\\\xff\x1a",
    "no bytes": b"",
    "long": "abc" * 100,
    "ints": [0, 1, 255, 256, 65535, 65536, -1, -129, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63)],
    "flags": [True, False, None],
    "tuples": [(), (1,), (1, 2), (1, 2, "x"), (1, 2, 3, 4)],
    "mixed": [1, 2, "three", 4],
    "empty": [[], {}],
    "keys": {0: "zero", -1: "minus one", 70000: "many"},
    "shared": [batch, batch],
    "u1": np.arange(6, dtype=np.uint8).reshape(2, 3),
    "i8": np.arange(-1, 2, dtype="<i8"),
    "big": np.arange(-1, 2, dtype=">i2"),
    "fortran": np.asfortranarray(np.arange(6, dtype=np.uint8).reshape(2, 3)),
    "nothing": np.zeros((0, 3), np.uint8),
    "single": np.array(7, np.uint16),
    "scalar": [np.int64(-5), np.uint8(200)],
    "floats": np.array([0.5, -2], np.float32),
    "bools": np.array([True, False]),
}
for p in range(6):
    write(f"values-{p}.pkl", values, p)
for p in range(3):
    write(f"values-py2-{p}.pkl", values, p, Python2)

rows = (np.arange(2 * 3072) // 24 % 251).astype(np.uint8).reshape(2, 3072)
cifar100 = {
    b"filenames": [b"apple_s_000001.png", b"bos_taurus_s_000507.png"],
    b"batch_label": b"training batch 1 of 1",
    b"fine_labels": [0, 99],
    b"coarse_labels": [4, 19],
    b"data": rows,
}
write("cifar100-py2.pkl", cifar100, 2, Python2)
write("cifar100-4.pkl", cifar100, 4)
write("cifar10-py2.pkl", {b"data": rows, b"labels": [9, 0]}, 2, Python2)
write("meta100-py2.pkl", {b"fine_label_names": [b"fine%d" % i for i in range(100)],
                          b"coarse_label_names": [b"coarse%d" % i for i in range(20)]}, 2, Python2)
write("meta10-py2.pkl", {b"label_names": [b"class%d" % i for i in range(10)], b"num_vis": 3072}, 2, Python2)

mini = {"class_dict": {"n02": [2, 3], "n01": np.array([1, 0]), "n03": [4]}, "image_data": np.arange(60, dtype=np.uint8).reshape(5, 2, 2, 3)}
write("mini-py2.pkl", mini, 2, Python2)
write("mini-5.pkl", mini, 5)

test = [4, 5]
lup = {"ni": [[[0, 1], [2, 3], test], [[2, 3], [0, 1], test]], "nc": [[np.array([3, 0]), [np.int64(1)], test]]}
for p in (0, 3, 4):
    write(f"lup-{p}.pkl", lup, p)
write("paths-3.pkl", [f"s{i}/o1/C_{i:02}_01_000.png" for i in range(6)], 3)
write("names-3.pkl", {"ni": [{1: "cup1", 0: "can1"}]}, 3)
