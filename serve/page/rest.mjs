// The history, the classes and the versions on the page of `ocl serve`.
import { back, chosenOf, pictureOf, things, turn } from "./label.mjs";
import { ask, button, byId, clock, count, element, percent } from "./words.mjs";

// told is a deed in words.
export function told(deed) {
  const who = deed.who || "somebody";
  switch (deed.kind) {
    case "label":
      return `${who} labelled a picture ${deed.label}${deed.was ? `, which was ${deed.was}` : ""}.`;
    case "unlabel":
      return `${who} took the label ${deed.was} away.`;
    case "mark":
      return deed.label ? `${who} ${deed.label} a picture.` : `${who} brought a ${deed.was} picture back.`;
    case "class":
      return `${who} added the class ${deed.label}.`;
    case "rename":
      return `${who} renamed the class ${deed.was} to ${deed.label}.`;
    case "merge":
      return `${who} made the class ${deed.was} a part of ${deed.label}.`;
    case "split":
      return `${who} split the class ${deed.label} off ${deed.was}.`;
    case "remove":
      return `${who} removed the class ${deed.was}.`;
    case "version":
      return `${who} kept the version ${deed.label}.`;
    case "rollback":
      return `${who} went back to version ${count(deed.version)}.`;
    default:
      return `${who}: ${deed.kind}.`;
  }
}

const mostDeeds = 50;

// history shows the last deeds, or those before a number below them.
export async function history(before) {
  const list = byId("deeds");
  try {
    const { deeds } = await ask(`v1/history?count=${mostDeeds}${before ? `&before=${before}` : ""}`);
    const items = deeds.map((deed) => {
      const item = element("li");
      const text = element("span");
      text.append(element("time", clock(deed.time)), told(deed));
      if (deed.id) {
        item.append(pictureOf(deed.id));
      }
      item.append(text);
      if (deed.last) {
        item.append(
          button("Undo", async () => {
            try {
              await ask(...back(deed.kind, deed.id, deed.was));
              byId("undone").textContent = `Undone: ${told(deed)}`;
              await history();
            } catch (error) {
              byId("undone").textContent = `It was not undone: ${error.message}`;
            }
          }),
        );
        item.lastChild.setAttribute("aria-label", `undo: ${told(deed)}`);
      }
      return item;
    });
    before ? list.append(...items) : list.replaceChildren(...(items.length > 0 ? items : [element("li", "Nothing yet.")]));
    byId("more").hidden = deeds.length < mostDeeds;
    byId("more").onclick = () => history(deeds[deeds.length - 1].number);
  } catch (error) {
    byId("undone").textContent = `The history did not come: ${error.message}`;
  }
}

// compared are the classes of two accuracies: name, pictures, the share of each, and how many points more the second has.
export function compared(one, other) {
  const shares = new Map(other.classes.map((c) => [c.name, c.accuracy]));
  return one.classes.map((c) => [c.name, count(c.samples), percent(c.accuracy), percent(shares.get(c.name)), points(c.accuracy, shares.get(c.name))]);
}

// points is how many points of per cent more a share is than another one.
export const points = (one, other) => {
  const more = 100 * (other - one);
  return (more > 0 ? "+" : more < 0 ? "−" : "") + Math.abs(more).toFixed(1);
};

const nameOf = (version) => version.name || `version ${count(version.number)}`;

async function compare(version) {
  byId("kept").textContent = `${nameOf(version)} is compared with what answers now.`;
  try {
    const one = await ask(`v1/versions/${version.number}/accuracy`);
    const now = await ask("v1/versions/now/accuracy");
    byId("comparison").hidden = false;
    byId("compared").textContent =
      one.samples > 0 ? `${nameOf(version)}: ${percent(one.accuracy)}, now: ${percent(now.accuracy)}` : "Nothing is held out yet, so nothing can be compared";
    byId("compared-on").textContent = `Accuracy on the ${count(one.samples)} pictures that are held out now and never learned, at most 20 of a class.`;
    byId("comparison-rows").replaceChildren(...compared(one, now).map((cells) => rowOf(...cells.map((text, i) => element("td", text, i > 0 ? "n" : undefined)))));
    byId("kept").textContent = "";
  } catch (error) {
    byId("kept").textContent = `They were not compared: ${error.message}`;
  }
}

function rowOf(...cells) {
  const row = element("tr");
  row.append(...cells);
  return row;
}

