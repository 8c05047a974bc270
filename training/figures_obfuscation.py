"""Attacks in disguise: how many are still found, and how many harmless texts in the same disguise are taken for attacks.

    python3 figures_obfuscation.py [--tiers linear,cascade] [--attacks 111] [--harmless 40]

Attacks and harmless texts are those of the development files; the disguises are put on here, over the whole text.
"""
import figures_common as common

WORDS = """
Each attack is disguised as a whole; semroute undoes disguises before it classifies. "Changed" is the recall in
percentage points against the same attacks as written. The false positives are of harmless texts in the same disguise.
The last column is the share of found attacks whose most suspicious span was an undone disguise.
"""


def figures(args, tier, attacks, harmless):
    found, wrong, undone = {}, {}, {}
    for name, disguise in {"as written": lambda t: t, **common.DISGUISES}.items():
        many = [disguise(r["text"]) for r in attacks + harmless]
        answers = common.classify(args.binary, "jailbreak", many, tier)
        hits = [a["score"] >= common.THRESHOLD for a in answers]
        found[name], wrong[name] = common.rate(hits[:len(attacks)]), common.rate(hits[len(attacks):])
        undone[name] = common.rate(bool(a["disguises"]) for a, hit in zip(answers[:len(attacks)], hits) if hit)
    return {"found": found, "false_positives": wrong, "by_undoing": undone}


def tables(report, tiers, attacks, harmless):
    head = ["disguise", f"attacks found ({len(attacks)})", "changed", f"false positives ({len(harmless)})", "found in what was undone"]
    for tier, f in tiers.items():
        base = f["found"]["as written"]["share"]
        report.add(f"## Tier `{tier}`\n", common.table(head, [
            [name, common.cell(r), f"{100 * (r['share'] - base):+.1f}", common.cell(f["false_positives"][name]), common.cell(f["by_undoing"][name])] for name, r in f["found"].items()]))


if __name__ == "__main__":
    common.main_by_tier(__doc__, "obfuscation", "Attacks in disguise", WORDS, collections=common.ATTACKS[:4], salt="disguised",
                        attacks_of=111, harmless_of=40, figures=figures, tables=tables)
