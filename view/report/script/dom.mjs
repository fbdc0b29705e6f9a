// What the scripts of a page share to change it and its address.
import { write } from "./table.mjs";

// make makes an element with attributes, or properties where these are no text, and children.
export const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "string") {
      element.setAttribute(name, value);
    } else {
      element[name] = value;
    }
  }
  element.append(...children);
  return element;
};

// keep writes the state of a part of the page into its address.
export const keep = (part, state) => {
  try {
    history.replaceState(null, "", location.pathname + write(location.search, part, state) + location.hash);
  } catch {
    // Some browsers do not let a page from a disk change its address. All but the address works then.
  }
};
