"""The value of routing decisions: accuracy and cost of always the strong model, always the weak one, a coin, and the
router's rules by category, by entropy and by length.

    python3 figures_routing.py [--tier cascade] [--train 2500]

Category, probabilities and entropy are the binary's (`semroute classify --task domain`). Which categories and which length go to
the strong model is chosen on train rows (`--train` of each collection, chosen by their text); the tables are of dev rows. Of
routing-gsm8k, which has no development file, one half by hash is the train part.
"""
import math
import re

import figures_common as common

WORDS = """
Each question goes to one of two models whose answers are known; cost is the share that goes to the strong one. "Coin"
is the score of a random choice with the same share, "gain" the difference in percentage points, and "of the gap" the
share of the distance from weak to strong. All rules are chosen on train rows; the figures are of dev rows.

- **category**: the categories with the largest lead of the strong model on train rows go to it, as many as make up the
  named share.
- **entropy**: the reasoning decision of the configuration (a flag for each category, the entropy of the answer; very
  high entropy reasons), with the flags of the same categories; requests with reasoning go to the strong model. At a
  share of 0 or 100 % the flags alone decide nothing.
- **length**: texts longer (or shorter, if that was better on train rows) than a length.
- **best possible**: the weak model wherever it is right, or wherever both are wrong.
"""
SHARES = (0.25, 0.5, 0.75)


def choose_models(rows):
    """The best of all, and the best of those of at most nine billion parameters by their names, by accuracy on train rows."""
    names = sorted({name for r in rows for name in r["correct"]})
    accuracy = {n: sum(r["correct"].get(n, 0) for r in rows) / len(rows) for n in names}
    sizes = {n: [int(x) for x in re.findall(r"(\d+)[bB](?![a-z])", n)] for n in names}
    small = [n for n in names if sizes[n] and max(sizes[n]) <= 9 and not re.search(r"\dx\d", n)]
    return max(names, key=lambda n: (accuracy[n], n)), max(small, key=lambda n: (accuracy[n], n)), accuracy


def rows_with_answers(args, name):
    """(train rows, dev rows, words about the models), each row with text, weak, strong."""
    train = common.rows_of(args.data / name / "train.jsonl")
    path = args.data / name / "dev.jsonl"
    about = "strong: gpt-4-1106-preview, weak: Mixtral-8x7B-Instruct-v0.1 (as the collection has them)."
    if path.exists():
        dev = common.rows_of(path)
    else:
        dev = [r for r in train if common.chance(r["text"], "half") < 0.5]
        train = [r for r in train if common.chance(r["text"], "half") >= 0.5]
        about += " The collection has no development file: half of its rows by hash stand for it."
    if "correct" in train[0]:
        strong, weak, accuracy = choose_models(train)
        about = (f"Of {len(accuracy)} models the best on train rows is the strong one, {strong} ({100 * accuracy[strong]:.1f} %), "
                 f"and the best of at most nine billion parameters the weak one, {weak} ({100 * accuracy[weak]:.1f} %).")
        train, dev = ([dict(r, strong=bool(r["correct"].get(strong, 0)), weak=bool(r["correct"].get(weak, 0))) for r in rows] for rows in (train, dev))
    else:
        train, dev = ([dict(r, strong=r["strong_correct"], weak=r["weak_correct"]) for r in rows] for rows in (train, dev))
    return common.sample(train, args.train, "routing"), dev, about


def categories_by_gap(train):
    """Categories, those first in which the strong model is ahead by most, a category of few rows drawn to the mean."""
    mean = sum(r["strong"] - r["weak"] for r in train) / len(train)
    groups = {}
    for r in train:
        groups.setdefault(r["answer"]["label"], []).append(r["strong"] - r["weak"])
    return sorted(groups, key=lambda c: -(sum(groups[c]) + 20 * mean) / (len(groups[c]) + 20)), {c: len(v) for c, v in groups.items()}


def flagged(train, share):
    """The categories that go to the strong model, so that about `share` of the train rows do."""
    order, counts = categories_by_gap(train)
    best, taken = None, 0
    for n in range(len(order) + 1):
        miss = abs(taken / len(train) - share)
        if best is None or miss < best[0]:
            best = (miss, set(order[:n]))
        taken += counts[order[n]] if n < len(order) else 0
    return best[1]


