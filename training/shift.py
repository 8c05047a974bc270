"""How the model does on a kind of text that it was not trained on, and from which confidence on it should be believed.

A router that is unsure treats a prompt as `other`. What that costs and saves is counted here in groups of domains that
would share a model, on predictions for one collection by a model of all the others.
"""
import numpy as np

import data
import fit

GROUPS = [
    ["computer science"],
    ["math", "physics", "chemistry", "biology", "engineering"],
    ["law", "health", "business", "economics"],
    ["psychology", "philosophy", "history", "other"],
]
THRESHOLDS = [0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7]
GROUP_OF = np.array([next(g for g, names in enumerate(GROUPS) if label in names) for label in data.LABELS])
GENERAL = GROUP_OF[data.LABELS.index("other")]


def decisions(p, y, weight):
    """For each threshold: the share of texts whose group is right, the share that goes to a special group, and the
    share of the latter that does not belong there."""
    out = {}
    for threshold in THRESHOLDS:
        chosen = np.where(p.max(1) >= threshold, GROUP_OF[p.argmax(1)], GENERAL)
        right, special = chosen == GROUP_OF[y], chosen != GENERAL
        wrong = (weight * (special & ~right)).sum() / max((weight * special).sum(), 1e-9)
        out[str(threshold)] = [round(float(v), 4) for v in
                               ((weight * right).sum() / weight.sum(), (weight * special).sum() / weight.sum(), wrong)]
    return out


def figures(logits, y, temperature):
    """Accuracy, calibration and decisions; `even` counts each domain alike, whatever its share of the collection."""
    p = fit.probabilities(logits, temperature)
    seen = np.bincount(y, minlength=len(data.LABELS))
    return {"rows": len(y), "accuracy": round(float((p.argmax(1) == y).mean()), 4),
            "ece": round(fit.calibration_error(p, y), 4),
            "confidence": round(float(p.max(1).mean()), 4),
            "own_temperature": round(fit.fit_temperature(logits, y), 3),
            "decisions": decisions(p, y, np.ones(len(y))), "decisions_even": decisions(p, y, 1.0 / seen[y])}
