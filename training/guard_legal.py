"""Teaches the jailbreak head of models/neural that licences are no attacks, and nothing else.

    python guard_legal.py --work DIR [--trunk DIR] [--data ../../shared/data] [--binary ../build/semroute] [--out ../models/neural]
    python guard_legal.py --take DIR

Licences give orders, as attacks do. The adapters stay; the head is fitted on the first token's vectors: of licences its margin has
to be below LIMIT, of all other texts it is to stay what it was, so no label of a source is learnt and the calibrations of
calibrate_guard.py hold. Licences are those of /usr/share/common-licenses of Debian, as they are and with their sentences
shuffled. Prints the margins with each kind of licence left out before it writes. A head with the labels of all sources instead
lost eight points of recall on left-out families. `--take` copies the head from another such folder. Only train files are read.
"""
import argparse
import collections
import json
import pathlib
import random
import re
import subprocess
import tempfile

import numpy as np
import torch
from safetensors.torch import load_file, save_file

import data
import left_out_names
import multilingual_rows as mr
import neural_files

HERE = pathlib.Path(__file__).resolve().parent
LICENCES = pathlib.Path("/usr/share/common-licenses")
NAMES = ["Apache-2.0", "Artistic", "BSD", "CC0-1.0", "GFDL-1.2", "GFDL-1.3", "GPL-1", "GPL-2", "GPL-3", "LGPL-2", "LGPL-2.1", "LGPL-3", "MPL-1.1", "MPL-2.0"]
KINDS = ["GPL", "LGPL", "GFDL", "Apache", "MPL", "Artistic", "BSD", "CC0"]
SHARD = 500                                # texts read at once
SHUFFLED, AS_IT_IS, LENGTH = 12, 8, 1000    # pieces of each licence, characters
MOST, MOST_KNOWN, MOST_MADE = 120, 60, 40   # other texts of a family and a label; known: to the adapters
LIMIT, STAY, STEPS, BATCH, RATE, SEED = -2.5, 0.5, 250, 512, 1e-3, 3
PARTS = ("dense.weight", "dense.bias", "out.weight", "out.bias")


def licences():
    """(kind, text)"""
    out = []
    for name in NAMES:
        text, rng = (LICENCES / name).read_text(), random.Random(f"{name}train")
        sentences = [s.strip() for s in re.split(r"(?<=[.;:])\s+", re.sub(r"\s+", " ", text)) if s.strip()]
        kind = next(k for k in sorted(KINDS, key=len, reverse=True) if name.startswith(k))
        for _ in range(SHUFFLED):
            order, piece = sentences[:], ""
            rng.shuffle(order)
            for sentence in order:
                if len(piece) + len(sentence) < LENGTH:
                    piece += sentence + " "
            out += [(kind, piece)] if piece else []
        out += [(kind, text[at:at + LENGTH]) for at in [rng.randrange(max(1, len(text) - 900)) for _ in range(AS_IT_IS)]]
    return out


def others(root):
    """English texts of all families."""
    taken, out = collections.Counter(), []
    for r in sorted((r for r in mr.jailbreak_rows(root) if not r.foreign and r.lang == "en"), key=lambda r: data.chance(r.text, "mini2")):
        family = (mr.family(r), r.label)
        most = MOST_MADE if mr.group_of(family[0]) < 0 else MOST_KNOWN if r.source in left_out_names.OLD else MOST
        if taken[family] < most:
            taken[family] += 1
            out.append(r.text[:LENGTH])
    return out


def merged(trunk, model, folder):
    """An encoder with the adapters merged into it, whose embedding is the first token's vector."""
    tensors, adapters = load_file(str(trunk / "model.safetensors")), load_file(str(model / "adapters.safetensors"))
    settings = json.loads((model / "adapter_config.json").read_text())
    for key in [k for k in adapters if k.endswith("lora_A.weight")]:
        name = key[len("bert."):-len(".lora_A.weight")] + ".weight"
        low = adapters[key.replace("lora_A", "lora_B")].float() @ adapters[key].float()
        tensors[name] = tensors[name].float() + settings["lora_alpha"] / settings["r"] * low
    for path in trunk.iterdir():
        if path.suffix == ".json":
            (folder / path.name).write_bytes(path.read_bytes())
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 384, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}))
    save_file({k: v.float().contiguous() for k, v in tensors.items()}, str(folder / "model.safetensors"), metadata={"format": "pt"})
    layer = "encoder.layer.5.output.LayerNorm"
    return tensors[f"{layer}.weight"].float().numpy(), tensors[f"{layer}.bias"].float().numpy()


