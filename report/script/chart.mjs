// What one can do with the charts of a page. page.mjs calls charts, and chart.test.mjs tests what knows nothing of a page.
import { keep, make } from "./dom.mjs";
import { read } from "./table.mjs";

// charts gives the charts of the page what they can do.
export function charts() {
  document.querySelectorAll("figure").forEach(switches);
}

// off are the names of a list that are in the text of an address.
export const off = (names, text = "") => new Set(text.split("|").filter((name) => names.includes(name)));

// listed is the text of an address that names what is off, in the order of names.
export const listed = (names, hidden) => names.filter((name) => hidden.has(name)).join("|");

// switches hide lines of a chart.
function switches(figure) {
  const lines = figure.querySelectorAll("g[data-s]");
  const names = Array.from(new Set(Array.from(lines, (line) => line.dataset.s)));
  const places = figure.querySelectorAll(".toggles,.legend li");
  if (names.length < 2 || places.length === 0) {
    return;
  }
  const hidden = off(names, read(location.search, figure.id).hide);
  const inputs = [];
  const show = () => {
    lines.forEach((line) => line.classList.toggle("hide", hidden.has(line.dataset.s)));
    inputs.forEach((input) => (input.checked = !hidden.has(input.name)));
  };
  const box = (name) => {
    const input = make("input", { type: "checkbox", name });
    input.addEventListener("change", () => {
      hidden[input.checked ? "delete" : "add"](name);
      keep(figure.id, { ...read(location.search, figure.id), hide: listed(names, hidden) });
      show();
    });
    inputs.push(input);
    return make("label", {}, input);
  };
  places.forEach((place) => {
    if (place.matches("li")) {
      const label = box(place.dataset.s);
      label.append(...place.childNodes);
      place.append(label);
      return;
    }
    names.forEach((name) => {
      const label = box(name);
      label.append(name);
      place.append(label);
    });
  });
  show();
}
