"""The frozen trunk: all-MiniLM-L6-v2, checked against its publisher's hash, and its WordPiece tokenizer without the
truncation and padding that the package's tokenizer.json asks for. Texts become windows of token ids here."""
import hashlib
import json
import pathlib

import numpy as np
from tokenizers import Tokenizer

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
CLS, SEP, PAD = 101, 102, 0
WINDOW = 256    # tokens of a window, [CLS] and [SEP] among them
OVERLAP = 32    # tokens that neighbouring windows share


def find(root):
    """The folder that holds model.safetensors, at or below `root`."""
    root = pathlib.Path(root)
    for path in [root / "model.safetensors", *sorted(root.glob("**/model.safetensors"))]:
        if path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == SHA256:
            return path.parent
    raise SystemExit(f"{root}: no model.safetensors with sha256 {SHA256}")


def weights(folder):
    """Tensors by name, and config.json."""
    from safetensors.torch import load_file  # who only cuts windows needs no torch
    return load_file(str(folder / "model.safetensors")), json.loads((folder / "config.json").read_text())


def tokenizer(folder):
    t = Tokenizer.from_file(str(folder / "tokenizer.json"))
    t.no_truncation()
    t.no_padding()
    return t


def encode(tok, texts, chunk=2000):
    """(ids, offsets) of each text, without special tokens; offsets are (start, end) in characters."""
    out = []
    for at in range(0, len(texts), chunk):
        for e in tok.encode_batch(texts[at:at + chunk], add_special_tokens=False):
            out.append((np.array(e.ids, np.int32), np.array(e.offsets, np.int32).reshape(-1, 2)))
    return out


def spans(n, window=WINDOW, overlap=OVERLAP):
    """(first, last) token ranges of the windows over `n` tokens; at least one."""
    room = window - 2
    if n <= room:
        return [(0, n)]
    step, out, at = room - overlap, [], 0
    while at + room < n:
        out.append((at, at + room))
        at += step
    out.append((max(0, n - room), n))
    return out


def wrap(ids):
    return np.concatenate([[CLS], ids, [SEP]]).astype(np.int32)