// versions shows those that are kept, the last one first.
export async function versions() {
  try {
    const list = (await ask("v1/versions")).versions.toReversed();
    const rows = list.map((version) => {
      const does = element("td");
      const goBack = button("Go back", async () => {
        if (goBack.dataset.sure === undefined) {
          goBack.dataset.sure = "yes";
          goBack.textContent = "Go back: sure?";
          return;
        }
        try {
          await ask("v1/rollback", "POST", { version: version.number });
          byId("kept").textContent = `The weights are those of ${nameOf(version)} again.`;
        } catch (error) {
          byId("kept").textContent = `It did not go back: ${error.message}`;
        }
        await versions();
      });
      const test = button("Compare with now", () => compare(version));
      test.setAttribute("aria-label", `compare ${nameOf(version)} with now`);
      does.append(test, " ", goBack);
      return rowOf(element("td", version.name || "no name"), element("td", new Date(version.time).toLocaleString("en-GB")), element("td", count(version.number), "n"), does);
    });
    if (rows.length === 0) {
      rows.push(rowOf(Object.assign(element("td", "No version is kept yet."), { colSpan: 4 })));
    }
    byId("version-rows").replaceChildren(...rows);
  } catch (error) {
    byId("kept").textContent = `The versions did not come: ${error.message}`;
  }
}

const versionsGo = (why) => `All versions that are kept go, as their weights ${why}. This cannot be undone.`;

// changes are what can be done to a class: what is asked before, by how many pictures have its label and how many are chosen, and the request.
export const changes = {
  rename: {
    word: "Rename",
    question: ({ of, to, labelled }) => `Rename ${of} to ${to}? It changes the labels of ${things(labelled)}.`,
    request: ({ path, to }) => [path, "PATCH", { name: to }],
  },
  merge: {
    word: "Merge",
    question: ({ of, to, labelled }) => `Make ${of} a part of ${to}? It changes the labels of ${things(labelled)}. ${versionsGo("tell the two apart")}`,
    request: ({ path, to }) => [path, "PATCH", { into: to }],
  },
  split: {
    word: "Split",
    question: ({ of, to, labelled, ids }) => `Make a new class ${to} of ${of}? It changes the labels of ${things(ids.length)} of ${count(labelled)}.`,
    request: ({ path, to, ids }) => [`${path}/split`, "POST", { name: to, ids }],
  },
  remove: {
    word: "Remove",
    question: ({ of, labelled }) => `Remove ${of}? It erases ${things(labelled)} everywhere. ${versionsGo("still know the class")}`,
    request: ({ path }) => [path, "DELETE"],
  },
};

// shapeChange shows what the chosen change of a class needs.
function shapeChange() {
  const how = byId("class-how").value;
  byId("as-name").hidden = how === "merge" || how === "remove";
  byId("class-to").required = !byId("as-name").hidden;
  byId("as-class").hidden = how !== "merge";
  byId("how-to-split").hidden = how !== "split";
}

// changeClass asks whether a class shall change, and changes it.
async function changeClass() {
  const how = byId("class-how").value;
  const of = byId("class-of").value;
  const said = byId("added");
  try {
    const { total } = await ask(`v1/samples?${new URLSearchParams({ filter: "labelled", class: of, count: "1" })}`);
    const to = how === "merge" ? byId("class-into").value : byId("class-to").value.trim();
    const it = { of, to, labelled: total, ids: chosenOf(of), path: `v1/classes/${encodeURIComponent(of)}` };
    if (how === "split" && it.ids.length === 0) {
      said.textContent = `No picture that is labelled ${of} is chosen.`;
      return;
    }
    byId("question").textContent = changes[how].question(it);
    byId("yes").textContent = changes[how].word;
    byId("yes").onclick = async () => {
      byId("sure").close();
      try {
        const { carries } = await ask(...changes[how].request(it));
        said.textContent = `Done. ${carries ?? ""}`;
        byId("class-to").value = "";
        await turn();
      } catch (error) {
        said.textContent = `It was not changed: ${error.message}`;
      }
    };
    byId("sure").showModal();
  } catch (error) {
    said.textContent = `It was not changed: ${error.message}`;
  }
}

// mayChange shows the form that changes classes to who may do that.
export async function mayChange() {
  byId("change-class").hidden = (await ask("v1/session")).role !== "admin";
}

// beginRest makes the forms of these parts work, once.
export function beginRest() {
  byId("keep").addEventListener("submit", async (e) => {
    e.preventDefault();
    const field = byId("version-name");
    try {
      const version = await ask("v1/versions", "POST", { name: field.value.trim() });
      byId("kept").textContent = `Kept as ${nameOf(version)}.`;
      field.value = "";
    } catch (error) {
      byId("kept").textContent = `It was not kept: ${error.message}`;
    }
    await versions();
  });
  byId("class-how").addEventListener("change", shapeChange);
  shapeChange();
  byId("change-class").addEventListener("submit", (e) => {
    e.preventDefault();
    changeClass();
  });
  byId("new-class").addEventListener("submit", async (e) => {
    e.preventDefault();
    const field = byId("class-name");
    try {
      await ask("v1/classes", "POST", { name: field.value.trim() });
      byId("added").textContent = `The class ${field.value.trim()} is there.`;
      field.value = "";
    } catch (error) {
      byId("added").textContent = `It was not added: ${error.message}`;
    }
  });
}
