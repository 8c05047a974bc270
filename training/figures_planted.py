"""An attack or private data planted at start, middle or end of long harmless prompts: found as often as alone? And how many
long harmless prompts are taken for attacks, beside short ones?

    python3 figures_planted.py [--tiers linear,cascade] [--scale 1.0]

Prompts of 2K to 32K tokens (four bytes each) are made of harmless texts: articles in 28 languages, retrieved passages with
questions, prompts of real users one below the other. `--scale` multiplies all sample sizes; those of the cascade are small
by default, because a prompt of 32K tokens takes seconds on one core.
"""
import random
import sys

import figures_common as common

sys.path.insert(0, str(common.HERE))
import pii_test_templates

WORDS = """
Attacks of the development files and made-up private data (sentences, names and generators of values that training never
saw) are on a line of their own at the start, in the middle or at the end of a long harmless prompt. "Alone" is the same
attack or sentence by itself. Only prompts that are not classified as an attack alone carry attacks, so that a finding
is the planted attack. The articles and the retrieved passages were among the harmless texts of training, the prompts of
real users were not.
"""
LENGTHS = (2048, 8192, 16384, 32768)
PLACES = ("start", "middle", "end")
BYTES = 4  # of a token
# Samples for each length: attacks at each place; prompts with private data (each with two values at each place); harmless prompts.
SAMPLES = {"linear": {n: (150, 60, 120) for n in LENGTHS},
           "other": {2048: (20, 16, 30), 8192: (10, 8, 15), 16384: (5, 5, 9), 32768: (3, 3, 3)}}
SHORT = 240  # short texts of each kind for the rate to compare with


def texts_of_request(request):
    return "\n\n".join(m["content"] for m in request["messages"] if isinstance(m.get("content"), str))


def kinds_of(data):
    """Long material by kind: lists of pieces that are put one below the other, and short texts of the same kind."""
    documents, languages = common.rows_of(data / "longdocs-opensourceguide" / "docs.jsonl"), {}
    for row in documents:
        languages.setdefault(row["lang"], []).append(row["text"])
    passages = [texts_of_request(r["request"]) for name in ("chat-rag-bills", "chat-rag-opensourceguide") for r in common.rows_of(data / name / "requests.jsonl")]
    users = [r["text"] for r in common.rows_of(data / "benign-real-users" / "dev.jsonl")]
    paragraphs = [p for r in documents for p in r["text"].split("\n\n") if 200 <= len(p.encode()) <= 1000]
    cut = [p for text in passages for p in text.split("\n\n") if 200 <= len(p.encode()) <= 1000]
    return {"articles": (list(languages.values()), paragraphs), "passages": ([passages], cut), "users' prompts": ([users], [u for u in users if len(u.encode()) <= 1000])}


def make_long(pools, tokens, rng):
    """Pieces of one pool until the length is reached; the last one is cut."""
    size, parts, pool = tokens * BYTES, [], rng.choice(pools)
    have = 0
    while have < size:
        for piece in rng.sample(pool, len(pool)):
            parts.append(piece)
            have += len(piece.encode()) + 2
            if have >= size:
                break
    return "\n\n".join(parts).encode()[:size].decode(errors="ignore")


