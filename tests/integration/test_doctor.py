"""`semroute doctor`: what it finds on a machine, for a configuration, and what it says to do about it."""
import http.server
import json
import re
import subprocess
import threading
import time

import pytest
import yaml

from conftest import free_ports, semroute


def configuration(tmp_path, port, **more):
    model = {"name": "one", "backend_refs": [{"name": "a", "endpoint": f"127.0.0.1:{port}", **more.pop("backend", {})}]}
    path = tmp_path / "semroute.yaml"
    path.write_text(yaml.safe_dump({
        "version": "v0.3", "listeners": [{"name": "public", "address": "127.0.0.1", "port": free_ports()}],
        "providers": {"defaults": {"default_model": "one"}, "models": [model]}, **more}), encoding="utf-8")
    return path


def findings(path, *args, code=0):
    done = semroute("doctor", "-c", path, "--json", "--timeout-ms", "60000", *args)
    assert done.returncode == code, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["good"] == (code == 0) and len([f for f in report["findings"] if f["state"] == "error"]) == report["errors"]
    return report["findings"]


def of(found, area):
    return [finding for finding in found if finding["area"] == area]


def test_a_machine_that_is_ready(start, tmp_path):
    found = findings(configuration(tmp_path, start.mock().port))
    assert {"config", "cpu", "memory", "open files", "clock", "core dumps", "model", "port", "upstream"} <= {f["area"] for f in found}
    assert [f["state"] for f in of(found, "upstream")] == ["ok"] and "answers with 200" in of(found, "upstream")[0]["text"]
    assert all(f["advice"] is None for f in found if f["state"] == "ok")


def test_the_form_for_people(start, tmp_path):
    done = semroute("doctor", "-c", configuration(tmp_path, free_ports()))
    assert done.returncode == 1
    assert "connection refused" in done.stdout and "-> nothing listens there" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("1 error")


def test_an_upstream_that_speaks_another_protocol(start, tmp_path):
    path = configuration(tmp_path, start.mock().port, backend={"protocol": "https", "tls_verify": False})
    found = of(findings(path, code=1), "upstream")
    assert [f["state"] for f in found] == ["error"] and "another protocol" in found[0]["advice"], found


@pytest.mark.parametrize("up", (True, False))
def test_no_secret_of_the_configuration_is_told(start, tmp_path, up):
    """Whether what they are for answers or not; a server that is away and one that refuses are named without them."""
    secrets = {"key": "sk-planted-8121", "header": "planted-header-8122", "admin": "planted-admin-token-8123", "redis": "planted-redis-8124",
               "otlp": "planted-otlp-8125"}
    port = start.mock().port if up else free_ports()
    path = configuration(tmp_path, port, backend={"api_key": secrets["key"], "extra_headers": {"x-own": secrets["header"]}}, **{"global": {
        "services": {"observability": {"tracing": {"enabled": True, "exporter": {"endpoint": f"http://127.0.0.1:{free_ports()}"}}}},
        "stores": {"semantic_cache": {"enabled": True, "backend_type": "redis", "redis": {
            "connection": {"host": "127.0.0.1", "port": free_ports(), "password": secrets["redis"]}}}},
        "semroute": {"admin": {"token": secrets["admin"]}, "tracing": {"headers": {"x-key": secrets["otlp"]}}}}})
    for form in ([], ["--json"]):
        done = semroute("doctor", "-c", path, "--timeout-ms", "2000", *form)
        shown = done.stdout + done.stderr
        assert "upstream" in shown and "port" in shown and not [name for name, secret in secrets.items() if secret in shown], shown


class Refusing(http.server.BaseHTTPRequestHandler):
    """An upstream that knows one key."""

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("authorization")))
        self.send_response(200 if self.headers.get("authorization") == "Bearer right" else 401)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("key, state", (("right", "ok"), ("wrong", "warning")))
