"""What the figures' scripts share: asking the built binary, rows, intervals, Markdown. Needs nothing but Python.

Each script writes NAME.md and NAME.json to --out. Nothing is chosen by these figures: what a script has to choose it
chooses on train files, and says so.
"""
import argparse
import base64
import codecs
import hashlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "tools"))
from lint_prose import wrap  # noqa: E402

THRESHOLD = 0.7  # of an attack and of private data: the product's default
ATTACKS = ["jailbreak-inthewild", "gptfuzz", "llmguard-tests", "multilingual-override", "composed-injections"]
HARMLESS = ["benign-prompts", "benign-real-users", "domain-mmlu-pro", "domain-mmlu", "domain-longfact", "intent-banking77", "intent-clinc150", "tools-metatool", "factcheck-weak"]


def arguments(description):
    args = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--binary", type=pathlib.Path, default=ROOT / "build" / "semroute")
    args.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data", help="labelled collections, one folder each")
    args.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "quality", help="folder of the tables")
    return args


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def chance(text, salt):
    """A number in [0, 1) that depends on the text alone: samples do not move when rows are added."""
    return int.from_bytes(hashlib.sha256(f"{salt}\0{text}".encode()).digest()[:7], "big") / 2**56


def sample(rows, count, salt, text=lambda r: r["text"]):
    return sorted(rows, key=lambda r: chance(text(r), salt))[:count]


def attacks(data, names=tuple(ATTACKS)):
    """Attacks of the development files, each with its source."""
    return [dict(r, source=name) for name in names for r in rows_of(data / name / "dev.jsonl") if r["label"] == "jailbreak"]


def harmless(data, count, names=tuple(HARMLESS)):
    """Harmless texts of the development files, `count` of each."""
    return [dict(r, source=name) for name in names for r in sample(rows_of(data / name / "dev.jsonl"), count, "harmless")]


