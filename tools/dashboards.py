#!/usr/bin/env python3
"""Writes the Grafana dashboards (deploy/grafana/*.json) and the Prometheus rules (deploy/prometheus/alerts.yaml), and
checks their queries against the table of metrics, src/observe/metrics_list.h. `--check` writes nothing and fails when a
file is not what would be written. Standard library only."""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "src" / "observe" / "metrics_list.h"
GRAFANA = ROOT / "deploy" / "grafana"
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"
RUNBOOKS = ROOT / "docs" / "runbooks"
RATE = "$__rate_interval"
TIMES = ((0.5, "p50"), (0.9, "p90"), (0.99, "p99"))
PROMETHEUS_LABELS = {"le", "job", "instance"}


def metrics():
    """{name: (kind, labels)} of the table."""
    text = TABLE.read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("\\\n", "")
    found = re.findall(r'X\(\w+,\s*(\w+),\s*"(\w+)",\s*(?:"[^"]*"\s*)+,\s*"([^"]*)",\s*\w+\)', text)
    return {name: (kind, set(filter(None, labels.split(",")))) for kind, name, labels in found}


# ---- queries ----

def rate(metric, *by, where="", window=RATE):
    group = f" by ({', '.join(by)})" if by else ""
    return f"sum{group} (rate({metric}{select(where)}[{window}]))"


def share(metric, where, window=RATE):
    """Of all requests that the metric counts, those that `where` selects; 0 when there are none of them."""
    return f"({rate(metric, where=where, window=window)} or vector(0)) / {rate(metric, window=window)}"


def hit_rate(window=RATE):
    hits = f"({rate('llm_cache_plugin_hits_total', window=window)} or vector(0))"
    return f"{hits} / ({hits} + {rate('llm_cache_plugin_misses_total', window=window)})"


def slower(metric, seconds, window=RATE):
    """Share of observations above an upper bound of the histogram."""
    return (f'1 - sum (rate({metric}_bucket{{le="{seconds}", instance=~"$instance"}}[{window}])) / '
            f"{rate(metric + '_count', window=window)}")


def select(where):
    return "{" + ", ".join(filter(None, [where, 'instance=~"$instance"'])) + "}"


def gauge(metric, *by, what="sum"):
    return f"{what}{' by (' + ', '.join(by) + ')' if by else ''} ({metric}{select('')})"


def quantiles(metric, *by, where=""):
    """A query for each of TIMES."""
    return [(f"histogram_quantile({q}, {rate(metric + '_bucket', 'le', *by, where=where)})",
             f"{name} {' '.join('{{' + label + '}}' for label in by)}".strip()) for q, name in TIMES]


def p99(metric, *by):
    return [(f"histogram_quantile(0.99, {rate(metric + '_bucket', 'le', *by)})",
             " ".join("{{" + label + "}}" for label in by))]


def each(metric, *by, where=""):
    return [(rate(metric, *by, where=where), " ".join("{{" + label + "}}" for label in by) or "all")]


def now(metric, *by, what="sum"):
    return [(gauge(metric, *by, what=what), " ".join("{{" + label + "}}" for label in by) or "all")]


# ---- dashboards: name -> title, rows of (kind, title, unit, queries, what it says) ----

