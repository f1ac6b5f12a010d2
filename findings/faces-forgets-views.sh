#!/usr/bin/env bash
# Question: a user opens a page, then opens it again some times (in tabs, or a test that only reads), and presses the button
# on the first one. And: a test posts the state of the first page again and again. How often does that work?
# Guess: as long as the session lives, in Mojarra as in MyFaces.
# Seen: the button fails (500, ViewExpiredException) after 15 more pages in Mojarra and 20 in MyFaces. The same state posted
# again works each time in Mojarra; in MyFaces the 21st post is 500, because each response counts as one more view.
# Since: seen with Mojarra 4.0.14 and MyFaces 4.0.2.
# A user notices: a test without an extractor passes with one implementation, and fails from its 21st request on with the
# other; think times or more users change nothing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/support/faces.bash"
for packages in "$MOJARRA" "$MYFACES"; do
    mkdir "$work/${packages%%:*}" && cd "$work/${packages%%:*}"
    faces "$packages"
    python3 - "${packages%%:*}" <<'PY'
import sys

from user import User


def is_kept_after(count: int) -> bool:
    """Return whether the button of a page works after so many more pages."""
    user = User()
    first = user.state
    for _ in range(count):
        user.page()
    return user.order(first) == 200


pages = next((count for count in range(1, 41) if not is_kept_after(count)), None)
user = User()
state = user.state
posts = next((count for count in range(1, 41) if user.order(state) != 200), None)
print(f"{sys.argv[1]}: the button fails after {pages} more pages; the same state fails at post {posts}")
if (pages, posts) != ((15, None) if sys.argv[1] == "org.glassfish" else (20, 21)):
    raise SystemExit("CHANGED: another number of views")
PY
    kill %% 2>/dev/null
done
