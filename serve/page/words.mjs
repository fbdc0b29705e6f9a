// What the scripts of the page of `ocl serve` share: words, elements, and requests. Paths are relative, so that a proxy may give the daemon a
// prefix.

// count writes a whole number with separators.
export const count = (n) => Math.round(n).toLocaleString("en-US");

// percent writes a share, and what was not measured.
export const percent = (share) => (typeof share === "number" ? (100 * share).toFixed(1) + "\u00a0%" : "not measured");

// enough is of how many pictures a share says something.
export const enough = 20;

// percentOf writes a share of so many pictures; of few it would be chance.
export const percentOf = (share, of) => (of < enough ? `after ${enough} pictures` : percent(share));

// bytes writes a size.
export function bytes(n) {
  for (const unit of ["bytes", "kB", "MB", "GB"]) {
    if (n < 1000 || unit === "GB") {
      return (unit === "bytes" ? count(n) : n.toFixed(1)) + "\u00a0" + unit;
    }
    n /= 1000;
  }
}

// clock is the time of day of an instant.
export const clock = (time) => new Date(time).toLocaleTimeString("en-GB");

export const byId = (id) => document.getElementById(id);

// element makes an element with a text and a class.
export function element(name, text, look) {
  const e = document.createElement(name);
  if (text !== undefined) {
    e.textContent = text;
  }
  if (look !== undefined) {
    e.className = look;
  }
  return e;
}

// button makes a button that does something.
export function button(text, act, look) {
  const b = element("button", text, look);
  b.type = "button";
  b.addEventListener("click", act);
  return b;
}

// pathOf is the path of a sample, or of a part of it.
export const pathOf = (id, part = "") => `v1/samples/${encodeURIComponent(id)}${part}`;

// problemOf is what an answer says that is none.
async function problemOf(answer) {
  try {
    const problem = await answer.json();
    return Object.assign(new Error(problem.detail ?? answer.statusText), { status: answer.status, nearest: problem.nearest });
  } catch {
    return Object.assign(new Error(answer.statusText), { status: answer.status });
  }
}

const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

const patience = 20;

// ask sends a request, again where the daemon says that it has no room yet, and returns the JSON of the answer, or throws what it says instead.
export async function ask(path, method = "GET", body = undefined) {
  const file = body instanceof Blob;
  const headers = body === undefined ? {} : { "Content-Type": file ? body.type || "image/*" : "application/json" };
  for (let tries = 1; ; tries++) {
    const answer = await fetch(path, { method, headers, cache: "no-store", body: body === undefined || file ? body : JSON.stringify(body) });
    if ((answer.status === 429 || answer.status === 503) && tries < patience) {
      await pause(Number(answer.headers.get("Retry-After") ?? 1));
    } else if (!answer.ok) {
      throw await problemOf(answer);
    } else {
      return answer.status === 204 ? undefined : answer.json();
    }
  }
}

// mostAtOnce is how many requests of one action are sent at the same time.
const mostAtOnce = 6;

// each does something for each of a list, some at the same time, and returns those for which it failed, with their errors.
export async function each(list, act) {
  const failed = [];
  let next = 0;
  const worker = async () => {
    while (next < list.length) {
      const one = list[next++];
      try {
        await act(one);
      } catch (error) {
        failed.push({ one, error });
      }
    }
  };
  await Promise.all(Array.from({ length: mostAtOnce }, worker));
  return failed;
}