def test_keys_of_upstreams(tmp_path, key, state):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as upstream:
        upstream.asked = []
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        path = configuration(tmp_path, upstream.server_port, backend={"api_key": key})
        found = of(findings(path), "upstream")
        upstream.shutdown()
    assert [f["state"] for f in found] == [state] and upstream.asked == [("/v1/models", f"Bearer {key}")]
    assert key not in json.dumps(found), "keys stay out of what is printed"


def test_a_path_without_a_list_of_models(start, tmp_path):
    """A path that is wrong and a backend without a name: what is asked is told."""
    port = start.mock().port
    path = tmp_path / "semroute.yaml"
    listener = free_ports(2)
    away = listener + 1
    path.write_text(yaml.safe_dump({
        "version": "v0.3", "listeners": [{"address": "127.0.0.1", "port": listener}],
        "providers": {"defaults": {"default_model": "one"}, "models": [{"name": "one", "backend_refs": [
            {"base_url": f"http://127.0.0.1:{port}/v1/chat/completions"}, {"endpoint": f"127.0.0.1:{away}"}]}]}}), encoding="utf-8")
    found = findings(path, code=1)
    asked, refused = sorted(of(found, "upstream"), key=lambda f: f["state"], reverse=True)
    assert asked["state"] == "warning" and "write only what stands before /v1" in asked["advice"], asked
    assert f"one: 127.0.0.1:{port} at http://127.0.0.1:{port}/v1/chat/completions/v1/models answers with 404" == asked["text"]
    assert refused["text"].startswith(f"one: 127.0.0.1:{away} (http): "), refused
    assert [f["text"] for f in of(found, "port")][0] == f"127.0.0.1:{listener} is free"
    assert any("which is added to it" in f["text"] for f in of(found, "config")), found


def test_a_wrong_configuration(tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text("version: v0.3\nlisteners: []\nnonsense: 1\n", encoding="utf-8")
    found = findings(path, code=1)
    assert any("wrong.yaml:3:1" in f["text"] for f in of(found, "config")), found
    assert not of(found, "upstream"), "nothing is asked for a file that does not load"
    assert of(found, "cpu") and of(found, "clock"), "the machine is looked at whatever the file says"


def test_every_line_that_is_an_error_says_what_to_do(tmp_path):
    port, nowhere = free_ports(), tmp_path / "no" / "such"
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("version: v0.3\nnonsense: 1\n", encoding="utf-8")
    good = configuration(tmp_path, port, **{"global": {
        "services": {"router_replay": {"enabled": True, "store_backend": "sqlite"}},
        "semroute": {"replay": {"path": str(nowhere / "replay.db")}, "access_log": str(nowhere / "access.log")}}})
    for path in (wrong, good, tmp_path / "missing.yaml"):
        errors = [f for f in findings(path, code=1) if f["state"] == "error"]
        assert errors and all(f["advice"] for f in errors), errors
    files = of(findings(good, code=1), "file")
    assert [f["state"] for f in files] == ["error"] * 2 and all(str(nowhere) in f["text"] for f in files), files


def test_files_that_can_be_written(start, tmp_path):
    path = configuration(tmp_path, start.mock().port, **{"global": {"semroute": {"access_log": str(tmp_path / "access.log")}}})
    assert [f["state"] for f in of(findings(path), "file")] == ["ok"]
    assert not (tmp_path / "access.log").exists(), "it is looked at, not opened"


def test_a_collector_that_is_away_is_a_warning(start, tmp_path):
    for port, state in ((free_ports(), "warning"), (start.mock().port, "ok")):
        tracing = {"enabled": True, "exporter": {"endpoint": f"http://127.0.0.1:{port}"}}
        path = configuration(tmp_path, start.mock().port, **{"global": {"services": {"observability": {"tracing": tracing}}}})
        found = of(findings(path), "collector")
        assert [f["state"] for f in found] == [state] and str(port) in found[0]["text"], found


def test_a_port_in_use_is_a_warning(start, tmp_path):
    mock = start.mock()
    path = configuration(tmp_path, mock.port)
    text = yaml.safe_load(path.read_text(encoding="utf-8"))
    text["listeners"][0]["port"] = mock.port
    path.write_text(yaml.safe_dump(text), encoding="utf-8")
    taken = [f for f in of(findings(path), "port") if "public" in f["text"]]
    assert [f["state"] for f in taken] == ["warning"] and "in use" in taken[0]["text"]


@pytest.mark.parametrize("days, state", ((400, "ok"), (5, "warning"), (-1, "error")))
def test_certificates(start, tmp_path, days, state):
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    dates = ["-days", str(days)] if days > 0 else ["-days", "1"]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-subj", "/CN=router.test", *dates],
                   check=True, capture_output=True)
    if days < 0:
        request = tmp_path / "request.pem"
        subprocess.run(["openssl", "req", "-new", "-key", key, "-out", request, "-subj", "/CN=router.test"], check=True, capture_output=True)
        subprocess.run(["openssl", "x509", "-req", "-in", request, "-signkey", key, "-out", cert, "-days", "-1"], check=True, capture_output=True)
    path = configuration(tmp_path, start.mock().port, **{"global": {"semroute": {"gateway": {"tls": {"cert_file": str(cert), "key_file": str(key)}}}}})
    found = of(findings(path, code=1 if state == "error" else 0), "certificate")
    assert [f["state"] for f in found] == [state] and "router.test" in found[0]["text"], found


