"""A server that answers like the REST API of GitHub, as far as the tools ask it, in the documented shapes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

from support.website import Asked, Said

__all__ = ["Hub", "issue"]


def issue(number: int, repository: str = "octo/tea", **more: Any) -> dict[str, Any]:
    return {
        "id": 1000 + number,
        "number": number,
        "title": f"Issue {number}",
        "state": "open",
        "user": {"login": "ada"},
        "labels": [{"name": "bug", "description": "Something does not work"}],
        "comments": 0,
        "body": "It does not work.",
        "created_at": "2026-11-01T10:00:00Z",
        "updated_at": "2026-11-02T10:00:00Z",
        "html_url": f"https://github.com/{repository}/issues/{number}",
        "repository_url": f"https://api.github.com/repos/{repository}",
        **more,
    }


class Hub:
    """Repositories with issues. ``before`` may answer in place of the hub; ``after`` may replace the hub's answer."""

    def __init__(self, *repositories: str) -> None:
        self.repositories = repositories or ("octo/tea", "octo/milk")
        self.issues: dict[str, list[dict[str, Any]]] = {name: [] for name in self.repositories}
        self.comments: dict[tuple[str, int], list[dict[str, Any]]] = {}
        self.labels = ["bug", "question", "good first issue"]
        self.before: Callable[[Asked], Said | None] = lambda asked: None
        self.after: Callable[[Asked], Said | None] = lambda asked: None
        self._numbers: Iterator[int] = itertools.count(1)

    def __call__(self, asked: Asked) -> Said:
        said = self.before(asked) or self._answer(asked)
        return self.after(asked) or said

    def _answer(self, asked: Asked) -> Said:
        if asked.path.startswith("/search/"):
            return self._search(asked)
        found = re.fullmatch(r"/repos/([^/]+/[^/]+)(/.*)?", asked.path)
        if found is None or found[1] not in self.repositories:
            return Said(404, {"message": "Not Found", "documentation_url": "https://docs.github.com/rest"})
        name, rest = found[1], found[2] or ""
        if rest == "/labels":
            return Said(200, [{"name": label, "description": ""} for label in self.labels])
        if rest == "/issues":
            return self._issues(name, asked)
        return self._of_issue(name, rest, asked)

    def _issues(self, name: str, asked: Asked) -> Said:
        if asked.method == "GET":
            return Said(200, self.issues[name][::-1][: int(asked.query["per_page"])])
        wanted = asked.json
        labels = [{"name": label} for label in wanted["labels"]]
        made = issue(next(self._numbers), name, title=wanted["title"], body=wanted["body"], labels=labels)
        self.issues[name].append(made)
        return Said(201, made)

    def _of_issue(self, name: str, rest: str, asked: Asked) -> Said:
        found = re.fullmatch(r"/issues/(\d+)(/comments)?", rest)
        number = int(found[1]) if found else 0
        there = next((each for each in self.issues[name] if each["number"] == number), None)
        if found is None or there is None:
            return Said(404, {"message": "Not Found"})
        if not found[2]:
            return Said(200, there)
        comments = self.comments.setdefault((name, number), [])
        if asked.method == "GET":
            return Said(200, comments)
        comments.append(
            {
                "body": asked.json["body"],
                "user": {"login": "ada"},
                "created_at": "2026-11-22T11:00:00Z",
                "html_url": f"https://github.com/{name}/issues/{number}#issuecomment-{len(comments)}",
            }
        )
        return Said(201, comments[-1])

    def _search(self, asked: Asked) -> Said:
        if asked.path == "/search/issues":
            items = [each for issues in self.issues.values() for each in issues]
        elif asked.path == "/search/code":
            items = [
                {
                    "name": "tea.py",
                    "path": "src/tea.py",
                    "html_url": f"https://github.com/{name}/blob/main/src/tea.py",
                    "repository": {"full_name": name},
                    "text_matches": [{"fragment": "def pour():"}],
                }
                for name in self.repositories
            ]
        else:
            items = [
                {
                    "full_name": name,
                    "description": f"All about {name}",
                    "private": False,
                    "archived": False,
                    "language": "Python",
                    "open_issues_count": 3,
                    "html_url": f"https://github.com/{name}",
                }
                for name in self.repositories
            ]
        return Said(200, {"total_count": len(items), "incomplete_results": False, "items": items})
