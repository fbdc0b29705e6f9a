"""Writes the pickles of this folder: python3 make.py, with NumPy 2.

NAME-N.pkl is written by Python 3 in protocol N. NAME-py2.pkl is what Python 2 writes in protocol 2: its strings are bytes,
its memo counts from 1, NumPy has its old names and 0 and 1 for truth values.
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
        if len(raw) < 256:
            self.write(b"U" + bytes([len(raw)]) + raw)
        else:
            self.write(b"T" + struct.pack("<i", len(raw)) + raw)
        self.memoize(obj)

    dispatch[str] = save_string
    dispatch[bytes] = save_string

    def save_int(self, obj):
        self.save_long(obj)

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
