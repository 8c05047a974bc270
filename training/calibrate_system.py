"""Chooses by how much the log odds of texts of the system role are lowered (SR_RISK_SYSTEM_* in src/signal/guard/risk.h).

    .venv/bin/python calibrate_system.py --scores FILE

`--scores` is what train_guard_head.py --out wrote: log odds of texts by models that were not trained on their sources. System
prompts and personas of five sources, train files only. The shift is the one at which RATE of them reach the threshold 0.7, as
the mean over the sources. Each source is also left out once: its rate at the shift that the others choose. Attacks of other
left-out sources show what that costs.
"""
import hashlib
import math
import pathlib

import numpy as np

import figures_common as common
import jailbreak_data as jd

RATE = 0.004  # less than users' texts have: a source that is unlike these may have more
HARMLESS = {
    "benign-lobe-agents": lambda r: r["kind"] == "agent_system_prompt",
    "benign-llmwarden": lambda r: r["kind"] == "roleplay",
    "benign-prompts-zh": lambda r: True,
    "benign-security-docs": lambda r: r["kind"] in ("agent_policy", "guarded_system_prompt"),
    "benign-gpteacher": lambda r: r["kind"] == "roleplay",
}
ATTACKS = ("jailbreak-inthewild-2023-12", "jailbreak-pyrit", "jailbreak-evalsafety", "injection-hackaprompt", "injection-yanismiraoui")
POINT = math.log(common.THRESHOLD / (1 - common.THRESHOLD))

WORDS = """
Texts of the roles system and developer, and instructions, have a calibration of their own: their log odds are lowered by
a shift, so that a rule's threshold means the same in each role. The shift is chosen on system prompts and personas, each
source scored by models that were not trained on it: at the threshold 0.7, 0.4 % of them remain, as the mean over the
sources. "Left out" is a source's rate at the shift that the other sources alone would choose.

The price is recall: an attack that a client writes in the system role is found less often than in a message of a user.
Attacks, too, are scored by models that were not trained on their source.
"""


def scores(args, tier, name, keep):
    """Log odds of the texts of a source that were read by models without it."""
    texts = {r["text"][:jd.MOST] for r in common.rows_of(args.data / name / "train.jsonl") if keep(r)}
    texts |= {jd.without_cue(t)[:jd.MOST] for t in texts}
    found = (args.odds[tier].get(hashlib.sha256(t.encode()).hexdigest()) for t in sorted(texts))
    return [v for v in found if v is not None]


def share(values, limit):
    return sum(v >= limit for v in values) / len(values)


def shift_for(sources):
    """The smallest shift, in steps of 0.05, at which at most RATE reach the threshold."""
    step = 0
    while sum(share(v, POINT + step / 20) for v in sources) / len(sources) > RATE:
        step += 1
    return step / 20


def figures(args, tier):
    harmless = {name: scores(args, tier, name, keep) for name, keep in HARMLESS.items()}
    attacks = {name: scores(args, tier, name, lambda r: r["label"] == "jailbreak") for name in ATTACKS}
    shift = shift_for(list(harmless.values()))
    left = {name: shift_for([v for other, v in harmless.items() if other != name]) for name in harmless}
    rate = lambda values, s: common.rate(v >= POINT + s for v in values)  # noqa: E731
    return {"shift": shift,
            "harmless": {n: {"as_users": rate(v, 0), "as_system": rate(v, shift), "left_out": rate(v, left[n])} for n, v in harmless.items()},
            "attacks": {n: {"as_users": rate(v, 0), "as_system": rate(v, shift)} for n, v in attacks.items()}}


if __name__ == "__main__":
    args = common.arguments(__doc__)
    args.add_argument("--tiers", default="linear,cascade")
    args.add_argument("--scores", type=pathlib.Path, required=True)
    args = args.parse_args()
    file = np.load(args.scores)
    args.odds = {tier: {t: float(v) for t, v in zip(file["text"].tolist(), file[key]) if np.isfinite(v)} for tier, key in (("linear", "linear"), ("cascade", "both"))}
    report = common.Report(args, "system_prompts", "System prompts", WORDS)
    report.text[2] = report.text[2].replace("figures_system_prompts.py", "calibrate_system.py")
    for tier in args.tiers.split(","):
        f = report.figures[tier] = figures(args, tier)
        report.add(f"## Tier `{tier}`: log odds less {f['shift']:.2f}\n", common.table(
            ["harmless", "texts", "as a user's", "as a system prompt", "left out"],
            [[n, r["as_users"]["rows"], *(common.cell(r[k]) for k in ("as_users", "as_system", "left_out"))] for n, r in f["harmless"].items()]),
            common.table(["attacks", "texts", "as a user's", "as a system prompt"],
                         [[n, r["as_users"]["rows"], *(common.cell(r[k]) for k in ("as_users", "as_system"))] for n, r in f["attacks"].items()]))
    report.write()
