"""Until when certificates are valid, as a metric that an alert reads."""
import re
import subprocess
import time

from test_failover import reload

CONFIG = """
version: v0.3
providers:
  defaults: {default_model: one}
  models:
    - {name: one, backend_refs: [{base_url: "https://127.0.0.1:1", tls_ca_file: "%s/late.pem"},
                                 {base_url: "https://127.0.0.1:2", tls_ca_file: "%s/early.pem"}]}
global: {semroute: {gateway: {tls: {cert_file: "%s/shown.pem", key_file: "%s/shown.key"}}}}
"""
DAY = 86400


def make(directory, name, days):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", str(days),
                    "-subj", "/CN=localhost", "-keyout", directory / f"{name}.key", "-out", directory / f"{name}.pem"],
                   check=True, capture_output=True)


def ends(gateway):
    """Days until each certificate ends."""
    return {use: round((float(value) - time.time()) / DAY, 1) for use, value in
            re.findall(r'^semroute_certificate_not_after_seconds\{use="(\w+)"\} (\S+)$', gateway.metrics(), re.M)}


def test_until_when(start, tmp_path):
    for name, days in (("shown", 30), ("late", 400), ("early", 90)):
        make(tmp_path, name, days)
    gateway = start.gateway(CONFIG % ((tmp_path,) * 4), wait=False)
    end = time.monotonic() + 60
    while "metrics http://" not in gateway.output():
        assert time.monotonic() < end, gateway.output()
    assert ends(gateway) == {"gateway": 30, "upstream": 90}
    make(tmp_path, "shown", 60)
    reload(gateway, gateway.config_path.read_text() + "# again\n")
    end = time.monotonic() + 60
    while ends(gateway)["gateway"] != 60:
        assert time.monotonic() < end, gateway.output()
