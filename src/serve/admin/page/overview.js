// Figures of the whole router, from its metrics: rates are differences of two readings.
import { get, text } from "./api.js";
import { badge, duration, el, money, number, percent, plural, svg, table } from "./dom.js";

const EVERY_MS = 3000;
const POINTS = 60; // of a line

// The text format of Prometheus, as far as the router writes it: {name: [{labels, value}]}.
export function parse(page) {
  const all = {};
  for (const line of page.split("\n")) {
    if (!line || line[0] === "#") continue;
    const found = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!found) continue;
    const labels = {};
    for (const [, name, value] of (found[2] || "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
    (all[found[1]] ||= []).push({ labels, value: found[3] === "+Inf" ? Infinity : Number(found[3]) });
  }
  return all;
}

const sum = (all, name, test = () => true) => (all[name] || []).filter((s) => test(s.labels)).reduce((n, s) => n + s.value, 0);

function by(all, name, label) {
  const sums = new Map();
  for (const s of all[name] || []) sums.set(s.labels[label] || "", (sums.get(s.labels[label] || "") || 0) + s.value);
  return sums;
}

// The quantile of what a histogram has counted since `before`, seconds; by linear interpolation in its bucket.
function quantile(all, before, name, q) {
  const now = by(all, `${name}_bucket`, "le"), was = before ? by(before, `${name}_bucket`, "le") : new Map();
  const counts = [...now].map(([le, n]) => [le === "+Inf" ? Infinity : Number(le), n - (was.get(le) || 0)]).sort((a, b) => a[0] - b[0]);
  const total = counts.length ? counts.at(-1)[1] : 0;
  if (!total) return undefined;
  let low = 0, below = 0;
  for (const [le, n] of counts) {
    if (n >= q * total) return le === Infinity ? low : low + ((le - low) * (q * total - below)) / Math.max(n - below, 1e-9);
    low = le;
    below = n;
  }
  return low;
}

function tile(label) {
  const value = el("p", { class: "value" }, "–"), more = el("p", { class: "sub" }, " ");
  const line = svg("polyline", { fill: "none", "stroke-width": "2", "vector-effect": "non-scaling-stroke" });
  const points = [];
  return {
    node: el("div", { class: "tile" }, el("h2", {}, label), value, more, svg("svg", { class: "spark", viewBox: "0 0 100 28", preserveAspectRatio: "none", "aria-hidden": "true" }, line)),
    set(shown, note, point) {
      value.textContent = shown;
      more.textContent = note || " ";
      if (point === undefined || Number.isNaN(point)) return;
      points.push(point);
      if (points.length > POINTS) points.shift();
      const top = Math.max(...points, 1e-9);
      line.setAttribute("points", points.map((p, i) => `${((100 * i) / Math.max(points.length - 1, 1)).toFixed(1)},${(26 - (24 * p) / top).toFixed(1)}`).join(" "));
    },
  };
}

const ERRORS = new Set(["failed", "shed", "refused"]);

export function overview(root) {
  const tiles = Object.fromEntries(["Requests a second", "Errors", "Answer time, median", "Answer time, 99 %", "Time to route, 99 %", "Answers from the cache"].map((label) => [label, tile(label)]));
  const models = el("div"), outcomes = el("div"), guards = el("div"), workers = el("div");
  const said = el("p", { class: "note", role: "status" });
  root.append(el("div", { class: "head" }, el("h1", {}, "Overview"), el("span", { class: "count" }, `every ${EVERY_MS / 1000} seconds`)), said,
    el("div", { class: "tiles" }, Object.values(tiles).map((t) => t.node)),
    el("div", { class: "cards" }, [["Models", models], ["Outcomes", outcomes], ["Guards", guards], ["Workers and pools", workers]].map(([title, body]) => el("section", { class: "card" }, el("h2", {}, title), body))));

  const backends = new Map(); // names by the URL that the metrics have
  let before = null, at = 0, timer, abort = new AbortController();

  // What cached answers spared, as if each had been the mean request to a model.
  function saved(all, hits) {
    const asked = sum(all, "llm_model_requests_total");
    if (!hits || !asked) return "";
    const currencies = by(all, "llm_model_cost_total", "currency"), cost = currencies.size === 1 ? (hits * [...currencies.values()][0]) / asked : 0, tokens = (hits * sum(all, "llm_model_tokens_total")) / asked;
    return `; about ${number(tokens)} tokens${cost ? ` and ${money(cost)} ${[...currencies.keys()][0]}` : ""} saved`;
  }

  function rates(all, seconds) {
    const total = sum(all, "semroute_requests_total"), was = before ? sum(before, "semroute_requests_total") : total;
    const bad = sum(all, "semroute_requests_total", (l) => ERRORS.has(l.outcome));
    const badWas = before ? sum(before, "semroute_requests_total", (l) => ERRORS.has(l.outcome)) : bad;
    const rate = seconds ? (total - was) / seconds : 0, share = total > was ? (bad - badWas) / (total - was) : 0;
    tiles["Requests a second"].set(number(rate, rate < 10 ? 1 : 0), `${number(total)} since the start`, seconds ? rate : undefined);
    tiles.Errors.set(percent(share), `${number(bad)} of ${number(total)} since the start`, seconds ? share : undefined);
    for (const [label, name, q] of [["Answer time, median", "llm_model_completion_latency_seconds", 0.5], ["Answer time, 99 %", "llm_model_completion_latency_seconds", 0.99], ["Time to route, 99 %", "llm_model_routing_latency_seconds", 0.99]]) {
      const lately = quantile(all, before, name, q), ever = quantile(all, null, name, q);
      tiles[label].set(duration((lately ?? ever) * 1e6), lately === undefined ? "since the start" : `${duration(ever * 1e6)} since the start`, lately);
    }
    const hits = sum(all, "semroute_requests_total", (l) => l.outcome === "cached"), entries = sum(all, "llm_cache_entries_total");
    tiles["Answers from the cache"].set(total ? percent(hits / total) : "–", `${plural(hits, "answer")}${entries ? `, ${number(entries)} kept` : ""}${saved(all, hits)}`, total ? hits / total : undefined);
  }

  function tables(all) {
    const requests = by(all, "llm_model_requests_total", "model"), tokens = by(all, "llm_model_tokens_total", "model");
    const cost = by(all, "llm_model_cost_total", "model"), flying = by(all, "llm_model_inflight_requests", "model");
    const currency = all.llm_model_cost_total?.[0]?.labels.currency || "";
    const p99 = (model) => quantile({ x_bucket: (all.llm_model_completion_latency_seconds_bucket || []).filter((s) => s.labels.model === model) }, null, "x", 0.99);
    models.replaceChildren(requests.size ? table("Each model since the start", ["Model", "Requests", "Now", "Tokens", `Cost ${currency}`, "99 %"], [...requests].sort((a, b) => b[1] - a[1]).map(([name, n]) =>
      [name, number(n), number(flying.get(name) || 0), number(tokens.get(name)), cost.has(name) ? money(cost.get(name)) : "–", duration(p99(name) * 1e6)])) : el("p", { class: "empty" }, "No request yet."));
    const happened = [...by(all, "semroute_requests_total", "outcome")].filter(([, n]) => n).sort((a, b) => b[1] - a[1]), most = happened[0]?.[1] || 1;
    outcomes.replaceChildren(happened.length ? el("ul", { class: "shares" }, happened.map(([name, n]) => el("li", {}, el("span", {}, name),
      el("span", { class: "lane", "aria-hidden": "true" }, el("span", { class: `bar ${ERRORS.has(name) || name === "blocked" ? "error" : "signal"}`, vars: { "--left": "0%", "--width": `${(100 * n) / most}%` } })), el("span", { class: "took" }, number(n))))) : el("p", { class: "empty" }, "No request yet."));
    const acted = (all.semroute_guard_actions_total || []).filter((s) => s.value);
    guards.replaceChildren(acted.length ? table("What guards did since the start", ["Guard", "Action", "Requests"], acted.map((s) => [s.labels.decision, badge(s.labels.action, s.labels.action === "block" ? "bad" : "plain"), number(s.value)])) : el("p", { class: "empty" }, "No guard has acted."));
    const seats = new Map();
    for (const [name, member] of [["in_flight", "flying"], ["open", "open"], ["down", "down"], ["draining", "draining"], ["slow", "slow"]])
      for (const [metric, list] of Object.entries(all)) if (metric.startsWith("semroute_") && metric.endsWith(`worker_${name}`))
        for (const s of list) { const w = s.labels.worker || s.labels.backend || ""; seats.set(w, { ...seats.get(w), [member]: s.value }); }
    workers.replaceChildren(seats.size ? table("Workers and their health", ["Worker", "Requests now", "Health"], [...seats].map(([url, w]) => [backends.has(url) ? el("span", {}, backends.get(url), el("span", { class: "sub" }, url)) : url, number(w.flying || 0),
      w.open ? badge("circuit open", "bad") : w.down ? badge("down", "bad") : w.draining ? badge("draining", "warn") : w.slow ? badge("slow", "warn") : badge("good", "good")])) : el("p", { class: "empty" }, "No worker has been asked yet."));
    const pools = new Map();
    for (const [metric, member] of [["semroute_pool_waiting_requests", "waiting"], ["semroute_pool_worker_running", "running"], ["semroute_pool_worker_waiting", "queued"]])
      for (const [name, n] of by(all, metric, "pool")) pools.set(name, { ...pools.get(name), [member]: n });
    const busy = new Map(); // the fullest cache of a pool's workers
    for (const s of all.semroute_pool_worker_kv_usage || []) busy.set(s.labels.pool, Math.max(busy.get(s.labels.pool) ?? 0, s.value));
    const reported = all.semroute_pool_worker_running ? ["Running", "Queued", "KV cache, fullest"] : [];
    if (pools.size) workers.append(table(reported.length ? "Pools: what waits here, and what their workers report" : "Pools: what waits for a worker with room", ["Pool", "Waiting", ...reported],
      [...pools].map(([name, p]) => [name, number(p.waiting ?? 0), ...(reported.length ? [number(p.running), number(p.queued), busy.has(name) ? percent(busy.get(name)) : "–"] : [])])));
  }

  async function turn() {
    try {
      const all = parse(await text("/api/v1/page/metrics", abort.signal)), now = performance.now();
      rates(all, before ? (now - at) / 1000 : 0);
      tables(all);
      before = all;
      at = now;
      said.textContent = "";
      root.dataset.ready = "1";
    } catch (error) {
      if (abort.signal.aborted) return;
      said.textContent = error.message;
    }
    timer = setTimeout(turn, EVERY_MS);
  }
  get("/api/v1/page/configuration", abort.signal).then((setup) => {
    for (const m of setup.models || []) for (const b of m.backends || []) backends.set(`${b.scheme}://${b.host}:${b.port}`, b.name || `${b.host}:${b.port}`);
  }).catch(() => {}); // the URLs say it too
  turn();
  return () => {
    abort.abort();
    clearTimeout(timer);
    delete root.dataset.ready;
  };
}
