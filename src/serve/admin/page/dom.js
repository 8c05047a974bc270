// Makes elements; texts are always text nodes, so nothing of a record can become markup.

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else if (name === "vars") for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export const number = (value, digits = 0) =>
  value === undefined || value === null || Number.isNaN(value) ? "–"
    : value.toLocaleString("en-US", { maximumFractionDigits: digits });

export function duration(us) {
  if (us === undefined || us === null || Number.isNaN(us)) return "–";
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 1e6) return `${(us / 1000).toFixed(us < 1e4 ? 2 : us < 1e5 ? 1 : 0)} ms`;
  return `${(us / 1e6).toFixed(us < 1e7 ? 2 : 1)} s`;
}

export const time = (text) => (text ? new Date(text).toLocaleTimeString("en-GB") : "–");
export const percent = (share) => `${(100 * share).toFixed(share < 0.1 || (share > 0.99 && share < 1) ? 1 : 0)} %`;
export const bytes = (n) => (n === undefined ? "–" : n < 1024 ? `${n} B` : n < 1048576 ? `${(n / 1024).toFixed(1)} KiB` : `${(n / 1048576).toFixed(1)} MiB`);

// "label: value" pairs; those without a value are left out.
export function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.filter(([, value]) => value !== undefined && value !== null && value !== false && value !== "")
    .map(([label, value]) => el("div", {}, el("dt", {}, label), el("dd", {}, value))));
}

export const badge = (text, kind = "") => el("span", { class: `badge ${kind}` }, text);

const KINDS = { routed: "good", default: "plain", passed: "plain", cached: "info", fast: "info", local: "plain",
  degraded: "warn", blocked: "bad", refused: "warn", shed: "bad", failed: "bad", canceled: "warn" };
export const outcome = (name) => badge(name || "–", KINDS[name] || "plain");

// A table that may be wider than a phone scrolls inside a region that the keyboard reaches.
export function table(caption, head, rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, head.map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, i) => i ? el("td", {}, cell) : el("th", { scope: "row" }, cell)))))));
}
