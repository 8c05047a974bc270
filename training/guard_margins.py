"""What the neural classifier says of each window of the jailbreak rows: margins of its head, by the built binary as it ships.

    python guard_margins.py --trunk DIR --work DIR [--data ../../shared/data] [--binary ../build/semroute]

Writes shards to --work and goes on where it stopped. The rows are those of the linear model, fewer of each source. Only train
files are read.
"""
import argparse
import hashlib
import json
import pathlib

import numpy as np

import data
import figures_common as common
import jailbreak_data as jd
import left_out_groups
import trunk
import written

HERE = pathlib.Path(__file__).resolve().parent
SHARD = 1500           # rows
MOST = 400             # rows of a source and a label
READ = 3600            # characters of a text
HEADS = HERE.parent / "models" / "neural"   # named, so that no text is read by another model's heads, as those in other languages are


def chosen(rows):
    """Indices of the rows that are read, in an order that has all sources in every part."""
    families, by = {name for group in left_out_groups.GROUPS for name in group}, {}
    for i in sorted(range(len(rows)), key=lambda i: data.chance(rows[i].text, "features")):
        if rows[i].source in families:
            by.setdefault((rows[i].source, rows[i].label), []).append(i)
    return sorted((i for mine in by.values() for i in mine[:MOST]), key=lambda i: data.chance(rows[i].text, "shards"))


def windows_of(tok, texts):
    """(text, first and last character) of every window."""
    return [(n, int(offsets[a, 0]) if b > a else 0, int(offsets[b - 1, 1]) if b > a else 0)
            for n, (ids, offsets) in enumerate(trunk.encode(tok, texts)) for a, b in trunk.spans(len(ids))]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--trunk", required=True, type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--binary", default=HERE.parent / "build" / "semroute", type=pathlib.Path)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args = args.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    tok = trunk.tokenizer(trunk.find(args.trunk))
    t = json.loads((HERE.parent / "models" / "neural" / "config.json").read_text())["heads"]["jailbreak"]["temperature_alone"]
    rows = jd.load(args.data, further=written.LINEAR)[0]
    order = chosen(rows)
    for at in range(0, len(order), SHARD):
        path, mine = args.work / f"{at // SHARD:04d}.npz", order[at:at + SHARD]
        if path.exists():
            continue
        texts = [rows[i].text[:READ] for i in mine]
        windows = windows_of(tok, texts)
        p = np.array([a["score"] for a in common.classify(args.binary, "jailbreak", [texts[n][a:b] for n, a, b in windows], "neural", "--heads", str(HEADS))])
        p = np.clip(p, 1e-7, 1 - 1e-7)
        np.savez(args.work / "part.npz", margin=t * np.log(p / (1 - p)), row=np.array([mine[w[0]] for w in windows]), place=np.array([w[1:] for w in windows]),
                 text=[hashlib.sha256(rows[mine[w[0]]].text.encode()).hexdigest() for w in windows])
        (args.work / "part.npz").replace(path)
        print(json.dumps({"rows": at + len(mine), "windows": len(windows)}), flush=True)


if __name__ == "__main__":
    main()