BAD = 'outcome=~"failed|shed"'
DASHBOARDS = {
    "overview": ("Overview", [
        ("stat", "Requests", "reqps", each("semroute_requests_total"), "Requests on all doors."),
        ("stat", "Failed or shed", "percentunit", [(share("semroute_requests_total", BAD), "")],
         "Share of requests that got no answer for a reason of ours or of the upstreams."),
        ("stat", "Blocked", "percentunit", [(share("semroute_requests_total", 'outcome="blocked"'), "")],
         "Share of requests that a guard blocked."),
        ("stat", "Routing p99", "s", p99("llm_model_routing_latency_seconds"),
         "Time that choosing a model and editing the request took."),
        ("graph", "Requests by outcome", "reqps", each("semroute_requests_total", "outcome"), ""),
        ("graph", "Requests by model", "reqps", each("llm_model_requests_total", "model"), ""),
        ("graph", "Requests by decision", "reqps", each("llm_decision_match_total", "decision_name"), ""),
        ("graph", "Errors by reason", "reqps", each("llm_request_errors_total", "reason"), ""),
        ("graph", "Time to the first token, p99", "s", p99("llm_model_ttft_seconds", "model"), ""),
        ("graph", "Time to the last byte, p99", "s", p99("llm_model_completion_latency_seconds", "model"), ""),
        ("graph", "Tokens", "short", each("llm_model_prompt_tokens_total", "model") +
         each("llm_model_completion_tokens_total", "model"), "Prompt and completion tokens a second."),
        ("graph", "In flight", "short", now("llm_model_inflight_requests", "model"), ""),
        ("graph", "Reloads", "short", each("semroute_config_reloads_total", "result"),
         "Attempts to load the configuration anew."),
        ("graph", "Connections", "short", now("semroute_connections", "state"), ""),
    ]),
    "security": ("Security", [
        ("stat", "Blocked", "percentunit", [(share("semroute_requests_total", 'outcome="blocked"'), "")], ""),
        ("stat", "Degraded", "percentunit", [(share("semroute_requests_total", 'outcome="degraded"'), "")],
         "Share of requests that were routed with a signal missing."),
        ("stat", "Refused by limits", "reqps",
         each("semroute_limit_requests_total", where='result="limited"'), ""),
        ("stat", "Without a verdict", "reqps", each("semroute_extproc_unrouted_total"),
         "Requests of Envoy that went on without the headers of a verdict."),
        ("graph", "What guards did", "reqps", each("semroute_guard_actions_total", "decision", "action"), ""),
        ("graph", "What decisions in shadow would have done", "reqps",
         each("semroute_shadow_matches_total", "decision", "action"), ""),
        ("graph", "Private data by type", "reqps", each("llm_pii_violations_total", "pii_type"), ""),
        ("graph", "Warnings about answers", "reqps",
         each("semroute_response_warnings_total", "warning", "action"), ""),
        ("graph", "Signals without a result", "reqps", each("semroute_signal_errors_total", "signal", "reason"), ""),
        ("graph", "Share of the text that guards read, median", "percentunit",
         [(f"histogram_quantile(0.5, {rate('semroute_guard_scan_coverage_bucket', 'le', 'signal')})",
           "{{signal}}")], ""),
        ("graph", "Limits", "reqps", each("semroute_limit_requests_total", "rule", "result"), ""),
        ("graph", "Text that guards read", "Bps", each("semroute_guard_scanned_bytes_total", "signal"), ""),
    ]),
    "cost": ("Cost", [
        ("stat", "Cost an hour", "short", [(f"3600 * {rate('llm_model_cost_total', 'currency')}", "{{currency}}")],
         "By the prices of the configuration."),
        ("stat", "Tokens", "short", each("llm_model_tokens_total"), "A second."),
        ("stat", "Answered from the cache", "percentunit",
         [(share("semroute_requests_total", 'outcome="cached"'), "")], ""),
        ("stat", "Reasoning", "percentunit", [(share("llm_reasoning_decisions_total", 'enabled="true"'), "")],
         "Share of routed requests with reasoning."),
        ("graph", "Cost an hour by model", "short",
         [(f"3600 * {rate('llm_model_cost_total', 'model', 'currency')}", "{{model}} {{currency}}")], ""),
        ("graph", "Prompt tokens by model", "short", each("llm_model_prompt_tokens_total", "model"), "A second."),
        ("graph", "Completion tokens by model", "short", each("llm_model_completion_tokens_total", "model"),
         "A second."),
        ("graph", "Completion tokens of a request, p99", "short", p99("llm_completion_tokens_per_request", "model"),
         ""),
        ("graph", "Reasoning by category", "reqps", each("llm_reasoning_decisions_total", "category", "enabled"), ""),
        ("graph", "Models chosen by an algorithm", "reqps", each("llm_model_selection_total", "method", "model"), ""),
    ]),
    "cache": ("Cache", [
        ("stat", "Hit rate", "percentunit",
         [(hit_rate(), "")], "Of the requests that were looked up."),
        ("stat", "Answers kept", "short", now("llm_cache_entries_total"), ""),
        ("stat", "Memory", "bytes", now("semroute_cache_bytes"), ""),
        ("stat", "Lookup p99", "s", p99("llm_cache_operation_duration_seconds"), "Waiting included."),
        ("graph", "Hits by decision", "reqps", each("llm_cache_plugin_hits_total", "decision_name", "plugin_type"),
         ""),
        ("graph", "Operations", "reqps", each("llm_cache_operations_total", "backend", "operation", "status"), ""),
        ("graph", "Time of operations, p99", "s", p99("llm_cache_operation_duration_seconds", "backend",
                                                      "operation"), ""),
        ("graph", "Age of what is given again", "s", quantiles("llm_response_cache_entry_age_seconds"), ""),
        ("graph", "Close questions that the gate refused", "reqps", each("semroute_cache_rejected_total", "reason"),
         "By what differs."),
        ("graph", "Answers that were not kept", "reqps", each("llm_cache_write_skipped_total", "reason"), ""),
    ]),
    "pools": ("Pools", [
        ("stat", "Workers down", "short", now("semroute_worker_down"), "Their health checks fail."),
        ("stat", "Workers in cooldown", "short", now("semroute_worker_open"), ""),
        ("stat", "Requests that wait", "short", now("semroute_pool_waiting_requests"), ""),
        ("stat", "Refused: no worker", "reqps", each("semroute_pool_refused_requests_total"), ""),
        ("graph", "In flight by worker", "short", now("semroute_worker_in_flight_requests", "worker"), ""),
        ("graph", "Failures of upstreams", "reqps", each("semroute_upstream_failures_total", "backend", "reason"), ""),
        ("graph", "Retries", "reqps", each("semroute_upstream_retries_total", "backend"), ""),
        ("graph", "Ejections", "short", each("semroute_worker_ejections_total", "worker"), "A second."),
        ("graph", "Requests that wait, by pool", "short", now("semroute_pool_waiting_requests", "pool"), ""),
        ("graph", "Refused by reason", "reqps", each("semroute_pool_refused_requests_total", "model", "reason"), ""),
        ("graph", "Prefix cache: expected hit rate", "percentunit",
         now("semroute_pool_expected_hit_rate", "pool", "worker", what="avg"), ""),
        ("graph", "Prefix cache: reported hit rate", "percentunit",
         now("semroute_pool_reported_hit_rate", "pool", "worker", what="avg"), ""),
        ("graph", "KV cache in use", "percentunit", now("semroute_pool_worker_kv_usage", "pool", "worker",
                                                        what="avg"), ""),
        ("graph", "Requests by pool and workload", "reqps", each("semroute_pool_requests_total", "pool",
                                                                 "workload"), ""),
    ]),
    "latency": ("Latency by stage", [
        ("graph", "Routing", "s", quantiles("llm_model_routing_latency_seconds"),
         "All time in the router before the verdict."),
        ("graph", "Signals, p99", "s", p99("llm_signal_extraction_latency_seconds", "signal_type"), ""),
        ("graph", "Decisions", "s", quantiles("llm_decision_evaluation_latency_seconds"), "Signals not included."),
        ("graph", "Inference: wait for a batch, p99", "s", p99("semroute_inference_wait_seconds", "lane"), ""),
        ("graph", "Inference: a batch, p99", "s", p99("semroute_inference_run_seconds", "lane"), ""),
        ("graph", "Jobs that wait", "short", now("semroute_inference_queue_length") +
         now("semroute_worker_queue_length"), "For a batch, and for a worker thread."),
        ("graph", "Compressor", "s", quantiles("semroute_compression_seconds"), ""),
        ("graph", "Cache lookups, p99", "s", p99("llm_cache_operation_duration_seconds", "backend"), ""),
        ("graph", "Time to the first token", "s", quantiles("llm_model_ttft_seconds"), ""),
        ("graph", "Time for each token after the first", "s", quantiles("llm_model_tpot_seconds"), ""),
        ("graph", "Signals answered before the neural classifier had read all", "reqps",
         each("semroute_neural_late_total", "signal"), ""),
        ("graph", "Texts for a second reader that it has not read", "reqps",
         each("semroute_second_reads_total", "signal", where='outcome="unread"'), ""),
    ]),
}


