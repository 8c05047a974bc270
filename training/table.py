"""The model file: a bucketed table of fingerprints and int8 weights, written as safetensors, and its evaluation.

`Model.logits` is the reference for src/model/linear/linear.c: same keys, same rows, same integer sums, same doubles.
"""
import hashlib
import json
import struct

import numpy as np

import features

SLOTS = 8
FORMAT = "semroute-linear-1"
DTYPES = {"U16": np.uint16, "I8": np.int8, "F64": np.float64}


def place(keys):
    """Bucket-free parts of a key: the high half chooses the bucket, the low 16 bits are the fingerprint."""
    high = keys >> np.uint64(32)
    mark = (keys & np.uint64(0xFFFF)).astype(np.uint16)
    mark[mark == 0] = 1
    return high, mark


def bucket_of(high, buckets):
    return ((high * np.uint64(buckets)) >> np.uint64(32)).astype(np.int64)


def fill(keys, importance, buckets):
    """Rows for keys, most important first. A key whose bucket is full, or whose fingerprint a more important key of
    the bucket has, is left out. Returns fingerprints [buckets, SLOTS] and the index of the key in each row (-1)."""
    high, mark = place(keys)
    home = bucket_of(high, buckets)
    prints = np.zeros((buckets, SLOTS), np.uint16)
    owner = np.full(buckets * SLOTS, -1, np.int64)
    used = np.zeros(buckets, np.int64)
    for i in np.argsort(-importance, kind="stable").tolist():
        b = home[i]
        n = used[b]
        if n < SLOTS and mark[i] not in prints[b, :n]:
            prints[b, n] = mark[i]
            owner[b * SLOTS + n] = i
            used[b] = n + 1
    return prints, owner


class Model:
    def __init__(self, prints, weights, bias, scale, temperature, damping):
        self.prints, self.weights, self.bias = prints, weights, bias
        self.scale, self.temperature, self.damping = scale, temperature, damping

    def rows(self, data):
        """The table's rows that a text hits, each once."""
        keys = features.keys(data)
        high, mark = place(keys)
        home = bucket_of(high, len(self.prints))
        hit = self.prints[home] == mark[:, None]
        some = hit.any(1)
        return np.unique(home[some] * SLOTS + hit[some].argmax(1))

    def logits(self, data):
        rows = self.rows(data)
        sums = self.weights[rows].astype(np.int64).sum(0)
        norm = self.scale / np.sqrt(float(len(rows)) + self.damping) if len(rows) else 0.0
        return self.bias + norm * sums

    def save(self, path, metadata):
        tensors = [("bias", "F64", self.bias), ("figures", "F64", [self.scale, self.temperature, self.damping]),
                   ("fingerprints", "U16", self.prints), ("weights", "I8", self.weights)]
        data, header = b"", {}
        for name, dtype, value in tensors:
            value = np.ascontiguousarray(value, DTYPES[dtype])
            header[name] = {"dtype": dtype, "shape": list(value.shape),
                            "data_offsets": [len(data), len(data) + value.nbytes]}
            data += value.tobytes()
        metadata = dict(metadata, format=FORMAT, sha256=hashlib.sha256(data).hexdigest())
        text = json.dumps({"__metadata__": metadata, **header}, separators=(",", ":")).encode()
        text += b" " * (-(8 + len(text)) % 64)
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)

    @classmethod
    def load(cls, path):
        """The model and its metadata."""
        blob = path.read_bytes()
        size = struct.unpack("<Q", blob[:8])[0]
        header = json.loads(blob[8:8 + size])
        metadata = header.pop("__metadata__")
        t = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            t[name] = np.frombuffer(blob[8 + size + begin:8 + size + end], DTYPES[entry["dtype"]])
            t[name] = t[name].reshape(entry["shape"])
        return cls(t["fingerprints"], t["weights"], t["bias"], *t["figures"].tolist()), metadata
