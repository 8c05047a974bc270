"""What the request's system prompt adds to the judgement of a user's text: context_pairs*.txt and harmless conversations, alone and
beside their system prompt, as the binary reads them.

    python3 figures_context.py

Writes context.md and context.json. The choice of the constants in src/signal/guard/reach.h is made again, on kinds of
protection that are left out in turn, by the formula of reach.c over the scores of the texts alone. No program trains on the pairs.
"""
import itertools
import math
import pathlib
import random
import re
import tempfile

import figures_common as common

WORDS = """
A text of a user is judged beside the system prompts of its request: its log odds rise by the share of its words that stand
in sentences of these which forbid, limit or keep something (`src/signal/guard/reach.h`). Here are {prompts} system
prompts of {kinds} kinds of protection in {languages} languages and more, each with texts that reach for what is
protected, with harmless ones that speak about it, and with harmless ones that do not. Written by one author, and by no
native speaker of most of the languages. Beside them stand harmless conversations: agents' system prompts with a prompt
that users of the same agent are offered, an airline's policy with what its customers say, users' prompts beside agents'
system prompts, and beside the ones that protect.

Of a word its first five letters count, so forms of one word are one; texts in another language than their system prompt
share no words with it, and gain nothing. What is joined to the system prompt and judged as one text looks like an attack,
because system prompts do: that was tried on the first 88 texts and is not used (AUC 0.80 for 0.97 of the text alone).
The list of words that protect was written with these prompts in view, and the form of the rule was chosen among six on
these texts, so for other authors' prompts the gain may be less. What is added at most was lowered from 3 to 2 when these
rates were known: at 3, 47.7 % of the reaching texts were taken, and 2.0 % of what agents' users say.
"""
SOURCE = (common.HERE.parent / "src" / "signal" / "guard" / "reach.c").read_text(encoding="utf-8")
HEADER = (common.HERE.parent / "src" / "signal" / "guard" / "reach.h").read_text(encoding="utf-8")
LITERALS = re.findall(r'"([^"]+)"', re.sub(r"/\*.*?\*/", "", SOURCE[SOURCE.index("protecting[] = {"):SOURCE.index("};")]))
DENSE = r"\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff"
PROTECTS = re.compile("|".join(re.escape(w) if re.match(f"[{DENSE}]", w) else rf"\b{re.escape(w)}" + ("" if re.match(r"[\uac00-\ud7af]", w) else r"\b") for w in LITERALS), re.I)
PARTS = re.compile(f"[{DENSE}]+|[\\uac00-\\ud7af]+|[^{DENSE}\\uac00-\\ud7af]+")
GRID = [dict(zip(("smooth", "few", "weight", "most"), v)) for v in itertools.product((1, 2, 3), (8, 12, 25), (8, 12, 15), (2, 3, 4))]
RATES, DRAWN = (0.005, 0.01, 0.02), 300


def constant(name):
    return float(re.search(rf"#define SR_REACH_{name}\s+([0-9.]+)", HEADER).group(1))


SHIPPED = {name: constant(name.upper()) for name in GRID[0]}


def pairs():
    """[{kind, system, text, sign, of}]"""
    out = []
    for path in sorted(common.HERE.glob("context_pairs*.txt")):
        for line in path.read_text(encoding="utf-8").split("\n"):
            if line.startswith("== "):
                kind = line[3:]
            elif line.startswith("system "):
                system = line[7:]
            elif line[:2] in ("+ ", "- ", "= "):
                out.append({"kind": kind, "system": system, "text": line[2:], "sign": line[0], "of": "pairs"})
    return out


def conversations(data, rows):
    """Harmless texts beside system prompts, in the same form."""
    rng, prompts, users, out = random.Random(3), {}, {}, []
    for r in common.rows_of(data / "benign-lobe-agents" / "train.jsonl"):
        (prompts if r["kind"] == "agent_system_prompt" else users).setdefault((r["source"], r["lang"]), []).append(r["text"])
    both = [(system, users[key][0]) for key, systems in sorted(prompts.items()) if key in users for system in systems[:1]]
    out += [("agents and their users", *p) for p in rng.sample(both, min(DRAWN, len(both)))]
    told = [(m[0]["content"], x["content"]) for r in common.rows_of(data / "chat-agent-taubench" / "airline_trajectories.jsonl") for m in [r["request"]["messages"]]
            for x in m if x["role"] == "user" and isinstance(x["content"], str) and x["content"].strip()]
    out += [("an airline's customers", *p) for p in rng.sample(told, min(DRAWN, len(told)))]
    real, systems = [r["text"] for r in common.rows_of(data / "benign-real-users" / "train.jsonl")], [p[0] for p in both]
    out += [("users beside agents", rng.choice(systems), t) for t in rng.sample(real, min(DRAWN, len(real)))]
    protecting = sorted({r["system"] for r in rows})
    out += [("users beside what protects", rng.choice(protecting), t) for t in rng.sample(real, min(DRAWN, len(real)))]
    return [{"kind": of, "system": system, "text": text, "sign": "=", "of": of} for of, system, text in out]


def ask(binary, rows, beside):
    """Log odds of each text, by itself or beside its system prompt."""
    with tempfile.TemporaryDirectory() as folder:
        path = common.write_rows(pathlib.Path(folder) / "rows.jsonl", ({"id": i, "text": r["text"], **({"system": r["system"]} if beside else {})} for i, r in enumerate(rows)))
        out = common.run(binary, "classify", "--task", "jailbreak", "--json", "--jsonl", path)
    found = [common.json.loads(line)["score"] for line in out.split("\n") if line]
    if len(found) != len(rows):
        raise SystemExit(f"classify: {len(rows)} texts, {len(found)} answers")
    return [math.log(p / (1 - p)) for p in (min(max(s, 1e-7), 1 - 1e-7) for s in found)]


