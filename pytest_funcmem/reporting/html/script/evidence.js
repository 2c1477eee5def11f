// What the three did: figures, input states with outputs, call logs.

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
