// One request opened: where its time went, what was found, which rules held, and why this model and worker.
import { get } from "./api.js";
import { badge, begin, bytes, duration, el, facts, finish, money, number, outcome, percent, plural, table } from "./dom.js";

// Words of a record that need a sentence.
const BECAUSE = { turn: "it was its turn" };
const because = (reason) => BECAUSE[reason] ?? reason;

const confidence = (value) => (value === undefined ? "" : value.toFixed(3));

function section(title, ...content) {
  const body = content.flat().filter(Boolean);
  return body.length ? el("section", { class: "part" }, el("h3", {}, title), body) : null;
}

// ---- the waterfall ----

function bars(record, why) {
  const list = [];
  const add = (name, kind, start, end, note) => {
    if (start !== undefined && end !== undefined && end >= start) list.push({ name, kind, start, end, note });
  };
  const m = why?.moments || {};
  add("read body", "io", 0, m.body_complete_us);
  for (const phase of why?.phases || []) {
    add(phase.name, "phase", phase.start_us, phase.end_us);
    if (phase.name !== "signals") continue;
    for (const s of record.signal_details || []) add(s.type, s.error ? "error" : "signal", s.start_us, s.start_us + s.us, s.error || s.tier);
  }
  for (const t of why?.tries || []) {
    const end = t.end_us ?? t.answered_us ?? m.ended_us;
    add(t.target || t.model || "upstream", t.failure ? "error" : "upstream", t.start_us, end, t.failure || (t.status ? `status ${t.status}` : ""));
    if (t.answered_us !== undefined && !t.failure) add("until first token", "wait", t.start_us, m.first_token_us ?? t.answered_us);
  }
  if (m.first_token_us !== undefined) add("answer streams", "stream", m.first_token_us, m.last_token_us ?? m.ended_us);
  return list;
}

// The router's part takes microseconds, the upstream's seconds: two scales, so that both can be read.
function waterfall(title, list, from, to) {
  if (!list.length || !(to > from)) return null;
  const span = to - from;
  return el("div", { class: "waterfall" }, el("h4", {}, title, el("span", { class: "sub" }, duration(span))),
    el("ol", {}, list.map((bar) => {
      const left = (100 * Math.max(0, bar.start - from)) / span;
      const width = Math.max(0.4, (100 * (Math.min(bar.end, to) - Math.max(bar.start, from))) / span);
      return el("li", {}, el("span", { class: `name ${bar.kind}` }, bar.name, bar.note ? el("span", { class: "sub" }, bar.note) : null),
        el("span", { class: "lane", "aria-hidden": "true" }, el("span", { class: `bar ${bar.kind}`, vars: { "--left": `${Math.min(left, 99.6)}%`, "--width": `${Math.min(width, 100 - Math.min(left, 99.6))}%` } })),
        el("span", { class: "took" }, duration(bar.end - bar.start)));
    })));
}

function times(record, why) {
  const list = bars(record, why);
  const verdict = why?.moments?.verdict_us ?? record.verdict_ms * 1000;
  const total = Math.max(record.total_ms * 1000 || 0, ...list.map((b) => b.end));
  const inside = list.filter((b) => !["upstream", "wait", "stream", "error"].includes(b.kind) || (b.kind === "error" && b.end <= verdict));
  const outside = list.filter((b) => !inside.includes(b));
  const first = Math.min(...outside.map((b) => b.start));
  return section("Time", waterfall("In the router", inside, 0, Math.max(verdict || 0, ...inside.map((b) => b.end))),
    waterfall("At the model", outside, outside.length ? first : 0, total));
}

// ---- signals ----

export function signals(list) {
  if (!list?.length) return null;
  return section("Signals", table("Signals with their scores and times", ["Rule", "Score", "Took", "Result"], list.flatMap((s) => {
    const rules = s.rules?.length ? s.rules : [{ name: "", matched: false }];
    return rules.map((rule) => [el("span", {}, rule.name || s.type, el("span", { class: "sub" }, [s.type, s.tier].filter(Boolean).join(", "))),
      confidence(rule.confidence) || (s.label ? `${s.label} ${confidence(s.confidence)}` : "–"),
      duration(s.us), s.error ? badge(s.error, "bad") : rule.matched ? badge("matched", "good") : badge("no", "plain")]);
  })));
}

// ---- the rule tree ----

const state = (matched) => (matched === null || matched === undefined ? ["not needed", "plain"] : matched ? ["yes", "good"] : ["no", "off"]);

// `scores` has what signals say of a rule, by TYPE:NAME.
function node(rule, scores) {
  const [word, kind] = state(rule.matched);
  const mark = badge(word, kind);
  if (rule.conditions) {
    return el("li", {}, el("span", { class: "op" }, rule.operator), mark, el("ul", {}, rule.conditions.map((r) => node(r, scores))));
  }
  const score = scores.get(`${rule.type}:${rule.name}`);
  return el("li", {}, el("span", { class: "leaf" }, rule.dropped ? "a condition that is not understood" : `${rule.type}: ${rule.name}`), mark,
    score === undefined ? null : el("span", { class: "score" }, score.toFixed(2)));
}

