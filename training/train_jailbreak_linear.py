"""Trains the linear tier's jailbreak model and writes models/jailbreak-linear/.

    python train_jailbreak_linear.py --data ../../shared/data [--out ../models/jailbreak-linear] [--cv-only]

A text's score is that of its highest window (jailbreak_data.pieces, highest). Five folds keep near-duplicates together; the
shift of the bias makes a probability of 0.7 the score that one harmless text in a hundred exceeds, as the mean over the
harmless sources, out of fold. No dev file is opened. Minutes on two cores, about 4 GB of memory.
"""
import argparse
import hashlib
import json
import multiprocessing
import pathlib
import time

import numpy as np

import card
import features
import fit
import jailbreak_data as jd
import table
import written

HERE = pathlib.Path(__file__).resolve().parent
CHOICES = {
    "least": 4, "damping": 20.0, "buckets": 65536, "fill": 0.85, "clip": 0.9999,
    "rough": {"power": 1.0, "penalty": 3e-4, "steps": 12},
    "view": {"power": 1.0, "penalty": 3e-4, "steps": 25},
    "later_pieces": 0.35,      # weight of an attack's windows after the first
    "attack_share": 0.3,       # of the whole weight
    "rate": 0.01, "point": 0.7,
    "not_judged": ["made-lookalikes", "made-carriers", "made-surrounded", "made-mixed", "written-lookalikes", "composed-injections", "llmguard-tests", "jailbreak-bipia", "multilingual-override"],
    "made": jd.MADE,
}
LEFT_OUT = [["jailbreak-inthewild", "gptfuzz"], ["jailbreak-short"], ["adaptive-attacks"], ["llmguard-tests"], ["composed-injections"],
            ["multilingual-override"], ["made-attacks", "made-planted", "made-lookalikes", "made-carriers", "made-surrounded", "made-mixed"],
            ["written-attacks", "written-lookalikes"]]
LEFT_OUT_HARMLESS = ["benign-prompts", "benign-real-users", "tools-metatool", "chat-rag-opensourceguide", "pii-ner-tweets"]
STATE = {}


def prepare(root, made=jd.MADE, further=written.LINEAR):
    rows, harmful, inputs = jd.load(root, made, further=further)
    sample = [(i, k, p) for i, r in enumerate(rows) for k, p in enumerate(jd.pieces(r.text))]
    STATE.update(rows=rows, of=np.array([i for i, _, _ in sample]), keys=[features.keys(p.encode()) for _, _, p in sample],
                 y=np.array([r.label for r in rows]))
    later = np.array([k > 0 for _, k, _ in sample])
    weight = np.array([r.weight for r in rows])[STATE["of"]]
    weight = np.where(later & (STATE["y"][STATE["of"]] == 1), weight * CHOICES["later_pieces"], weight)
    attack = STATE["y"][STATE["of"]] == 1
    share = CHOICES["attack_share"]
    weight[attack] *= share * weight[~attack].sum() / ((1 - share) * weight[attack].sum())
    STATE["weight"] = weight
    return rows, harmful, inputs


def build():
    """The n-grams of all windows, once; every fit takes its rows of it."""
    vocab = fit.vocabulary(STATE["keys"], CHOICES["least"])
    STATE.update(vocab=vocab, x=fit.presence(STATE["keys"], vocab))


def regress(x, idf, y, weight, view):
    scale = idf ** view["power"]
    w, bias = fit.regression(fit.scaled(x, scale, CHOICES["damping"]), y, weight, "log", view["penalty"], view["steps"])
    return w * scale[:, None], bias


def windows_of(chosen):
    use = np.nonzero(chosen[STATE["of"]])[0]
    return STATE["x"][use], STATE["y"][STATE["of"][use]], STATE["weight"][use]


def train(chosen):
    """A table.Model from the rows that `chosen` marks."""
    c = CHOICES
    x, y, weight = windows_of(chosen)
    idf = fit.rarity(x)
    rough, _ = regress(x, idf, y, weight, c["rough"])
    importance = np.linalg.norm(rough, axis=1) * np.sqrt(np.asarray(x.sum(0)).ravel())
    best = np.argsort(-importance, kind="stable")[:int(c["buckets"] * table.SLOTS * c["fill"])]
    prints, owner = table.fill(STATE["vocab"][best], importance[best], c["buckets"])
    held = np.sort(owner[owner >= 0])
    w, bias = regress(x[:, best[held]], idf[best[held]], y, weight, c["view"])
    w, bias = w - w.mean(1, keepdims=True), bias - bias.mean()
    step = float(np.quantile(np.abs(w), c["clip"])) / 127
    small = np.clip(np.rint(w / step), -127, 127).astype(np.int8)
    full = np.zeros((len(owner), 2), np.int8)
    filled = owner >= 0
    full[filled] = small[np.searchsorted(held, owner[filled])]
    return table.Model(prints, full, bias, step, 1.0, c["damping"])


