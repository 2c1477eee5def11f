// Theme, keys, printing, and what begins it all.

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
