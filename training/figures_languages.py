"""The domain of the same questions in 21 languages, through the built binary.

    python3 figures_languages.py

domain_languages_test.txt holds the questions, which no program trains on. Writes languages.md and languages.json.
"""
import json
import statistics

import figures_common as common

HEAD = common.ROOT / "models" / "neural-multilingual" / "domain.json"
NAMES = {"es": "Spanish", "fr": "French", "de": "German", "it": "Italian", "pt": "Portuguese", "nl": "Dutch", "pl": "Polish", "cs": "Czech", "sv": "Swedish",
         "tr": "Turkish", "vi": "Vietnamese", "id": "Indonesian", "ru": "Russian", "uk": "Ukrainian", "el": "Greek", "ar": "Arabic", "hi": "Hindi", "zh": "Chinese",
         "ja": "Japanese", "ko": "Korean", "en": "English"}
WORDS = """
The category of 28 questions, two of each of 14 categories, in English and 20 other languages: the same questions, written and
translated for this purpose, not checked by native speakers. No program trains on them. `first` is the first neural classifier
with the linear tier, as English is read; `shipped` is the shipped setting, where text that is not English is read by the heads
on multilingual-e5-small. One question more or less is 3.6 points.
"""


def questions():
    """(labels, {language: questions})"""
    labels, found = [], {}
    for line in (common.HERE / "domain_languages_test.txt").read_text(encoding="utf-8").split("\n"):
        if line.startswith("== "):
            mine = found.setdefault(line[3:], [])
        elif line and not line.startswith("# "):
            label, _, text = line.rpartition("\t")
            labels += [label] if label else []
            mine.append(text)
    return labels, found


def left_out(report):
    figures = json.loads(HEAD.read_text())
    lines = [[name, figures["rows"].get(name, "-"), f"{100 * share:.1f} %", f"{figures['left_out']['ece'][name]:.3f}"] for name, share in figures["left_out"]["accuracy"].items()]
    report.figures["left_out"] = figures
    report.add("## The head alone, on what it was not trained on\n",
               "Collections of train files, and a quarter of the languages each time, were left out of its training in turn. The calibration error (ECE, 15 bins) is at the one "
               f"temperature that it ships with, {figures['choices']['temperature']:.2f}, which has the least mean of these errors.\n",
               common.table(["left out", "questions", "accuracy", "ECE"], lines))


def main():
    args = common.arguments(__doc__).parse_args()
    labels, found = questions()
    texts = [t for mine in found.values() for t in mine]
    answers = {"first": common.classify(args.binary, "domain", texts, "cascade", "--heads", common.ROOT / "models" / "neural"),
               "shipped": common.classify(args.binary, "domain", texts, "cascade")}
    rates = {name: {lang: common.rate(a["label"] == label for a, label in zip(got[i * len(labels):], labels)) for i, lang in enumerate(found)} for name, got in answers.items()}
    lines = [[NAMES[lang], *(common.cell(r[lang]) for r in rates.values())] for lang in found]
    mean = {name: statistics.mean(r[lang]["share"] for lang in found if lang != "en") for name, r in rates.items()}
    lines.append(["**mean of the other 20**", *(f"{100 * m:.1f} %" for m in mean.values())])
    report = common.Report(args, "languages", "Domain in 21 languages", WORDS)
    report.figures.update(rates=rates, mean=mean)
    report.add(common.table(["language", *rates], lines))
    left_out(report)
    report.write()


if __name__ == "__main__":
    main()
