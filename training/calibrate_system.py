"""Chooses by how much the log odds of texts of the system role are lowered (SR_RISK_SYSTEM_* in src/signal/guard/risk.h).

    python3 calibrate_system.py [--tiers linear,cascade] [--most 300]

System prompts and personas of five sources that no model here is trained on, train files only. The shift is the one at which
RATE of them reach the threshold 0.7, as the mean over the sources. Each source is also left out once: its rate at the shift
that the others choose. Attacks of other left-out sources show what that costs. Needs the built binary; cascade takes minutes.
"""
import math

import figures_common as common

RATE = 0.005  # half of what users' texts have: a source that is unlike these may have more
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
a shift, so that a rule's threshold means the same in each role. The shift is chosen on system prompts and personas of
sources that the models are not trained on, by train files: at the threshold 0.7, 0.5 % of them remain, as the mean over
the sources. "Left out" is a source's rate at the shift that the other sources alone would choose.

The price is recall: an attack that a client writes in the system role is found less often than in a message of a user.
Attacks are of sources that the models are not trained on.
"""


def log_odds(p):
    p = min(max(p, 1e-7), 1 - 1e-7)
    return math.log(p / (1 - p))


def scores(args, tier, name, keep):
    rows = [r for r in common.rows_of(args.data / name / "train.jsonl") if keep(r)]
    texts = [r["text"] for r in common.sample(rows, args.most, "system")]
    return [log_odds(a["score"]) for a in common.classify(args.binary, "jailbreak", texts, tier)]


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
    args.add_argument("--most", type=int, default=300, help="texts of each source")
    args = args.parse_args()
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