def lengthened(unit, gain, bias):
    """The vectors whose directions are known: what the last normalisation made has mean 0 and variance 1 before its gain and bias."""
    u, b = unit / gain, bias / gain
    a, half, c = (u ** 2).mean(1), -(u * b).mean(1), (b ** 2).mean() - 1
    root = np.sqrt(np.maximum(half ** 2 - a * c, 0))
    lengths = np.stack([(-half + root) / a, (-half - root) / a])
    off = np.abs((lengths[..., None] * u - b).mean(2)) + (lengths <= 0) * 1e9
    return (lengths[off.argmin(0), np.arange(len(unit))][:, None] * unit).astype(np.float32)


def read(args, texts):
    """First tokens' vectors of the adapted trunk, by the built binary."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        gain, bias = merged(args.trunk, args.model, folder)
        (folder / "texts.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
        done = subprocess.run([args.binary, "embed", "--model", folder, "--precision", "int8", "--threads", "1", "--jsonl", folder / "texts.jsonl"],
                              capture_output=True, text=True, check=True)
    return lengthened(np.array([json.loads(line)["embedding"] for line in done.stdout.splitlines()], np.float32), gain, bias)


def vectors(args, texts):
    """Those of `texts`; what was read is kept in shards of --work, by the SHA-256 of the text."""
    args.work.mkdir(parents=True, exist_ok=True)
    known = {}
    for path in sorted(args.work.glob("[0-9]*.npz")):
        file = np.load(path)
        known.update(zip(file["text"].tolist(), file["x"]))
    number = len(list(args.work.glob("[0-9]*.npz")))
    missing = sorted({mr.digest(t): t for t in texts if mr.digest(t) not in known}.items())
    for at in range(0, len(missing), SHARD):
        mine = missing[at:at + SHARD]
        x = read(args, [t for _, t in mine])
        np.savez(args.work / "part.npz", x=x, text=[d for d, _ in mine])
        (args.work / "part.npz").replace(args.work / f"{number + at // SHARD:04d}.npz")
        known.update(zip((d for d, _ in mine), x))
        print(json.dumps({"texts": at + len(mine), "of": len(missing)}), flush=True)
    return torch.tensor(np.array([known[mr.digest(t)] for t in texts]))


def margin(x, parts):
    out = torch.nn.functional.gelu(x @ parts[0].T + parts[1]) @ parts[2].T + parts[3]
    return out[:, 1] - out[:, 0]


def fit(x, legal, before, parts):
    torch.manual_seed(SEED)
    parts, stays = [p.clone().requires_grad_() for p in parts], ~legal
    optimizer = torch.optim.Adam(parts, lr=RATE)
    plan = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=RATE, total_steps=STEPS)
    for _ in range(STEPS):
        at = torch.randint(len(x), (BATCH,))
        z, l = margin(x[at], parts), legal[at]
        loss = STAY * ((z - before[at]) ** 2 * stays[at]).mean() + 0.15 * (torch.relu(z - LIMIT) ** 2 * l).sum() / max(1, int(l.sum()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        plan.step()
    return [p.detach() for p in parts]


def write(out, parts):
    tensors = load_file(str(out / "adapters.safetensors"))
    tensors.update({f"jailbreak.{name}": p.to(torch.bfloat16).contiguous() for name, p in zip(PARTS, parts)})
    save_file(tensors, str(out / "adapters.safetensors"), metadata={"format": "pt"})
    neural_files.manifest(out)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--trunk", default=HERE.parent / "models" / "all-MiniLM-L6-v2", type=pathlib.Path)
    args.add_argument("--model", default=HERE.parent / "models" / "neural", type=pathlib.Path)
    args.add_argument("--out", default=HERE.parent / "models" / "neural", type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--binary", default=HERE.parent / "build" / "semroute", type=pathlib.Path)
    args.add_argument("--work", type=pathlib.Path)
    args.add_argument("--take", type=pathlib.Path)
    args = args.parse_args()
    source = load_file(str((args.take or args.model) / "adapters.safetensors"))
    parts = [source[f"jailbreak.{name}"].float() for name in PARTS]
    if args.take:
        return write(args.out, parts)
    kinds, texts = zip(*licences())
    x = vectors(args, [*texts, *others(args.data)])
    kinds = np.array([*kinds, *[""] * (len(x) - len(kinds))])
    legal, before = torch.tensor(kinds != ""), margin(x, parts)
    for held in ("GPL", "Apache", "MPL"):
        out = torch.tensor((kinds == held) | ((held == "GPL") & (kinds == "LGPL")))
        z = margin(x[out], fit(x[~out], legal[~out], before[~out], parts))
        print(f"left out: {held}: margin {before[out].mean():.2f}, then {z.mean():.2f}; above the point {(before[out] > 1.72).float().mean():.3f}, then {(z > 1.72).float().mean():.3f}", flush=True)
    now = fit(x, legal, before, parts)
    moved = (margin(x, now) - before)[~legal]
    print(f"licences {margin(x, now)[legal].mean():.2f}; other texts moved by {moved.abs().mean():.3f}, on the mean {moved.mean():.3f}", flush=True)
    write(args.out, now)


if __name__ == "__main__":
    main()