def panel(number, spec, x, y, width, height):
    kind, title, unit, queries, about = spec
    targets = [{"datasource": {"type": "prometheus", "uid": "${datasource}"}, "editorMode": "code", "expr": query,
                "legendFormat": legend or "__auto", "range": True, "refId": chr(ord("A") + i)}
               for i, (query, legend) in enumerate(queries)]
    made = {"id": number, "type": "stat" if kind == "stat" else "timeseries", "title": title,
            "datasource": {"type": "prometheus", "uid": "${datasource}"},
            "gridPos": {"x": x, "y": y, "w": width, "h": height}, "targets": targets,
            "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []}}
    if about:
        made["description"] = about
    if kind == "stat":
        made["options"] = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
                           "colorMode": "none", "graphMode": "area", "textMode": "auto"}
    else:
        made["options"] = {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                           "tooltip": {"mode": "multi", "sort": "desc"}}
    return made


def dashboard(name):
    title, specs = DASHBOARDS[name]
    panels, x, y, height = [], 0, 0, 0
    for number, spec in enumerate(specs, 1):
        width = 6 if spec[0] == "stat" else 12
        if x + width > 24 or (height and height != (4 if spec[0] == "stat" else 8)):
            x, y = 0, y + height
        height = 4 if spec[0] == "stat" else 8
        panels.append(panel(number, spec, x, y, width, height))
        x += width
    variables = [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "hide": 0},
        {"name": "instance", "label": "Instance", "type": "query", "hide": 0, "includeAll": True, "multi": True,
         "allValue": ".*", "refresh": 2, "sort": 1, "datasource": {"type": "prometheus", "uid": "${datasource}"},
         "query": "label_values(semroute_build_info, instance)",
         "current": {"text": "All", "value": "$__all", "selected": True}}]
    return {"uid": f"semroute-{name}", "title": f"semroute: {title}", "tags": ["semroute"], "editable": True,
            "schemaVersion": 39, "timezone": "browser", "refresh": "30s", "graphTooltip": 1,
            "time": {"from": "now-1h", "to": "now"}, "templating": {"list": variables}, "annotations": {"list": []},
            "links": [{"type": "dashboards", "tags": ["semroute"], "title": "semroute", "asDropdown": True,
                       "icon": "external link", "includeVars": True, "keepTime": True, "targetBlank": False,
                       "tooltip": "", "url": ""}], "panels": panels}


