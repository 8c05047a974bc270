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

// Small amounts keep three digits, without an exponent.
export const money = (n) => (n === 0 || n >= 1 ? n.toFixed(2) : n.toFixed(Math.min(12, 2 - Math.floor(Math.log10(n)))));

export const time = (text) => (text ? new Date(text).toLocaleTimeString("en-GB") : "–");
export const percent = (share) => `${(100 * share).toFixed(share < 0.1 || (share > 0.99 && share < 1) ? 1 : 0)} %`;
export const bytes = (n) => (n === undefined ? "–" : n < 1024 ? `${n} B` : n < 1048576 ? `${(n / 1024).toFixed(1)} KiB` : `${(n / 1048576).toFixed(1)} MiB`);

export const plural = (n, word) => `${number(n)} ${word}${n === 1 ? "" : "s"}`;

// "label: value" pairs; those without a value are left out. `wide` ones have a line of their own.
export function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.filter(([, value]) => value !== undefined && value !== null && value !== false && value !== "")
    .map(([label, value, wide]) => el("div", { class: wide && "wide" }, el("dt", {}, label), el("dd", {}, value))));
}

// A button that works on something: it keeps the focus, which a disabled one would lose. False: it does already.
export function begin(button) {
  if (button.getAttribute("aria-disabled") === "true") return false;
  button.setAttribute("aria-disabled", "true");
  return true;
}
export const finish = (button) => button.setAttribute("aria-disabled", "false");

export const badge = (text, kind = "") => el("span", { class: `badge ${kind}` }, text);

const KINDS = { routed: "good", default: "plain", passed: "plain", cached: "info", fast: "info", local: "plain",
  degraded: "warn", blocked: "bad", refused: "warn", shed: "bad", failed: "bad", canceled: "warn" };
export const outcome = (name) => badge(name || "–", KINDS[name] || "plain");

// A column of numbers, with units or without, is set to the right.
const NUMBER = /^(–|[\d.,]+(e-?\d+)?( (%|µs|ms|s|B|KiB|MiB))?)$/;

// A table that may be wider than a phone scrolls inside a region that the keyboard reaches.
export function table(caption, head, rows) {
  const num = head.map((_, i) => i > 0 && rows.every((row) => NUMBER.test(row[i])) && "num");
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, head.map((h, i) => el("th", { scope: "col", class: num[i] }, h)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, i) => i ? el("td", { class: num[i] }, cell) : el("th", { scope: "row" }, cell)))))));
}
