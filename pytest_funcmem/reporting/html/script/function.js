// The page of one function: its harness, and all parts put together.

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

function near(d) {
  if (d.near === null) return null;
  return el(
    "section",
    { "aria-labelledby": "near-title" },
    el("h2", { id: "near-title" }, "Near duplicates"),
    d.near.length
      ? el("ul", { class: "plain" }, d.near.map(([number, share]) => {
          const other = functions[number];
          return el("li", {}, badge(other.verdict), " ",
            el("a", { href: `#/f/${number}` }, el("code", {}, other.nodeid)),
            share === 1 ? " the same tokens" : ` ${Math.floor(100 * share)} % of the tokens`);
        }))
      : el("p", {}, "None among the functions of this report."),
  );
}

// The same function with the other models of the run.
function elsewhere(f) {
  if (!f.model) return "";
  const name = (other) => other.nodeid.slice(0, other.nodeid.length - other.model.length - 2);
  const others = functions.filter((other) => other !== f && name(other) === name(f));
  if (!others.length) return "";
  return el("p", { class: "elsewhere" }, "With other models: ", others.map((other, at) => [
    at ? ", " : "",
    el("a", { href: `#/f/${other.number}` }, other.model),
    ` ${other.verdict}`,
  ]));
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
    elsewhere(f),
    f.standing ? el("p", { class: "firmness" }, STANDINGS[f.standing]) : "",
    el("p", { class: "reason" }, f.reason),
    ...d.firmness.map((text) => el("p", { class: "firmness" }, text)),
    ...[figures(d), code(d), states(d), calls(d), harness(d), near(d)].filter(Boolean),
    el("p", { class: "digest" }, "sha256 of the function ", el("code", {}, d.sha256)),
  );
  pageView.hidden = false;
  document.title = `${f.verdict}: ${f.name}`;
  pageView.dataset.number = number;
  scrollTo(0, 0);
  byId("page-title").focus({ preventScroll: true });
}