function scoresOf(list) {
  const scores = new Map();
  for (const s of list || []) for (const rule of s.rules || []) if (rule.confidence !== undefined) scores.set(`${s.type}:${rule.name}`, rule.confidence);
  return scores;
}

export function tree(rules, winner, list) {
  if (!rules) return null;
  if (rules.left_out) return section("Rules", el("p", {}, rules.why), el("p", { class: "note" }, "The tree is too large for a record. The playground shows it."));
  const scores = scoresOf(list);
  return section("Rules", rules.why ? el("p", {}, winner ? el("strong", {}, winner) : null, winner ? ": " : "", rules.why) : null,
    el("div", { class: "trees" }, (rules.decisions || []).map((d) => {
      const won = d.name === winner, [word, kind] = won ? ["won", "info"] : d.left_out ? ["left out", "plain"] : state(d.matched);
      return el("details", { open: won || d.matched === true }, el("summary", {}, el("span", { class: "leaf" }, d.name), badge(word, kind),
        el("span", { class: "sub" }, `${d.guard ? "guard, " : ""}priority ${d.priority}`)),
      d.description ? el("p", { class: "note" }, d.description) : null,
      d.rules ? el("ul", { class: "tree" }, node(d.rules, scores)) : el("p", { class: "note" }, "No rules: it holds when none before it does."));
    })));
}

// ---- the rest ----

// Why this model of the decision's candidates.
function choice(record) {
  const list = record.candidates || [];
  if (record.selection_reason) return [record.selection_method, record.selection_reason].filter(Boolean).join(": ");
  if (list.length === 1) return "the only model of the decision";
  if (record.selection_method !== "static") return record.selection_method;
  return list.some((c) => c.score !== undefined) ? "the best score of the decision's models for this domain" : "the first model of the decision, which gives no scores for this domain";
}

// The whole answer to "why did it go there", in a few lines.
function story(record, why) {
  const lines = [], add = (label, text) => text && lines.push(el("li", {}, el("span", { class: "leaf" }, label), ` ${text}`));
  const name = record.decision || record.guard, w = why?.worker;
  if (record.outcome === "blocked" || record.guard_action === "block") add("Blocked:", why?.rules?.why || `by ${name}`);
  else if (name) add(`Decision ${name}:`, why?.rules?.why || (record.from_cache ? "as when the answer was kept" : "its rules matched"));
  else if (record.selected_model && record.original_model === record.selected_model) add("No decision:", "the client named the model");
  else add("No decision:", why?.rules?.why);
  if (record.guard && record.guard_action !== "block") add(`Guard ${record.guard}:`, [record.guard_action, record.redacted && `${plural(record.redacted, "place")} replaced`].filter(Boolean).join(", "));
  if (record.candidates?.length) add(`Model ${record.selected_model}:`, choice(record));
  if (record.from_cache) add("Cache:", `the answer was kept (${record.cache_hit_kind}), no model was asked`);
  if (why?.pool?.name) add(`Pool ${why.pool.name}:`, why.pool.reason);
  for (const t of why?.tries || []) if (t.failure) add(`Try at ${t.target || t.model}:`, `failed (${t.failure}${t.status ? `, status ${t.status}` : ""})`);
  if (w) add(`Worker ${w.name}:`, [because(w.reason), w.policy && `policy ${w.policy}`].filter(Boolean).join(", "));
  if (record.error && record.outcome !== "blocked") add("Error:", record.error);
  return lines.length ? el("ul", { class: "story", "aria-label": "Why it went there" }, lines) : null;
}

function candidates(record) {
  if (!record.candidates?.length) return null;
  return section("Candidates", el("p", {}, choice(record)),
    table("Models that the decision could have chosen", ["Model", "Score", "Result"], record.candidates.map((c) =>
      [c.model, c.score === undefined ? "–" : confidence(c.score), c.chosen ? badge("chosen", "info") : c.excluded ? badge(c.excluded, "warn") : ""])));
}

function guards(record, why) {
  const found = why?.findings || [];
  if (!found.length && !record.guard && !record.jailbreak_detected && !record.pii_detected && !why?.unread) return null;
  return section("Guards",
    facts([["Guard", record.guard], ["Action", record.guard_action], ["Attack", record.jailbreak_type && `${record.jailbreak_type}, ${confidence(record.jailbreak_confidence)}`],
      ["Private data", record.pii_entities?.join(", ")], ["Replaced", record.redacted && plural(record.redacted, "place")],
      ["Not read", why?.unread && Object.entries(why.unread).map(([kind, n]) => `${kind}: ${n.parts ?? n}`).join(", ")]]),
    found.length ? table("Findings by type and place; the text itself is not kept", ["Type", "Where", "Bytes", "Confidence", "Action"],
      found.map((f) => [f.type, `${f.source}, turn ${f.turn}`, `${f.start}–${f.end}`, confidence(f.confidence), badge(f.action, f.action === "block" ? "bad" : "plain")])) : null,
    why?.findings_omitted ? el("p", { class: "note" }, `${why.findings_omitted} more are not listed.`) : null);
}

