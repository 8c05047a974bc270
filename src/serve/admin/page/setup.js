// The configuration in use, its state, and the models with their cards.
import { get } from "./api.js";
import { badge, el, facts, number } from "./dom.js";

const moment = (text) => (text ? new Date(text).toLocaleString("en-GB") : null);

function view(root, title, draw) {
  const abort = new AbortController();
  const said = el("p", { class: "note", role: "status" }, "Reading …");
  root.append(el("div", { class: "head" }, el("h1", {}, title)), said);
  get("/api/v1/page/configuration", abort.signal).then((setup) => {
    said.textContent = "";
    root.append(...draw(setup).filter(Boolean));
  }).catch((error) => { if (!abort.signal.aborted) said.textContent = error.message; });
  return () => abort.abort();
}

export const configuration = (root) => view(root, "Configuration", (s) => {
  const errors = s.problems?.filter((p) => p.severity === "error").length || 0;
  return [
    el("section", { class: "card" }, el("h2", {}, "State"),
      el("p", { class: "badges" }, s.current ? badge("file in use", "good") : badge("file changed since it was loaded", "warn"),
        s.reload?.failed ? badge("last reload failed", "bad") : null, errors ? badge(`${errors} mistakes in the file`, "bad") : null),
      facts([["File", el("code", {}, s.path), true], ["Revision", el("code", {}, s.revision)], ["Loaded", moment(s.loaded_at)], ["Last reload", s.reload && `${moment(s.reload.at)}, ${s.reload.failed ? "failed" : "done"}`],
        ["Why it failed", s.reload?.message, true], ["Models", number(s.models?.length)], ["Decisions", number(s.decisions)], ["File cannot be read", s.file_error, true]])),
    s.problems?.length ? el("section", { class: "card" }, el("h2", {}, "Mistakes and warnings"),
      el("ul", { class: "problems" }, s.problems.map((p) => el("li", {}, badge(p.severity, p.severity === "error" ? "bad" : "warn"), ` line ${p.line}, column ${p.column}: ${p.message}`)))) : null,
    s.yaml ? el("section", { class: "card" }, el("h2", {}, "File"), el("p", { class: "note" }, "Without comments; secrets are left out."),
      el("pre", { tabindex: "0", role: "region", "aria-label": "The configuration as YAML" }, s.yaml)) : null,
  ];
});

export const models = (root) => view(root, "Models", (s) => [el("div", { class: "cards" }, (s.models || []).map((m) =>
  el("section", { class: "card model" }, el("h2", {}, m.name), m.description ? el("p", {}, m.description) : null,
    m.capabilities || m.tags ? el("p", { class: "badges" }, [...(m.capabilities || []), ...(m.tags || [])].map((word) => badge(word, "plain"))) : null,
    facts([["Upstream's name", m.provider_model_id !== m.name ? m.provider_model_id : null], ["Size", m.param_size], ["Kind", m.modality], ["Context", m.context_window && `${number(m.context_window)} tokens`],
      ["Quality", m.quality_score], ["Adapters", m.loras?.join(", ")],
      ["Price of a million tokens", m.pricing && `${m.pricing.prompt_per_1m} in, ${m.pricing.completion_per_1m} out, ${m.pricing.currency}`],
      ["Backends", m.backends?.length && el("ul", { class: "plain" }, m.backends.map((b) => el("li", {}, `${b.name} `, el("code", {}, `${b.scheme}://${b.host}:${b.port}`), b.has_key ? " with a key" : ""))), true]]))))]);
