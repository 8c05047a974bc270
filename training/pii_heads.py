"""Trains the head of personal data on the frozen trunk, chooses its thresholds on sources left out, and writes it into a bundle.

    python pii_heads.py --trunk english --work DIR --build ../build [--data ../../shared/data] [--left-out] [--write]
    python pii_heads.py --page    # docs/quality/pii_left_out.md, of both

Reads the states of pii_features.py and computes what is missing. `--left-out` trains once more without each family of sources,
finds the thresholds on what each of these heads answers to its family, and prints a table; `--write` trains on all and writes
the bundle's files with these thresholds. No development file is opened.
"""
import argparse
import collections
import json
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F

import neural_eval
import neural_files
import neural_pii
import pii_features
import pii_languages
import pii_rows
import pii_templates
import pii_words

HERE = pathlib.Path(__file__).resolve().parent
TYPES, LABELS = pii_templates.TYPES, pii_templates.LABELS
CHOICES = {"hidden": 128, "rate": 3e-3, "decay": 0.02, "batch": 1024, "epochs": 2, "rows": 1.0, "outside": 0.5, "seed": 7, "dropout": 0.1}
# Tokens of a source count so much.
WEIGHTS = collections.defaultdict(lambda: 1.0, {"presidio": 2.0, "nothing": 1.5, "named": 2.0})
GRID = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
# Least of the thresholds: below 0.5 the English texts by hand gain nothing, and texts without data lose.
FLOOR = {"english": 0.5, "multilingual": 0.3}
LABELLED = ("tweets", "presidio", "made", "prose", "named")   # sources whose findings are not wrong for being there
LEAST_SPANS = 20      # of a source whose F1 the page has
EXAMS = ("domain-", "routing-")   # labelled with ages alone
# What is left out together.
FAMILIES = {"english": {"exams": ["domain-mmlu-pro", "domain-mmlu", "domain-longfact", "routing-gsm8k"],
                        "code, documents, logs": ["code", "benign-security-docs", "documents", "nothing", "quiet"],
                        "requests": ["benign-prompts", "benign-real-users", "benign-gpteacher", "intent-banking77", "intent-clinc150", "tools-metatool", "benign-coconot"],
                        "presidio": ["presidio"], "tweets": ["tweets"], "prose": ["prose"], "made from frames": ["made"], "named": ["named"],
                        "written": [f"written, {x}{v}" for x in pii_rows.WRITTEN for v in ("", pii_rows.VARIED)]},
            "multilingual": {**{x: [x] for x in pii_languages.LANGUAGES}, **{f"other scripts {k}": [f"{x}, other scripts" for x in list(pii_rows.FOREIGN)[k::2]] for k in range(2)}}}
# Where the odds of capitals are fitted: real texts whose labels can be trusted, none of those written for this purpose.
CAPITALS = ("named", "presidio", "code", "documents", "benign-security-docs")
SURE = 0.85           # a name that a head finds with so much, which did not see these texts, is not judged in them
FEW = {"english": [["presidio", "tweets", "code, documents, logs", "written"], ["named", "exams"], ["requests", "prose", "made from frames"]],
       "multilingual": [["zh", "zh-TW"], ["ja"], ["ko"], ["ru", "el"], ["uk", "bg", "hy", "ka"], ["ar"], ["fa", "he"], ["hi", "bn"], ["ne", "ta", "th"]]}
BUNDLES = {"english": "neural", "multilingual": "neural-multilingual"}
# Beside CHOICES: of each trunk, and of heads that only measure.
OWN = {"english": {"epochs": 3, "outside": 0.3}, "multilingual": {"epochs": 6, "batch": 512}}
LEFT_OUT = {"english": {"outside": 0.25, "epochs": 2, "rows": 0.5}, "multilingual": {"outside": 0.3, "epochs": 4, "rows": 0.5}}


