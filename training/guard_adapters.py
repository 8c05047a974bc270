"""What further training of the adapters of models/neural would be worth on families left out; ships nothing.

    python guard_adapters.py --work DIR [--trunk DIR] [--data ../../shared/data] [--tokens N] [--rate R] [--threads N] [--groups 0 1 ...]

The shipped adapters know none of the sources that came last. Here they and the jailbreak head go on from what they are, with all
sources but one group's, the texts of texts/families, made windows and long prompts, five times; then the families of that group
that the shipped adapters do not know either are asked about. Families weigh alike in training and in figures. Prints recall where
harmless families raise a false alarm in 1, 3 and 6 % of their texts for the shipped state ("as it is"), the new one, and the mean
of both scores. Keeps the scores of each group in --work and goes on where it stopped: about ten minutes a group on one core with
torch 2. Only train files are read.
"""
import argparse
import json
import pathlib

import numpy as np
import torch

import data
import jailbreak_data as jd
import neural_eval
import neural_files
import neural_jailbreak
import streams
import train_neural
import trunk
import written
from left_out_groups import table
from left_out_names import GROUPS, OLD

HERE = pathlib.Path(__file__).resolve().parent
JUDGED, DRAWN, READ = 150, 220, 2000    # texts of a family and label that are asked about, and in an epoch; characters of a text
MADE = {"attacks": 300, "lookalikes": 400, "planted": 150, "carriers": 200, "surrounded": 200, "mixed": 900}
SMOOTHING, WARMUP = 0.02, 0.07          # of labels; share of the tokens
RATES = (0.01, 0.03, 0.06)


def asked_about(rows, group):
    by = {}
    for r in sorted(rows, key=lambda r: data.chance(r.text, "exp")):
        if r.source in GROUPS[group] and r.source not in OLD:
            by.setdefault((r.source, r.label), []).append(r)
    return [r for mine in by.values() for r in mine[:JUDGED]]


def drawn(families, rng):
    """Rows of an epoch: families alike, those that the adapters know half as often, our own texts four times."""
    for (source, _), mine in families.items():
        share = (4.0 if source.startswith("written") else 1.0) * (0.5 if source in OLD else 1.0)
        yield from rng.sample(mine, min(len(mine), round(DRAWN * share)))


def epoch(rows, harmful, documents, tok):
    """A function for streams.Stream; both labels weigh alike."""
    families = {}
    for r in rows:
        families.setdefault((r.source, r.label), []).append(r)

    def examples(rng):
        mine = [*drawn(families, rng), *jd.make(rows, harmful, documents, MADE, rng.random())]
        attacks = sum(r.label for r in mine)
        weight = (len(mine) / 2 / (len(mine) - attacks), len(mine) / 2 / attacks)
        texts = [streams.typed(r.text, rng) if rng.random() < 0.1 else r.text for r in mine]
        out = []
        for (ids, _), r in zip(trunk.encode(tok, texts), mine):
            whole = r.kind in ("indirect_injection", "mixed") or rng.random() < neural_jailbreak.WINDOWS
            ids = streams.cut(ids, rng, neural_jailbreak.WINDOW if whole else neural_jailbreak.MOST)
            out.append(streams.Example(trunk.wrap(ids), r.label, weight[r.label]))
        return out

    return examples


def shipped(folder):
    model = train_neural.build(folder, {t: len(labels) for t, labels in neural_files.LABELS.items()})
    return neural_files.read(HERE.parent / "models" / "neural", model)


def go_on(model, stream, args):
    model.train()
    own = model.adapters() + list(model.heads["jailbreak"].parameters())
    optimiser = torch.optim.AdamW(own, lr=args.rate, weight_decay=train_neural.CHOICES["decay"], betas=(0.9, 0.98))
    done, choices = 0, {"warmup_tokens": int(WARMUP * args.tokens)}
    while done < args.tokens:
        batch = stream.next()
        loss = train_neural.loss_of(model, "jailbreak", batch, SMOOTHING)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(own, train_neural.CHOICES["clip"])
        for part in optimiser.param_groups:
            part["lr"] = args.rate * train_neural.rate_at(done, args.tokens, choices)
        optimiser.step()
        done += sum(len(e.ids) for e in batch)
    model.eval()
    model.merge()


def margins(model, tok, rows):
    """The highest window of each text."""
    return np.array([jd.highest(a["jailbreak"]) for a in neural_eval.Reader(model, tok).read([r.text[:READ] for r in rows])])


def group_scores(args, group, rows, harmful):
    """(scores as it is, scores of the new one) of the rows that are asked about."""
    path, mine = args.work / f"adapters-{group}.npz", asked_about(rows, group)
    if path.exists():
        kept = np.load(path)
        return mine, kept["before"], kept["after"]
    torch.manual_seed(1)
    folder = trunk.find(args.trunk)
    tok, model = trunk.tokenizer(folder), shipped(folder)
    before = margins(model, tok, mine)
    rest = [r for r in rows if r.source not in GROUPS[group]]
    go_on(model, streams.Stream("jailbreak", epoch(rest, harmful, neural_jailbreak.documents(args.data), tok), 5, train_neural.CHOICES["batch_tokens"]), args)
    after = margins(model, tok, mine)
    np.savez(path, before=before, after=after)
    return mine, before, after


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--trunk", default=HERE.parent / "models" / "all-MiniLM-L6-v2", type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args.add_argument("--tokens", type=int, default=400_000)
    args.add_argument("--rate", type=float, default=3e-4)
    args.add_argument("--threads", type=int, default=1)
    args.add_argument("--groups", type=int, nargs="+", default=list(range(len(GROUPS))))
    args = args.parse_args()
    torch.set_num_threads(args.threads)
    args.work.mkdir(parents=True, exist_ok=True)
    rows, harmful, _ = jd.load(args.data, {k: 0 for k in jd.MADE}, further=(written.FAMILIES,))
    asked, before, after = [], [], []
    for group in args.groups:
        for all_of, mine in zip((asked, before, after), group_scores(args, group, rows, harmful)):
            all_of.extend(mine)
        print(f"group {group}: {len(asked)} texts so far", flush=True)
    z = {"as it is": np.array(before), "new": np.array(after)}
    z["mean of both"] = sum(v / v.std() for v in z.values())
    for name, scores in z.items():
        found = [table(asked, scores, rate) for rate in RATES]
        print(name, json.dumps({str(rate): {k: t[k] for k in ("mean_recall", "worst_harmless")} for rate, t in zip(RATES, found)}))
    print(json.dumps({name: table(asked, scores)["families"] for name, scores in z.items()}, indent=1))


if __name__ == "__main__":
    main()