# ---- alerts: name, severity, for, expression, summary ----

AVAILABLE = 0.999  # share of requests that are neither failed nor shed
IN_TIME = 0.99     # share of requests that are routed within ROUTED_S
ROUTED_S = 0.1


def burning(bad, objective, factor, long, short):
    """Both windows spend the error budget `factor` times as fast as it lasts (multiwindow, multi-burn-rate)."""
    limit = f"{factor} * {round(1 - objective, 6)}"
    return f"{bad(long)} > {limit} and {bad(short)} > {limit}"


def unavailable(window):
    return share("semroute_requests_total", BAD, window)


def late(window):
    return slower("llm_model_routing_latency_seconds", ROUTED_S, window)


ALERT_LIST = [
    ("SemrouteAvailabilityBurnsFast", "critical", "2m", burning(unavailable, AVAILABLE, 14.4, "1h", "5m"),
     "Requests fail: the error budget of a month is gone in two days."),
    ("SemrouteAvailabilityBurns", "warning", "15m", burning(unavailable, AVAILABLE, 6, "6h", "30m"),
     "Requests fail: the error budget of a month is gone in five days."),
    ("SemrouteRoutingLatencyBurnsFast", "critical", "2m", burning(late, IN_TIME, 14.4, "1h", "5m"),
     "More than 14 % of requests take over 100 ms to route."),
    ("SemrouteRoutingLatencyBurns", "warning", "15m", burning(late, IN_TIME, 6, "6h", "30m"),
     "More than 6 % of requests take over 100 ms to route."),
    ("SemrouteGuardsFailOpen", "critical", "5m",
     f"{rate('semroute_extproc_unrouted_total', window='5m')} > 0",
     "Envoy lets requests pass without a verdict."),
    ("SemrouteGuardsWithoutResult", "warning", "5m",
     rate("semroute_signal_errors_total", "signal", where='signal=~"jailbreak|pii"', window="5m") + " > 0.1",
     "The signal {{ $labels.signal }} gives no result for some requests."),
    ("SemrouteClassificationSlow", "warning", "10m",
     "histogram_quantile(0.99, " + rate("llm_signal_extraction_latency_seconds_bucket", "le", "signal_type",
                                        window="5m") + ") > 0.5",
     "The signal {{ $labels.signal_type }} takes over 500 ms at p99."),
    ("SemrouteDeadlinesMissed", "warning", "10m",
     f"{rate('semroute_neural_late_total', 'signal', window='10m')} > 0.5",
     "Requests are decided before the neural classifier has read {{ $labels.signal }}."),
    ("SemrouteManyBlocked", "warning", "10m",
     share("semroute_requests_total", 'outcome="blocked"', "10m") + " > 0.1",
     "More than one request in ten is blocked."),
    ("SemrouteCacheHitRateLow", "info", "30m",
     f"{hit_rate('30m')} < 0.05 and "
     f"{rate('llm_cache_plugin_misses_total', window='30m')} > 1",
     "The cache answers fewer than one request in twenty."),
    ("SemrouteQueueGrows", "warning", "5m",
     f"{gauge('semroute_pool_waiting_requests', 'pool')} > 0 and "
     "sum by (pool) (deriv(semroute_pool_waiting_requests" + select("") + "[10m])) > 0",
     "More and more requests wait for a worker of {{ $labels.pool }}."),
    ("SemrouteNoWorker", "critical", "2m",
     rate("semroute_pool_refused_requests_total", "model", where='reason="gone"', window="5m") + " > 0",
     "No worker of model {{ $labels.model }} is left."),
    ("SemrouteWorkerDown", "warning", "5m", "semroute_worker_down" + select("") + " == 1",
     "Health checks of {{ $labels.worker }} fail."),
    ("SemrouteReloadFailed", "warning", "0m",
     f"increase(semroute_config_reloads_total{select('result=' + chr(34) + 'error' + chr(34))}[15m]) > 0",
     "A configuration, or a certificate that it names, was not loaded; the one before stays in force."),
    ("SemrouteCertificateExpires", "warning", "1h",
     "semroute_certificate_not_after_seconds" + select("") + " - time() < 14 * 86400",
     "A certificate ({{ $labels.use }}) ends within 14 days."),
    ("SemrouteLimitsAway", "critical", "5m",
     rate("semroute_limit_requests_total", "rule", where='result="failed"', window="5m") + " > 0",
     "The store of the limits does not answer."),
    ("SemrouteBudgetSpent", "info", "5m",
     "(" + rate("semroute_limit_requests_total", "rule", where='result="limited"', window="10m") + ") / " +
     rate("semroute_limit_requests_total", "rule", window="10m") + " > 0.5",
     "Most requests under {{ $labels.rule }} are refused."),
    ("SemrouteLogLinesLost", "warning", "5m",
     rate("semroute_log_lines_total", "log", where='result="dropped"', window="5m") + " > 0",
     "Lines of the {{ $labels.log }} log are lost."),
]


