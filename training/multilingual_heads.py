"""Trains the heads on multilingual-e5-small, and writes models/neural-multilingual and docs/quality/multilingual.{md,json}.

    python left_out_linear.py --work DIR
    python multilingual_heads.py --work DIR [--binary ../build/semroute] [--data ../../shared/data] [--task jailbreak] [--choose]

Reads the vectors of multilingual_rows.py and computes what is missing; goes on where it stopped. All choices, how the answers are
mixed with the linear tier among them, are made on families that neither tier has seen: collections whole, attacks written for
training by technique and by carrier, look-alikes by parts, in the groups of multilingual_rows.group_of; and once more by language.
"Before" is a head that was not trained on multilingual_rows.is_late. The domain head is multilingual_domain.py's, which is called;
with `--task jailbreak` it stays as it is, and so does the head for personal data. `--choose` prints the figures of the forms that
were compared instead. texts/multilingual_test is read only after everything is chosen. No development file is opened.
"""
import argparse
import collections
import hashlib
import json
import pathlib
import struct

import numpy as np
import torch

import data
import jailbreak_data as jd
import multilingual_rows as mr

HERE = pathlib.Path(__file__).resolve().parent
FOLDS, RATE, POINT, LEAST = 4, 0.03, 0.7, 20
FORMS = {"linear": {"hidden": 0, "decay": 3e-5, "steps": 400}, "dense": {"hidden": 384, "decay": 1e-3, "steps": 700}}
SHARES, LIMIT, NEAR = np.arange(0.3, 1.01, 0.1), 4.0, 0.005   # of mixtures that these rows cannot tell apart the one with most of these heads
CHOICES = {"form": "dense", "judged": 3.0, "seed": 7, "batch": 384}


def fold_of(names):
    order = sorted(set(names), key=lambda n: data.chance(n, "multilingual fold"))
    place = {n: i % FOLDS for i, n in enumerate(order)}
    return np.array([place[n] for n in names])


def is_judged(row):
    """What these heads are asked about: other scripts, and other languages than English."""
    return row.foreign or row.lang not in ("en", "")


def weights(rows, families):
    """Families weigh by the root of their size, texts that these heads are for more than others."""
    count = collections.Counter(families)
    w = np.array([r.weight ** 0.5 / count[f] ** 0.5 * (CHOICES["judged"] if is_judged(r) else 1.0) for r, f in zip(rows, families)])
    y = np.array([r.label for r in rows])
    for label in set(y.tolist()):
        w[y == label] /= w[y == label].sum()
    return w * len(rows) / len(set(y.tolist()))


class Head(torch.nn.Module):
    def __init__(self, labels, hidden):
        super().__init__()
        self.dense = torch.nn.Linear(384, hidden) if hidden else None
        self.out = torch.nn.Linear(hidden or 384, labels)

    def forward(self, x):
        return self.out(torch.nn.functional.gelu(self.dense(x))) if self.dense else self.out(x)