def reasons(answer, flags, threshold=0.6):
    """The entropy-based reasoning decision: is the strong model to reason about it?"""
    p = sorted(answer["probabilities"].items(), key=lambda kv: -kv[1])
    total = sum(v for _, v in p)
    entropy = -sum(v / total * math.log(v / total) for _, v in p if v > 0) / math.log(len(p))

    def weighted(n):
        top = p[:n]
        return sum(v for c, v in top if c in flags) / sum(v for _, v in top) > 0.5

    if entropy >= 0.8:
        return True
    if entropy >= 0.6:
        return weighted(2)
    if entropy >= 0.4:
        return p[0][0] in flags if p[0][1] >= threshold else weighted(3)
    return p[0][0] in flags


def length_rule(train, share):
    """Longer or shorter than which length, by what was ahead on the train rows."""
    order = sorted(train, key=lambda r: len(r["text"]))
    cut = {"shorter": len(order[min(int(share * len(order)), len(order) - 1)]["text"]), "longer": len(order[min(int((1 - share) * len(order)), len(order) - 1)]["text"])}
    rules = {"shorter": lambda r: len(r["text"]) < cut["shorter"], "longer": lambda r: len(r["text"]) >= cut["longer"]}

    def gain(rule):
        mine = [r["strong"] - r["weak"] for r in train if rule(r)]
        return sum(mine) / max(len(mine), 1)

    side = max(rules, key=lambda s: gain(rules[s]))
    return f"{side} than {cut[side]} characters", rules[side]


def line(name, dev, sent):
    """What a rule makes of the dev rows; `sent`: for each row, does it go to the strong model?"""
    right = [r["strong"] if s else r["weak"] for r, s in zip(dev, sent)]
    share = sum(sent) / len(dev)
    weak, strong = (sum(r[k] for r in dev) / len(dev) for k in ("weak", "strong"))
    result, coin = common.rate(right), weak + share * (strong - weak)
    return {"rule": name, "cost": round(share, 4), **result, "coin": round(coin, 4), "gain": round(sum(right) / len(dev) - coin, 4),
            "of_the_gap": round((sum(right) / len(dev) - weak) / (strong - weak), 4) if strong != weak else None}


def figures(args, name):
    train, dev, about = rows_with_answers(args, name)
    answers = common.classify(args.binary, "domain", [r["text"] for r in train + dev], args.tier)
    train, dev = ([dict(r, answer=a) for r, a in zip(rows, part)] for rows, part in ((train, answers[:len(train)]), (dev, answers[len(train):])))
    lines = [line("always weak", dev, [False] * len(dev)), line("always strong", dev, [True] * len(dev))]
    chosen = {}
    for share in SHARES:
        flags = flagged(train, share)
        words, longer = length_rule(train, share)
        chosen[str(share)] = {"categories": sorted(flags), "length": words}
        lines.append(line(f"category, {share:.0%} on train", dev, [r["answer"]["label"] in flags for r in dev]))
        lines.append(line("entropy, the same flags", dev, [reasons(r["answer"], flags) for r in dev]))
        lines.append(line(f"length, {words}", dev, [longer(r) for r in dev]))
    lines.append(line("best possible", dev, [r["strong"] and not r["weak"] for r in dev]))
    return {"about": about, "train_rows": len(train), "dev_rows": len(dev), "rules": lines, "chosen_on_train": chosen}


def main():
    args = common.arguments(__doc__)
    args.add_argument("--tier", default="cascade")
    args.add_argument("--train", type=int, default=2500, help="train rows of each collection")
    args.add_argument("--collections", default="routing-mmlu-routellm,routing-mmlu-pro,routing-gsm8k")
    args = args.parse_args()
    report = common.Report(args, "routing", "The value of routing decisions", WORDS)
    for name in args.collections.split(","):
        f = report.figures[name] = figures(args, name)
        report.add(f"## {name}\n", f"{f['about']} {f['train_rows']} train rows, {f['dev_rows']} dev rows, tier `{args.tier}`.\n",
                   common.table(["rule", "to the strong model", "accuracy", "coin", "gain", "of the gap"],
                                [[r["rule"], f"{100 * r['cost']:.1f} %", common.cell(r), f"{100 * r['coin']:.1f} %", f"{100 * r['gain']:+.1f}",
                                  "-" if r["of_the_gap"] is None else f"{100 * r['of_the_gap']:.0f} %"] for r in f["rules"]]),
                   "Categories for the strong model, chosen on train rows: " + "; ".join(f"{float(s):.0%}: {', '.join(c['categories'])}" for s, c in f["chosen_on_train"].items()) + ".\n")
    report.write()


if __name__ == "__main__":
    main()
