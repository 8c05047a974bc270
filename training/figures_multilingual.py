"""The page docs/quality/multilingual.md from the figures of multilingual_guard.py; `python3 figures_multilingual.py` writes it again."""
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE.parent / "docs" / "quality" / "multilingual.json"
DOMAIN = HERE.parent / "models" / "neural-multilingual" / "domain.json"
NAMES = {"zh": "Chinese", "ko": "Korean", "ja": "Japanese", "ru": "Russian", "ar": "Arabic", "hi": "Hindi", "fa": "Persian", "uk": "Ukrainian", "th": "Thai",
         "bn": "Bengali", "el": "Greek", "he": "Hebrew", "bg": "Bulgarian", "ur": "Urdu", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian",
         "pt": "Portuguese", "tr": "Turkish", "nl": "Dutch", "pl": "Polish", "vi": "Vietnamese", "id": "Indonesian", "sv": "Swedish", "ro": "Romanian",
         "cs": "Czech", "fi": "Finnish", "sw": "Swahili", "hu": "Hungarian", "da": "Danish", "no": "Norwegian"}
KINDS = {"hidden_test": "orders inside of other texts", "direct_test": "direct attacks", "carrier": "harmless carriers", "lookalike": "harmless requests"}
PAGE = """# Languages other than English: attacks and domains

Attacks in scripts other than Latin and in languages other than English are judged by a head on multilingual-e5-small,
whose upper six layers have adapters for it ([neural-multilingual](../../models/neural-multilingual/card.md));
`training/multilingual_guard.py` makes both and this page. Train files and texts written for training only.

## Attacks

AUC, attacks found where harmless families raise a false alarm in 3 % of their texts on the mean, and the harmless
family with the most of them. Collections, techniques of written attacks, carriers of orders that stand inside of other
texts, and parts of the harmless written texts are families, left out in three groups in all languages: neither tier had
seen the row's family. In the rows by language: AUC, and what is found at the threshold of all.

{table}

### At the shipped threshold of 0.7

| texts | recall | false alarms | worst harmless family |
| --- | --- | --- | --- |
{points}

Both kinds of text have one calibration, so the rate is 3 % over both together, not in each.

### Texts of other frames

`training/texts/multilingual_test` has frames that no text for training had when it was written (invitations, subtitles,
sheets, voicemail, commits, forms), in 28 languages; it was read when all was chosen. Shares that reach 0.7, with the
linear tier that ships. The first two are attacks, the last two harmless.

| texts | number | at 0.7 |
| --- | --- | --- |
{apart}

### How much the linear tier counts

{mixtures}

Of shares that these rows cannot tell apart the largest was taken.

### System prompts and long texts

Texts of the system role are lowered by `SR_RISK_SYSTEM_OTHER` ({used}; {shift} is where {in_role} of these personas and
prompts remain, as the mean over both sources), long ones by `SR_RISK_LONG_SHIFT` for each logarithm of their length,
which was chosen in English (both in `src/signal/guard/risk.h`). Left-out rows in other languages:

| texts | number | at 0.7 | in the system role |
| --- | --- | --- | --- |
{system}

Windows of one harmless family drawn at random stand for a long text, whose windows are read one by one; each family
weighs alike. "Lost" are attacks that are found alone and are under the bar of such a length.

| windows | harmless texts, bar of short ones | with the shift | attacks lost by it |
| --- | --- | --- | --- |
{long}

### Families, left out

At the threshold where harmless families raise a false alarm in 3 % of their texts.

| family | texts | taken for attacks |
| --- | --- | --- |
{families}

## Domain

Accuracy of the head, which reads the trunk as it is, on collections and languages that were left out in turn, 14
categories ([languages](languages.md) has test questions in 21 languages).

| left out | accuracy |
| --- | --- |
{domain}
"""


def percent(x):
    return f"{x:.1%}".replace("%", " %")


def line(*cells):
    return "| " + " | ".join(str(c) for c in cells) + " |"


def table(f):
    lines = ["| texts | number | attacks | this head | **this head and linear tier** |", "| --- | --- | --- | --- | --- |"]
    for name, row in f["kinds"].items():
        lines.append(line(f"**{name}** (recall: mean over families)", f"{row['texts']:,}", f"{row['attacks']:,}",
                          *(f"{row[k]['auc']:.3f}, {percent(row[k]['recall'])}, worst harmless {percent(row[k]['worst'])}" for k in ("head", "both"))))
    for lang, row in f["languages"].items():
        lines.append(line(NAMES.get(lang, lang), row["texts"], row["attacks"], *(f"{row[k]['auc']:.3f}, {row[k]['found'][0]:.0%}".replace("%", " %") for k in ("head", "both"))))
    return "\n".join(lines)


def page(figures):
    f, role = figures["jailbreak"], figures["system"]
    named = lambda name: KINDS[name.split(",")[0]] + "," + name.split(",")[1]  # noqa: E731
    points = [line(name, *(percent(r["at_point"][k]) for k in ("recall", "false_alarms", "worst"))) for name, r in f["kinds"].items()]
    mixtures = ["| share of this head | mean recall | worst harmless family |", "| --- | --- | --- |",
                *(line(share, percent(r), percent(worst)) for share, (r, worst) in figures["mixtures"].items())]
    order = lambda item: list(KINDS).index(item[0].split(",")[0])  # noqa: E731
    return PAGE.format(table=table(f), points="\n".join(points), mixtures="\n".join(mixtures),
                       apart="\n".join(line(named(name), n, percent(a)) for name, (n, a) in sorted(figures["apart"].items(), key=order)),
                       used=f"{role['used']:.2f}", shift=f"{role['shift']:.2f}", in_role=percent(role["rate"]),
                       system="\n".join(line(name, n, percent(a), percent(b)) for name, (n, a, b) in {**role["sources"], "attacks": role["attacks"]}.items()),
                       long="\n".join(line(n, *(percent(v) for v in values)) for n, values in figures["long"].items()),
                       families="\n".join(line(name, n, percent(rate)) for name, (n, rate) in f["families"].items()),
                       domain="\n".join(line(name, percent(rate)) for name, rate in json.loads(DOMAIN.read_text())["left_out"]["accuracy"].items()))


def write(figures):
    FILE.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    FILE.with_suffix(".md").write_text(page(figures))


if __name__ == "__main__":
    write(json.loads(FILE.read_text()))
