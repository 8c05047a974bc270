// Requests as they end: a bounded list, filters that the router applies, and one request opened beside it.
import { follow, get } from "./api.js";
import { duration, el, number, outcome, time } from "./dom.js";
import { details } from "./request.js";

const ROWS = 200; // of the list; older ones go
const DRAW_MS = 250; // one drawing for all events that came meanwhile
const KEPT = 50; // of replay, at the begin
const RATE = 40; // events in a second; the router samples above it
const OUTCOMES = ["routed", "default", "passed", "degraded", "cached", "fast", "blocked", "refused", "shed", "failed", "canceled", "local"];

const COLUMNS = ["Ended", "Decision", "Model", "Outcome", "Status", "Total", "Tokens", "Tenant"];

const FIELDS = [
  ["model", "Model", "any"], ["decision", "Decision", "any"], ["tenant", "Tenant", "any"],
  ["outcome", "Outcome", OUTCOMES], ["min_ms", "Slower than, ms", "0", "number"], ["max_ms", "Faster than, ms", "any", "number"]];

function field([name, label, more, type]) {
  const id = `filter-${name}`;
  const input = Array.isArray(more)
    ? el("select", { id, name }, el("option", { value: "" }, "any"), more.map((word) => el("option", { value: word }, word)))
    : el("input", { id, name, type: type || "text", min: type && "0", placeholder: more, autocomplete: "off", spellcheck: "false", list: type ? null : `known-${name}` });
  const known = Array.isArray(more) || type ? null : el("datalist", { id: `known-${name}` });
  return el("div", { class: "field" }, el("label", { for: id }, label), input, known);
}

function row(record, open) {
  const cells = [
    el("td", { class: "when" }, time(record.ended_at)),
    el("td", { class: "what" }, el("button", { type: "button", class: "open", on: { click: open } }, record.decision || record.guard || "no decision"),
      el("span", { class: "sub" }, record.category || record.dialect || "")),
    el("td", { class: "to" }, record.selected_model || "–", record.target && record.target !== record.selected_model ? el("span", { class: "sub" }, record.target) : null),
    el("td", {}, outcome(record.outcome)),
    el("td", { class: "num status" }, record.response_status ? String(record.response_status) : "–"),
    el("td", { class: "num total" }, duration(record.total_ms * 1000)),
    el("td", { class: "num tokens" }, number(record.total_tokens)),
    el("td", { class: "tenant" }, record.tenant || ""),
  ];
  return el("tr", {}, cells);
}

