"use strict";
// The list and the pages of the report. Text of an audit is hostile: it becomes text nodes and attribute
// values only, never markup. Nothing is fetched from anywhere.
(() => {
  const VERDICTS = ["functional", "verbatim", "clean", "inconclusive", "error"];
  const STANDINGS = {
    accepted: "This leak is accepted by the baseline.",
    expired: "This leak was accepted by the baseline up to an earlier day.",
    counted: "This leak is counted by a maximal rate and does not fail by itself.",
  };
  const OVERSCAN = 12; // rows drawn beyond what is seen
  const PRINTED = 400; // rows of the list that are printed
  const WORDS = 400; // words of a line that are compared within it
  const byId = (id) => document.getElementById(id);
  const list = byId("rows");
  const pageView = byId("page");

  // ------------------------------------------------------------------------------------- building nodes

  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === true) node.setAttribute(name, "");
      else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
    }
    for (const child of children.flat(3)) {
      if (child !== null && child !== undefined) node.append(child);
    }
    return node;
  }

  const figure = (value) => (value === null || value === undefined ? "n/a" : value.toFixed(2));
  const exact = (value) => (value === null || value === undefined ? "n/a" : value.toFixed(3));
  const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  const badge = (kind) => el("span", { class: `badge ${kind}` }, kind);

  // ------------------------------------------------------------------------------------- unpacking data

  async function unpack(node) {
    const raw = atob(node.textContent);
    const bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i += 1) bytes[i] = raw.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  }

  const parsed = new Promise((resolve) => {
    if (document.readyState !== "loading") resolve();
    else document.addEventListener("DOMContentLoaded", resolve, { once: true });
  });
  const chunks = new Map();

  async function detailsOf(number) {
    const chunk = Math.floor(number / index.chunk);
    if (!byId(`chunk-${chunk}`)) await parsed;
    if (!chunks.has(chunk)) {
      if (chunks.size > 8) chunks.delete(chunks.keys().next().value);
      chunks.set(chunk, unpack(byId(`chunk-${chunk}`)));
    }
    return (await chunks.get(chunk))[number % index.chunk];
  }

  // ------------------------------------------------------------------------------------- state

  let index = { chunk: 1, taus: [0.8, 0.75], rows: [] };
  let functions = []; // one object a row of the index
  let shown = []; // numbers of the functions that pass the filters, in order
  let active = 0; // position in shown that the keyboard is at
  let rowHeight = 56;
  let scrolled = 0; // where the list was when a page was opened
  let opened = null; // number of the function whose page is shown
  const filters = { verdict: new Set(), language: new Set(), path: "", q: "", order: "leaks" };

  function prepare() {
    functions = index.rows.map((row, number) => {
      const [nodeid, verdict, language, path, name, reason, tf, tt, rf, rt, standing] = row;
      const hay = `${nodeid}\n${path}\n${verdict}\n${language}\n${standing}\n${reason}`.toLowerCase();
      return { number, nodeid, verdict, language, path, name, reason, tf, tt, rf, rt, standing, hay };
    });
  }

  // ------------------------------------------------------------------------------------- filters

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
          (!path || f.path.toLowerCase().includes(path)) &&
          words.every((word) => f.hay.includes(word)),
      )
      .sort(ORDERS[filters.order] || ORDERS.leaks)
      .map((f) => f.number);
    active = Math.max(0, Math.min(active, shown.length - 1));
    byId("found").textContent =
      shown.length === functions.length
        ? plural(functions.length, "function")
        : `${shown.length} of ${plural(functions.length, "function")}`;
  }

  function query() {
    const parameters = new URLSearchParams();
    if (filters.verdict.size) parameters.set("verdict", [...filters.verdict].join(","));
    if (filters.language.size) parameters.set("language", [...filters.language].join(","));
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

  // ------------------------------------------------------------------------------------- the list

  function row(position) {
    const f = functions[shown[position]];
    const pair = (one, two) => el("span", { class: "figures" }, el("b", {}, figure(one)), " / ", figure(two));
    const link = el(
      "a",
      { href: `#/f/${f.number}`, class: "row", tabindex: position === active ? 0 : -1 },
      badge(f.verdict),
      el("span", { class: "name" }, el("b", {}, f.name), el("small", {}, f.standing ? `${f.standing} · ` : null, f.nodeid.slice(0, f.nodeid.lastIndexOf("::")))),
      el("span", { class: "language" }, f.language),
      el("span", { class: "func" }, el("small", {}, "SIM_func "), pair(f.tf, f.rf)),
      el("span", { class: "text" }, el("small", {}, "SIM_text "), pair(f.tt, f.rt)),
    );
    link.dataset.position = position;
    const item = el("li", { "aria-setsize": shown.length, "aria-posinset": position + 1 }, link);
    return item;
  }

  function draw() {
    if (opened !== null) return;
    const focused = list.contains(document.activeElement);
    rowHeight = parseFloat(getComputedStyle(list).getPropertyValue("--row")) || 56;
    list.style.height = `${shown.length * rowHeight}px`;
    const top = -list.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / rowHeight) - OVERSCAN);
    const seen = Math.max(Math.ceil((top + innerHeight) / rowHeight), first + OVERSCAN);
    const last = Math.min(shown.length, seen + OVERSCAN);
    const wanted = [];
    for (let position = first; position < last; position += 1) wanted.push(position);
    // The row that the keyboard is at stays, so that it can be tabbed to from anywhere.
    if (shown.length && (active < first || active >= last)) wanted.push(active);
    const nodes = wanted.map((position) => {
      const item = row(position);
      item.style.top = `${position * rowHeight}px`;
      return item;
    });
    list.replaceChildren(...nodes);
    if (!shown.length) list.append(el("li", { class: "nothing" }, "No function passes these filters."));
    if (focused) focusRow();
  }

  function focusRow() {
    const link = list.querySelector(`[data-position="${active}"]`);
    if (link) link.focus({ preventScroll: true });
  }

  function moveTo(position) {
    if (!shown.length) return;
    active = Math.max(0, Math.min(position, shown.length - 1));
    const top = list.getBoundingClientRect().top + active * rowHeight;
    const header = document.querySelector(".top").getBoundingClientRect().height;
    if (top < header) scrollBy(0, top - header - 8);
    else if (top + rowHeight > innerHeight) scrollBy(0, top + rowHeight - innerHeight + 8);
    draw();
    focusRow();
  }

  let waiting = false;
  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  }

  // ------------------------------------------------------------------------------------- one function

  function words(line) {
    return (line.match(/[\p{L}\p{N}_]+|\s+|[^]/gu) || []).slice(0, WORDS);
  }

  // For each word of the second line, whether a longest common run of words with the first leaves it out.
  function changedWords(one, two) {
    const a = words(one);
    const b = words(two);
    const best = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
    for (let i = a.length - 1; i >= 0; i -= 1) {
      for (let j = b.length - 1; j >= 0; j -= 1) {
        best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
      }
    }
    const changed = new Array(b.length).fill(true);
    for (let i = 0, j = 0; i < a.length && j < b.length; ) {
      if (a[i] === b[j]) {
        changed[j] = false;
        i += 1;
        j += 1;
      } else if (best[i + 1][j] >= best[i][j + 1]) i += 1;
      else j += 1;
    }
    return b.map((word, at) => [word, changed[at]]);
  }

  function codeCell(line, original, mark, side) {
    const cell = el("td", { class: `code m${MARKS[mark][0]}`, "data-side": side });
    if (line === null) return cell;
    if (mark !== "~") {
      cell.append(line);
      return cell;
    }
    let read = 0;
    for (const [word, changed] of changedWords(original, line)) {
      read += word.length;
      cell.append(changed && word.trim() ? el("b", {}, word) : word);
    }
    cell.append(line.slice(read));
    return cell;
  }

  const MARKS = {
    "=": ["same", "equal"],
    "~": ["changed", "changed"],
    "+": ["added", "added"],
    "-": ["missing", "missing"],
    " ": ["none", ""],
  };

  function markCell(mark) {
    const [name, title] = MARKS[mark];
    return el("td", { class: `mark m${name}`, title: title || null }, mark === "-" ? "−" : mark);
  }

  function code(d) {
    const [original, target, reference] = d.bodies;
    const unreached = new Set((d.harness && d.harness.unreached) || []);
    const both = Boolean(target);
    const head = el(
      "tr",
      {},
      el("th", { scope: "col" }, el("span", { class: "hidden" }, "line")),
      el("th", { scope: "col" }, "original"),
      both && [
        el("th", { scope: "col" }, el("span", { class: "hidden" }, "mark")),
        el("th", { scope: "col" }, "target"),
        el("th", { scope: "col" }, el("span", { class: "hidden" }, "mark")),
        el("th", { scope: "col" }, "reference"),
      ],
    );
    const rows = d.rows.map(([o, t, tm, r, rm]) => {
      const line = o === null ? "" : original[o];
      const number = o === null ? "" : String(d.first + o);
      const missed = o !== null && unreached.has(d.first + o);
      return el(
        "tr",
        { class: o === null ? "extra" : null },
        el("td", { class: missed ? "number missed" : "number", title: missed ? "no input state reaches this line" : null }, number),
        el("td", { class: "code", "data-side": "original" }, line),
        both && [
          markCell(tm),
          codeCell(t === null ? null : target[t], line, tm, "target"),
          markCell(rm),
          codeCell(r === null ? null : reference[r], line, rm, "reference"),
        ],
      );
    });
    return el(
      "section",
      { class: "codes", "aria-labelledby": "code-title" },
      el("h2", { id: "code-title" }, "Code"),
      el("p", { class: "legend" }, "= equal  ~ changed  + added  − missing", unreached.size ? "  · struck line numbers: no input state reaches the line" : null),
      el("pre", { class: "signature" }, d.signature.join("\n")),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Original, target and reference, aligned" },
        el("table", { class: "diff" }, el("thead", {}, head), el("tbody", {}, rows))),
    );
  }

  function figures(d) {
    if (!d.target || !d.reference) return null;
    const { target, reference } = d;
    const runs = (side) => Object.values(side.outcomes).reduce((sum, count) => sum + count, 0);
    const ends = (side) =>
      Object.entries(side.outcomes).map(([kind, count]) => `${count} ${kind}`).join(", ") || "not run";
    const rows = [
      ["SIM_func", (s) => figure(s.func)],
      ["states that match", (s) => (s.matches === null ? "n/a" : `${s.matches}${runs(s) ? ` of ${runs(s)}` : ""}`)],
      ["runs ended", ends],
      ["SIM_text (BLEU)", (s) => exact(s.bleu)],
      ["edit similarity", (s) => exact(s.edit)],
      ["longest common substring", (s) => exact(s.lcs)],
      ["same text", (s) => (s.exact ? "yes" : "no")],
      ...target.scores.map(([name], at) => [
        name,
        (s) => {
          const [, value, note] = s.scores[at] || [name, null, ""];
          return note ? `${exact(value)} (${note})` : exact(value);
        },
      ]),
      ["candidate", (s) => (s.detail ? `${s.candidate}: ${s.detail}` : s.candidate)],
      ["stopped by", (s) => s.stop],
      ["model", (s) => s.model],
      ["revision", (s) => s.revision],
      ["on", (s) => s.on || "unknown"],
    ];
    return el(
      "section",
      { "aria-labelledby": "figures-title" },
      el("h2", { id: "figures-title" }, "Similarity to the original"),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Similarity to the original" },
        el("table", { class: "sides" },
          el("thead", {}, el("tr", {}, el("td", {}), el("th", { scope: "col" }, "target"), el("th", { scope: "col" }, "reference"))),
          el("tbody", {}, rows.map(([name, of]) =>
            el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, of(target)), el("td", {}, of(reference))))))),
      el("details", {}, el("summary", {}, "How these were computed"),
        el("ul", { class: "plain" }, target.signatures.map((signature) => el("li", {}, el("code", {}, signature))))),
    );
  }

  function parts(all, own) {
    // Parts as the table shows them: the result, then what differs, then (folded) the rest.
    const text = (part) => (part[1] === null ? "none" : part[1]);
    const one = (part) =>
      el("div", { class: "part" }, part[0] === "result" ? null : el("span", { class: "part-name" }, `${part[0]}: `), text(part));
    if (own) {
      const differing = own.filter((part) => part.length > 1);
      const same = own.filter((part) => part.length === 1).map((part) => part[0]);
      return [
        differing.map(one),
        same.length ? el("div", { class: "part same" }, `= ${same.slice(0, 6).join(", ")}${same.length > 6 ? " …" : ""}`) : null,
      ];
    }
    const rest = all.filter((part) => part[0] !== "result");
    return [
      all.filter((part) => part[0] === "result").map(one),
      rest.length > 2
        ? el("details", {}, el("summary", {}, `${plural(rest.length, "more part")}`), rest.map(one))
        : rest.map(one),
    ];
  }

  function states(d) {
    if (!d.states.length) return null;
    const same = (side) => d.states.filter((state) => state[side] === null).length;
    const cell = (side, name, state) =>
      state[side] === null
        ? el("td", { class: "match", "data-side": name }, "= matches")
        : el("td", { class: "differs", "data-side": name }, el("div", { class: "tag" }, "≠ differs"), parts(null, state[side]));
    return el(
      "section",
      { "aria-labelledby": "states-title" },
      el("h2", { id: "states-title" }, "Input states and outputs"),
      el("p", {}, `Of ${plural(d.states.length, "input state")} the target's output matches the original's on ${same(2)}, the reference's on ${same(3)}.`),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Input states and outputs" },
        el("table", { class: "states" },
          el("thead", {}, el("tr", {}, ["", "input state", "original", "target", "reference"].map((name, at) =>
            at ? el("th", { scope: "col" }, name) : el("td", {}, "")))),
          el("tbody", {}, d.states.map((state, at) =>
            el("tr", {},
              el("th", { scope: "row" }, String(at + 1)),
              el("td", { class: "state", "data-side": "input" }, state[0].map((line) => el("div", {}, line))),
              el("td", { "data-side": "original" }, parts(state[1], null)),
              cell(2, "target", state),
              cell(3, "reference", state)))))),
      d.more_states ? el("p", {}, `and ${plural(d.more_states, "more state")}`) : null,
    );
  }

  function calls(d) {
    const isCall = (part) => part[0].startsWith("call ");
    const of = (own, original) =>
      own.filter((part) => isCall(part) && part[1] !== null).map((part) => {
        const twin = original.find((other) => other[0] === part[0]);
        return { text: part.length > 1 ? part[1] : twin[1], same: part.length === 1 };
      });
    const logs = d.states.flatMap((state, at) => {
      const original = state[1].filter(isCall);
      const own = (side) => (state[side] === null ? null : of(state[side], state[1]));
      const [target, reference] = [own(2), own(3)];
      if (!original.length && !(target && target.length) && !(reference && reference.length)) return [];
      return [{ at, original: original.map((part) => ({ text: part[1], same: true })), target, reference }];
    });
    if (!logs.length) return null;
    const log = (entries) =>
      entries === null
        ? el("p", { class: "same" }, "= as the original")
        : entries.length
          ? el("ol", {}, entries.map((entry) => el("li", { class: entry.same ? null : "differs" }, el("code", {}, entry.text))))
          : el("p", {}, "no calls");
    return el(
      "section",
      { "aria-labelledby": "calls-title" },
      el("h2", { id: "calls-title" }, "Call logs"),
      el("p", {}, "External effects in order: what was called, with which arguments."),
      logs.map(({ at, original, target, reference }) =>
        el("details", { class: "log" },
          el("summary", {}, `State ${at + 1}: ${plural(original.length, "call")}`),
          el("div", { class: "logs" },
            el("div", {}, el("h3", {}, "original"), log(original)),
            el("div", {}, el("h3", {}, "target"), log(target)),
            el("div", {}, el("h3", {}, "reference"), log(reference))))),
    );
  }

  function harness(d) {
    const h = d.harness;
    if (!h) return null;
    const share = (part, whole) => (whole ? ` (${Math.round((100 * part) / whole)} %)` : "");
    const rows = [];
    if (h.none) rows.push(["no harness", `${h.none}: ${h.detail}`]);
    if (h.builder) rows.push(["built by", `${h.builder}, version ${h.version} of the scaffold`]);
    if (h.sha256) rows.push(["sha256", h.sha256]);
    if (h.inputs !== undefined) {
      rows.push(
        ["input states", `${h.inputs}, of which ${h.valid} distinct and valid`],
        ["outputs", `${h.outputs} distinct`],
        ["coverage", `${h.covered} of ${plural(h.lines, "line")}${share(h.covered, h.lines)}`],
        ["strength", h.mutants ? `${h.killed} of ${plural(h.mutants, "mutant")} told apart${share(h.killed, h.mutants)}` : "no mutants"],
        ["mocks", `${h.mocked} of ${plural(h.inputs, "state")} rest on a made-up value${h.mocks && h.mocks.length ? `: ${h.mocks.join(", ")}` : ""}`],
      );
    }
    if (h.timeout_s !== undefined) rows.push(["time limit", `${h.timeout_s} s a state`]);
    return el(
      "section",
      { "aria-labelledby": "harness-title" },
      el("h2", { id: "harness-title" }, "Harness"),
      el("dl", { class: "about" }, rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
      h.proofs && h.proofs.length
        ? el("details", {}, el("summary", {}, `${plural(h.proofs.length, "proof")}, ${h.proofs.every((proof) => proof[2]) ? "all passed" : "not all passed"}`),
            el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Proofs" },
              el("table", {},
                el("thead", {}, el("tr", {}, ["stand-in for the original", "score", "passed"].map((name) => el("th", { scope: "col" }, name)))),
                el("tbody", {}, h.proofs.map(([name, score, passed]) =>
                  el("tr", { class: passed ? null : "differs" }, el("th", { scope: "row" }, el("code", {}, name)), el("td", {}, figure(score)), el("td", {}, passed ? "yes" : "NO")))))))
        : null,
    );
  }

  async function openPage(number) {
    const f = functions[number];
    const d = await detailsOf(number);
    if (opened !== number) return; // another was opened meanwhile
    const at = shown.indexOf(number);
    const step = (to, text, key) =>
      at >= 0 && shown[to] !== undefined
        ? el("a", { href: `#/f/${shown[to]}`, "aria-keyshortcuts": key }, text)
        : el("span", { class: "off" }, text);
    pageView.replaceChildren(
      el("nav", { class: "steps", "aria-label": "Functions" },
        el("a", { href: query(), "aria-keyshortcuts": "Escape" }, "← all functions"),
        step(at - 1, "previous", "p"),
        step(at + 1, "next", "n"),
        el("span", {}, at >= 0 ? `${at + 1} of ${shown.length}` : "")),
      el("h1", { id: "page-title", tabindex: "-1" }, badge(f.verdict), " ", f.name),
      el("p", { class: "place" }, el("code", {}, f.nodeid), ` · ${f.language}, line ${d.line}`),
      f.standing ? el("p", { class: "firmness" }, STANDINGS[f.standing]) : "",
      el("p", { class: "reason" }, f.reason),
      ...d.firmness.map((text) => el("p", { class: "firmness" }, text)),
      ...[figures(d), code(d), states(d), calls(d), harness(d)].filter(Boolean),
      el("p", { class: "digest" }, "sha256 of the function ", el("code", {}, d.sha256)),
    );
    pageView.hidden = false;
    document.title = `${f.verdict}: ${f.name}`;
    pageView.dataset.number = number;
    scrollTo(0, 0);
    byId("page-title").focus({ preventScroll: true });
  }

  // ------------------------------------------------------------------------------------- routes

  const title = document.title;

  function route() {
    const hash = location.hash;
    const found = /^#\/f\/(\d+)$/.exec(hash);
    if (found && functions[Number(found[1])]) {
      if (opened === null) scrolled = scrollY;
      opened = Number(found[1]);
      byId("overview").hidden = byId("functions").hidden = true;
      const at = shown.indexOf(opened);
      if (at >= 0) active = at;
      openPage(opened);
      return;
    }
    const came = opened;
    opened = null;
    pageView.hidden = true;
    pageView.replaceChildren();
    byId("overview").hidden = byId("functions").hidden = false;
    document.title = title;
    if (hash.startsWith("#/?")) readQuery(hash.slice(3));
    else if (hash === "#/" || hash === "") readQuery("");
    select();
    if (came !== null) {
      const at = shown.indexOf(came);
      if (at >= 0) active = at;
      scrollTo(0, scrolled);
      draw();
      focusRow();
    } else {
      draw();
      if (hash.startsWith("#/?")) byId("functions").scrollIntoView();
    }
  }

  // ------------------------------------------------------------------------------------- keys, theme, print

  const THEMES = ["system", "light", "dark"];
  function setTheme(name) {
    if (name === "system") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", name);
    byId("theme").textContent = `Theme: ${name}`;
    try {
      localStorage.setItem("funcmem-theme", name);
    } catch {
      // A page opened from a file may have no storage; the theme then lasts as long as the page.
    }
  }
  function startTheme() {
    let kept = null;
    try {
      kept = localStorage.getItem("funcmem-theme");
    } catch {
      kept = null;
    }
    setTheme(THEMES.includes(kept) ? kept : "system");
  }
  function nextTheme() {
    const now = document.documentElement.getAttribute("data-theme") || "system";
    setTheme(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]);
  }

  function onPage(key) {
    const at = shown.indexOf(opened);
    if (key === "Escape") location.hash = query();
    else if (key === "n" && at >= 0 && at + 1 < shown.length) location.hash = `#/f/${shown[at + 1]}`;
    else if (key === "p" && at > 0) location.hash = `#/f/${shown[at - 1]}`;
    else return false;
    return true;
  }

  function onList(key, inList) {
    const page = Math.max(1, Math.floor(innerHeight / rowHeight) - 2);
    const moves = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page };
    if (!inList) {
      if (key !== "j" && key !== "k") return false;
      moveTo(active);
      return true;
    }
    if (key in moves) moveTo(active + moves[key]);
    else if (key === "Home") moveTo(0);
    else if (key === "End") moveTo(shown.length - 1);
    else return false;
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const typing = event.target.closest("input:not([type=checkbox]), select, textarea");
    if (typing) {
      if (event.key === "Escape" && opened === null) typing.blur();
      else if (event.key === "ArrowDown" && typing.id === "search") moveTo(active);
      else return;
      event.preventDefault();
      return;
    }
    let used = true;
    if (event.key === "/" && opened === null) byId("search").focus();
    else if (event.key === "t") nextTheme();
    else if (event.key === "?") byId("help").showModal();
    else if (opened !== null) used = onPage(event.key);
    else used = onList(event.key, list.contains(event.target));
    if (used) event.preventDefault();
  });

  list.addEventListener("focusin", (event) => {
    const link = event.target.closest(".row");
    if (!link || Number(link.dataset.position) === active) return;
    active = Number(link.dataset.position);
    for (const other of list.querySelectorAll(".row")) other.tabIndex = other === link ? 0 : -1;
  });

  addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("article details, #overview details")) {
      if (!fold.open) {
        fold.open = true;
        fold.dataset.unfolded = "1";
      }
    }
    if (opened !== null) return;
    const printed = Math.min(shown.length, PRINTED);
    list.style.height = "auto";
    list.replaceChildren(...Array.from({ length: printed }, (_, position) => row(position)));
    byId("unprinted").textContent = `${plural(shown.length - printed, "more function")} not printed; filter the list before printing.`;
    byId("unprinted").hidden = printed === shown.length;
  });
  addEventListener("afterprint", () => {
    for (const fold of document.querySelectorAll("[data-unfolded]")) {
      fold.open = false;
      delete fold.dataset.unfolded;
    }
    byId("unprinted").hidden = true;
    draw();
  });

  byId("theme").addEventListener("click", nextTheme);
  byId("keys").addEventListener("click", () => byId("help").showModal());
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address keeps the route
    byId("functions").focus();
  });
  addEventListener("scroll", later, { passive: true });
  addEventListener("resize", later);
  addEventListener("hashchange", route);

  startTheme();
  unpack(byId("index")).then((data) => {
    index = data;
    prepare();
    makeFilters();
    select();
    route();
    document.documentElement.dataset.ready = "1";
  });
})();
