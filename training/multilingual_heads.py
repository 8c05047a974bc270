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
import re
import struct

import numpy as np
import torch

import data
import jailbreak_data as jd
import multilingual_domain
import multilingual_rows as mr
import written

HERE = pathlib.Path(__file__).resolve().parent
MODEL, TRUNK = HERE.parent / "models" / "neural-multilingual", HERE.parent / "models" / "multilingual-e5-small"
RISK = (HERE.parent / "src" / "signal" / "guard" / "risk.h").read_text()
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
    def __init__(self, labels, hidden, drop=0.0):
        super().__init__()
        self.drop = drop
        self.dense = torch.nn.Linear(384, hidden) if hidden else None
        self.out = torch.nn.Linear(hidden or 384, labels)

    def forward(self, x):
        return self.out(self.dropped(torch.nn.functional.gelu(self.dense(self.dropped(x))))) if self.dense else self.out(x)

    def dropped(self, x):
        return torch.nn.functional.dropout(x, self.drop) if self.drop and self.training else x


def train(x, y, w, labels, form):
    """A head on vectors of length 1, which are spread by 20 so that weights are of common size; the factor is folded into it."""
    torch.manual_seed(CHOICES["seed"])
    torch.set_num_threads(1)
    x, y, w = torch.tensor(x) * 20, torch.tensor(y), torch.tensor(w, dtype=torch.float32)
    head = Head(labels, form["hidden"], form.get("drop", 0.0))
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
        self.part = [mr.family(r) for r in rows]              # what is left out together
        self.family = [mr.counted(f) for f in self.part]      # what counts as much as any other in a rate
        self.lang = np.array([r.lang for r in rows])
        self.foreign = np.array([r.foreign for r in rows])
        self.judged = np.array([is_judged(r) for r in rows])
        self.w = weights(rows, self.part)


def group_of(task):
    return np.array([mr.group_of(f) for f in task.part])


def choose(task):
    for name, form in FORMS.items():
        for decay in (form["decay"] / 10, form["decay"], form["decay"] * 10):
            z = left_out(task.x, task.y, task.w, group_of(task), 2, dict(form, decay=decay))
            z = z[:, 1] - z[:, 0]
            f = by_family(z, task.y, task.family, task.judged)
            print(f"{name} {decay}: AUC {auc(z, task.y, task.judged):.3f}, recall {f['recall']:.3f}, worst harmless {f['worst']}", flush=True)


def log_odds(p):
    return float(np.log(p / (1 - p)))


def fuse(task, neural, linear, use):
    """(fusion, log odds of both): the share of these heads with the best mean recall where left-out harmless families raise RATE, and
    the shift and the temperature that make this the probability POINT; chosen on rows with `use`."""
    found = {}
    for share in SHARES:
        score = share * neural + (1 - share) * np.clip(linear, -LIMIT, LIMIT)
        found[round(float(share), 1)] = by_family(score, task.y, task.family, use & task.judged & np.isfinite(linear))
    best = max(f["recall"] for f in found.values())
    share = max(s for s, f in found.items() if f["recall"] >= best - NEAR)
    score = share * neural + (1 - share) * np.clip(linear, -LIMIT, LIMIT)
    use = use & task.judged & np.isfinite(score)
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


def settings(task, temperature, dense=True):
    """Of a head that reads a window's mean, for config.json."""
    return {"pooling": "mean", "normalize": True, "layer": 12, "dense": dense, "activation": "gelu", "labels": MAPPING[task][3],
            "temperature_alone": round(temperature, 4)}