class Head(torch.nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.dense = torch.nn.Linear(pii_features.WIDTH, hidden) if hidden else None
        self.out = torch.nn.Linear(hidden or pii_features.WIDTH, len(LABELS))

    def forward(self, x, drop=0.0):
        return self.out(F.dropout(F.gelu(self.dense(x)), drop, self.training) if self.dense else x)


class Tokens:
    """All tokens of `rows` behind each other: states, labels, weights, and where each row's begin."""

    def __init__(self, rows, features, weights=WEIGHTS):
        self.rows, self.features = rows, features
        self.source = np.array([r.source for r in rows])
        self.count = np.array([len(ids) for ids, _, _ in features])
        self.x = np.concatenate([x for _, _, x in features])
        self.y = np.concatenate([neural_pii.label(o, r.spans, [u for u in r.unjudged if not any(u[0] < e and s < u[1] for s, e, _ in r.spans)])
                                 for r, (_, o, _) in zip(rows, features)])
        self.w = np.repeat(np.array([weights[s] for s in self.source], np.float32), self.count)
        self.of = np.repeat(np.arange(len(rows)), self.count)


def train(tokens, keep, c, report=False):
    """A head on the tokens of the rows that `keep` [rows] names."""
    torch.manual_seed(c["seed"])
    rng = np.random.default_rng(c["seed"])
    head = Head(c["hidden"]).train()
    keep = keep & ~np.isin(tokens.source, list(pii_rows.SMALL)) & (rng.random(len(keep)) < c["rows"])
    use = np.nonzero(keep[tokens.of] & (tokens.y >= 0))[0]
    inside, outside = use[tokens.y[use] > 0], use[tokens.y[use] == 0]
    per = len(inside) + int(c["outside"] * len(outside))
    steps = c["epochs"] * (per // c["batch"])
    scale = 1 / float(tokens.x[use[::97]].astype(np.float32).std())   # states of common size; folded into the first layer
    optimizer = torch.optim.AdamW(head.parameters(), lr=c["rate"], weight_decay=c["decay"])
    plan = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=c["rate"], total_steps=steps, pct_start=0.1)
    at = 0
    for _ in range(c["epochs"]):
        order = rng.permutation(np.concatenate([inside, rng.choice(outside, int(c["outside"] * len(outside)), replace=False)]))
        losses = []
        for k in range(per // c["batch"]):
            mine = order[k * c["batch"]:(k + 1) * c["batch"]]
            x, y, w = torch.from_numpy(tokens.x[mine].astype(np.float32)) * scale, torch.from_numpy(tokens.y[mine]), torch.from_numpy(tokens.w[mine])
            w = w * torch.where(y == 0, 1 / c["outside"], 1.0)   # as if all of them were read
            loss = (F.cross_entropy(head(x, c["dropout"]), y, reduction="none") * w).sum() / w.sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            plan.step()
            losses.append(float(loss))
        at += 1
        if report:
            print(f"epoch {at} loss {np.mean(losses):.4f}", flush=True)
    with torch.no_grad():
        (head.dense or head.out).weight *= scale
    return head.eval()


def not_judged(tokens, head, trunk):
    """Takes names that a head is sure of out of the labels of texts in other scripts, where no capital tells them."""
    pick = np.nonzero(np.char.endswith(tokens.source, ", other scripts"))[0]
    starts = np.concatenate([[0], np.cumsum(tokens.count)])
    for i, answer in zip(pick, pii_words.answers(head, [tokens.rows[i].text for i in pick], [tokens.features[i] for i in pick], trunk, capitals=False)):
        sure = [m[:2] for m in pii_words.spans(answer) if m[2] in ("PERSON", "GPE") and m[3] >= SURE]
        tokens.rows[i].unjudged.extend(sure)
        offsets, y = tokens.features[i][1], tokens.y[starts[i]:starts[i + 1]]
        for a, b in sure:
            y[(offsets[:, 0] < b) & (offsets[:, 1] > a) & (y == 0)] = -100


def capitals(tokens, answers):
    """The odds by the case of words, from left-out answers."""
    starts = np.concatenate([[0], np.cumsum(tokens.count)])
    use = [i for i, a in enumerate(answers) if a is not None and tokens.source[i] in CAPITALS]
    return pii_words.fit([answers[i] for i in use], [tokens.y[starts[i] + answers[i]["first"]] for i in use])


def judged(row, found):
    """The findings that its labels speak of."""
    kinds = {"PERSON", "GPE", "ORGANIZATION"} if row.source == "tweets" else None
    return [m for m in found if (kinds is None or m[2] in kinds) and not any(a < m[1] and m[0] < b for a, b in row.unjudged)]


def score(rows, found, thresholds):
    kept = [[m for m in judged(r, mine) if m[3] >= thresholds[m[2]]] for r, mine in zip(rows, found)]
    return neural_eval.span_scores([r.spans for r in rows], kept)


def words(rows):
    return sum(len(r.text.split()) for r in rows)


def choose(rows, found, floor):
    """Thresholds: of each type the best mean of F1 over the sources that have it, where false findings in texts of other fields
    count like those in these."""
    out = {}
    sources = np.array([r.source for r in rows])
    mine = [judged(r, f) for r, f in zip(rows, found)]
    for t in TYPES:
        gold = [[g for g in r.spans if g[2] == t] for r in rows]
        own = [[m for m in f if m[2] == t] for f in mine]
        some = np.array([bool(g or m) for g, m in zip(gold, own)])
        picks = {s: np.nonzero(some & (sources == s))[0] for s in dict.fromkeys(sources[some].tolist())}
        tried = []
        for least in GRID:
            each, wrong = [], 0
            for s, pick in picks.items():
                v = neural_eval.span_scores([gold[i] for i in pick], [[m for m in own[i] if m[3] >= least] for i in pick], {t}).get(t, [0, 0, 0, 0])
                if v[0] >= 20:
                    each.append(v)
                elif s not in LABELLED and not s.startswith("written"):
                    wrong += v[1] - v[3]
            whole = max(sum(v[0] for v in each), 1)
            f = np.mean([neural_eval.f1(v) for v in each]) if each else 0
            tried.append((round(float(f) - 0.3 * wrong / whole, 4), -abs(least - 0.5), least))
        out[t] = max(max(tried)[2], floor)
    return out


def groups(trunk):
    """Lists of sources that are left out together."""
    families = FAMILIES[trunk]
    return [[x for x in own for x in families.get(x, [x])] for own in FEW[trunk]] + [families[x] for x in families if x.startswith("other scripts")]


def left_out(tokens, trunk):
    """After each family the answers to each row of a head that knew nothing of its family; None where it was not its turn."""
    found = [None] * len(tokens.rows)
    for sources in groups(trunk.name):
        began = time.time()
        away = np.isin(tokens.source, sources)
        head = train(tokens, ~away, {**CHOICES, **OWN[trunk.name], **LEFT_OUT[trunk.name]})
        pick = np.nonzero(away)[0]
        for i, mine in zip(pick, pii_words.answers(head, [tokens.rows[i].text for i in pick], [tokens.features[i] for i in pick], trunk, trunk.name == "english")):
            found[i] = mine
        print(f"left out {sources[0]}: {len(pick)} texts, {time.time() - began:.0f} s", flush=True)
        yield found


def table(rows, found, thresholds):
    """By source: spans, F1, precision, recall; wrong findings per 1,000 words."""
    out = []
    for s in dict.fromkeys(r.source for r in rows):
        pick = [i for i, r in enumerate(rows) if r.source == s]
        mine = [rows[i] for i in pick]
        v = score(mine, [found[i] for i in pick], thresholds)
        gold, n, hit, good = (sum(x[i] for x in v.values()) for i in range(4))
        out.append({"source": s, "texts": len(pick), "words": words(mine), "characters": sum(len(r.text) for r in mine), "spans": gold, "f1": round(neural_eval.f1((gold, n, hit, good)), 3) if gold else None,
                    "precision": round(good / max(n, 1), 3), "recall": round(hit / max(gold, 1), 3), "wrong_per_1000": round(1000 * (n - good) / max(words(mine), 1), 2),
                    "wrong_per_1000_characters": round(1000 * (n - good) / max(sum(len(r.text) for r in mine), 1), 3),
                    "types": {k: [x[0], round(neural_eval.f1(x), 3)] for k, x in v.items() if x[0] >= 20}})
    return out


PAGE = """# Private data: sources left out

Each row is of a head that was trained without the row's family of sources (`training/pii_heads.py --left-out`; train
files and texts written for training only). A span counts as found when a finding of its type overlaps it. In texts of
other fields a finding is wrong where the text certainly has nothing of the kind (`training/pii_rows.py`). The trunks
are frozen. **The English one saw presidio's rows, the tweets and the made texts when its adapters were trained**, so
these rows flatter; the texts of other fields and `written` (twelve fields, marked by hand,
`training/pii_written.txt`) were new to it. The English rows are left out in three parts: presidio, tweets, code,
documents, logs and `written`; `named` and exams; the others. `named` is real prose whose labels come from lists of
names and from surroundings (`training/pii_named.py`). intent-clinc150 and benign-coconot write true names in small
letters, which count as wrong here. The heads of this page are trained on a part of the rows and in fewer steps than
those that ship. The thresholds are those that ship, chosen on these rows; the odds of capitals (`capitals` in
config.json) are fitted on the left-out rows of `named`, presidio, code, documents and benign-security-docs.

Words are what spaces part: Chinese and Japanese texts have few, so their rates by words are high, and those by
characters tell more. In other scripts no capital tells a name: names of people and places that are in these texts count
as wrong unless a head that never saw such texts is sure of them. Collections in other scripts are left out in two
halves.

{parts}
"""


def render(folder):
    parts = []
    for trunk, title in (("english", "English, MiniLM"), ("multilingual", "Other scripts, multilingual-e5-small (languages are left out in groups)")):
        figures = json.loads((folder / "pii_left_out.json").read_text())
        if trunk not in figures:
            continue
        plain = {r["source"]: r for r in figures[trunk].get("without_capitals") or []}
        names = ["source", "texts", "words", "spans", "F1", "precision", "recall", "wrong per 1,000 words", "per 1,000 characters"] + ["F1, wrong per 1,000 words without capitals"] * bool(plain)
        lines = [f"| {' | '.join(names)} |", "|" + " --- |" * len(names)]
        for r in figures[trunk]["sources"]:
            has = r["spans"] >= LEAST_SPANS and not r["source"].startswith(EXAMS)
            of = [f"{r['f1']:.3f}", f"{100 * r['precision']:.1f} %", f"{100 * r['recall']:.1f} %", "-", "-"] if has else ["-", "-", "-", f"{r['wrong_per_1000']:.2f}", f"{r['wrong_per_1000_characters']:.2f}"]
            without = plain.get(r["source"])
            of += [f"{without['f1']:.3f}" if has else f"{without['wrong_per_1000']:.2f}"] if without else []
            lines.append(f"| {r['source']} | {r['texts']} | {r['words']:,} | {r['spans']} | {' | '.join(of)} |")
        parts.append(f"## {title}\n\n" + "\n".join(lines))
    (folder / "pii_left_out.md").write_text(PAGE.format(parts="\n\n".join(parts)))


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--trunk", choices=list(FAMILIES))
    args.add_argument("--work", type=pathlib.Path)
    args.add_argument("--build", default=HERE.parent / "build", type=pathlib.Path, help="of the release preset: its libraries")
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--threads", type=int, default=1)
    for flag in ("--left-out", "--write", "--page"):
        args.add_argument(flag, action="store_true")
    args = args.parse_args()
    torch.set_num_threads(args.threads)
    quality = HERE.parent / "docs" / "quality"
    if args.page:
        return render(quality)
    trunk = pii_features.Trunk(args.trunk, pii_features.compile_tool(args.build, args.work / "token_states"))
    rows = pii_rows.english(args.data)[0] if args.trunk == "english" else pii_rows.multilingual(args.data)
    tokens = Tokens(rows, trunk.features(args.work, [r.text for r in rows]))
    if args.trunk == "multilingual":
        not_judged(tokens, train(tokens, ~np.char.endswith(tokens.source, ", other scripts"), {**CHOICES, **OWN[args.trunk], **LEFT_OUT[args.trunk]}), trunk)
    path = quality / "pii_left_out.json"
    for answers in left_out(tokens, trunk) if args.left_out else ():
        pass
    if args.left_out:
        odds = capitals(tokens, answers) if args.trunk == "english" else None
        done = [i for i, a in enumerate(answers) if a is not None and not rows[i].source.endswith(pii_rows.VARIED)]
        rows, found = [rows[i] for i in done], [pii_words.spans(answers[i], odds) for i in done]
        thresholds, plain = choose(rows, found, FLOOR[args.trunk]), None
        if odds is not None:
            found_plain = [pii_words.spans(answers[i]) for i in done]
            plain = table(rows, found_plain, choose(rows, found_plain, FLOOR[args.trunk]))
        figures = json.loads(path.read_text()) if path.exists() else {}
        figures[args.trunk] = {"choices": {**CHOICES, **OWN[args.trunk], "left_out": LEFT_OUT[args.trunk]}, "thresholds": thresholds, "capitals": pii_words.as_config(odds) if odds is not None else None,
                               "sources": table(rows, found, thresholds), "without_capitals": plain}
        path.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    known = json.loads(path.read_text()) if path.exists() else {}
    if args.write:
        head = train(tokens, np.ones(len(tokens.rows), bool), {**CHOICES, **OWN[args.trunk]}, report=True)
        bundle = HERE.parent / "models" / BUNDLES[args.trunk]
        layers = json.loads((trunk.folder / "config.json").read_text())["num_hidden_layers"]
        neural_files.put_head(bundle, "pii", head.state_dict(), LABELS, layers, thresholds=known.get(args.trunk, {}).get("thresholds"),
                              capitals=known.get(args.trunk, {}).get("capitals"))


if __name__ == "__main__":
    main()