def page(name):
    """SemrouteQueueGrows -> queue-grows"""
    words = re.findall("[A-Z][a-z]+", name.removeprefix("Semroute").removesuffix("Fast"))
    return "-".join(words).lower()


def alerts():
    lines = ["# Prometheus rules for semroute; written by tools/dashboards.py, do not edit. Each has a page in docs/runbooks.",
             "groups:", "- name: semroute", "  rules:"]
    for name, severity, wait, expression, summary in ALERT_LIST:
        expression = expression.replace(', instance=~"$instance"', "").replace('{instance=~"$instance"}', "")
        lines += [f"  - alert: {name}", f"    expr: {json.dumps(expression)}", f"    for: {wait}",
                  f"    labels: {{severity: {severity}}}", "    annotations:",
                  f"      summary: {json.dumps(summary)}", f"      runbook: docs/runbooks/{page(name)}.md"]
    return "\n".join(lines) + "\n"


# ---- checks ----

def mistakes(query, table):
    """Names and labels of a query that the table does not have."""
    wrong = []
    words = set(re.findall(r"\b(?:semroute|llm|vsr)_\w+", query))
    labels = set()
    for word in words:
        name = word if word in table else re.sub(r"_(bucket|count|sum)$", "", word)
        if name not in table or (name != word and table[name][0] != "HISTOGRAM"):
            wrong.append(f"no metric `{word}`")
        else:
            labels |= table[name][1]
    used = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", query))
    for group in re.findall(r"by \(([^)]*)\)", query):
        used |= {label.strip() for label in group.split(",")}
    return wrong + [f"no label `{label}`" for label in sorted(used - labels - PROMETHEUS_LABELS)]


def check_queries():
    table = metrics()
    queries = [(f"{name}: {spec[1]}", query) for name, (_, specs) in DASHBOARDS.items()
               for spec in specs for query, _ in spec[3]]
    queries += [(alert[0], alert[3]) for alert in ALERT_LIST]
    wrong = [f"{where}: {what}" for where, query in queries for what in mistakes(query, table)]
    wrong += [f"{alert[0]}: docs/runbooks/{page(alert[0])}.md is missing"
              for alert in ALERT_LIST if not (RUNBOOKS / f"{page(alert[0])}.md").exists()]
    return wrong


def main():
    files = {GRAFANA / f"{name}.json": json.dumps(dashboard(name), indent=1) + "\n" for name in DASHBOARDS}
    files[ALERTS] = alerts()
    wrong = check_queries()
    for path, text in files.items():
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            wrong.append(f"{path.relative_to(ROOT)} is not what tools/dashboards.py writes: run it")
    print("\n".join(wrong) or f"{len(files)} files, every query has its metrics")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
