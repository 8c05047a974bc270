"""The frozen trunks' last hidden states of texts, token by token, as the shipped engine computes them in int8, kept in shards:
what the heads of personal data are trained on.

A text is cut to MOST tokens. float16, [tokens, 384] of all texts behind each other; a text that was read is found by its
SHA-256. `english` is the adapted trunk of models/neural, `multilingual` multilingual-e5-small as it is, without the guard's adapters. token_states.c,
compiled against the libraries of a build, does the work.
"""
import hashlib
import json
import pathlib
import shutil
import struct
import subprocess
import tempfile

import numpy as np
from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parent / "models"
MOST, SHARD, WIDTH = 160, 4000, 384
LIBRARIES = ["infer", "model", "kernel", "text", "json", "base"]


def compile_tool(build, out):
    """The path of token_states, made if it is not there or is older than its source."""
    source = HERE / "token_states.c"
    if not out.exists() or out.stat().st_mtime < source.stat().st_mtime:
        out.parent.mkdir(parents=True, exist_ok=True)
        libraries = [build / f"libsr_{name}.a" for name in LIBRARIES]
        subprocess.run(["cc", "-O2", "-std=c17", "-D_GNU_SOURCE", f"-I{HERE.parent / 'src'}", f"-I{HERE.parent / 'include'}", source, "-o", out,
                        "-Wl,--start-group", *libraries, "-Wl,--end-group", "-lcrypto", "-lutf8proc", "-lm", "-lpthread"], check=True)
    return out


class Trunk:
    """`name`: english or multilingual. `pieces[id]`: the piece is decided with those before it, as src/infer/classifier does."""

    def __init__(self, name, tool):
        self.name, self.tool = name, tool
        english = name == "english"
        self.folder = MODELS / ("all-MiniLM-L6-v2" if english else "multilingual-e5-small")
        self.bundle = MODELS / ("neural" if english else "neural-multilingual")
        self.tok = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        self.tok.no_truncation()
        self.tok.no_padding()
        template = self.tok.encode("").ids  # [CLS] [SEP], <s> query: </s>
        self.before, self.behind = template[:-1], template[-1:]
        self.tokens = [self.tok.id_to_token(i) or "" for i in range(self.tok.get_vocab_size())]
        self.pieces = np.array([t.startswith("##") for t in self.tokens])
        self.spaced = "▁" in self.tokens

    def encode(self, texts):
        """(ids, offsets) of each, cut to MOST."""
        out = []
        for at in range(0, len(texts), 2000):
            for e in self.tok.encode_batch(texts[at:at + 2000], add_special_tokens=False):
                out.append((np.array(e.ids, np.int32)[:MOST], np.array(e.offsets, np.int32).reshape(-1, 2)[:MOST]))
        return out

    def identity(self, folder):
        """A bundle whose one token head gives the states themselves."""
        from safetensors.numpy import save_file
        import torch
        from safetensors.torch import load_file
        tensors = {k: t.to(torch.float32).numpy() for k, t in load_file(str(self.bundle / "adapters.safetensors")).items() if "lora" in k and self.name == "english"}
        tensors |= {"pii.out.weight": np.eye(WIDTH, dtype=np.float32), "pii.out.bias": np.zeros(WIDTH, np.float32)}
        save_file(tensors, str(folder / "adapters.safetensors"))
        config = json.loads((self.bundle / "config.json").read_text())
        layers = json.loads((self.folder / "config.json").read_text())["num_hidden_layers"]
        config["heads"] = {"pii": {"pooling": "token", "layer": layers, "dense": False, "activation": "gelu"}}
        (folder / "config.json").write_text(json.dumps(config))
        shutil.copy(self.bundle / "adapter_config.json", folder)
        labels = {str(i): f"s{i}" for i in range(WIDTH)}
        (folder / "pii_type_mapping.json").write_text(json.dumps({"idx_to_label": labels}))

    def states(self, encoded):
        """[tokens, 384] float16 of each."""
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i][0]))
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.identity(folder)
            whole = [np.concatenate([self.before, encoded[i][0], self.behind]).astype(np.int32) for i in order]
            (folder / "in").write_bytes(b"".join(struct.pack("<i", len(w)) + w.tobytes() for w in whole))
            with (folder / "in").open("rb") as given, (folder / "out").open("wb") as answer:
                subprocess.run([self.tool, self.folder, folder], stdin=given, stdout=answer, check=True)
            x = np.fromfile(folder / "out", np.float16).reshape(-1, WIDTH)
        out, at = [None] * len(encoded), 0
        for i, w in zip(order, whole):
            out[i] = x[at + len(self.before):at + len(w) - len(self.behind)]
            at += len(w)
        return out

    def features(self, work, texts):
        """[(ids, offsets, states)] of the texts; what is missing is computed and kept."""
        work.mkdir(parents=True, exist_ok=True)
        wanted, known = {digest(t): t for t in texts}, {}
        for path in sorted(work.glob(f"{self.name}-[0-9]*.npz")):
            shard = np.load(path)
            if not any(d in wanted for d in shard["text"].tolist()):
                continue
            x, ends = shard["x"], np.cumsum(shard["n"])
            for d, a, b in zip(shard["text"].tolist(), np.concatenate([[0], ends[:-1]]), ends):
                if d in wanted:
                    known[d] = x[a:b]
        missing = sorted(set(wanted) - set(known))
        number = len(list(work.glob(f"{self.name}-[0-9]*.npz")))
        for at in range(0, len(missing), SHARD):
            mine = missing[at:at + SHARD]
            xs = self.states(self.encode([wanted[d] for d in mine]))
            np.savez(work / "part.npz", x=np.concatenate(xs), n=[len(x) for x in xs], text=mine)
            (work / "part.npz").replace(work / f"{self.name}-{number:04d}.npz")
            known.update(zip(mine, xs))
            number += 1
            print(json.dumps({"trunk": self.name, "texts": at + len(mine), "of": len(missing)}), flush=True)
        return [(ids, offsets, known[digest(t)]) for (ids, offsets), t in zip(self.encode(texts), texts)]


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:32]
