"""The files of the dashboard as responses, with their security headers."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path

import rain.server.dashboard
from rain.server.http.messages import Headers, Response

_FOLDER = Path(rain.server.dashboard.__file__).parent / "pages"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

# Only content of this server, and no inline scripts or styles.
_STRICT: Headers = (
    (
        "content-security-policy",
        (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
            " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
)


def dashboard_files() -> dict[str, Response]:
    """The responses by path; the page itself is /dashboard/."""
    files = {
        f"/dashboard/{file.name}": Response(
            HTTPStatus.OK, _TYPES[file.suffix], file.read_bytes(), _STRICT
        )
        for file in sorted(_FOLDER.iterdir())
        if file.suffix in _TYPES
    }
    files["/dashboard/"] = files.pop("/dashboard/index.html")
    return files
