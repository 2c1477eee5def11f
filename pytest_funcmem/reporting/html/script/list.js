// The list of functions: only the rows near what is seen are drawn.

function row(position) {
  const f = functions[shown[position]];
  const pair = (one, two) => el("span", { class: "figures" }, el("b", {}, figure(one)), " / ", figure(two));
  const link = el(
    "a",
    { href: `#/f/${f.number}`, class: "row", tabindex: position === active ? 0 : -1 },
    badge(f.verdict),
    el("span", { class: "name" }, el("b", {}, f.name), el("small", {}, f.model ? el("span", { class: "model" }, `${f.model} · `) : null, f.standing ? `${f.standing} · ` : null, f.nodeid.slice(0, f.nodeid.lastIndexOf("::")))),
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