def write(out, tensors, head, fusion, trunk):
    """The guard's head, its settings and mixture into the folder; other heads that are in it stay."""
    out.mkdir(parents=True, exist_ok=True)
    there = (out / "config.json").exists()
    kept = load(out / "adapters.safetensors") if there else {}
    config = json.loads((out / "config.json").read_text()) if there else {"heads": {}, "fusion": {}, "thresholds": {}}
    save(out / "adapters.safetensors", {**{k: v for k, v in kept.items() if not k.startswith("jailbreak.")}, **tensors})
    config.update(format="semroute-neural-1", trunk={"name": trunk.name, "sha256": hashlib.sha256((trunk / "model.safetensors").read_bytes()).hexdigest()},
                  window=256, overlap=32)
    config["heads"]["jailbreak"], config["fusion"]["jailbreak"] = head, fusion
    config["thresholds"]["jailbreak"] = POINT
    files = {"config.json": config,
             "adapter_config.json": {"peft_type": "LORA", "task_type": None, "base_model_name_or_path": trunk.name, "r": 1, "lora_alpha": 1, "bias": "none",
                                     "lora_dropout": 0.0, "fan_in_fan_out": False, "target_modules": []}}
    for name, forward, back, labels in MAPPING.values():
        files[name] = {forward: {l: i for i, l in enumerate(labels)}, back: {str(i): l for i, l in enumerate(labels)}}
    for name, value in files.items():
        (out / name).write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    names = sorted({*(p.name for p in out.iterdir() if p.suffix == ".json" and p.name not in ("manifest.json", "domain.json")), "adapters.safetensors"})
    (out / "manifest.json").write_text(json.dumps({"name": out.name, "task": "neural", "tier": "neural", "files": [
        {"path": n, "bytes": (out / n).stat().st_size, "sha256": hashlib.sha256((out / n).read_bytes()).hexdigest()} for n in names]}, indent=2) + "\n")


def tensors_of(head):
    return {f"jailbreak.{part}.{name}": t for part in ("dense", "out") if getattr(head, part) is not None for name, t in getattr(head, part).named_parameters()}