def left_out(names):
    """Margins of the rows of some sources by a model of the others: all n-grams, no table. Texts that were made around
    rows of other sources are left out with any."""
    source = np.array([r.source for r in STATE["rows"]])
    out = np.isin(source, names)
    x, y, weight = windows_of(~out & ~np.isin(source, ["made-surrounded", "made-mixed"]))
    idf = fit.rarity(x)
    w, bias = regress(x, idf, y, weight, CHOICES["rough"])
    use = np.nonzero(out[STATE["of"]])[0]
    z = fit.scaled(STATE["x"][use], np.ones(len(idf), np.float32), CHOICES["damping"]) @ (w[:, 1] - w[:, 0]) + bias[1] - bias[0]
    left = np.nonzero(out)[0]
    return left, gather(STATE["of"][use], z, left)


def gather(of, z, rows):
    """The score of each row: the highest `z` of its windows `of`."""
    top = np.full(len(STATE["rows"]), -np.inf)
    np.maximum.at(top, of, z)
    return top[rows]


def score(model, rows):
    """The windows of some rows, and the margin (logit of attack less logit of harmless) of each."""
    use = np.nonzero(np.isin(STATE["of"], rows))[0]
    return use, np.array([np.diff(logits(model, STATE["keys"][n]))[0] for n in use])


def logits(model, keys):
    """table.Model.logits for keys that are there already."""
    high, mark = table.place(keys)
    home = table.bucket_of(high, len(model.prints))
    hit = model.prints[home] == mark[:, None]
    some = hit.any(1)
    rows = np.unique(home[some] * table.SLOTS + hit[some].argmax(1))
    sums = model.weights[rows].astype(np.int64).sum(0)
    return model.bias + (model.scale / np.sqrt(float(len(rows)) + model.damping) * sums if len(rows) else 0.0)


def held_out(out):
    return score(train(~out), np.nonzero(out)[0])


def calibrate(margin, y, balance, threshold, point):
    """(temperature, shift) of least log loss such that `threshold` becomes a probability of `point`."""
    odds = np.log(point / (1 - point))

    def loss(log_t):
        z = (margin - threshold) / np.exp(log_t) + odds
        return float((balance * np.logaddexp(0, np.where(y == 1, -z, z))).sum())

    t = float(np.exp(fit.minimize_scalar(loss, bounds=(-3, 3), method="bounded").x))
    return t, odds * t - threshold


def rates(rows, margin, threshold):
    """Share of each source's texts (by label) above the threshold."""
    out = {}
    for label in (0, 1):
        for s in sorted({r.source for r in rows if r.label == label}):
            mine = np.array([r.source == s and r.label == label for r in rows])
            out[f"{'attack' if label else 'harmless'} {s}"] = [int(mine.sum()), round(float((margin[mine] >= threshold).mean()), 4)]
    return out


def by(rows, margin, threshold, key):
    out = {}
    for name in sorted({key(r) for r in rows if r.label == 1}):
        mine = np.array([r.label == 1 and key(r) == name for r in rows])
        out[name] = [int(mine.sum()), round(float((margin[mine] >= threshold).mean()), 4)]
    return out


def write_card(out, inputs, figures):
    path = out / "model.safetensors"
    card.write(out, path, hashlib.sha256(path.read_bytes()).hexdigest(), inputs, CHOICES, figures, name="jailbreak-linear", task="jailbreak")


def ship(model, t, shift, out, harmful, inputs, figures):
    """The calibrated model file and what stands beside it."""
    model.temperature = t
    model.bias = model.bias + np.array([-shift / 2, shift / 2])
    out.mkdir(parents=True, exist_ok=True)
    path = out / "model.safetensors"
    model.save(path, {"task": "jailbreak", "labels": "|".join(jd.LABELS)})
    figures["rows_used"] = int((model.prints != 0).sum())
    odds = [jd.highest([np.diff(logits(model, features.keys(p.encode())))[0] / t for p in jd.pieces(text)]) for text in harmful]
    limit = np.log(CHOICES["point"] / (1 - CHOICES["point"]))
    figures["harmful_requests_flagged"] = [len(odds), round(float((np.array(odds) >= limit).mean()), 4)]
    write_card(out, inputs, figures)
    print(f"{path}: {path.stat().st_size} bytes", flush=True)


