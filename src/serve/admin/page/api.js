// Calls of the router's API, with the token where one is asked for. No other origin is ever called.

const KEY = "semroute-token";
let token = sessionStorage.getItem(KEY) || "";
let asking = null;

function headers(more) {
  return token ? { ...more, authorization: `Bearer ${token}` } : { ...more };
}

// One dialog for all calls that wait for a token.
function ask() {
  const dialog = document.getElementById("login");
  const field = document.getElementById("token");
  document.getElementById("login-error").textContent = token ? "This token does not open it." : "";
  asking ||= new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      token = field.value.trim();
      field.value = "";
      sessionStorage.setItem(KEY, token);
      asking = null;
      resolve();
    }, { once: true });
    if (!dialog.open) dialog.showModal();
  });
  return asking;
}

export async function call(path, options = {}) {
  for (;;) {
    const sent = token;
    const answer = await fetch(path, { ...options, headers: headers(options.headers), credentials: "omit", cache: "no-store", redirect: "error" });
    if (answer.status !== 401) return answer;
    if (sent === token) await ask(); // else another was entered meanwhile
  }
}

async function read(answer) {
  const body = await answer.json().catch(() => null);
  if (!answer.ok) throw new Error(body?.error?.message || `The router answered ${answer.status}.`);
  return body;
}

export const get = async (path, signal) => read(await call(path, { signal }));
export const text = async (path, signal) => {
  const answer = await call(path, { signal });
  if (!answer.ok) throw new Error(`The router answered ${answer.status}.`);
  return answer.text();
};
export const post = async (path, body, signal) =>
  read(await call(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal }));

// Server-sent events by fetch, since EventSource cannot send a token. Calls each(event, data) until it is aborted,
// and connects again after a pause. state(text) says how it stands.
export async function follow(query, each, state, signal) {
  for (let pause = 500; !signal.aborted; pause = Math.min(pause * 2, 8000)) {
    try {
      const answer = await call(`/api/v1/requests/events?${query}`, { signal });
      if (!answer.ok) throw new Error((await answer.json().catch(() => null))?.error?.message || `status ${answer.status}`);
      state("live");
      pause = 500;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ;) {
        const { done, value } = await reader.read();
        if (done) break;
        rest += value;
        const parts = rest.split("\n\n");
        rest = parts.pop();
        for (const part of parts) {
          const event = /^event: (.*)$/m.exec(part);
          const data = /^data: (.*)$/m.exec(part);
          if (event && data) each(event[1], JSON.parse(data[1]));
        }
      }
      state("ended");
    } catch (error) {
      if (signal.aborted) return;
      state("away", error.message);
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
