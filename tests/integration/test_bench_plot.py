"""`semroute bench plot`: a measurement's document becomes a picture that names the machine, its axes and its series."""
import json
import re
import subprocess
import xml.etree.ElementTree as tree

import pytest

from conftest import BINARY, ROOT

MACHINE = "CPU <&> name, 2 cores"


def plot(document, code=0):
    text = document if isinstance(document, str) else json.dumps(document)
    done = subprocess.run([BINARY, "bench", "plot", "-"], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def texts(picture):
    root = tree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and root.get("role") == "img"
    return [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]


def numbers(picture, pattern):
    return [float(n) for n in re.findall(pattern, picture)]


def test_lines():
    rows = [{"tools": 10 ** n, "us": 10.0 ** n, "read_us": 10.0 ** (n - 1)} for n in (1, 2, 3)]
    picture = plot({"bench": "tools", "machine": MACHINE, "rows": rows})
    found = texts(picture)
    assert f"semroute bench tools, {MACHINE}; logarithmic" in found
    assert {"tools in the database", "microseconds", "rank", "one read of all vectors", "10", "100", "1000"} <= set(found)
    ranked = re.search(r'class="line s0"[^>]* points="([^"]*)"', picture).group(1).split()
    points = [tuple(map(float, p.split(","))) for p in ranked]
    assert len(points) == 3 and points[1][0] - points[0][0] == pytest.approx(points[2][0] - points[1][0], abs=0.2)
    assert points[0][1] - points[1][1] == pytest.approx(points[1][1] - points[2][1], abs=0.2) and points[0][1] > points[2][1]
    assert "prefers-color-scheme:dark" in picture


def test_bars_and_what_a_name_may_have():
    rows = [{"case": "<script>&\x07", "us": 1.0, "peer_us": 10.0}, {"case": "plain", "us": 0.1}]
    picture = plot({"bench": "decide", "machine": MACHINE, "rows": rows})
    assert "<script>& " in texts(picture) and "plain" in texts(picture)
    widths = numbers(picture, r'class="bar s0" x="190" y="[\d.]+" width="([\d.]+)"')
    assert len(widths) == 2 and widths[0] > widths[1] > 0
    assert len(numbers(picture, r'class="bar s1" x="190" y="[\d.]+" width="([\d.]+)"')) == 1
    alone = plot({"bench": "decide", "rows": rows[1:]})  # a series without a value is not in the legend
    assert "s1\" x=" not in alone and "semroute bench decide, the machine is not named; logarithmic" in texts(alone)


def test_members_inside_objects():
    picture = plot({"bench": "isolation", "machine": MACHINE, "rows": [{"rules": "none", "alone": {"p99_ms": 2}, "beside": {"p99_ms": 9}}]})
    assert {"alone", "beside clients with prompts of 140 KB", "none", "milliseconds"} <= set(texts(picture))


@pytest.mark.parametrize("name, row, words", [
    ("cache", {"entries": 1000, "by": "semroute", "p50_us": 1.5, "p99_us": 3}, {"semroute, 1000", "p50", "p99"}),
    ("pool", {"policy": "prefix", "workload": "agents", "ttft_ms": {"p50": 20, "p99": 90}}, {"prefix, agents", "milliseconds"}),
    ("pick", {"policy": "kv", "choose_p50_us": 1, "choose_p99_us": 7}, {"kv", "Choosing a worker"}),
    ("encoder", {"model": "m", "what": "trunk", "tokens": 512, "ms": 4.2}, {"trunk, 512", "milliseconds"}),
    ("observe", {"router": "tracing, 1 %", "p50_us": 180, "p99_us": 270}, {"tracing, 1 %"}),
])
def test_bars_of_other_measurements(name, row, words):
    assert words <= set(texts(plot({"bench": name, "machine": MACHINE, "rows": [row]})))


def test_guards_and_their_peer():
    rows = [{"tokens": n, "ms": n / 10, "jailbreak_ms": n / 20, "peer_ms": n * 20 if n < 8000 else None} for n in (512, 2048, 8192)]
    picture = plot({"bench": "guards", "machine": MACHINE, "rows": rows})
    assert {"semroute", "of it attacks", "ONNX Runtime"} <= set(texts(picture)) and picture.count('class="dot s2"') == 2


def test_one_text_of_several():
    rows = [{"text": t, "bytes": b, "scan_us": b / 100} for t in ("English", "other") for b in (1000, 2000)]
    picture = plot({"bench": "scan", "machine": MACHINE, "rows": rows})
    assert picture.count('class="dot s0"') == 2


@pytest.mark.parametrize("document", [
    "", "{", "[]", "null", '"scan"', "{}", '{"bench": 1}', '{"bench": "none"}', '{"bench": "scan"}', '{"bench": "scan", "rows": {}}',
    '{"bench": "scan", "rows": [1, null, "x"]}', '{"bench": "tools", "rows": [{"tools": 0, "us": 1}]}',
    '{"bench": "tools", "rows": [{"tools": 1, "us": -1}]}', '{"bench": "decide", "rows": [{"case": {}, "us": "1"}]}',
])
def test_documents_without_a_picture(document):
    assert plot(document, code=1).startswith("semroute bench plot: ")


def test_too_many_rows_and_extreme_numbers():
    rows = [{"tools": 10 ** (n % 18 + 1), "us": [1e-300, 1e300, 1][n % 3]} for n in range(500)]
    tree.fromstring(plot({"bench": "tools", "machine": "x" * 5000, "rows": rows}))


def test_a_real_measurement():
    done = subprocess.run([BINARY, "bench", "tools", "--json", "--seconds", "0.05"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0
    assert json.loads(done.stdout)["machine"][:40] in plot(done.stdout)


def test_pictures_of_the_documentation():
    """Each stands on the page of the measurements with the command that makes it, and is what the program draws."""
    page = (ROOT / "docs" / "measurements.md").read_text()
    pictures = sorted((ROOT / "docs" / "pictures").glob("bench-*.svg"))
    assert len(pictures) >= 5
    for picture in pictures:
        name = picture.stem.removeprefix("bench-")
        assert f"(pictures/{picture.name})" in page and f"semroute bench {name}" in page
        assert any(text.startswith(f"semroute bench {name}, ") for text in texts(picture.read_text()))
