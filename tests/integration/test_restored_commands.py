"""Redacted values come back in what an answer of Responses would run: code, commands of shells, patches."""
import http.server
import json
import threading

import pytest

from conftest import request

MAIL = "ann.lee@example.org"
ITEMS = [{"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "container_id": "cntr_1", "code": "send('[EMAIL_ADDRESS_1]')", "outputs": None},
         {"type": "local_shell_call", "id": "ls_1", "call_id": "c1", "status": "completed", "action": {"type": "exec", "command": ["mail", "[EMAIL_ADDRESS_1]"], "env": {}}},
         {"type": "shell_call", "id": "sh_1", "call_id": "c2", "status": "completed", "action": {"commands": ["mail [EMAIL_ADDRESS_1]"]}},
         {"type": "apply_patch_call", "id": "ap_1", "call_id": "c3", "status": "completed", "operation": {"type": "update_file", "path": "a", "diff": "+[EMAIL_ADDRESS_1]"}}]


class Upstream(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps({"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": ITEMS}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def gateway(start):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield start.gateway(json.dumps({
        "version": "v0.3",
        "providers": {"models": [{"name": "m", "api_format": "responses", "backend_refs": [{"endpoint": f"127.0.0.1:{server.server_port}"}]}],
                      "defaults": {"default_model": "m"}},
        "routing": {"signals": {"pii": [{"name": "pii"}]}, "decisions": [{
            "name": "hide", "rules": {"type": "pii", "name": "pii"},
            "plugins": [{"type": "guard", "configuration": {"action": "redact", "restore": True}}]}]},
        "global": {"semroute": {"allow_anonymous": True, "signal_deadline_ms": 20000, "inference": {"ask_below": 0}}}}))
    server.shutdown()
    server.server_close()


def test_what_runs_has_its_values(gateway):
    answer = request(gateway.port, "POST", "/v1/responses", {"model": "m", "input": f"Write to {MAIL}, please.", "store": False})
    assert answer.status == 200, answer
    assert answer.json()["output"] == json.loads(json.dumps(ITEMS).replace("[EMAIL_ADDRESS_1]", MAIL))
