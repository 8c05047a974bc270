"""semroute bench observe: every router answers, and the figures are there."""
import json
import subprocess

from conftest import BINARY

ROUTERS = ["off", "tracing, 0 %", "tracing, 1 %", "tracing, 100 %", "live page open"]


def bench(*args):
    return subprocess.run([BINARY, "bench", "observe", *args], capture_output=True, text=True, timeout=180)


def test_every_router_is_measured():
    done = bench("--json", "--repeats", "1", "--seconds", "0.1")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["machine"] and [row["router"] for row in result["rows"]] == ROUTERS
    for row in result["rows"]:
        assert row["errors"] == 0 and row["requests_per_second"] > 0 and row["p99_us"] >= row["p50_us"] > 0
    assert [row["goal_percent"] for row in result["rows"]] == [0, 1, 2, 8, 0]
    assert {"exports", "export_bytes", "page_bytes"} <= result.keys()


def test_a_wrong_option_is_refused():
    assert bench("--repeats", "0").returncode == 2
    assert bench("--nonsense").returncode == 2
