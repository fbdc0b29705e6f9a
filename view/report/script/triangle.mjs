// A triangle of differences says its cells in words, and is walked through by the arrow keys. triangle.test.mjs tests the functions that know
// nothing of a page.

// words says a cell: the names of its row and of that of its column, its text and its tip.
export function words(row, column, text, tip) {
  const verdict = { "▲": "better", "▼": "worse" }[text[0]] || "not decided";
  if (text === "·") {
    return `${row} against ${column}: ${tip}.`;
  }
  return `${row} against ${column}: ${text.replace("▲", "+").replace("▼", "−")} ${tip}: ${verdict}.`;
}

// step is where a key leads from a cell of a triangle of so many lines, of which line i has i cells; undefined where it leads nowhere.
export function step(key, line, column, lines) {
  const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -column], End: [0, line - 1 - column] }[key];
  if (!move) {
    return undefined;
  }
  const to = [line + move[0], column + move[1]];
  return to[0] < lines && to[1] >= 0 && to[1] < to[0] ? to : undefined;
}

// triangle makes a triangle of the page answer.
export function triangle(figure) {
  const body = figure.querySelector("table").tBodies[0];
  const said = figure.querySelector("output");
  const name = (line) => body.rows[line].cells[0].querySelector("span").textContent;
  const place = (cell) => [cell.parentElement.rowIndex - 1, cell.cellIndex - 1];
  let chosen = body.rows[1].cells[1];
  const say = (cell) => {
    const [line, column] = place(cell);
    said.textContent = words(name(line), name(column), cell.textContent.trim(), cell.title);
  };
  const choose = (cell) => {
    chosen.tabIndex = -1;
    chosen = cell;
    chosen.tabIndex = 0; // the one stop of the tabulator
    chosen.focus();
  };
  const cellOf = (event) => event.target.closest("tbody td");
  chosen.tabIndex = 0;
  body.addEventListener("focusin", (event) => cellOf(event) && say(cellOf(event)));
  body.addEventListener("click", (event) => cellOf(event) && choose(cellOf(event)));
  body.addEventListener("mouseover", (event) => cellOf(event) && say(cellOf(event)));
  body.addEventListener("mouseleave", () => body.contains(document.activeElement) && say(chosen));
  body.addEventListener("keydown", (event) => {
    const to = cellOf(event) && step(event.key, ...place(cellOf(event)), body.rows.length);
    if (to) {
      event.preventDefault(); // the arrow keys would scroll too
      choose(body.rows[to[0]].cells[to[1] + 1]);
    }
  });
}
