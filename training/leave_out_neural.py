"""What the neural classifier makes of texts from a source that it has never seen: it is trained anew without it, on a tenth of the tokens.

    python leave_out_neural.py --trunk DIR --data ../../shared/data --without jailbreak-inthewild,gptfuzz [--tokens N] [--threads N]

One task alone, from the bare trunk: jailbreak, or domain with `--task domain --without longfact`. Attacks: the threshold is what one in a hundred
of the held-out harmless texts of other sources exceeds, as the mean over these. Domain: accuracy on the rows that were left out and, of
longfact, on its development file, which nothing is chosen by. The figures are added to models/neural/left_out_neural.json.
"""
import argparse
import json
import pathlib

import numpy as np
import torch

import data
import jailbreak_data as jd
import neural_domain
import neural_eval as je
import neural_files
import neural_jailbreak
import streams
import train_neural
import trunk

HERE = pathlib.Path(__file__).resolve().parent
READ = 250    # rows of a source that are scored


def trained(folder, stream, task, tokens):
    choices = train_neural.CHOICES
    model = train_neural.build(folder, {t: len(l) for t, l in neural_files.LABELS.items()})
    heads = list(model.heads.parameters())
    optimiser = torch.optim.AdamW([{"params": model.adapters(), "lr": choices["rate"], "base": choices["rate"]}, {"params": heads, "lr": choices["head_rate"], "base": choices["head_rate"]}],
                                  weight_decay=choices["decay"], betas=(0.9, 0.98))
    done, short = 0, dict(choices, warmup_tokens=tokens // 15)
    while done < tokens:
        batch = stream.next()
        loss = train_neural.loss_of(model, task, batch, choices["smoothing"][task])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.adapters() + heads, choices["clip"])
        for group in optimiser.param_groups:
            group["lr"] = group["base"] * train_neural.rate_at(done, tokens, short)
        optimiser.step()
        done += sum(len(e.ids) for e in batch)
    model.eval()
    model.merge()
    return model


def some(rows, name):
    return sorted(rows, key=lambda r: data.chance(r.text, name))[:READ]


def attacks(args, folder, tok, without):
    rows, _, _, held = neural_jailbreak.load(args.data)
    epoch = neural_jailbreak.epoch(rows, held, tok, args.data, keep=lambda r: r.source not in without)
    model = trained(folder, streams.Stream("jailbreak", epoch, 3, train_neural.CHOICES["batch_tokens"]), "jailbreak", args.tokens)
    reader = je.Reader(model, tok)

    def scores(chosen):
        return np.array([jd.highest(a["jailbreak"]) for a in reader.read([r.text for r in chosen])])

    seen = {s: some([r for r, h in zip(rows, held) if h and r.source == s and not r.label], s) for s in sorted({r.source for r in rows}) if s not in without}
    seen = [r for mine in seen.values() if len(mine) >= 30 for r in mine]
    limit = jd.threshold_at(scores(seen), [r.source for r in seen], 0.01, {"composed-injections", "jailbreak-bipia", "multilingual-override", "written-lookalikes"})
    out = {"threshold": round(limit, 3)}
    for source in without:
        for label in (0, 1):
            mine = some([r for r in rows if r.source == source and r.label == label], source)
            if mine:
                out[f"{'attack' if label else 'harmless'} {source}"] = [len(mine), round(float((scores(mine) >= limit).mean()), 4)]
    return out


def domains(args, folder, tok, without):
    rows, _, held = neural_domain.load(args.data)
    epoch = neural_domain.epoch(rows, held, tok, keep=lambda r: r.source not in without)
    model = trained(folder, streams.Stream("domain", epoch, 3, train_neural.CHOICES["batch_tokens"]), "domain", args.tokens)
    reader, out = je.Reader(model, tok), {}
    tests = {s: [(r.text, r.label) for r in rows if r.source == s] for s in without}
    if "longfact" in without:
        tests["longfact dev"] = [(r["text"], data.LABELS.index(r["label"])) for r in je.rows_of(args.data / "domain-longfact" / "dev.jsonl")]
    for name, pairs in tests.items():
        z = np.array([a["domain"] for a in reader.read([t for t, _ in pairs])])
        out[name] = [len(pairs), round(float((z.argmax(1) == np.array([y for _, y in pairs])).mean()), 4)]
    return out


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--trunk", required=True, type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--task", choices=["jailbreak", "domain"], default="jailbreak")
    args.add_argument("--without", required=True, type=lambda s: s.split(","))
    args.add_argument("--tokens", type=int, default=500_000)
    args.add_argument("--threads", type=int, default=2)
    args = args.parse_args()
    torch.set_num_threads(args.threads)
    folder = trunk.find(args.trunk)
    found = (attacks if args.task == "jailbreak" else domains)(args, folder, trunk.tokenizer(folder), args.without)
    path = HERE.parent / "models" / "neural" / "left_out_neural.json"
    report = json.loads(path.read_text()) if path.exists() else {}
    report["+".join(args.without)] = dict(found, tokens=args.tokens)
    path.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps({"+".join(args.without): found}), flush=True)


if __name__ == "__main__":
    main()
