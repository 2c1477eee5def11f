// Addresses within the page: the list with its filters, or one function.

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