def train(x, y, w, labels, form):
    """A head on vectors of length 1, which are spread by 20 so that weights are of common size; the factor is folded into it."""
    torch.manual_seed(CHOICES["seed"])
    torch.set_num_threads(1)
    x, y, w = torch.tensor(x) * 20, torch.tensor(y), torch.tensor(w, dtype=torch.float32)
    head = Head(labels, form["hidden"])
    steps, size = form["steps"], CHOICES["batch"]
    optimizer = torch.optim.AdamW(head.parameters(), lr=3e-3 if form["hidden"] else 2e-2, weight_decay=form["decay"] * 30)
    plan = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3 if form["hidden"] else 2e-2, total_steps=steps)
    order = torch.randperm(len(x))
    for step in range(steps):
        at = order[torch.arange(step * size, (step + 1) * size) % len(x)]
        loss = (torch.nn.functional.cross_entropy(head(x[at]), y[at], reduction="none", label_smoothing=0.02) * w[at]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        plan.step()
    with torch.no_grad():
        (head.dense or head.out).weight *= 20
    return head.eval()


def logits(head, x):
    with torch.no_grad():
        return head(torch.tensor(x)).numpy()


def left_out(x, y, w, fold, labels, form, use=True):
    """Logits of rows by heads that have not seen their fold; NaN of the rows of none (-1), which are in every training. Only rows with
    `use` are trained on."""
    out = np.full((len(y), labels), np.nan, np.float32)
    for k in sorted(set(fold.tolist()) - {-1}):
        mine = (fold != k) & use
        out[fold == k] = logits(train(x[mine], y[mine], w[mine], labels, form), x[fold == k])
    return out


def auc(score, y, keep):
    keep = keep & np.isfinite(score)
    score, y = score[keep], y[keep]
    order = np.argsort(score, kind="stable")
    rank = np.empty(len(score))
    rank[order] = np.arange(1, len(score) + 1)
    n = y.sum()
    return float((rank[y == 1].sum() - n * (n + 1) / 2) / (n * (len(y) - n))) if 0 < n < len(y) else float("nan")


def by_family(score, y, families, keep):
    """(threshold where harmless families raise RATE on the mean, mean recall over attack families, worst harmless family)"""
    of = collections.defaultdict(list)
    keep = keep & np.isfinite(score)
    score = np.where(keep, score, 0)
    for s, label, f in zip(score[keep], y[keep], np.array(families)[keep]):
        of[(label, f)].append(s)
    of = {k: np.array(v) for k, v in of.items() if len(v) >= LEAST}
    harmless = [v for k, v in of.items() if not k[0]]
    low, high = float(score.min()) - 1, float(score.max()) + 1
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.mean([(v >= middle).mean() for v in harmless]) > RATE else (low, middle)
    rates = {f"{'attack' if k[0] else 'harmless'} {k[1]}": [len(v), round(float((v >= high).mean()), 3)] for k, v in sorted(of.items())}
    recall = float(np.mean([r[1] for k, r in rates.items() if k.startswith("attack")]))
    return {"threshold": high, "recall": recall, "worst": max(r[1] for k, r in rates.items() if k.startswith("harmless")), "families": rates}


class Task:
    def __init__(self, rows, x):
        self.rows, self.x = rows, x
        self.y = np.array([r.label for r in rows])
        self.family = [mr.family(r) for r in rows]
        self.lang = np.array([r.lang for r in rows])
        self.foreign = np.array([r.foreign for r in rows])
        self.judged = np.array([is_judged(r) for r in rows])
        self.w = weights(rows, self.family)


def group_of(task):
    return np.array([mr.group_of(f) for f in task.family])


def choose(task):
    for name, form in FORMS.items():
        for decay in (form["decay"] / 10, form["decay"], form["decay"] * 10):
            z = left_out(task.x, task.y, task.w, group_of(task), 2, dict(form, decay=decay))
            z = z[:, 1] - z[:, 0]
            f = by_family(z, task.y, task.family, task.judged)
            print(f"{name} {decay}: AUC {auc(z, task.y, task.judged):.3f}, recall {f['recall']:.3f}, worst harmless {f['worst']}", flush=True)


def log_odds(p):
    return float(np.log(p / (1 - p)))


def fuse(task, neural, linear):
    """(fusion, log odds of both): the share of these heads with the best mean recall where left-out harmless families raise RATE, and
    the shift and the temperature that make this the probability POINT."""
    found = {}
    for share in SHARES:
        score = share * neural + (1 - share) * np.clip(linear, -LIMIT, LIMIT)
        found[round(float(share), 1)] = by_family(score, task.y, task.family, task.judged & np.isfinite(linear))
    best = max(f["recall"] for f in found.values())
    share = max(s for s, f in found.items() if f["recall"] >= best - NEAR)
    score = share * neural + (1 - share) * np.clip(linear, -LIMIT, LIMIT)
    use = task.judged & np.isfinite(score)
    factor = slope(score[use] - found[share]["threshold"], task.y[use], task.w[use])
    shift = log_odds(POINT) / factor - found[share]["threshold"]
    return {"neural": share, "linear": round(1 - share, 1), "shift": round(shift, 4), "temperature": round(1 / factor, 4), "linear_limit": LIMIT}, \
        (score + shift) * factor, {str(s): [round(f["recall"], 3), f["worst"]] for s, f in found.items()}


def slope(z, y, w):
    """The factor that makes `z`, which is 0 at the threshold, the best log odds; the odds at the threshold stay those of POINT."""
    odds, best = log_odds(POINT), None
    for factor in np.exp(np.linspace(-3, 2, 101)):
        loss = float((w * np.logaddexp(0, np.where(y == 1, -1, 1) * (factor * z + odds))).sum())
        best = min(best or (loss, factor), (loss, factor))
    return best[1]


def fold_in(head, threshold, factor):
    """The threshold becomes the log odds of POINT; the rest is the temperature."""
    with torch.no_grad():
        odds = log_odds(POINT) / factor
        head.out.bias[1] += float(odds - threshold)
    return 1 / factor


def temperature(z, y, w):
    """Of logits of rows that were left out."""
    best = None
    for t in np.exp(np.linspace(-2, 2, 81)):
        p = z / t - np.log(np.exp(z / t - (z / t).max(1, keepdims=True)).sum(1, keepdims=True)) - (z / t).max(1, keepdims=True)
        loss = float(-(w * p[np.arange(len(y)), y]).sum())
        best = min(best or (loss, t), (loss, t))
    return float(best[1])


def save(path, tensors):
    """Safetensors, bfloat16."""
    header, body = {}, b""
    for name, t in sorted(tensors.items()):
        bits = np.ascontiguousarray(t.detach().numpy(), np.float32).view(np.uint32)
        raw = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()
        header[name] = {"dtype": "BF16", "shape": list(t.shape), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def load(path):
    """Safetensors in bfloat16, as `save` writes them."""
    raw = path.read_bytes()
    n = struct.unpack("<Q", raw[:8])[0]
    out = {}
    for name, entry in json.loads(raw[8:8 + n]).items():
        first, last = entry["data_offsets"]
        bits = np.frombuffer(raw[8 + n + first:8 + n + last], "<u2").astype(np.uint32) << 16
        out[name] = torch.tensor(bits.view(np.float32).reshape(entry["shape"]).copy())
    return out


MAPPING = {"domain": ("category_mapping.json", "category_to_idx", "idx_to_category", data.LABELS),
           "jailbreak": ("jailbreak_type_mapping.json", "label_to_idx", "idx_to_label", jd.LABELS)}


def write(out, heads, temperatures, fusions, trunk):
    """These heads, their settings and mixtures into the folder; other heads that are in it stay."""
    out.mkdir(parents=True, exist_ok=True)
    there = (out / "config.json").exists()
    tensors = load(out / "adapters.safetensors") if there else {}
    config = json.loads((out / "config.json").read_text()) if there else {"heads": {}, "fusion": {}, "thresholds": {}}
    tensors.update({f"{task}.{part}.{name}": t for task, head in heads.items() for part in ("dense", "out") if getattr(head, part) is not None
                    for name, t in getattr(head, part).named_parameters()})
    save(out / "adapters.safetensors", tensors)
    config.update(format="semroute-neural-1", trunk={"name": trunk.name, "sha256": hashlib.sha256((trunk / "model.safetensors").read_bytes()).hexdigest()},
                  window=256, overlap=32)
    files = {"config.json": config,
             "adapter_config.json": {"peft_type": "LORA", "task_type": None, "base_model_name_or_path": trunk.name, "r": 1, "lora_alpha": 1, "bias": "none",
                                     "lora_dropout": 0.0, "fan_in_fan_out": False, "target_modules": []}}
    for task in heads:
        name, forward, back, labels = MAPPING[task]
        config["heads"][task] = {"pooling": "mean", "normalize": True, "layer": 12, "dense": heads[task].dense is not None, "activation": "gelu",
                                 "labels": labels, "temperature_alone": round(temperatures[task], 4)}
        config["fusion"][task] = fusions[task]
        files[name] = {forward: {l: i for i, l in enumerate(labels)}, back: {str(i): l for i, l in enumerate(labels)}}
    config["thresholds"]["jailbreak"] = POINT
    for name, value in files.items():
        (out / name).write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    names = sorted({*(p.name for p in out.iterdir() if p.suffix == ".json" and p.name not in ("manifest.json", "domain.json")), "adapters.safetensors"})
    (out / "manifest.json").write_text(json.dumps({"name": out.name, "task": "neural", "tier": "neural", "files": [
        {"path": n, "bytes": (out / n).stat().st_size, "sha256": hashlib.sha256((out / n).read_bytes()).hexdigest()} for n in names]}, indent=2) + "\n")


def recall(score, y, threshold):
    return round(float((score[y == 1] >= threshold).mean()), 3), round(float((score[y == 0] >= threshold).mean()), 3)


def languages(task, scores, found):
    """A row for each language with enough texts: AUC by each score, and what each finds at its threshold."""
    out, known = {}, np.isfinite(scores["both"])
    for lang, n in collections.Counter(task.lang[task.judged & known].tolist()).most_common():
        keep = task.judged & known & (task.lang == lang)
        attacks = int(task.y[keep].sum())
        if attacks >= 15 and n - attacks >= 15:
            out[lang] = {"texts": n, "attacks": attacks,
                         **{name: {"auc": round(auc(z, task.y, keep), 3), "found": recall(z[keep], task.y[keep], found[name]["threshold"])}
                            for name, z in scores.items()}}
    return out


def measure(task, z):
    """The figures of the log odds `z`, over the rows that all have read, and of those in either kind of script."""
    known = np.isfinite(z["both"]) & np.isfinite(z["before"])
    kinds = {"all": task.judged & known, "other scripts": task.foreign & known, "Latin script": task.judged & ~task.foreign & known}
    found = {name: {k: by_family(v, task.y, task.family, keep) for k, v in z.items()} for name, keep in kinds.items()}
    point = log_odds(POINT)
    return {"kinds": {name: {"texts": int(keep.sum()), "attacks": int(task.y[keep].sum()),
                             "at_point": {k: by_families_at(z[k], task, point, keep) for k in ("before", "both")},
                             **{k: {"auc": round(auc(v, task.y, keep), 3), "recall": round(found[name][k]["recall"], 3), "worst": found[name][k]["worst"]}
                                for k, v in z.items()}} for name, keep in kinds.items()},
            "families": {k: found["all"][k]["families"] for k in ("both", "before")},
            "languages": languages(task, z, found["all"])}


def by_families_at(z, task, threshold, keep):
    """Mean recall, mean rate of false alarms over families and the worst of these at a fixed threshold."""
    of = collections.defaultdict(list)
    for s, label, f in zip(z[keep], task.y[keep], np.array(task.family)[keep]):
        of[(int(label), f)].append(s >= threshold)
    rates = {label: [float(np.mean(v)) for k, v in of.items() if k[0] == label and len(v) >= LEAST] for label in (0, 1)}
    return {"recall": round(float(np.mean(rates[1])), 3), "false_alarms": round(float(np.mean(rates[0])), 3), "worst": round(max(rates[0]), 3)}


NAMES = {"zh": "Chinese", "ko": "Korean", "ja": "Japanese", "ru": "Russian", "ar": "Arabic", "hi": "Hindi", "fa": "Persian", "uk": "Ukrainian", "th": "Thai",
         "bn": "Bengali", "el": "Greek", "he": "Hebrew", "bg": "Bulgarian", "ur": "Urdu", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian",
         "pt": "Portuguese", "tr": "Turkish", "nl": "Dutch", "pl": "Polish", "vi": "Vietnamese", "id": "Indonesian", "sv": "Swedish", "ro": "Romanian",
         "cs": "Czech", "fi": "Finnish", "sw": "Swahili", "hu": "Hungarian", "da": "Danish", "no": "Norwegian"}
SCORES = ("before", "heads", "both", "by_language")


def table(figures):
    f = figures["jailbreak"]
    lines = ["| language | texts | attacks | MiniLM and linear tier | these heads | **these heads and linear tier** | these heads, language left out |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for name, row in f["kinds"].items():
        lines.append(f"| **{name}** (recall: mean over families) | {row['texts']:,} | {row['attacks']:,} | "
                     + " | ".join(f"{row[k]['auc']:.3f}, {row[k]['recall']:.0%}, worst harmless {row[k]['worst']:.0%}" for k in SCORES) + " |")
    for lang, row in f["languages"].items():
        lines.append(f"| {NAMES.get(lang, lang)} | {row['texts']} | {row['attacks']} | " + " | ".join(f"{row[k]['auc']:.3f}, {row[k]['found'][0]:.0%}" for k in SCORES) + " |")
    return lines


PAGE = """# Languages other than English: attacks and domains

Attacks in scripts other than Latin and in languages other than English are judged by heads on multilingual-e5-small
([neural-multilingual](../../models/neural-multilingual/card.md)); `training/left_out_linear.py` and
`training/multilingual_heads.py` make the heads and this page. Train files and texts written for training only.

## Attacks

AUC, and attacks found where harmless families raise a false alarm in 3 % of their texts on the mean over families.
Collections, techniques of written attacks, and parts of the look-alikes are families, left out in five groups: the
heads and the linear tier had not seen the row's family, in the last column not the row's language. What shipped before
is the first column; its MiniLM head **was** trained on part of these families, which flatters it.

{table}

### At the shipped threshold of 0.7

| texts | recall before | false alarms before | recall | false alarms | worst harmless family |
| --- | --- | --- | --- | --- | --- |
{points}

Both kinds of text have one calibration, so the rate is 3 % over both together, not in each.

### How much the linear tier counts

{mixtures}

Of shares that these rows cannot tell apart the largest was taken.

### Families, left out

| family | texts | these heads and linear tier | before |
| --- | --- | --- | --- |
{families}

What disappoints: instructions that stand inside of another text (`indirect_injection`, `injection-handwritten`) are
hardly found by these heads when the technique was left out. One vector of a window says what the window is about, and
an order in the middle of it is a small part of that.

## Domain

Accuracy of the head on collections that were left out in turn, 14 categories. No collection of other languages but the
Chinese exams has labels.

| collection | questions | accuracy |
| --- | --- | --- |
{domain}
"""


def page(figures):
    f = figures["jailbreak"]
    percent = lambda x: f"{x:.1%}".replace("%", " %")  # noqa: E731
    old = f["families"]["before"]
    points = []
    for name, row in f["kinds"].items():
        was, now = (row["at_point"][k] for k in ("before", "both"))
        points.append(f"| {name} | " + " | ".join(percent(v) for v in (was["recall"], was["false_alarms"], now["recall"], now["false_alarms"], now["worst"])) + " |")
    mixtures = ["| share of these heads | mean recall | worst harmless family |", "| --- | --- | --- |",
                *(f"| {share} | {percent(r)} | {percent(worst)} |" for share, (r, worst) in figures["mixtures"].items())]
    families = [f"| {name} | {n} | {percent(rate)} | {percent(old[name][1])} |" for name, (n, rate) in f["families"]["both"].items()]
    domain = [f"| {name} | {n:,} | {percent(rate)} |" for name, (n, rate) in figures["domain"].items()]
    return PAGE.format(table="\n".join(table(figures)).replace("%", " %"), points="\n".join(points), mixtures="\n".join(mixtures),
                       families="\n".join(families), domain="\n".join(domain))


def kept(work, name, compute):
    """An array that was computed before, or is now."""
    path = work / f"{name}.npy"
    if not path.exists():
        np.save(path, compute())
        print(name, flush=True)
    return np.load(path)


def difference(z):
    return z[:, 1] - z[:, 0]


def guard(task, args, figures):
    """(head, its temperature, its mixture); measured into `figures`."""
    form = FORMS[CHOICES["form"]]
    head = train(task.x, task.y, task.w, 2, form)
    z = {"heads": kept(args.work, "by-family", lambda: difference(left_out(task.x, task.y, task.w, group_of(task), 2, form))),
         "by_language": kept(args.work, "by-language", lambda: difference(left_out(task.x, task.y, task.w, fold_of(task.lang.tolist()), 2, form)))}
    linear = mr.linear(args.work, [r.text for r in task.rows])
    keep = task.judged & np.isfinite(z["heads"])
    threshold = by_family(z["heads"], task.y, task.family, keep)["threshold"]
    factor = slope(z["heads"][keep] - threshold, task.y[keep], task.w[keep])
    own = (z["heads"] - threshold) * factor + log_odds(POINT)
    fusion, z["both"], figures["mixtures"] = fuse(task, own, linear)
    z["before"] = before(task, linear, args.binary, args.work)
    figures["jailbreak"] = measure(task, z)
    return head, fold_in(head, threshold, factor), fusion


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--binary", default=HERE.parent / "build" / "semroute", type=pathlib.Path)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--task", choices=("jailbreak", "domain"))
    args.add_argument("--choose", action="store_true")
    args = args.parse_args()
    names = [args.task] if args.task else ["jailbreak", "domain"]
    rows = [r for r in mr.load(args.data) if r.task in names]
    x = mr.features(args.binary, args.work, [r.text for r in rows])
    tasks = {name: Task([r for r in rows if r.task == name], x[[r.task == name for r in rows]]) for name in names}
    if args.choose:
        return choose(tasks["jailbreak"])
    file, form = HERE.parent / "docs" / "quality" / "multilingual.json", FORMS[CHOICES["form"]]
    figures = json.loads(file.read_text()) if file.exists() else {}
    figures["choices"] = {**CHOICES, **form, "folds": FOLDS, "groups": mr.GROUPS}
    heads, temperatures, fusions = {}, {}, {}
    if "jailbreak" in tasks:
        heads["jailbreak"], temperatures["jailbreak"], fusions["jailbreak"] = guard(tasks["jailbreak"], args, figures)
    if "domain" in tasks:
        task = tasks["domain"]
        logit, figures["domain"] = measure_domain(task)
        heads["domain"], fusions["domain"] = train(task.x, task.y, task.w, len(data.LABELS), form), DOMAIN_FUSION
        temperatures["domain"] = temperature(logit, task.y, task.w)
    write(HERE.parent / "models" / "neural-multilingual", heads, temperatures, fusions, HERE.parent / "models" / "multilingual-e5-small")
    file.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    file.with_suffix(".md").write_text(page(figures))


if __name__ == "__main__":
    main()
