"""What is written beside a linear model: manifest.json for `semroute models verify`, and train.json, the measured half of
card.md (the prose of the card is written by hand and names the commands)."""
import json


def write(out, path, digest, inputs, choices, figures, name="domain-linear", task="domain"):
    manifest = {"name": name, "task": task, "tier": "linear",
                "files": [{"path": path.name, "bytes": path.stat().st_size, "sha256": digest}]}
    (out / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    report = {"inputs": [{"file": n, "rows": r, "sha256": h} for n, r, h in inputs],
              "choices": choices, "figures": figures}
    (out / "train.json").write_text(json.dumps(report, indent=2) + "\n")
