"""Trains the neural's adapters and heads; resumable.

    python train_neural.py --trunk DIR --data ../../shared/data --work DIR [--out ../models/neural] [--stop-after PHASE]

Phase 1 trains the domain task alone, the later ones all three tasks in turn. Budgets are counted in tokens, so a run is the
same however often it is interrupted; `--work` keeps the checkpoint. Only train files are read.
"""
import argparse
import json
import pathlib
import time

import torch
import torch.nn.functional as F

import data
import neural_domain
import neural_files
import neural_jailbreak
import neural_model
import neural_pii
import streams
import trunk

HERE = pathlib.Path(__file__).resolve().parent
CHOICES = {
    "seed": 7, "rank": 32, "alpha": 64, "batch_tokens": 3072,
    "rate": 8e-4, "head_rate": 1e-3, "decay": 0.01, "warmup_tokens": 200_000, "clip": 1.0,
    # of labels; attacks have next to none, since one window of many must be able to be very sure
    "smoothing": {"domain": 0.05, "jailbreak": 0.005, "pii": 0.0},
    "pooling": {"domain": "mean", "jailbreak": "cls", "pii": "token"},
    "phases": [
        {"tokens": 1_800_000, "share": {"domain": 1.0}},
        {"tokens": 5_000_000, "share": {"domain": 0.28, "jailbreak": 0.44, "pii": 0.28}},
        {"tokens": 1_900_000, "share": {"domain": 0.14, "jailbreak": 0.46, "pii": 0.40}},
        {"tokens": 5_000_000, "share": {"domain": 0.22, "jailbreak": 0.50, "pii": 0.28}},
    ],
    "task_weight": {"domain": 1.0, "jailbreak": 1.0, "pii": 1.0},
}


def build(folder, labels, c=CHOICES):
    torch.manual_seed(c["seed"])
    tensors, config = trunk.weights(folder)
    return neural_model.Neural(tensors, config, c["rank"], c["alpha"], labels, c["pooling"])


def loss_of(model, task, batch, smoothing):
    ids, real, target, weight = (torch.from_numpy(a) for a in streams.pad(batch))
    z = model.heads[task](model.hidden(ids, real), real)
    if target.dim() == 2:
        loss = F.cross_entropy(z.flatten(0, 1), target.flatten(), reduction="none", ignore_index=-100).view_as(target)
        judged = (target != -100).float()
        return (loss * judged * weight[:, None]).sum() / (judged * weight[:, None]).sum().clamp(min=1)
    loss = F.cross_entropy(z, target, reduction="none", label_smoothing=smoothing)
    return (loss * weight).sum() / weight.sum()


def rate_at(done, total, c):
    """Warm-up, then a constant rate for half of the way, then linear to a fiftieth."""
    if done < c["warmup_tokens"]:
        return done / c["warmup_tokens"]
    return min(1.0, max(0.02, 2 * (1 - done / total)))


def train(model, sources, work, stop_after, c=CHOICES):
    """sources: Stream by task. Writes work/state.pt every few minutes and at the end of each phase."""
    path = work / "state.pt"
    heads = list(model.heads.parameters())
    optimiser = torch.optim.AdamW([{"params": model.adapters(), "lr": c["rate"], "base": c["rate"]},
                                   {"params": heads, "lr": c["head_rate"], "base": c["head_rate"]}],
                                  weight_decay=c["decay"], betas=(0.9, 0.98))
    at = {"phase": 0, "phase_tokens": 0, "done": 0, "by_task": {}, "seconds": 0.0}
    if path.exists():
        state = torch.load(path)
        model.load_state_dict(state["model"], strict=False)
        optimiser.load_state_dict(state["optimiser"])
        at = state["at"]
        for task, position in state["streams"].items():
            if task in sources:
                sources[task].seek(position)

    def save():
        # the trunk is not kept: its file is
        own = {k: v for k, v in model.state_dict().items() if "lora" in k or k.startswith("heads")}
        torch.save({"model": own, "optimiser": optimiser.state_dict(), "at": at,
                    "streams": {t: s.state() for t, s in sources.items()}}, work / "state.tmp")
        (work / "state.tmp").replace(path)

    total = sum(p["tokens"] for p in c["phases"])
    recent, saved, began = {}, time.time(), time.time()
    while at["phase"] < len(c["phases"]):
        phase = c["phases"][at["phase"]]
        while at["phase_tokens"] < phase["tokens"]:
            # the task that is furthest behind its share
            used = at["by_task"].setdefault(str(at["phase"]), {})
            task = min(phase["share"], key=lambda t: used.get(t, 0) / phase["share"][t])
            batch = sources[task].next()
            loss = c["task_weight"][task] * loss_of(model, task, batch, c["smoothing"][task])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.adapters() + heads, c["clip"])
            for group in optimiser.param_groups:
                group["lr"] = group["base"] * rate_at(at["done"], total, c)
            optimiser.step()
            n = sum(len(e.ids) for e in batch)
            used[task] = used.get(task, 0) + n
            at["phase_tokens"] += n
            at["done"] += n
            recent.setdefault(task, []).append(float(loss))
            if sum(map(len, recent.values())) >= 40:
                words = " ".join(f"{t} {sum(v) / len(v):.4f}" for t, v in sorted(recent.items()))
                speed = at["done"] / (at["seconds"] + time.time() - began)
                print(f"phase {at['phase'] + 1} tokens {at['done']} loss {words} {speed:.0f} tokens/s", flush=True)
                recent = {}
            if time.time() - saved > 240:
                at["seconds"] += time.time() - began
                saved = began = time.time()
                save()
        at["phase"] += 1
        at["phase_tokens"] = 0
        at["seconds"] += time.time() - began
        began = time.time()
        save()
        if stop_after and at["phase"] >= stop_after:
            return at
    return at


def sources(root, tok, c=CHOICES):
    """Streams by task, and the inputs for the card."""
    domain_rows, inputs, domain_held = neural_domain.load(root)
    attack_rows, _, more, attack_held = neural_jailbreak.load(root)
    pii_rows, others, pii_held = neural_pii.load(root)
    epochs = {"domain": neural_domain.epoch(domain_rows, domain_held, tok),
              "jailbreak": neural_jailbreak.epoch(attack_rows, attack_held, tok, root),
              "pii": neural_pii.epoch(pii_rows, pii_held, tok, [d["text"] for d in neural_jailbreak.documents(root)])}
    return {t: streams.Stream(t, e, c["seed"], c["batch_tokens"]) for t, e in epochs.items()}, sorted(set(inputs + more + others))


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--trunk", required=True, type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args.add_argument("--out", default=HERE.parent / "models" / "neural", type=pathlib.Path)
    args.add_argument("--stop-after", type=int, default=0, metavar="PHASE")
    args.add_argument("--threads", type=int, default=2)
    args = args.parse_args()
    torch.set_num_threads(args.threads)
    folder = trunk.find(args.trunk)
    args.work.mkdir(parents=True, exist_ok=True)
    model = build(folder, {t: len(labels) for t, labels in neural_files.LABELS.items()})
    streams_of, inputs = sources(args.data, trunk.tokenizer(folder))
    at = train(model, streams_of, args.work, args.stop_after)
    neural_files.write(args.out, model, CHOICES)
    report = {"inputs": [{"file": n, "rows": r, "sha256": h} for n, r, h in inputs], "trunk": trunk.SHA256, "choices": CHOICES, "run": at}
    (args.out / "train.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
