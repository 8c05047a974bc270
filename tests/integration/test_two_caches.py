"""The response cache and the KV caches behind the real Rust router save what they should, on an agent's conversations of
which half are run once more (tools/two_caches.py, with its own texts)."""
import json
import subprocess
import sys

from conftest import ROOT


def test_both_layers_save(tmp_path):
    done = subprocess.run([sys.executable, ROOT / "tools" / "two_caches.py", "--json", "--speed", "20", "--tokens", "4"],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    none, warm, stored, both = json.loads(done.stdout).values()
    assert none["hits"] == warm["hits"] == 0 and none["requests"] == 24
    assert stored["hits"] == both["hits"] == 8, "every turn of the two conversations that were run again"
    assert warm["computed"] < none["computed"] and both["computed"] < stored["computed"], "KV caches"
    assert stored["gpu_s"] < none["gpu_s"] and both["gpu_s"] < warm["gpu_s"], "the response cache"
