"""The description of the requests, as OpenAPI has it."""

from __future__ import annotations

from typing import Any

_TEXT, _WHOLE = {"type": "string"}, {"type": "integer"}
_SETTINGS: dict[str, Any] = {
    "name": {**_TEXT, "description": "A letter, then letters, digits, '_', '.' or '-'."},
    "pattern": {
        **_TEXT,
        "description": "The text of a pattern or query.",
        "example": "(a)-->(b)-->(c)-->(a)",
    },
    "monitor": {**_TEXT, "description": "The monitor that matches it; default: the first."},
    "window": {"description": "The window of the monitor: a duration, or a number of edges."},
    "on": {"type": "string", "enum": ["appear", "vanish", "both"], "default": "appear"},
    "limit": {**_WHOLE, "minimum": 0, "description": "Most alerts of one record."},
    "rate": {"type": "number", "minimum": 0, "description": "Most alerts per second."},
    "sinks": {"type": "array", "items": _TEXT, "description": "Sinks of its alerts; default: all."},
    "backfill": {"type": "boolean", "default": False, "description": "Count first what is there."},
}
_STATE: dict[str, Any] = {
    "id": _WHOLE,
    "origin": {"type": "string", "enum": ["config", "network"]},
    "state": {"type": "string", "enum": ["active", "paused", "dropped"]},
    "reason": _TEXT,
    "since": {**_WHOLE, "description": "The number of the first record that it was matched with."},
    "present": {"type": ["integer", "null"], "description": "Matches now; null: not counted."},
    **dict.fromkeys(("positive", "negative", "alerts", "suppressed"), _WHOLE),
}


def description() -> dict[str, Any]:
    """Return the description."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "motiflux", "version": "1", "description": "Patterns in streams of edges."},
        "paths": {
            "/patterns": {
                "get": _call("All patterns.", _of({"patterns": _list(_ref("Pattern"))})),
                "post": {
                    **_call("Add a pattern.", _ref("Pattern"), "201", "400", "415", "429", "503"),
                    "requestBody": _body("application/json", _ref("NewPattern")),
                },
            },
            "/patterns/{name}": {
                **_NAME,
                "get": _call("A pattern.", _ref("Pattern"), "200", "404"),
                "delete": _call("Drop a pattern.", _ref("Pattern"), "200", "404", "429"),
            },
            "/patterns/{name}/pause": {
                **_NAME,
                "post": _call("Pause a pattern.", _ref("Pattern"), "200", "404", "429"),
            },
            "/patterns/{name}/resume": {
                **_NAME,
                "post": _call(
                    "Match a paused pattern again; it counts anew.",
                    _ref("Pattern"),
                    "200",
                    "400",
                    "404",
                    "429",
                    "503",
                ),
            },
            "/patterns/{name}/picture": {**_NAME, "get": _picture("A picture of a pattern.", "404")},
            "/sources/{name}/records": {
                **_NAME,
                "post": {
                    **_call(
                        "Take records; answered once they are on disk.",
                        _ref("Taken"),
                        "200",
                        "404",
                        "413",
                        "503",
                    ),
                    "parameters": [
                        {
                            "name": "Idempotency-Key",
                            "in": "header",
                            "schema": {"type": "string", "maxLength": 200},
                            "description": "A request with a key that came before changes nothing.",
                        }
                    ],
                    "requestBody": {
                        "required": True,
                        "content": {"application/x-ndjson": {}, "application/vnd.apache.arrow.stream": {}},
                    },
                },
            },
            "/alerts": {"get": _call("The last alerts.", _of({"alerts": _list({"type": "object"})}))},
            "/alerts/{number}/picture": {
                "parameters": [
                    {"name": "number", "in": "path", "required": True, "schema": _WHOLE},
                    {"name": "around", "in": "query", "schema": {"enum": ["0", "1"]}},
                ],
                "get": _picture("A picture of an alert, and of what is around it.", "404", "409"),
            },
            "/dead": {"get": _call("The last dead letters.", _of({"dead": _list({"type": "object"})}))},
            "/status": {"get": _call("All figures.", {"type": "object"})},
            "/events": {"get": {**_call("Figures and alerts as events."), "responses": _events()}},
            "/metrics": {"get": _call("Figures for Prometheus.")},
            "/health": {"get": _call("Whether the service goes on.", None, "200", "503")},
            "/ready": {"get": _call("Whether records are applied and written.", None, "200", "503")},
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "NewPattern": {
                    **_of(_SETTINGS),
                    "required": ["name", "pattern"],
                    "additionalProperties": False,
                },
                "Pattern": _of({**_SETTINGS, **_STATE}),
                "Taken": _of(
                    {
                        "first": {**_WHOLE, "description": "The number of the first record."},
                        "accepted": _WHOLE,
                        "refused": _WHOLE,
                        "reasons": _list(_TEXT),
                    }
                ),
                "Error": _of({"error": _TEXT}),
            },
        },
        "security": [{}, {"token": []}],
    }


_NAME = {"parameters": [{"name": "name", "in": "path", "required": True, "schema": _TEXT}]}
_SAID = {
    "200": "Done",
    "201": "Added",
    "400": "Invalid",
    "404": "Unknown",
    "409": "Not there any more",
    "413": "Too large",
    "415": "Another type",
    "429": "Too often",
    "503": "Not now",
}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _of(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _body(kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {kind: {"schema": schema}}}


def _call(summary: str, schema: dict[str, Any] | None = None, *codes: str) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for code in codes or ("200",):
        responses[code] = {"description": _SAID[code]}
        answer = schema if code < "300" else _ref("Error")
        if answer is not None:
            responses[code]["content"] = {"application/json": {"schema": answer}}
    return {"summary": summary, "responses": responses}


def _picture(summary: str, *codes: str) -> dict[str, Any]:
    found = _call(summary, None, "200", *codes)
    found["responses"]["200"]["content"] = {"image/svg+xml": {}}
    return found


def _events() -> dict[str, Any]:
    return {
        "200": {"description": "Events", "content": {"text/event-stream": {}}},
        "503": {"description": "Too many"},
    }