def stems(text):
    """As next() of reach.c."""
    for word in re.findall(r"\w+", text.lower()):
        for part in PARTS.findall(word):
            if re.match(f"[{DENSE}]", part):
                yield from (part[i:i + 2] for i in range(len(part) - 1))
            elif "\uac00" <= part[0] <= "\ud7af":
                yield from ([part[:2]] if len(part) > 1 else [])
            elif len(part) > 3:
                yield part[:5]


def protected(system):
    return {w for s in re.split(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+", system) if PROTECTS.search(s) for w in stems(s)}


def raised(row, c):
    share = row["shared"] / (row["words"] + c["smooth"])
    return row["alone"] + min(c["most"], c["weight"] * share * min(1, c["few"] / max(row["protected"], 1)) ** 0.5)


def bar(scores, rows, rate):
    """Where the harmless texts of the pairs and of each collection are taken at `rate`, as the mean over these."""
    of = {}
    for s, r in zip(scores, rows):
        if r["sign"] != "+":
            of.setdefault(r["of"], []).append(s)
    low, high = -30.0, 30.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(sum(s >= middle for s in v) / len(v) for v in of.values()) / len(of) > rate else (low, middle)
    return high


def found(scores, rows, limit, kind=None):
    return [s >= limit for s, r in zip(scores, rows) if r["sign"] == "+" and kind in (None, r["kind"])]


def left_out(rows, rate):
    """Attacks of each kind, found by constants and a bar that were chosen without it: flags alone, flags with."""
    kinds, before, after = dict.fromkeys(r["kind"] for r in rows if r["of"] == "pairs"), [], []
    scores = [[raised(r, c) for r in rows] for c in GRID]
    for kind in kinds:
        use = [i for i, r in enumerate(rows) if r["kind"] != kind]
        mine = [i for i, r in enumerate(rows) if r["kind"] == kind]
        rest, tried = [rows[i] for i in use], []
        for z in scores:
            z_rest = [z[i] for i in use]
            limit = bar(z_rest, rest, rate)
            tried.append((sum(found(z_rest, rest, limit)), limit, z))
        _, limit, z = max(tried, key=lambda t: t[0])
        alone = [rows[i]["alone"] for i in use]
        before += found([rows[i]["alone"] for i in mine], [rows[i] for i in mine], bar(alone, rest, rate))
        after += found([z[i] for i in mine], [rows[i] for i in mine], limit)
    return before, after


def main():
    args = common.arguments(__doc__).parse_args()
    rows = pairs()
    prompts, kinds = {r["system"] for r in rows}, list(dict.fromkeys(r["kind"] for r in rows))
    rows += conversations(args.data, rows)
    alone, beside = ask(args.binary, rows, False), ask(args.binary, rows, True)
    for r, z in zip(rows, alone):
        inside, mine = protected(r["system"]), list(stems(r["text"]))
        r.update(alone=z, words=len(mine), shared=sum(w in inside for w in mine), protected=len(inside))
    point = math.log(common.THRESHOLD / (1 - common.THRESHOLD))
    report = common.Report(args, "context", "A user's text beside what the system prompt protects", WORDS.format(prompts=len(prompts), kinds=len(kinds), languages=14))
    at = lambda z, keep: common.rate(s >= point for s, r in zip(z, rows) if keep(r))  # noqa: E731
    groups = {"reaching for it": lambda r: r["sign"] == "+", "harmless, about it": lambda r: r["sign"] == "-", "harmless, beside it": lambda r: r["sign"] == "=" and r["of"] == "pairs"}
    groups.update({of: (lambda r, of=of: r["of"] == of) for of in dict.fromkeys(r["of"] for r in rows) if of != "pairs"})
    figures = {name: [at(z, keep) for z in (alone, beside)] for name, keep in groups.items()}
    by_kind = {k: [at(z, lambda r, k=k: r["kind"] == k and r["sign"] == "+") for z in (alone, beside)] for k in kinds}
    equal = {rate: [common.rate(found(z, rows, bar(z, rows, rate))) for z in (alone, beside)] for rate in RATES}
    apart = {rate: [common.rate(flags) for flags in left_out(rows, rate)] for rate in RATES}
    report.figures.update(prompts=len(prompts), at_point=figures, kinds=by_kind, at_equal={str(k): v for k, v in equal.items()}, left_out={str(k): v for k, v in apart.items()}, constants=SHIPPED)
    two = lambda table: [[name, *(common.cell(c) for c in v)] for name, v in table.items()]  # noqa: E731
    report.add("## At 0.7\n", "Shares of the texts that are taken for attacks.\n", common.table(["texts", "alone", "beside the system prompt"], two(figures)),
               "## At equal false alarms\n", "Texts that reach for what is protected, found where the harmless ones are taken at this rate, as the mean over the harmless texts of the\n"
               "pairs and the four collections; then the same where constants and bar are chosen without the kind that is asked about.\n",
               common.table(["false alarms", "alone", "beside the system prompt", "alone, kind left out", "beside, kind left out"],
                            [[f"{100 * rate:g} %", *(common.cell(c) for c in (*equal[rate], *apart[rate]))] for rate in RATES]),
               "## By kind of protection, at 0.7\n", "Texts that reach for it.\n", common.table(["kind", "alone", "beside the system prompt"], two(by_kind)))
    report.write()


if __name__ == "__main__":
    main()
