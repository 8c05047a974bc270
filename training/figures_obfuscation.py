"""Attacks in six disguises: how many are still found, and how many harmless texts in the same disguise are taken for attacks.

    python3 figures_obfuscation.py [--tiers linear,cascade] [--attacks 111] [--harmless 40]

Attacks and harmless texts are those of the development files; the disguises are put on here, over the whole text.
"""
import figures_common as common

WORDS = """
Each attack is disguised as a whole and read as it then stands. "Changed" is the recall in percentage points against the same attacks as
written. The false positives are of harmless texts in the same disguise; an unusual form is a hint, so some more than for plain texts are to be
expected. Where the binary can read texts as they stand (`--as-written`), a third column says what would be found without undoing disguises.
"""


def figures(args, tier, attacks, harmless, plain_option):
    texts = {"as written": lambda t: t, **common.DISGUISES}
    found, wrong, blind = {}, {}, {}
    for name, disguise in texts.items():
        many = [disguise(r["text"]) for r in attacks] + [disguise(r["text"]) for r in harmless]
        hits = [a["score"] >= common.THRESHOLD for a in common.classify(args.binary, "jailbreak", many, tier)]
        found[name], wrong[name] = common.rate(hits[:len(attacks)]), common.rate(hits[len(attacks):])
        if plain_option:
            answers = common.classify(args.binary, "jailbreak", many[:len(attacks)], tier, plain_option)
            blind[name] = common.rate(a["score"] >= common.THRESHOLD for a in answers)
    return {"found": found, "false_positives": wrong, "as_written": blind}


def main():
    args = common.arguments(__doc__)
    args.add_argument("--tiers", default="linear,cascade")
    args.add_argument("--attacks", type=int, default=111)
    args.add_argument("--harmless", type=int, default=40, help="texts of each collection")
    args = args.parse_args()
    report = common.Report(args, "obfuscation", "Attacks in disguise", WORDS)
    attacks = common.sample(common.attacks(args.data, common.ATTACKS[:4]), args.attacks, "disguised")
    harmless = common.harmless(args.data, args.harmless)
    option = "--as-written" if common.has_option(args.binary, "classify", "--as-written") else None
    for tier in args.tiers.split(","):
        f = report.figures[tier] = figures(args, tier, attacks, harmless, option)
        base = f["found"]["as written"]["share"]
        head = ["disguise", f"attacks found ({len(attacks)})", "changed", *(["found without undoing it"] if option else []), f"false positives ({len(harmless)})"]
        report.add(f"## Tier `{tier}`\n", common.table(head, [
            [name, common.cell(r), f"{100 * (r['share'] - base):+.1f}", *([common.cell(f['as_written'][name])] if option else []), common.cell(f["false_positives"][name])]
            for name, r in f["found"].items()]))
    report.write()


if __name__ == "__main__":
    main()