def test_key_and_certificate_of_different_pairs(start, tmp_path):
    for name in ("a", "b"):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", tmp_path / f"{name}.key", "-out",
                        tmp_path / f"{name}.pem", "-subj", "/CN=x"], check=True, capture_output=True)
    tls = {"cert_file": str(tmp_path / "a.pem"), "key_file": str(tmp_path / "b.key")}
    found = findings(configuration(tmp_path, start.mock().port, **{"global": {"semroute": {"gateway": {"tls": tls}}}}), code=1)
    assert any(f["state"] == "error" and "pair" in f["advice"] for f in of(found, "certificate")), found


def test_a_store_that_is_away(start, tmp_path):
    port = free_ports()
    cache = {"response_cache": {"enabled": True, "backend_type": "redis", "redis": {"connection": {"host": "127.0.0.1", "port": port}}}}
    found = findings(configuration(tmp_path, start.mock().port, **{"global": {"stores": cache}}), code=1)
    assert [f["state"] for f in of(found, "store")] == ["error"] and str(port) in of(found, "store")[0]["text"]


def test_a_running_router_tells_its_lag_and_its_heap(default_site):
    gateway, _ = default_site

    def number(name):
        found = re.search(rf"^{name} (\S+)$", gateway.metrics(), re.M)
        return float(found.group(1)) if found else 0

    assert number("process_heap_bytes") > 100_000
    end = time.monotonic() + 60
    while number("semroute_loop_lag_seconds_count") < 2:
        assert time.monotonic() < end, "each loop measures its lag"
        time.sleep(0.1)


def test_a_tool_database_that_the_next_start_has_to_read(start, tmp_path):
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"tool": {"function": {"name": f"t{i}"}}, "description": f"does {i}"} for i in range(1200)]))
    plugin = {"type": "tools", "configuration": {"enabled": True, "mode": "filtered", "semantic_selection": True}}
    path = configuration(
        tmp_path, start.mock().port,
        routing={"decisions": [{"name": "d", "modelRefs": [{"model": "one"}], "plugins": [plugin]}]},
        **{"global": {"integrations": {"tools": {"enabled": True, "tools_db_path": str(tools)}}}})
    (found,) = of(findings(path), "tools")
    assert found["state"] == "warning" and found["text"] == f"{tools}: 1200 tools, vectors not kept yet" and "/ready" in found["advice"]
    (tmp_path / "tools.json.vectors").write_bytes(b"any")
    (found,) = of(findings(path), "tools")
    assert found["state"] == "ok" and found["text"] == f"{tools}: 1200 tools, vectors in {tools}.vectors"