def calibrated(rows, y, windows, path, bias):
    """The figures of the folds, from the margins of the windows out of fold; these are written to `path`."""
    source = np.array([r.source for r in rows])
    margin = gather(STATE["of"], windows, np.arange(len(rows)))
    if path:
        np.savez(path, margin=margin, windows=windows, bias=bias, text=[hashlib.sha256(r.text.encode()).hexdigest() for r in rows])
    threshold = jd.threshold_at(margin[y == 0], source[y == 0].tolist(), CHOICES["rate"], set(CHOICES["not_judged"]))
    share = (y == 1).mean()
    t, shift = calibrate(margin, y, np.where(y == 1, 0.5 / share, 0.5 / (1 - share)), threshold, CHOICES["point"])
    return {"threshold_margin": threshold, "temperature": t, "shift": shift, "cv": rates(rows, margin, threshold),
            "cv_by_kind": by(rows, margin, threshold, lambda r: f"{r.source}: {r.kind}"),
            "cv_by_language": by(rows, margin, threshold, lambda r: r.lang)}


def each_left_out(pool, rows, threshold):
    jobs = {"+".join(names): pool.apply_async(left_out, [names]) for names in LEFT_OUT + [[s] for s in LEFT_OUT_HARMLESS]}
    found = {}
    for name, job in jobs.items():
        left, z = job.get()
        found[name] = rates([rows[i] for i in left], z, threshold)
    print(json.dumps(found, indent=1), flush=True)
    return found


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--out", default=HERE.parent / "models" / "jailbreak-linear", type=pathlib.Path)
    args.add_argument("--cv-only", action="store_true", help="print the cross-validated figures and stop")
    args.add_argument("--sources", action="store_true", help="also leave each source out")
    args.add_argument("--left-out-only", action="store_true", help="leave each source out, by the threshold of the model in --out, and add that to its card")
    args.add_argument("--margins", type=pathlib.Path, help="also write the out-of-fold margins of all rows and windows here (npz)")
    args.add_argument("--gather-again", action="store_true", help="train nothing: gather the windows of --margins anew and calibrate the model in --out")
    args.add_argument("--unseen", type=pathlib.Path, help="only write a model here that has not seen what the neural's training keeps out")
    args.add_argument("--workers", type=int, default=2)
    args = args.parse_args()
    began = time.time()
    rows, harmful, inputs = prepare(args.data)
    y = STATE["y"]
    if args.gather_again:
        before = np.load(args.margins)
        model = table.Model.load(args.out / "model.safetensors")[0]
        model.bias = before["bias"]
        figures = calibrated(rows, y, before["windows"], args.margins, before["bias"])
        report = json.loads((args.out / "train.json").read_text())["figures"]
        figures.update({k: report[k] for k in ("left_out",) if k in report})
        ship(model, figures["temperature"], figures["shift"], args.out, harmful, inputs, figures)
        return
    build()
    fold = np.array([jd.fold_of(r.group) for r in rows])
    print(f"{len(rows)} rows, {len(STATE['keys'])} windows, {time.time() - began:.0f} s", flush=True)
    if args.unseen:
        train(~np.array([jd.held(r) for r in rows])).save(args.unseen, {"task": "jailbreak", "labels": "|".join(jd.LABELS)})
        return
    with multiprocessing.get_context("fork").Pool(args.workers) as pool:
        if args.left_out_only:
            report = json.loads((args.out / "train.json").read_text())
            report["figures"]["left_out"] = each_left_out(pool, rows, report["figures"]["threshold_margin"])
            (args.out / "train.json").write_text(json.dumps(report, indent=2) + "\n")
            return
        shipped = None if args.cv_only else pool.apply_async(train, [np.ones(len(rows), bool)])
        windows = np.zeros(len(STATE["of"]))
        for use, z in pool.imap_unordered(held_out, [fold == f for f in range(jd.FOLDS)]):
            windows[use] = z
        model = shipped.get() if shipped else None
        figures = calibrated(rows, y, windows, args.margins, model.bias if model else np.zeros(2))
        threshold, t, shift = (figures[k] for k in ("threshold_margin", "temperature", "shift"))
        print(json.dumps(figures, indent=1), flush=True)
        if model:
            ship(model, t, shift, args.out, harmful, inputs, figures)
        print(f"{time.time() - began:.0f} s", flush=True)
        if args.sources:
            figures["left_out"] = each_left_out(pool, rows, threshold)
            if model:
                write_card(args.out, inputs, figures)


if __name__ == "__main__":
    main()
