// SPDX-License-Identifier: Apache-2.0
// Sends what the controls hold, and puts the parts that come back into their places.
"use strict";

const at = id => document.getElementById(id);
const held = form => Object.fromEntries(
  [...new FormData(form)].filter(([, value]) => typeof value === "string"));

async function post(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-anon-key": sessionStorage.getItem("key") || "" },
    body: JSON.stringify(body ?? {}),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}

function told(words) {
  const line = at("progress") || document.querySelector("main [role=status]");
  line.textContent = words;
}

const failed = error => told(error instanceof TypeError ? "anon explore has ended: start it again." : error.message);

async function start() {
  try {
    at("main").innerHTML = await (await post("/start")).text();
    prepare();
    listen();
  } catch (error) {
    failed(error);
  }
}

async function listen() {
  try {
    const reader = (await post("/events")).body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = "";;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      lines.filter(Boolean).forEach(line => show(JSON.parse(line)));
    }
  } catch { /* it ended, as below */ }
  told("anon explore has ended: start it again.");
  document.querySelectorAll("button, input, select, textarea").forEach(each => { each.disabled = true; });
}

function show(part) {
  if (part.id === "progress") return progress(part);
  if (part.id === "set") return set(part.values);
  const place = at(part.id), kept = document.activeElement?.dataset.take;
  place.innerHTML = part.html;
  place.removeAttribute("aria-busy");
  if (kept) place.querySelector(`[data-take="${CSS.escape(kept)}"]`)?.focus();
  if (part.id === "exported" || part.id === "more") place.scrollIntoView({ block: "nearest" });
}

function progress({ stage, done, total }) {
  const share = total > 1 ? ` ${Math.round(100 * done / total)} %` : "";
  told(stage ? `${stage === "start" ? "working" : stage}${share} …` : "");
  at("result").setAttribute("aria-busy", stage ? "true" : "false");
}

// --- controls

function prepare() {
  document.querySelectorAll("[data-steps]").forEach(slider => {
    slider.min = 0;
    slider.max = slider.dataset.steps.split(" ").length;
  });
  follow();
  last = JSON.stringify(held(at("asked")));
}

function follow() { // sliders stand where their numbers are, settings of other methods are put away
  document.querySelectorAll("[data-steps]").forEach(slider => {
    const number = parseFloat(at(slider.dataset.for).value), steps = slider.dataset.steps.split(" ");
    slider.value = Number.isNaN(number) ? 0 : steps.filter(each => Number(each) <= number).length || 1;
    slider.setAttribute("aria-valuetext", at(slider.dataset.for).value || "not asked for");
  });
  const [kind, method] = document.querySelector("[name=how]").value.split("=");
  document.querySelectorAll("[data-of]").forEach(label => {
    label.hidden = kind !== "method" || !label.dataset.of.split(" ").includes(method);
    label.firstElementChild.disabled = label.hidden;
  });
}

function set(values) {
  for (const control of at("asked").elements)
    if (control.name && control.name in values) {
      control.value = values[control.name];
      if (control.selectedIndex === -1) control.selectedIndex = 0; // the default, by its name
    }
  follow();
  last = JSON.stringify(held(at("asked")));
}

let waiting, last;
function changed() {
  follow();
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const form = held(at("asked")), words = JSON.stringify(form);
    if (words !== last) post("/change", form).catch(failed);
    last = words;
  }, 80);
}

const ask = (act, more) => post("/do", { do: act, form: held(at("asked")), ...more }).catch(failed);

const moved = ({ target }) => {
  if (target.dataset.steps) {
    const steps = target.dataset.steps.split(" ");
    at(target.dataset.for).value = target.value === "0" ? "" : steps[target.value - 1];
  }
  if (target.form?.id === "asked" && target.type !== "file" && !target.dataset.text) changed();
};
document.addEventListener("input", moved);
document.addEventListener("change", moved);

document.addEventListener("change", async ({ target }) => {
  if (target.dataset.tree !== "import" || !target.files[0]) return;
  const bytes = await target.files[0].arrayBuffer();
  try {
    tree(target, new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch { // letters of another encoding would be lost
    target.value = "";
    at(`column-${target.dataset.column}`).querySelector(".fault").textContent =
      "This hierarchy is not in UTF-8: save it so, and import it again.";
  }
});

async function tree(control, text) {
  const { column, tree } = control.dataset;
  try {
    const part = await (await post("/tree", { do: tree, column, text, form: held(at("asked")) })).json();
    at(part.id).innerHTML = part.html;
    (at(part.id).querySelector("textarea") || at(part.id).querySelector("summary")).focus();
  } catch (error) {
    failed(error);
  }
}

document.addEventListener("click", ({ target }) => {
  const mark = target.closest("#frontier svg [transform]"), words = mark?.querySelector("title")?.textContent;
  const control = mark
    ? [...document.querySelectorAll("[data-take]")].find(each => words?.startsWith(`name: ${each.dataset.take},`))
    : target.closest("button");
  if (!control) return;
  const { do: act, take, tree: what, column } = control.dataset;
  if (act) ask(act);
  if (take) ask("take", { name: take });
  if (what) tree(control, document.querySelector(`[data-text="${column}"]`)?.value);
});

document.addEventListener("submit", event => {
  event.preventDefault();
  const { id } = event.target;
  if (id === "sweep") post("/do", { do: "sweep", form: { ...held(at("asked")), ...held(event.target) } }).catch(failed);
  if (id === "export") ask("export", held(event.target));
});

const given = document.body.dataset.key;
if (given) { // the exchange of the token: kept in the storage of this origin, which has its port
  sessionStorage.setItem("key", given);
  location.replace("/");
} else {
  start();
}
