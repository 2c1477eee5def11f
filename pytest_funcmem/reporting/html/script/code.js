// The three codes of a function, aligned line by line.

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
