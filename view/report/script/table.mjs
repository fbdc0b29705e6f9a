// Functions on tables and addresses that know nothing of a page. page.mjs uses them, and table.test.mjs tests them.

const collator = new Intl.Collator();

// compare orders two values of a column: numbers by size, words by the alphabet, and what is missing last, also when the order is turned.
export function compare(a, b, down) {
  if (a === "" || b === "") {
    return (a === "") - (b === "");
  }
  const order = Number.isNaN(Number(a)) || Number.isNaN(Number(b)) ? collator.compare(a, b) : a - b;
  return down ? -order : order;
}

// matches says whether a row is shown: its facets are the chosen ones, and its text has all words.
export function matches(facets, text, filters) {
  for (const [name, wanted] of Object.entries(filters)) {
    if (name === "text") {
      const words = wanted.toLowerCase().split(/\s+/);
      if (!words.every((word) => text.toLowerCase().includes(word))) {
        return false;
      }
    } else if (wanted !== "" && facets[name] !== wanted) {
      return false;
    }
  }
  return true;
}

// markdown writes lines of cells, the first one the heads, as a table of Markdown.
export function markdown(lines) {
  const line = (cells) => "| " + cells.map((text) => text.replace(/[\\|]/g, "\\$&")).join(" | ") + " |";
  return [line(lines[0]), "|" + " --- |".repeat(lines[0].length), ...lines.slice(1).map(line)].join("\n") + "\n";
}

// csv writes lines of cells as RFC 4180 has them.
export function csv(lines) {
  const cell = (text) => (/[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text);
  return lines.map((cells) => cells.map(cell).join(",") + "\r\n").join("");
}

const special = {
  "\\": "\\textbackslash{}",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  "±": "$\\pm$",
  "−": "$-$",
  "<": "$<$",
  ">": "$>$",
  "–": "--",
  "…": "\\ldots{}",
};

// latex writes lines of cells as a tabular of package booktabs; numeric says which columns stand to the right.
export function latex(lines, numeric) {
  const cell = (text) => text.replace(/[\\~^±−<>–…]|[&%$#_{}]/g, (c) => special[c] || "\\" + c);
  const line = (cells) => cells.map(cell).join(" & ") + " \\\\";
  return (
    [
      "\\begin{tabular}{" + numeric.map((right) => (right ? "r" : "l")).join("") + "}",
      "\\toprule",
      line(lines[0]),
      "\\midrule",
      ...lines.slice(1).map(line),
      "\\bottomrule",
      "\\end{tabular}",
    ].join("\n") + "\n"
  );
}

// read finds what an address says of a part of the page: its parameters PART.NAME by NAME.
export function read(search, part) {
  const state = {};
  for (const [key, value] of new URLSearchParams(search)) {
    if (key.startsWith(part + ".")) {
      state[key.slice(part.length + 1)] = value;
    }
  }
  return state;
}

// write is an address that says the state of a part of the page, and still that of the others. What is "" is not said.
export function write(search, part, state) {
  const all = new URLSearchParams(search);
  for (const key of [...all.keys()]) {
    if (key.startsWith(part + ".")) {
      all.delete(key);
    }
  }
  for (const [name, value] of Object.entries(state)) {
    if (value !== "") {
      all.set(part + "." + name, value);
    }
  }
  const text = all.toString();
  return text === "" ? "" : "?" + text;
}
