// What is known of all functions, and which of them pass the filters.

let index = { chunk: 1, taus: [0.8, 0.75], rows: [] };
let functions = []; // one object a row of the index
let shown = []; // numbers of the functions that pass the filters, in order
let active = 0; // position in shown that the keyboard is at
let rowHeight = 56;
let scrolled = 0; // where the list was when a page was opened
let opened = null; // number of the function whose page is shown
const filters = { verdict: new Set(), language: new Set(), model: new Set(), path: "", q: "", order: "leaks" };

function prepare() {
  functions = index.rows.map((row, number) => {
    const [nodeid, verdict, language, path, name, reason, tf, tt, rf, rt, standing, model] = row;
    const hay = `${nodeid}\n${path}\n${verdict}\n${language}\n${standing}\n${reason}`.toLowerCase();
    return { number, nodeid, verdict, language, path, name, reason, tf, tt, rf, rt, standing, model, hay };
  });
}


const ORDERS = {
  audit: (a, b) => a.number - b.number,
  leaks: (a, b) =>
    VERDICTS.indexOf(a.verdict) - VERDICTS.indexOf(b.verdict) || a.number - b.number,
  path: (a, b) => (a.nodeid < b.nodeid ? -1 : a.nodeid > b.nodeid ? 1 : 0),
  func: (a, b) => (b.tf ?? -1) - (a.tf ?? -1) || a.number - b.number,
  text: (a, b) => (b.tt ?? -1) - (a.tt ?? -1) || a.number - b.number,
};

function select() {
  const words = filters.q.toLowerCase().split(/\s+/).filter(Boolean);
  const path = filters.path.toLowerCase();
  shown = functions
    .filter(
      (f) =>
        (!filters.verdict.size || filters.verdict.has(f.verdict)) &&
        (!filters.language.size || filters.language.has(f.language)) &&
        (!filters.model.size || filters.model.has(f.model)) &&
        (!path || f.path.toLowerCase().includes(path)) &&
        words.every((word) => f.hay.includes(word)),
    )
    .sort(ORDERS[filters.order] || ORDERS.leaks)
    .map((f) => f.number);
  active = Math.max(0, Math.min(active, shown.length - 1));
  const all = plural(functions.length, functions.some((f) => f.model) ? "result" : "function");
  byId("found").textContent = shown.length === functions.length ? all : `${shown.length} of ${all}`;
}

function query() {
  const parameters = new URLSearchParams();
  if (filters.verdict.size) parameters.set("verdict", [...filters.verdict].join(","));
  if (filters.language.size) parameters.set("language", [...filters.language].join(","));
  for (const model of filters.model) parameters.append("model", model);
  if (filters.path) parameters.set("path", filters.path);
  if (filters.q) parameters.set("q", filters.q);
  if (filters.order !== "leaks") parameters.set("order", filters.order);
  const text = parameters.toString();
  return text ? `#/?${text}` : "#/";
}

function readQuery(text) {
  const parameters = new URLSearchParams(text);
  const several = (name) => new Set((parameters.get(name) || "").split(",").filter(Boolean));
  filters.verdict = several("verdict");
  filters.language = several("language");
  filters.model = new Set(parameters.getAll("model"));
  filters.path = parameters.get("path") || "";
  filters.q = parameters.get("q") || "";
  filters.order = ORDERS[parameters.get("order")] ? parameters.get("order") : "leaks";
  byId("search").value = filters.q;
  byId("path").value = filters.path;
  byId("order").value = filters.order;
  for (const box of document.querySelectorAll(".chips input")) {
    box.checked = filters[box.name].has(box.value);
  }
}

function refilter() {
  active = 0;
  history.replaceState(null, "", query());
  select();
  draw();
}

function makeFilters() {
  const count = (key, value) => functions.filter((f) => f[key] === value).length;
  const chips = (key, values) =>
    values.map((value) => {
      const box = el("input", { type: "checkbox", name: key, value });
      box.addEventListener("change", () => {
        if (box.checked) filters[key].add(value);
        else filters[key].delete(value);
        refilter();
      });
      return el("label", { class: `chip ${key === "verdict" ? value : ""}` }, box, ` ${value} `, el("small", {}, String(count(key, value))));
    });
  byId("verdicts").append(...chips("verdict", VERDICTS));
  byId("languages").append(...chips("language", [...new Set(functions.map((f) => f.language))]));
  const models = [...new Set(functions.map((f) => f.model))].filter(Boolean);
  byId("models").append(...chips("model", models));
  byId("models-field").hidden = models.length < 2;
  const folders = new Set();
  for (const { path } of functions) {
    const cut = path.lastIndexOf("/");
    folders.add(cut < 0 ? path : path.slice(0, cut + 1));
  }
  byId("paths").append(...[...folders].sort().slice(0, 300).map((value) => el("option", { value })));
  for (const [id, key] of [["search", "q"], ["path", "path"], ["order", "order"]]) {
    byId(id).addEventListener("input", () => {
      filters[key] = byId(id).value;
      refilter();
    });
  }
  byId("clear").addEventListener("click", () => {
    readQuery("");
    refilter();
    byId("search").focus();
  });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").hidden = false;
}
