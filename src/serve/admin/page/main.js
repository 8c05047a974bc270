// Which view is shown, and its colours. A view is a function of its element that returns how to leave it.
import { live } from "./live.js";
import { overview } from "./overview.js";
import { playground } from "./playground.js";
import { configuration, models } from "./setup.js";

const views = { live, overview, playground, configuration, models };
const main = document.getElementById("main");
let leave = () => {};
let shown = "";

function show() {
  const [name] = location.hash.slice(1).split("/");
  const view = views[name] ? name : "live";
  if (view === shown) return;
  const first = !shown;
  leave();
  shown = view;
  for (const link of document.querySelectorAll("#views a")) {
    if (link.hash === `#${view}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  main.replaceChildren();
  main.dataset.view = view;
  leave = views[view](main) || (() => {});
  document.title = `${document.querySelector(`#views a[href="#${view}"]`).textContent} · semroute`;
  if (!first) main.focus({ preventScroll: true });
}

const themes = ["auto", "light", "dark"];
const button = document.getElementById("theme");
function colour(theme) {
  document.documentElement.dataset.theme = theme;
  button.textContent = `Colours: ${theme}`;
  localStorage.setItem("semroute-theme", theme);
}
button.addEventListener("click", () =>
  colour(themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length]));
colour(themes.includes(localStorage.getItem("semroute-theme")) ? localStorage.getItem("semroute-theme") : "auto");

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
// A page that the browser keeps for its back button follows nothing meanwhile.
window.addEventListener("pagehide", () => {
  leave();
  leave = () => {};
  shown = "";
});
window.addEventListener("pageshow", (event) => {
  if (event.persisted) show();
});
window.addEventListener("hashchange", show);
show();