export function live(root) {
  const state = document.getElementById("connection");
  const rows = el("tbody");
  const empty = el("p", { class: "empty" }, "Requests show here as they end. Earlier ones show where router_replay keeps them.");
  const said = el("p", { class: "note", role: "status" });
  const panel = el("section", { class: "panel", id: "opened", tabindex: "-1", hidden: true, "aria-label": "One request" });
  const pause = el("button", { type: "button", "aria-pressed": "false" }, "Pause");
  const form = el("form", { class: "filters", "aria-label": "Filters" }, FIELDS.map(field), el("div", { class: "field actions" },
    el("button", { type: "reset", class: "quiet" }, "Clear"), pause));
  const count = el("span", { class: "count" }, "0 shown");
  const split = el("div", { class: "split" },
    el("div", { class: "scroll list", tabindex: "0", role: "region", "aria-label": "Requests, newest first" },
      el("table", { class: "requests" }, el("caption", { class: "hidden" }, "Requests, newest first"),
        el("thead", {}, el("tr", {}, COLUMNS.map((h) => el("th", { scope: "col", class: `${h.toLowerCase()}${["Status", "Total", "Tokens"].includes(h) ? " num" : ""}` }, h)))), rows), empty),
    panel);
  root.append(el("div", { class: "head" }, el("h1", {}, "Requests"), count), form, said, split);

  let replays = false, waiting = [], paused = false, left = 0, overflow = 0, selected = null, abort = new AbortController(), timer = null, debounce = null;
  const known = { model: new Set(), decision: new Set(), tenant: new Set() };

  function learn(name, value) {
    if (!value || known[name].has(value) || known[name].size >= 100) return;
    known[name].add(value);
    document.getElementById(`known-${name}`)?.append(el("option", { value }));
  }

  function open(event, line) {
    selected?.classList.remove("selected");
    selected = line;
    line.classList.add("selected");
    const back = line.querySelector("button");
    panel.replaceChildren(...details(event, () => {
      panel.hidden = true;
      split.classList.remove("opened");
      line.classList.remove("selected");
      (back.isConnected ? back : root).focus();
    }, replays));
    panel.hidden = false;
    split.classList.add("opened");
    panel.focus({ preventScroll: true });
    if (matchMedia("(max-width: 1000px)").matches) panel.scrollIntoView({ block: "start" });
  }

  function lineOf(event) {
    const record = event.request;
    learn("model", record.selected_model);
    learn("decision", record.decision);
    learn("tenant", record.tenant);
    const line = row(record, () => open(event, line));
    if (record.id) line.dataset.record = record.id; // only what replay keeps has one
    return line;
  }

  // What replay kept before the page was opened. A request that is followed, too, is shown as it was followed.
  async function earlier(query, signal) {
    const setup = await get("/api/v1/page/configuration", signal);
    replays = Boolean(setup.replay);
    if (!replays) return;
    const page = await get(`/v1/router_replay?limit=${KEPT}&${query}`, signal);
    const shown = new Set([...[...rows.children].map((line) => line.dataset.record), ...waiting.map((event) => event.request.id)]);
    rows.append(...page.data.filter((record) => !shown.has(record.id)).slice(0, ROWS - rows.childElementCount).map((request) => lineOf({ request })));
    tellCount();
  }

  function tellCount() {
    empty.hidden = rows.childElementCount > 0;
    count.textContent = `${rows.childElementCount} shown`;
  }

  function draw() {
    timer = null;
    if (paused || !waiting.length) return;
    const fresh = waiting.splice(0).reverse().map(lineOf), again = new Set(fresh.map((line) => line.dataset.record));
    for (const line of [...rows.children]) if (line.dataset.record && again.has(line.dataset.record) && line !== selected) line.remove();
    const focused = rows.contains(document.activeElement) ? document.activeElement : null;
    rows.prepend(...fresh);
    while (rows.childElementCount > ROWS) {
      if (focused && rows.lastElementChild.contains(focused)) root.focus();
      rows.lastElementChild.remove();
    }
    tellCount();
  }

  function tell() {
    said.textContent = [left ? `${number(left)} more were left out: a sample of at most ${RATE} in a second is shown.` : "",
      overflow ? `${number(overflow)} came while it was paused.` : ""].join(" ").trim();
  }

  function take(kind, data) {
    if (kind === "left_out") {
      left += data.left_out;
      tell();
      return;
    }
    if (kind !== "request") return;
    waiting.push(data);
    if (waiting.length > ROWS) {
      waiting.shift();
      if (paused) overflow++;
    }
    timer ||= setTimeout(draw, DRAW_MS);
  }

  function start() {
    abort.abort();
    abort = new AbortController();
    waiting = [];
    left = overflow = 0;
    rows.replaceChildren();
    tellCount();
    tell();
    const asked = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value.trim()) asked.set(name, value.trim());
    const query = new URLSearchParams({ why: "1", per_second: String(RATE), ...Object.fromEntries(asked) });
    delete root.dataset.following;
    earlier(asked, abort.signal).catch(() => {}); // the stream says what is wrong
    follow(query, take, (word, why) => {
      if (word === "live") root.dataset.following = String(query);
      state.textContent = word;
      state.dataset.state = word;
      if (why) said.textContent = why;
    }, abort.signal);
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    clearTimeout(debounce);
    debounce = setTimeout(start, 300);
  });
  form.addEventListener("reset", () => setTimeout(start));
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Resume" : "Pause";
    if (!paused) {
      overflow = 0;
      tell();
      draw();
    }
  });
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape") panel.querySelector(".close")?.click();
  });
  start();
  return () => {
    abort.abort();
    clearTimeout(timer);
    clearTimeout(debounce);
    state.textContent = "idle";
    state.dataset.state = "idle";
  };
}