function cacheAndWorker(why) {
  const w = why?.worker, c = why?.cache, p = why?.pool;
  if (!w && !c && !p) return null;
  return section("Cache and worker", facts([
    ["Cache", c && [c.result, c.similarity !== undefined && `similarity ${confidence(c.similarity)}`, c.age_ms !== undefined && `${Math.round(c.age_ms / 1000)} s old`].filter(Boolean).join(", ")],
    ["Looked up in", c && duration(c.us)], ["Kept", c && (c.stored ? "yes" : c.not_stored || "no")],
    ["Worker", w?.name], ["Policy", w?.policy], ["Because", because(w?.reason)],
    ["Prefix expected there", w?.blocks ? `${w.overlap} of ${w.blocks} blocks` : null], ["Similarity", w?.similarity && confidence(w.similarity)],
    ["Pool", p && [p.name, p.reason, p.workload].filter(Boolean).join(", ")]]));
}

function edits(record, why) {
  if (!record.edits?.length && !why?.splices?.length) return null;
  return section("Edits of the body", facts([["Changed", record.edits?.join(", "), true]]),
    why?.splices?.length ? table("Edits by place and size", ["At byte", "Removed", "Inserted"], why.splices.map((s) => [number(s.at), bytes(s.removed), bytes(s.inserted)])) : null,
    why?.splices_omitted ? el("p", { class: "note" }, `${why.splices_omitted} more are not listed.`) : null);
}

function usage(record) {
  const saved = record.cost_savings > 0 ? `${money(record.cost_savings)} ${record.currency || ""} less than ${record.baseline_model}` : null;
  return section("Tokens and cost", facts([["Prompt", record.prompt_tokens && number(record.prompt_tokens)], ["Answer", record.completion_tokens && number(record.completion_tokens)],
    ["From the worker's cache", record.cached_prompt_tokens && number(record.cached_prompt_tokens)],
    ["Cost", record.actual_cost !== undefined ? `${money(record.actual_cost)} ${record.currency || ""}` : null], ["Saved", saved],
    ["Bytes in, out", `${bytes(record.bytes_in)}, ${bytes(record.bytes_out)}`]].filter(([, v]) => v)));
}

// Texts are in no record that is followed: replay has them where the configuration asks for them, and they are read
// only when someone wants to see them.
function texts(record) {
  const out = el("div", { class: "stack", role: "status" });
  const button = el("button", { type: "button", class: "texts" }, "Show the texts that replay kept");
  button.addEventListener("click", async () => {
    if (!begin(button)) return;
    try {
      const kept = await get(`/v1/router_replay/${encodeURIComponent(record.id)}`);
      const parts = [["Request, as the model got it", kept.request_body, kept.request_body_truncated], ["Answer", kept.response_body, kept.response_body_truncated]].filter(([, body]) => body);
      out.replaceChildren(...parts.flatMap(([title, body, cut]) => [el("h4", {}, cut ? `${title}, cut` : title), el("pre", { class: "text", tabindex: "0", role: "region", "aria-label": title }, body)]),
        parts.length ? "" : "No text was kept: capture_request_body and capture_response_body ask for it.");
    } catch (error) {
      out.replaceChildren(error.message);
    }
    finish(button);
  });
  return section("Texts", el("div", {}, button), out);
}

// `replays` if the router keeps records.
export function details({ request: record, why }, close, replays) {
  return [
    el("div", { class: "panel-head" }, el("h2", {}, record.decision || record.guard || "No decision", " → ", record.selected_model || "no model"),
      el("button", { type: "button", class: "close quiet", on: { click: close }, "aria-label": "Close this request" }, "Close")),
    el("p", { class: "badges" }, outcome(record.outcome), record.streaming ? badge("stream", "plain") : null, record.from_cache ? badge(`cache: ${record.cache_hit_kind}`, "info") : null,
      record.failovers ? badge(`${record.failovers} failovers`, "warn") : null, record.error ? badge(record.error, "bad") : null),
    story(record, why),
    facts([["Request", el("code", {}, record.request_id), true], ["Trace", why?.trace && el("span", {}, el("code", {}, why.trace.id), why.trace.kept ? null : " (not kept)"), true], ["Asked for", record.original_model], ["Recipe", record.recipe !== "default" ? record.recipe : null], ["Category", record.category],
      ["Confidence", record.confidence_score !== undefined ? percent(record.confidence_score) : null], ["Reasoning", record.reasoning_mode], ["Door", record.door], ["API", record.dialect],
      ["Tenant", record.tenant], ["Total", duration(record.total_ms * 1000)], ["First token", record.ttft_ms !== undefined ? duration(record.ttft_ms * 1000) : null],
      ["Router's own time", duration(record.overhead_us)]]),
    times(record, why), signals(record.signal_details), tree(why?.rules, record.decision || record.guard, record.signal_details), candidates(record), guards(record, why), cacheAndWorker(why), edits(record, why), usage(record),
    why ? null : el("p", { class: "note" }, "This request ended before the page was opened: phases, rules and findings are collected of requests that end while it is open."),
    replays ? texts(record) : el("p", { class: "note" }, "Texts of requests and answers are not part of a record."),
  ].filter(Boolean);
}
