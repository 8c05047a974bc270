// A prompt explained by the configuration in use and by a draft of its routing. Nothing is sent to a model.
import { get, post } from "./api.js";
import { badge, begin, duration, el, facts, finish, number, outcome, plural, table, time } from "./dom.js";
import { signals, tree } from "./request.js";

const RECORDS = 20; // that are decided again at most

const decided = (e) => (e.decision?.name ?? (typeof e.decision === "string" ? e.decision : "")) || "";

// A draft has no workers of its own, so it says none.
function column(title, e, draft) {
  const guard = e.guard?.name || e.guard?.decision;
  return el("section", { class: "card answer" }, el("h2", {}, title),
    el("p", { class: "verdict" }, el("strong", {}, decided(e) || "no decision"), " → ", el("strong", {}, e.model || (e.action === "reply" ? `reply ${e.status}` : "no model"))),
    el("p", { class: "badges" }, outcome(e.outcome), e.reasoning ? badge(`reasoning ${e.effort || ""}`, "info") : null),
    facts([["Algorithm", e.algorithm], ["Guard", guard], ["Worker", !draft && e.worker && `${e.worker.backend}, ${e.worker.reason}`], ["Tokens, estimated", e.request?.tokens && number(e.request.tokens)], ["Took", duration(e.us)],
      ["Edits", e.edits?.length ? plural(e.edits.length, "place") : null]]),
    signals((e.signals || []).map((s) => ({ ...s, type: s.type }))), tree(e.decisions ? { decisions: e.decisions, why: e.why } : null, decided(e) || guard, e.signals));
}

const went = (e) => `${decided(e) || e.guard?.decision || "no decision"} → ${e.model || e.outcome}`;

const mistakes = (problems) => el("ul", { class: "problems" }, problems.map((p) => el("li", {}, p.line ? `line ${p.line}, column ${p.column}: ` : "", p.message)));

export function playground(root) {
  const prompt = el("textarea", { id: "prompt", rows: "4", maxlength: "200000", placeholder: "Prove that the sum of the first n odd numbers is n squared." });
  const draft = el("textarea", { id: "draft", rows: "16", spellcheck: "false", class: "code", maxlength: "131072" });
  const both = el("input", { type: "checkbox", id: "use-draft" });
  const said = el("p", { class: "note", role: "status" });
  const out = el("div", { class: "answers", id: "answers" });
  const diff = el("div", { id: "diff" });
  const run = el("button", { type: "submit", class: "primary" }, "Explain");
  const compare = el("button", { type: "button", id: "compare", hidden: true }, "Decide the last records again");
  const form = el("form", { class: "stack" },
    el("label", { for: "prompt" }, "Prompt"), prompt,
    el("div", { class: "inline" }, both, el("label", { for: "use-draft" }, "Compare with a draft of the routing")),
    el("div", { id: "draft-part", hidden: true, class: "stack" }, el("label", { for: "draft" }, "Draft: the configuration's ", el("code", {}, "routing")), draft,
      el("p", { class: "note" }, "The draft is checked and asked here, and never applied. Models, providers and global settings are those in use; it can name no variable and no other file.")),
    el("div", { class: "inline" }, run, compare));
  root.append(el("div", { class: "head" }, el("h1", {}, "Playground")), el("p", {}, "What would happen to a prompt, and why. Nothing is sent to a model, cached or counted."), form, said, out, diff);
  const abort = new AbortController();

  async function load() {
    if (draft.value) return;
    const setup = await get("/api/v1/page/configuration", abort.signal);
    draft.value = setup.routing || "routing:\n";
    if (!setup.current) said.textContent = "The file has changed since it was loaded: drafts work again after the next reload.";
  }
  both.addEventListener("change", () => {
    form.querySelector("#draft-part").hidden = compare.hidden = !both.checked;
    if (both.checked) load().catch((error) => { said.textContent = error.message; });
  });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!begin(run)) return;
    said.textContent = "Reading …";
    diff.replaceChildren();
    try {
      const body = { text: prompt.value || prompt.placeholder };
      const now = await post("/api/v1/explain", body, abort.signal);
      const columns = [column("In use", now)];
      let word = "";
      if (both.checked) {
        const other = await post("/api/v1/page/draft", { ...body, routing: draft.value }, abort.signal);
        if (other.good) {
          const same = decided(now) === decided(other.explanation) && now.model === other.explanation.model;
          word = same ? "Both decide the same." : "The draft decides otherwise.";
          columns.push(column("Draft", other.explanation, true));
        } else {
          word = "The draft has mistakes.";
          columns.push(el("section", { class: "card answer" }, el("h2", {}, "Draft"), mistakes(other.problems)));
        }
      }
      out.replaceChildren(...columns);
      said.textContent = word;
    } catch (error) {
      if (!abort.signal.aborted) said.textContent = error.message;
    }
    finish(run);
  });

  // Only a kept body can be read again: scores of signals alone say nothing of a rule that was not asked.
  function again(record) {
    if (!record.request_body || record.request_body_truncated) return null;
    try {
      const body = JSON.parse(record.request_body);
      if (record.original_model) body.model = record.original_model;
      return body;
    } catch {
      return null;
    }
  }

  compare.addEventListener("click", async () => {
    if (!begin(compare)) return;
    try {
      const page = await get(`/v1/router_replay?limit=${RECORDS}&showDetails=true`, abort.signal).catch(() => null);
      if (!page) {
        said.textContent = "Records are not kept: without global.services.router_replay there is nothing to decide again.";
        return;
      }
      const rows = [];
      let changed = 0, without = 0;
      for (const [i, record] of page.data.entries()) {
        const body = again(record);
        said.textContent = `Record ${i + 1} of ${page.data.length} …`;
        if (!body) {
          without++;
          continue;
        }
        const answer = await post("/api/v1/page/draft", { request: body, routing: draft.value }, abort.signal);
        const now = answer.good && await post("/api/v1/explain", { request: body }, abort.signal);
        if (!answer.good) {
          said.textContent = "The draft has mistakes.";
          diff.replaceChildren(mistakes(answer.problems));
          return;
        }
        const was = `${record.decision || "no decision"} → ${record.selected_model || record.outcome}`, [uses, is] = [now, answer.explanation].map(went);
        changed += uses !== is;
        rows.push([el("span", {}, time(record.ended_at), el("span", { class: "sub" }, el("code", { title: record.request_id }, (record.request_id || record.id).slice(0, 12)))), uses === is ? badge("same", "plain") : badge("differs", "warn"), uses, is, was]);
      }
      rows.sort((a, b) => (a[2] === a[3]) - (b[2] === b[3])); // what differs comes first
      said.textContent = [`${changed} of ${rows.length} would be decided otherwise.`,
        without ? `${without} have no whole body (request_body of router_replay), so they cannot be decided again.` : ""].join(" ");
      diff.replaceChildren(el("section", { class: "card" }, el("h2", {}, "Records by the draft"),
        el("p", { class: "note" }, "A kept body is the one that the model got: what the router inserted or replaced is part of it. Headers are not kept, so rules about the user or the tenant do not match, and what is in use may decide otherwise than it did then."),
        rows.length ? table("What was decided, and what the kept bodies get now and by the draft", ["Request", "Result", "In use", "Draft", "Then"], rows) : el("p", { class: "empty" }, "No record has a whole body.")));
    } catch (error) {
      if (!abort.signal.aborted) said.textContent = error.message;
    } finally {
      finish(compare);
    }
  });
  return () => abort.abort();
}
