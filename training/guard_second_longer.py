"""What the second reader is worth for English texts of several windows that are not long: over 224 tokens, up to 3 KiB.

    python guard_second_longer.py --work DIR --second DIR [--data ../../shared/data] [--binary ../build/semroute]

The folders are those of calibrate_long.py, whose models are read: families that neither tier and, in --second, no second reader was
trained on. Texts that the first judgement is not sure of are read again, whole or only the windows that are in the band, and the highest
window counts. Printed are the means over families at 0.7, and recall where harmless families raise a false alarm in 3 % of these texts.
Writes nothing but answers, into --work. Only train files are read.
"""
import collections
import hashlib
import pathlib

import numpy as np

import calibrate_long as long
import figures_common as common
import jailbreak_data as jd
import multilingual_guard as guard
import multilingual_rows as mr
import trunk

MOST, TOKENS = 120, 224
SHORT, LONG = (guard.SECOND["neural"], guard.SECOND["shift"]), (long.constant("LONG_SECOND"), long.constant("LONG_SECOND_SHIFT"))
WAYS = {"first alone": None, "whole, as short texts": SHORT, "whole, as long texts": LONG, "windows, as short texts": SHORT, "windows, as long texts": LONG}
# log odds by the first judgement and by the second reader: of windows, and its own of the whole text
Read = collections.namedtuple("Read", "label family group first second whole")


def texts_of(tiers, data):
    """{(label, family): texts}"""
    families = {}
    for row in jd.load(data, {name: 0 for name in jd.MADE})[0]:
        if row.source in long.GROUP and mr.language(row) == "en" and not mr.is_foreign(row.text) and 500 < len(row.text.encode()) <= 3 * long.constant("STRETCH"):
            families.setdefault((row.label, row.source), set()).add(row.text)
    out = {}
    for key, texts in sorted(families.items()):
        ordered = sorted(texts, key=lambda t: hashlib.sha256(t.encode()).digest())
        out[key] = [t for t in ordered if len(trunk.encode(tiers.tok, [t])[0][0]) > TOKENS][:MOST]
    return {key: texts for key, texts in out.items() if len(texts) >= guard.LEAST}


def near(z):
    """Is it an alarm, or uncertain?"""
    return z >= long.ODDS - guard.SECOND["band"]


def read(args):
    tiers = long.Tiers(args)
    families = [(label, name, long.GROUP[name], text) for (label, name), texts in texts_of(tiers, args.data).items() for text in texts]
    cut = {text: tiers.windows(text) for *_, text in families}
    tiers.read([text[a:b] for text, windows in cut.items() for a, b in windows])
    first = {text: long.before(tiers.part(group, text, cut[text], range(len(cut[text])))) for _, _, group, text in families}
    asked = [(group, text) for _, _, group, text in families if near(first[text].max())]
    asked += [(group, text[a:b]) for _, _, group, text in families for (a, b), z in zip(cut[text], first[text]) if near(z)]
    tiers.second.read([(mr.TOGETHER[group], text) for group, text in asked])
    own = lambda group, text: tiers.second.odds(mr.TOGETHER[group], text)  # noqa: E731
    return [Read(label, name, group, first[text], np.array([own(group, text[a:b]) for a, b in cut[text]]), own(group, text))
            for label, name, group, text in families]


def score(row, way):
    """Log odds of a text; a second answer that is not there changes nothing."""
    top = row.first.max()
    if WAYS[way] is None:
        return top
    share, shift = WAYS[way]
    mixed = lambda z, own: (1 - share) * z + share * own + shift  # noqa: E731
    if way.startswith("whole"):
        return mixed(top, row.whole) if near(top) and np.isfinite(row.whole) else top
    asked = near(row.first) & np.isfinite(row.second)
    return np.where(asked, mixed(row.first, row.second), row.first).max()


def main():
    args = common.arguments(__doc__)
    args.add_argument("--trunk", type=pathlib.Path, default=long.HERE.parent / "models" / "all-MiniLM-L6-v2")
    args.add_argument("--work", type=pathlib.Path, required=True)
    args.add_argument("--second", type=pathlib.Path, required=True)
    args = args.parse_args()
    rows = [r for r in read(args) if guard.files(args.second, mr.TOGETHER[r.group])[-1].exists()]
    y, family = np.array([r.label for r in rows]), np.array([r.family for r in rows])
    print(f"{len(rows)} texts, {int(y.sum())} attacks, {len(set(family[y == 1]))} and {len(set(family[y == 0]))} families")
    for way in WAYS:
        z = np.array([score(r, way) for r in rows])
        means = [np.mean([(z[(y == label) & (family == f)] >= long.ODDS).mean() for f in sorted(set(family[y == label]))]) for label in (1, 0)]
        equal = guard.by_family(z, y, family, np.ones(len(z), bool))
        print(f"{way}: at 0.7 {means[0]:.1%} of the attacks, {means[1]:.1%} of the harmless; at 3 %: {equal['recall']:.1%}")


if __name__ == "__main__":
    main()