def run(binary, *args):
    done = subprocess.run([str(a) for a in (binary, *args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "NO_COLOR": "1"})
    if done.returncode:
        raise SystemExit(f"{' '.join(str(a) for a in args)}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode()


def write_rows(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def classify(binary, task, texts, tier, *options):
    """The binary's answers to the texts, in order."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_rows(pathlib.Path(folder) / "texts.jsonl", ({"id": i, "text": t} for i, t in enumerate(texts)))
        out = run(binary, "classify", "--task", task, "--tier", tier, "--json", *options, "--jsonl", path)
    answers = [json.loads(line) for line in out.split("\n") if line]
    if [a["id"] for a in answers] != list(range(len(texts))):
        raise SystemExit(f"classify: {len(texts)} texts, {len(answers)} answers")
    return answers


def evaluate(binary, task, tier, files, *options):
    return json.loads(run(binary, "eval", "--task", task, "--tier", tier, "--json", *options, *files))


def wilson(hits, n, z=1.959963984540054):
    """95 % score interval of a rate."""
    if not n:
        return 0.0, 1.0
    p, scale = hits / n, 1 + z * z / n
    middle, half = (p + z * z / 2 / n) / scale, z / scale * math.sqrt(p * (1 - p) / n + z * z / 4 / n / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def rate(flags):
    """Of booleans: how many, the share, its interval."""
    flags = [bool(f) for f in flags]
    n, hits = len(flags), sum(flags)
    low, high = wilson(hits, n)
    return {"rows": n, "hits": hits, "share": round(hits / n, 5) if n else None, "interval": [round(low, 4), round(high, 4)]}


def cell(r):
    """A rate as text; takes what rate() gives."""
    return percent(r["share"], r["interval"]) if r["rows"] else "-"


def percent(share, interval):
    return f"{100 * share:.1f} % ({100 * interval[0]:.1f}-{100 * interval[1]:.1f})"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(c) for c in line) + " |" for line in lines) + "\n"


def models(binary):
    """Which models answered: name and the beginning of the hash of their weights."""
    found = []
    for model in json.loads(run(binary, "models", "list", "--json")):
        digest = model.get("sha256")
        weights = pathlib.Path(model.get("where") or "") / "adapters.safetensors"
        if weights.exists():
            digest = hashlib.sha256(weights.read_bytes()).hexdigest()
        if digest and digest != "-":
            found.append(f"{model['name']} {digest[:16]}")
    return found


class Report:
    """A page and its document, written together."""

    def __init__(self, args, name, title, words, script=None):
        self.args, self.name, self.began = args, name, time.time()
        self.text = [f"# {title}\n", words.strip() + "\n", f"Models: {', '.join(models(args.binary))}. Made by `training/figures_{script or name}.py`; rates with 95 % intervals (Wilson).\n"]
        self.figures = {"models": models(args.binary)}

    def add(self, *parts):
        for part in parts:
            self.text.append(part if part.endswith("\n") else part + "\n")
            print(part, flush=True)

    def write(self):
        self.args.out.mkdir(parents=True, exist_ok=True)
        (self.args.out / f"{self.name}.md").write_text(wrap("\n".join(self.text)), encoding="utf-8")
        (self.args.out / f"{self.name}.json").write_text(json.dumps(self.figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{self.name}: {time.time() - self.began:.0f} s", flush=True)


def main_by_tier(description, name, title, words, *, collections, salt, attacks_of, harmless_of, figures, tables):
    """The main of a script that asks each tier about attacks of the `collections`, sampled, and about harmless texts.

    figures(args, tier, attacks, harmless) gives what is kept of a tier; tables(report, tiers, attacks, harmless) writes them all.
    """
    args = arguments(description)
    args.add_argument("--tiers", default="linear,cascade")
    args.add_argument("--attacks", type=int, default=attacks_of)
    args.add_argument("--harmless", type=int, default=harmless_of, help="texts of each collection")
    args = args.parse_args()
    report = Report(args, name, title, words)
    chosen = sample(attacks(args.data, collections), args.attacks, salt)
    others = harmless(args.data, args.harmless)
    tiers = {tier: figures(args, tier, chosen, others) for tier in args.tiers.split(",")}
    report.figures.update(tiers)
    tables(report, tiers, chosen, others)
    report.write()


# ---- disguises, as somebody would put them on ----

LOOKALIKES = str.maketrans("aceiopxyjsABCEHIKMOPTX", "асеіорхујѕАВСЕНІКМОРТХ")
LEET = str.maketrans("aeiostAEIOST", "431057431057")


def zero_width(text):
    return "".join(c + "\u200b" if c.isalpha() else c for c in text)


def spaced(text):
    return "   ".join(" ".join(word) for word in text.split())


def base64_of(text):
    return codecs.encode(text.encode(), "base64").decode().replace("\n", "")


def base64_lines(text):
    whole = base64_of(text)
    return "\n".join(whole[i:i + 18] for i in range(0, len(whole), 18))


def escaped(form):
    return lambda text: "".join(form.format(ord(c)) if c.isalpha() and ord(c) < 128 else c for c in text)


def tags(text):
    return "".join(chr(0xE0000 + ord(c)) if 32 <= ord(c) < 127 else c for c in text)


def selectors(text):
    return "\u263a" + "".join(chr(0xFE00 + b if b < 16 else 0xE00F0 + b) for b in text.encode())


DISGUISES = {
    "zero-width characters": zero_width,
    "look-alike letters": lambda t: t.translate(LOOKALIKES),
    "spaced letters": spaced,
    "leet": lambda t: t.translate(LEET),
    "base64": base64_of,
    "ROT13": lambda t: codecs.encode(t, "rot13"),
    "base64 in lines": base64_lines,
    "base64 twice": lambda t: base64_of(base64_of(t)),
    "base32": lambda t: base64.b32encode(t.encode()).decode(),
    "percent-encoding": escaped("%{:02x}"),
    "entities": escaped("&#{};"),
    "backslash escapes": escaped("\\u{:04x}"),
    "backwards": lambda t: t[::-1],
    "right-to-left override": lambda t: "\n".join("\u202e" + line[::-1] + "\u202c" for line in t.split("\n")),
    "tag characters": tags,
    "variation selectors": selectors,
}
