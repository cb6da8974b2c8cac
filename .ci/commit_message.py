"""Checks that a commit message has an imperative subject of at most 72 characters, and that its body is wrapped."""

import re
import sys
from pathlib import Path

LONGEST = 72
# Git writes these subjects itself.
WRITTEN_BY_GIT = re.compile(r"(Merge|Revert|fixup!|squash!|amend!) ")
# Matches a first word that cannot be an imperative: another verb form, an article or a pronoun, for example. The
# exceptions listed, such as "Bring" and "Embed", are accepted despite their endings.
NOT_IMPERATIVE = re.compile(
    r"(?!(?:Bring|String|Ring|Focus|Alias|Bias|Always|Embed|Feed|Need|Seed|Speed|Shed|Exceed|Proceed)\b)"
    r"(\w+(ing|ed|[^s]s)|An?|The|It|We|I|No|Who|What|Which|Where|When|Of)\b",
    re.IGNORECASE,
)


def faults(message: str) -> list[str]:
    """Return the faults in a commit message, one sentence each."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = lines[0] if lines else ""
    if WRITTEN_BY_GIT.match(subject):
        return []
    found = []
    if not subject.strip():
        found.append("The subject is empty.")
    if len(subject) > LONGEST:
        found.append(f"The subject has {len(subject)} characters; the limit is {LONGEST}.")
    if subject.endswith("."):
        found.append("The subject ends with a full stop.")
    # A scope may come first: "Serving: size the thread pool".
    if NOT_IMPERATIVE.match(re.sub(r"^[\w /-]+: ", "", subject)) or not subject[:1].isupper():
        found.append("The subject does not begin with a capital letter and an imperative verb, such as “Add” or “Fix”.")
    if len(lines) > 1 and lines[1].strip():
        found.append("The line after the subject must be blank.")
    # A URL or a single long word cannot be wrapped.
    if any(len(line) > LONGEST and " " in line.strip() and "://" not in line for line in lines[2:]):
        found.append(f"A line of the body has more than {LONGEST} characters.")
    return found


if __name__ == "__main__":
    problems = faults(Path(sys.argv[1]).read_text(encoding="utf-8"))
    if problems:
        raise SystemExit("\n".join(["The commit message has these problems:", *problems]))
