"""Stream CIFAR-100 to a daemon of ocl, as a camera and a person who labels would: every picture is predicted first, and learned afterwards.

    ocl serve cats --method er --memory 5000          # in another terminal
    python serve.py --cifar cifar-100-python          # the folder with the files train, test and meta

It needs `requests`, and numpy to read the published file. Each sample has an id of its own, so one that is sent again after a fault is not learned twice.
"""

import argparse
import pickle
import random
import sys
import time
from pathlib import Path

import requests


def call(session, method, url, tries=60, **request):
    """Sends a request until it is answered. A refusal that a later try cannot change ends the program with its reason."""
    for attempt in range(tries):
        try:
            answer = session.request(method, url, timeout=60, **request)
        except requests.ConnectionError:
            time.sleep(min(2**attempt / 10, 2))
            continue
        if answer.ok:
            return answer
        if answer.status_code not in (429, 503, 507):
            sys.exit(f"{method} {url}: {answer.json()['detail']}")
        time.sleep(float(answer.headers.get("Retry-After", 1)) * random.uniform(0.5, 1))
    sys.exit(f"{method} {url}: no answer after {tries} tries. Is `ocl serve` running?")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="http://localhost:8100")
    parser.add_argument("--cifar", type=Path, required=True, help="folder cifar-100-python")
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--limit", type=int, default=0, help="pictures of each class (default: all 500)")
    parser.add_argument("--token", default="")
    args = parser.parse_args()

    with open(args.cifar / "train", "rb") as file:
        train = pickle.load(file, encoding="bytes")  # the published file; a pickle of others could run anything
    with open(args.cifar / "meta", "rb") as file:
        names = [name.decode() for name in pickle.load(file, encoding="bytes")[b"fine_label_names"]]
    pictures, labels = train[b"data"], train[b"fine_labels"]

    session = requests.Session()
    if args.token:
        session.headers["Authorization"] = f"Bearer {args.token}"
    raw = {"Content-Type": "application/octet-stream"}  # CIFAR's rows are [3,32,32] already
    right = seen = 0
    for task in range(args.tasks):
        classes = range(task * 100 // args.tasks, (task + 1) * 100 // args.tasks)
        for c in classes:
            call(session, "POST", f"{args.url}/v1/classes", json={"name": names[c]})
        taken = {c: [i for i, y in enumerate(labels) if y == c][: args.limit or None] for c in classes}
        order = [i for rows in taken.values() for i in rows]
        random.Random(task).shuffle(order)
        for i in order:
            picture = pictures[i].tobytes()
            name = names[labels[i]]
            if seen:
                said = call(session, "POST", f"{args.url}/v1/predictions?k=1", data=picture, headers=raw).json()
                right += said["predictions"][0]["guesses"][0]["class"] == name
            # The first sample is waited for: nothing can be predicted before it.
            wait = {} if seen else {"wait": "learned"}
            call(session, "POST", f"{args.url}/v1/samples", params={"label": name, "id": f"cifar100-train-{i}", **wait}, data=picture, headers=raw)
            seen += 1
            if seen % 500 == 0:
                print(f"task {task + 1}: {seen} pictures, {right / (seen - 1):.1%} right before they were learned", flush=True)
        call(session, "POST", f"{args.url}/v1/tasks")  # methods that need no tasks pass it over
    status = call(session, "GET", f"{args.url}/v1/status").json()
    print(f"{seen} pictures. The daemon's own numbers: {status['samples']}, accuracy {status['accuracy']}, held out {status['held_out']}")


if __name__ == "__main__":
    main()
