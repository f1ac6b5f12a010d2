#!/usr/bin/env bash
# Question: a form of Faces is posted without its hidden field jakarta.faces.ViewState, as a test does whose extractor was
# forgotten. What is the response?
# Guess: an error; the server cannot know which page it is about.
# Seen: 200 and the page, and nothing is ordered: without the field the request is that of a new page. An empty field, or
# one of another session, is 500. Mojarra and MyFaces do the same.
# Since: seen with Mojarra 4.0.14 and MyFaces 4.0.2.
# A user notices: a fast test without errors, and no order in the database.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/support/faces.bash"
for packages in "$MOJARRA" "$MYFACES"; do
    mkdir "$work/${packages%%:*}" && cd "$work/${packages%%:*}"
    faces "$packages"
    python3 - "${packages##*:}" <<'PY'
import sys

from user import User

user, other = User(), User()
right = user.order(user.page()), user.orders
without = user.order(None), user.orders
empty, foreign = user.order(""), user.order(other.state)
print(f"Faces {sys.argv[1]}: code and orders {right}; without the field {without}; empty {empty}; of another session {foreign}")
if (right, without, empty, foreign) != ((200, 1), (200, 1), 500, 500):
    raise SystemExit("CHANGED: not 200 without an order")
PY
    kill %% 2>/dev/null
done