def take(folder):
    """The guard's head of another such folder, for when both were changed."""
    config = json.loads((folder / "config.json").read_text())
    mine = {k: v for k, v in load(folder / "adapters.safetensors").items() if k.startswith("jailbreak.")}
    write(MODEL, mine, config["heads"]["jailbreak"], config["fusion"]["jailbreak"], TRUNK)


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
    lines = ["| language | texts | attacks | before | this head | **this head and linear tier** | this head, language left out |",
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
Collections, techniques of written attacks, carriers of orders that stand inside of other texts, and parts of the
harmless written texts are families, left out in five groups: the head and the linear model had not seen the row's
family, in the last column not the row's language. The harmless carriers are left out in three parts and count as
one family, which is as large as others. Before: this head and the linear model without the texts about carriers and
of East Asia (`hidden_*.txt` and `direct_*.txt` in `training/texts/multilingual`), on the same rows.

{table}

### At the shipped threshold of 0.7

| texts | recall before | false alarms before | recall | false alarms | worst harmless family |
| --- | --- | --- | --- | --- | --- |
{points}

Both kinds of text have one calibration, so the rate is 3 % over both together, not in each. "Before" has its own, made
without the harmless texts that were added.

### Texts of other frames

`training/texts/multilingual_test` has frames that no text for training has (invitations, subtitles, sheets,
voicemail, commits, forms), in 28 languages; it was read when all was chosen. Shares that reach 0.7, with the linear
tier that ships. The first two are attacks, the last two harmless.

| texts | number | before | now |
| --- | --- | --- | --- |
{apart}

### How much the linear tier counts

{mixtures}

Of shares that these rows cannot tell apart the largest was taken.

### System prompts and long texts

Texts of the system role are lowered by `SR_RISK_SYSTEM_BOTH`, long ones by `SR_RISK_LONG_SHIFT` for each logarithm of
their length (`src/signal/guard/risk.h`); both were chosen in English. Left-out rows in other languages:

| texts | number | at 0.7 | in the system role |
| --- | --- | --- | --- |
{system}

Windows of one harmless family drawn at random stand for a long text, whose windows are read one by one; each family
weighs alike. "Lost" are attacks that are found alone and are under the bar of such a length.

| windows | harmless texts, bar of short ones | with the shift | attacks lost by it |
| --- | --- | --- | --- |
{long}

### Families, left out

At the threshold where harmless families raise a false alarm in 3 % of their texts, before and now.

| family | texts | before | now |
| --- | --- | --- | --- |
{families}

## Domain

Accuracy of the head on collections and languages that were left out in turn, 14 categories
([languages](languages.md) has test questions in 21 languages).

| left out | accuracy |
| --- | --- |
{domain}
"""
KINDS = {"hidden_test": "orders inside of other texts", "direct_test": "direct attacks", "carrier": "harmless carriers", "lookalike": "harmless requests"}


def page(figures):
    f = figures["jailbreak"]
    percent = lambda x: f"{x:.1%}".replace("%", " %")  # noqa: E731
    row = lambda *cells: "| " + " | ".join(str(c) for c in cells) + " |"  # noqa: E731
    named = lambda name: KINDS[name.split(",")[0]] + "," + name.split(",")[1]  # noqa: E731
    old, points = f["families"]["before"], []
    for name, r in f["kinds"].items():
        was, now = (r["at_point"][k] for k in ("before", "both"))
        points.append(row(name, *(percent(v) for v in (was["recall"], was["false_alarms"], now["recall"], now["false_alarms"], now["worst"]))))
    mixtures = ["| share of this head | mean recall | worst harmless family |", "| --- | --- | --- |",
                *(row(share, percent(r), percent(worst)) for share, (r, worst) in figures["mixtures"].items())]
    return PAGE.format(table="\n".join(table(figures)).replace("%", " %"), points="\n".join(points), mixtures="\n".join(mixtures),
                       apart="\n".join(row(named(name), n, percent(a), percent(b)) for name, (n, a, b) in sorted(figures["apart"].items(), key=lambda i: list(KINDS).index(i[0].split(",")[0]))),
                       system="\n".join(row(name, n, percent(a), percent(b)) for name, (n, a, b) in figures["system"].items()),
                       long="\n".join(row(n, *(percent(v) for v in values)) for n, values in figures["long"].items()),
                       families="\n".join(row(name, n, percent(old[name][1]) if name in old else "", percent(rate)) for name, (n, rate) in f["families"]["both"].items()),
                       domain="\n".join(row(name, percent(rate)) for name, rate in figures["domain"].items()))


def kept(task, work, name, compute):
    """An array that was computed before of the same rows, or is now."""
    key = hashlib.sha256(json.dumps([CHOICES, FORMS, [(r.text, f) for r, f in zip(task.rows, task.part)]]).encode()).hexdigest()[:12]
    path = work / f"{name}-{key}.npy"
    if not path.exists():
        np.save(path, compute())
        print(name, flush=True)
    return np.load(path)


def difference(z):
    return z[:, 1] - z[:, 0]


class Mixture:
    """How log odds `z` of left-out rows become those of both tiers; chosen on rows with `use`."""

    def __init__(self, task, z, linear, use):
        keep = use & task.judged & np.isfinite(z)
        self.threshold = by_family(z, task.y, task.family, keep)["threshold"]
        self.factor = slope(z[keep] - self.threshold, task.y[keep], task.w[keep])
        self.fusion, self.both, self.compared = fuse(task, self.own(z), linear, use)

    def own(self, z):
        return (z - self.threshold) * self.factor + log_odds(POINT)

    def of(self, z, linear):
        """Log odds of both tiers for any rows."""
        f = self.fusion
        return (f["neural"] * self.own(z) + f["linear"] * np.clip(linear, -LIMIT, LIMIT) + f["shift"]) / f["temperature"]


def apart(args, heads):
    """What is found of texts/multilingual_test by kind and script, with the linear tier that ships: {name: (head, mixture)}."""
    records = written.read(written.FOLDER / "multilingual_test")
    texts = [r.text for r in records]
    x, linear = mr.features(args.binary, args.work, texts), mr.shipped_linear(args.binary, texts)
    out = {}
    for place, foreign in (("other scripts", True), ("Latin script", False)):
        for kind in ("hidden_test", "direct_test", "carrier", "lookalike"):
            at = np.array([r.kind == kind and mr.is_foreign(r.text) == foreign for r in records])
            if at.any():
                out[f"{kind}, {place}"] = [int(at.sum()), *(round(float((m.of(difference(logits(head, x)), linear)[at] >= log_odds(POINT)).mean()), 3)
                                                            for head, m in heads.values())]
    return out


def constant(name):
    return float(re.search(rf"#define SR_RISK_{name}\s+([0-9.]+)", RISK).group(1))


def in_system_role(task, z):
    """{source: [texts, share at the threshold, share in the system role]}; attacks: mean over families."""
    shift, out = constant("SYSTEM_BOTH"), {}
    for name in ("benign-lobe-agents", "benign-prompts-zh"):
        at = np.array([f == name for f in task.family]) & task.judged & np.isfinite(z)
        out[name] = [int(at.sum()), *(round(float((z[at] >= log_odds(POINT) + s).mean()), 4) for s in (0, shift))]
    attacks = task.judged & np.isfinite(z) & (task.y == 1)
    out["attacks"] = [int(attacks.sum()), *(by_families_at(z, task, log_odds(POINT) + s, task.judged & np.isfinite(z))["recall"] for s in (0, shift))]
    return out


def in_long_texts(task, z):
    """{windows: [mean share of harmless texts of so many windows of a family with one over the bar, without the shift for long texts and
    with it; share of found attacks that fall under the bar by it]}"""
    rng, out = np.random.default_rng(CHOICES["seed"]), {}
    of = collections.defaultdict(list)
    for f, v, label, judged in zip(task.family, z, task.y, task.judged):
        if judged and np.isfinite(v):
            of[(int(label), f)].append(v)
    bar = log_odds(POINT)
    for windows in (1, 5, 10, 37):
        stretches = windows * 750 / constant_int("STRETCH")
        shift = min(constant("LONG_MOST"), constant("LONG_SHIFT") * np.log(stretches)) if stretches >= constant_int("LONG_FROM") else 0.0
        top = [np.array(v)[rng.integers(len(v), size=(400, windows))].max(1) for (label, _), v in of.items() if not label and len(v) >= LEAST]
        found = [np.array(v)[np.array(v) >= bar] for (label, _), v in of.items() if label and len(v) >= LEAST]
        out[str(windows)] = [*(round(float(np.mean([(t >= bar + s).mean() for t in top])), 3) for s in (0.0, shift)),
                             round(float(np.mean([(v < bar + shift).mean() for v in found if len(v)])), 3)]
    return out


def constant_int(name):
    return int(re.search(rf"#define SR_RISK_{name}\s+([0-9]+)u", RISK).group(1))


def guard(task, args, figures):
    """(head, its temperature, its mixture); measured into `figures`."""
    form, group = FORMS[CHOICES["form"]], group_of(task)
    early = np.array([not mr.is_late(r) for r in task.rows])
    run = lambda fold, use=True: difference(left_out(task.x, task.y, task.w, fold, 2, form, use))  # noqa: E731
    z = {"heads": kept(task, args.work, "by-family", lambda: run(group)),
         "by_language": kept(task, args.work, "by-language", lambda: run(fold_of(task.lang.tolist()))),
         "before": kept(task, args.work, "before", lambda: run(group, early))}
    linear = mr.linear(args.work, [r.text for r in task.rows])
    now, then = Mixture(task, z["heads"], linear, np.ones_like(early)), Mixture(task, z["before"], linear, early)
    head = train(task.x, task.y, task.w, 2, form)
    figures["apart"] = apart(args, {"before": (train(task.x[early], task.y[early], task.w[early], 2, form), then), "now": (head, now)})
    z["before"], z["both"], figures["mixtures"] = then.both, now.both, now.compared
    figures["jailbreak"] = measure(task, z)
    figures["system"], figures["long"] = in_system_role(task, now.both), in_long_texts(task, now.both)
    return head, fold_in(head, now.threshold, now.factor), now.fusion


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--binary", default=HERE.parent / "build" / "semroute", type=pathlib.Path)
    args.add_argument("--work", type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--task", choices=("jailbreak",))
    args.add_argument("--choose", action="store_true")
    args.add_argument("--take", type=pathlib.Path)
    args = args.parse_args()
    if args.take:
        return take(args.take)
    rows = mr.jailbreak_rows(args.data)
    task = Task(rows, mr.features(args.binary, args.work, [r.text for r in rows]))
    if args.choose:
        return choose(task)
    file = HERE.parent / "docs" / "quality" / "multilingual.json"
    figures = {"choices": {**CHOICES, **FORMS[CHOICES["form"]], "folds": FOLDS, "groups": mr.GROUPS}}
    head, temperature, fusion = guard(task, args, figures)
    write(MODEL, tensors_of(head), settings("jailbreak", temperature, head.dense is not None), fusion, TRUNK)
    if not args.task:
        multilingual_domain.make(args)
    figures["domain"] = json.loads((MODEL / "domain.json").read_text())["left_out"]["accuracy"]
    file.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    file.with_suffix(".md").write_text(page(figures))


if __name__ == "__main__":
    main()
