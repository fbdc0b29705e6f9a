// The page of a study asks for itself every two seconds and shows what has come. Where it does not come, it says so.

const every = 2000;

// renew puts what a new page says into this one. It keeps the page as it is where nothing has changed.
export function renew(now, fresh) {
  if (now.innerHTML === fresh.innerHTML) {
    return false;
  }
  const boxes = Array.from(now.querySelectorAll(".scroll,.errors"), (box) => [box.scrollLeft, box.scrollTop]);
  now.replaceChildren(...fresh.childNodes);
  now.querySelectorAll(".scroll,.errors").forEach((box, i) => box.scrollTo({ left: boxes[i]?.[0], top: boxes[i]?.[1], behavior: "instant" }));
  return true;
}

async function look() {
  try {
    const answer = await fetch(".", { cache: "no-store" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("board");
    if (!answer.ok || fresh === null) {
      throw new Error("no board");
    }
    document.title = page.title;
    renew(document.getElementById("board"), fresh);
  } catch {
    document.getElementById("lost").hidden = false;
  }
  setTimeout(look, every);
}

if (typeof document !== "undefined") {
  setTimeout(look, every);
}
