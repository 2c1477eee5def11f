// Names that all parts share, building nodes, and unpacking what the page holds.
//
// The parts are one script, in the order that report.py gives them. Text of an audit is hostile: it becomes
// text nodes and attribute values only, never markup. Nothing is fetched from anywhere.

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