def plant(prompt, text, place):
    """The prompt with the text on lines of its own, and where it stands (characters)."""
    if place == "start":
        at = 0
    elif place == "end":
        at = len(prompt)
    else:
        at = prompt.find("\n", len(prompt) // 2)
        at = at if at >= 0 else len(prompt) // 2
    before = prompt[:at] + ("\n\n" if at else "")
    return before + text + "\n\n" + prompt[at:], len(before)


def flagged(args, tier, texts):
    return [a["score"] >= common.THRESHOLD for a in common.classify(args.binary, "jailbreak", texts, tier)] if texts else []


def harmless_figures(args, tier, kinds, counts):
    """Rates of harmless prompts by kind and length, and the prompts that were not taken for attacks, by length."""
    out, clean = {}, {n: [] for n in LENGTHS}
    for kind, (pools, short) in kinds.items():
        rng = random.Random(f"{kind} harmless")
        cut = common.sample(short, args.count(SHORT if tier == "linear" else SHORT // 3), "short", text=lambda t: t)
        out[kind] = {"short": common.rate(flagged(args, tier, cut))}
        for n in LENGTHS:
            long = [make_long(pools, n, rng) for _ in range(args.count(counts[n][2] // len(kinds)))]
            wrong = flagged(args, tier, long)
            out[kind][str(n)] = common.rate(wrong)
            clean[n] += [t for t, w in zip(long, wrong) if not w]
    return out, clean


def attack_figures(args, tier, clean, attacks, counts):
    out = {}
    alone = flagged(args, tier, attacks)
    order = random.Random(9).sample(range(len(attacks)), len(attacks))
    for n in LENGTHS:
        chosen = order[:args.count(counts[n][0])]
        carriers = clean[n]
        if not carriers:
            continue
        jobs = [(i, place, carriers[k % len(carriers)]) for k, i in enumerate(chosen) for place in PLACES]
        found = flagged(args, tier, [plant(c, attacks[i], place)[0] for i, place, c in jobs])
        out[str(n)] = {place: common.rate(f for f, j in zip(found, jobs) if j[1] == place) for place in PLACES}
        out[str(n)]["alone"] = common.rate(alone[i] for i in chosen)
        out[str(n)]["lost"] = common.rate(not f for f, j in zip(found, jobs) if alone[j[0]])
    return out


def has(answer, text, start, end, kind):
    """Is a span of that type, which overlaps characters [start, end), among the entities?"""
    a, b = len(text[:start].encode()), len(text[:end].encode())
    return any(e["type"] == kind and e["start"] < b and a < e["end"] for e in answer["entities"])


def with_private_data(prompt, rng):
    """The prompt with two sentences at each place: the text, its spans (start, end, type, place), the sentences."""
    cut = prompt.find("\n", len(prompt) // 2)
    halves = [prompt[:cut], prompt[cut:]] if cut > 0 else [prompt, ""]
    text, spans, sentences = "", [], []
    for place, carrier in zip(PLACES, [*halves, ""]):
        for _ in range(2):
            sentence, found = pii_test_templates.make(rng.choice(sorted(pii_test_templates.LINES)), rng)
            spans += [(len(text) + a, len(text) + b, kind, place) for a, b, kind in found]
            text += sentence + "\n\n"
            sentences.append((sentence, found))
        text += carrier + ("\n\n" if carrier else "")
    return text, spans, sentences


def pii_figures(args, tier, kinds, counts):
    out = {}
    rng = random.Random(11)
    pools = [pools for pools, _ in kinds.values()]
    for n in LENGTHS:
        made = [with_private_data(make_long(pools[k % len(pools)], n, rng), rng) for k in range(args.count(counts[n][1]))]
        sentences = [s for _, _, some in made for s in some]
        alone = common.classify(args.binary, "pii", [s for s, _ in sentences], tier)
        answers = common.classify(args.binary, "pii", [text for text, _, _ in made], tier)
        out[str(n)] = {p: common.rate(has(answer, text, a, b, kind) for (text, spans, _), answer in zip(made, answers) for a, b, kind, place in spans if place == p)
                       for p in PLACES}
        out[str(n)]["alone"] = common.rate(has(a, s, x, y, kind) for a, (s, found) in zip(alone, sentences) for x, y, kind in found)
    return out


def planted_table(figures):
    lines = []
    for n, f in figures.items():
        places = [f[p]["share"] for p in PLACES]
        mean = sum(places) / len(places)
        lines.append([f"{int(n) // 1024}K", f["alone"]["rows"], common.cell(f["alone"]), *(common.cell(f[p]) for p in PLACES), f"{100 * (mean - f['alone']['share']):+.1f}"])
    return common.table(["tokens", "texts", "alone", "at the start", "in the middle", "at the end", "mean less alone, points"], lines)


def ratio(f):
    if not f["short"]["share"]:
        return "-"
    return ", ".join(f"{f[str(n)]['share'] / f['short']['share']:.1f}" for n in LENGTHS)


def main():
    args = common.arguments(__doc__)
    args.add_argument("--tiers", default="linear,cascade")
    args.add_argument("--scale", type=float, default=1.0)
    args = args.parse_args()
    args.count = lambda n: max(1, round(n * args.scale))
    report = common.Report(args, "planted", "Attacks and private data in long prompts", WORDS)
    kinds = kinds_of(args.data)
    attacks = [r["text"] for r in common.attacks(args.data)]
    for tier in args.tiers.split(","):
        counts = SAMPLES.get(tier, SAMPLES["other"])
        wrong, clean = harmless_figures(args, tier, kinds, counts)
        found = attack_figures(args, tier, clean, attacks, counts)
        private = pii_figures(args, tier, kinds, counts)
        report.figures[tier] = {"harmless": wrong, "attacks": found, "private_data": private}
        report.add(f"## Tier `{tier}`\n", "Attacks:\n", planted_table(found), "Private data:\n", planted_table(private), "Harmless prompts that are taken for attacks, and the ratio to short ones:\n",
                   common.table(["prompts of", "short (up to 250 tokens)", *(f"{n // 1024}K" for n in LENGTHS), "times short"],
                                [[kind, common.cell(f["short"]), *(common.cell(f[str(n)]) for n in LENGTHS), ratio(f)] for kind, f in wrong.items()]))
    report.write()


if __name__ == "__main__":
    main()
