# SPDX-License-Identifier: Apache-2.0
"""Real clients of agent hosts with our hook, driven against a stand-in for the endpoint of their model on
this machine.

    npm install --prefix DIR @anthropic-ai/claude-code @openai/codex @google/gemini-cli @qwen-code/qwen-code
        opencode-ai @github/copilot @factory/cli
    python -m tools.hosts --clients DIR [claude codex gemini qwen opencode copilot droid]

The stand-in says what the model would: one command after another (it lists files, reads the same file again
and again, writes a file), then that it is done. What the client sends back shows what became of each command.
A session is as wanted when the reads were run, the loop was told and then refused by the guard, and nothing
was written that nobody had allowed. No connection leaves the machine: the client gets an address of the
loopback and a key that is none.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FIRST = "awk '{print $1}' notes.txt"
LOOP = "cat notes.txt"
WRITE = "touch made.txt"
COMMANDS = ("ls -l", FIRST, *[LOOP] * 8, WRITE)
SECONDS = 240


@dataclass
class Session:
    """What the stand-in has seen: the requests, and the last list of results that a client sent back."""

    results: list[str] = field(default_factory=list)
    requests: int = 0
    paths: list[str] = field(default_factory=list)
    told: bool = False


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(_text(item) for item in value)
    if isinstance(value, dict):
        return _text(value.get("text", value.get("output", value.get("content", json.dumps(value)))))
    return json.dumps(value)


# --- one reply in the form of each endpoint ---------------------------------------------------------------------------


def messages(body: dict[str, Any], session: Session) -> Iterator[str]:
    """`POST /v1/messages`, as server-sent events."""
    results = [
        _text(part.get("content"))
        for message in body.get("messages", [])
        for part in (message["content"] if isinstance(message.get("content"), list) else [])
        if part.get("type") == "tool_result"
    ]
    tools = [tool.get("name") for tool in body.get("tools", [])]
    working = "Bash" in tools
    if working:
        session.results = results
    step = len(results)
    if working and step < len(COMMANDS):
        block: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{step:04}", "name": "Bash", "input": {}}
        delta = {
            "type": "input_json_delta",
            "partial_json": json.dumps({"command": COMMANDS[step], "description": "x"}),
        }
        reason = "tool_use"
    else:
        block, delta, reason = (
            {"type": "text", "text": ""},
            {"type": "text_delta", "text": "done"},
            "end_turn",
        )
    message = {
        "id": f"msg_{step}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "m"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    for kind, fields in (
        ("message_start", {"message": message}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        (
            "message_delta",
            {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 1}},
        ),
        ("message_stop", {}),
    ):
        yield f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


def responses(body: dict[str, Any], session: Session) -> Iterator[str]:
    """`POST /v1/responses`, as server-sent events."""
    items = body.get("input", [])
    results = [
        _text(item.get("output"))
        for item in items
        if item.get("type") in ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
    ]
    session.results = results
    step = len(results)
    names = {tool.get("name", tool.get("type")): tool for tool in body.get("tools", [])}
    if step < len(COMMANDS):
        shell = next(
            (name for name in ("shell_command", "exec_command", "shell", "bash") if name in names), "shell"
        )
        key = {"exec_command": "cmd"}.get(shell, "command")
        command: Any = ["bash", "-lc", COMMANDS[step]] if shell == "shell" else COMMANDS[step]
        item: dict[str, Any] = {
            "type": "function_call",
            "id": f"fc_{step}",
            "call_id": f"call_{step}",
            "name": shell,
            "arguments": json.dumps({key: command}),
            "status": "completed",
        }
    else:
        content = [{"type": "output_text", "text": "done", "annotations": []}]
        item = {
            "type": "message",
            "id": f"m_{step}",
            "role": "assistant",
            "content": content,
            "status": "completed",
        }
    usage = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    }
    whole = {
        "id": f"resp_{step}",
        "object": "response",
        "status": "completed",
        "output": [item],
        "usage": usage,
    }
    for kind, fields in (
        ("response.created", {"response": {**whole, "status": "in_progress", "output": []}}),
        ("response.output_item.added", {"output_index": 0, "item": item}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": whole}),
    ):
        yield f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


def chat(body: dict[str, Any], session: Session) -> Iterator[str]:
    """`POST /v1/chat/completions`, as server-sent events."""
    results = [_text(item.get("content")) for item in body.get("messages", []) if item.get("role") == "tool"]
    names = [tool.get("function", {}).get("name") for tool in body.get("tools", [])]
    shell = next((name for name in ("run_shell_command", "bash", "Execute") if name in names), "")
    if shell:
        session.results = results
    step = len(results)
    delta: dict[str, Any] = {"role": "assistant", "content": "done"}
    if shell and step < len(COMMANDS):
        arguments: dict[str, Any] = {"command": COMMANDS[step], "description": "x"}
        if shell == "run_shell_command":
            arguments["is_background"] = False
        if shell == "Execute":
            arguments = {"command": COMMANDS[step], "timeout": 60, "summary": "Says what it is about"}
            # what it takes for risky it asks about, unless our hook allows it
            risk = "low" if COMMANDS[step] == WRITE else "high"
            arguments.update({"riskLevel": risk, "riskLevelReason": "So that a person is asked"})
        call = {"name": shell, "arguments": json.dumps(arguments)}
        delta = {
            "role": "assistant",
            "tool_calls": [{"index": 0, "id": f"call_{step}", "type": "function", "function": call}],
        }
    reason = "tool_calls" if "tool_calls" in delta else "stop"
    head = {
        "id": f"c{step}",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": body.get("model", "m"),
    }
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    for choice in (
        {"index": 0, "delta": delta, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": reason},
    ):
        yield f"data: {json.dumps({**head, 'choices': [choice], 'usage': usage})}\n\n"
    yield "data: [DONE]\n\n"


def generate(body: dict[str, Any], session: Session) -> Iterator[str]:
    """`POST /v1beta/models/...:streamGenerateContent`, as server-sent events."""
    results = [
        _text(part["functionResponse"].get("response"))
        for content in body.get("contents", [])
        for part in content.get("parts", [])
        if "functionResponse" in part
    ]
    declared = [
        each.get("name") for tool in body.get("tools", []) for each in tool.get("functionDeclarations", [])
    ]
    working = "run_shell_command" in declared
    if working:
        session.results = results
    step = len(results)
    part: dict[str, Any] = {"text": "done"}
    if working and step < len(COMMANDS):
        arguments = {"command": COMMANDS[step], "description": "x"}
        part = {"functionCall": {"name": "run_shell_command", "args": arguments}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    yield f"data: {json.dumps({'candidates': [candidate], 'usageMetadata': usage})}\r\n\r\n"


ENDPOINTS: tuple[tuple[str, Callable[[dict[str, Any], Session], Iterator[str]]], ...] = (
    ("/messages", messages),
    ("/responses", responses),
    ("/chat/completions", chat),
    ("GenerateContent", generate),
    ("generateContent", generate),
)


class StandIn(BaseHTTPRequestHandler):
    """Answers every request of a client; what it does not know it answers with an empty object."""

    session: Session
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        data = self.rfile.read(length)
        path = self.path.partition("?")[0]
        self.session.requests += 1
        self.session.told |= b"has given the same result 3 times" in data
        self.session.paths.append(path)
        make = next((make for end, make in ENDPOINTS if path.endswith(end)), None)
        try:
            body = json.loads(data)
        except ValueError:
            body = None
        if make is None or not isinstance(body, dict):
            self._send(b'{"input_tokens": 1, "totalTokens": 1}', "application/json")
            return
        streams = "".join(make(body, self.session)).encode()
        if path.endswith(":generateContent"):
            self._send(streams.removeprefix(b"data: ").strip(), "application/json")
        else:
            self._send(streams, "text/event-stream")

    def do_GET(self) -> None:
        self.session.paths.append(self.path)
        self._send(b'{"data": [], "models": []}', "application/json")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server gives
        """Says nothing."""


# --- the clients ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Client:
    """How a client is started: its program, its arguments, its environment, and what it needs in its home."""

    program: str
    arguments: tuple[str, ...]
    environment: Callable[[str], dict[str, str]]
    prepare: Callable[[Path, str], None] = lambda home, address: None


def _codex(home: Path, address: str) -> None:
    folder = home / ".codex"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(
        'model = "gpt-5"\nmodel_provider = "here"\napproval_policy = "on-request"\n'
        f'[model_providers.here]\nname = "here"\nbase_url = "{address}/v1"\n'
        'wire_api = "responses"\nenv_key = "HERE_KEY"\n'
    )


def _gemini(home: Path, address: str) -> None:
    settings = home / ".gemini" / "settings.json"
    value = json.loads(settings.read_text())
    value["security"] = {"auth": {"selectedType": "gemini-api-key"}}
    value["model"] = {"disableLoopDetection": True}  # its own, which ends the session at the fifth equal call
    settings.write_text(json.dumps(value))


def _opencode(home: Path, address: str) -> None:
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True, exist_ok=True)
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{address}/v1", "apiKey": "none"},
        "models": {"m": {}},
    }
    permission = {"bash": "allow"}
    value = {
        "provider": {"here": provider},
        "model": "here/m",
        "small_model": "here/m",
        "permission": permission,
    }
    (folder / "opencode.json").write_text(json.dumps(value))


def _droid(home: Path, address: str) -> None:
    settings = home / ".factory" / "settings.json"
    value = json.loads(settings.read_text())
    model = {"model": "m", "id": "custom:m-0", "index": 0, "displayName": "m", "maxOutputTokens": 1000}
    provider = {"baseUrl": f"{address}/v1", "apiKey": "none", "provider": "generic-chat-completion-api"}
    value["customModels"] = [{**model, **provider}]
    settings.write_text(json.dumps(value))


CLIENTS = {
    "claude": Client(
        "claude",
        ("-p", "go", "--output-format", "json"),
        lambda address: {
            "ANTHROPIC_BASE_URL": address,
            "ANTHROPIC_API_KEY": "none",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    ),
    "codex": Client(
        "codex",
        (
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-hook-trust",
            "-s",
            "danger-full-access",
            "go",
        ),
        lambda address: {"HERE_KEY": "none"},
        _codex,
    ),
    "gemini": Client(
        "gemini",
        ("-p", "go", "-m", "gemini-2.5-flash", "--approval-mode", "yolo", "--skip-trust"),
        lambda address: {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": address,
            "GEMINI_SANDBOX": "false",
        },
        _gemini,
    ),
    "qwen": Client(
        "qwen",
        ("-p", "go", "--approval-mode", "yolo", "--auth-type", "openai"),
        lambda address: {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{address}/v1", "OPENAI_MODEL": "m"},
    ),
    "opencode": Client("opencode", ("run", "go"), lambda address: {}, _opencode),
    "copilot": Client(
        "copilot",
        ("-p", "go"),
        lambda address: {
            "COPILOT_PROVIDER_BASE_URL": f"{address}/v1",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "m",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        },
    ),
    "droid": Client(
        "droid",
        ("exec", "-m", "custom:m-0", "go"),
        lambda address: {"FACTORY_API_KEY": "fk-none"},
        _droid,
    ),
}
ASKS = frozenset({"claude", "copilot"})
"""Clients that, as they are started here, refuse what would need a person. The others run what our hook
leaves to them.
"""


def run_client(name: str, clients: Path, python: str, *, verbose: bool = False) -> bool:
    """One session of a client; prints what became of it, and returns whether it is what is wanted."""
    client = CLIENTS[name]
    program = clients / "node_modules" / ".bin" / client.program
    if not program.exists():
        print(f"{name}: skipped, {program} is not there")
        return True
    session = Session()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Here", (StandIn,), {"session": session}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    folder = Path(tempfile.mkdtemp(prefix=f"hosts-{name}-"))
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    (work / "notes.txt").write_text("one 1\ntwo 2\n")
    node = clients / "node_modules" / "node" / "bin"
    environment = {
        "HOME": str(home),
        "PATH": f"{node}:{os.environ['PATH']}",
        "SHELLGUARD_HOME": str(folder / "ours"),
        "TERM": "dumb",
        "NO_PROXY": "127.0.0.1",
        "CI": "1",
        "LANG": "C.UTF-8",
        **client.environment(address),
    }
    try:
        install = [python, "-m", "shellguard", "install", name]
        subprocess.run(install, env=environment, cwd=work, check=True, capture_output=True)
        client.prepare(home, address)
        version = subprocess.run(
            [program, "--version"], env=environment, capture_output=True, text=True, check=False
        )
        try:
            done = subprocess.run(
                [program, *client.arguments],
                env=environment,
                cwd=work,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            output = f"{done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        except subprocess.TimeoutExpired as error:
            output = f"no end after {SECONDS} s\n{error.stdout!r:.2000}\n{error.stderr!r:.2000}"
        log = folder / "ours" / "state" / "log" / "decisions.jsonl"
        entries = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        fine = report(
            name,
            version.stdout.strip().partition("\n")[0],
            session,
            entries,
            made=(work / "made.txt").exists(),
        )
        if verbose or not fine:
            print(output)
            print(sorted(set(session.paths)))
            for command, result in zip(COMMANDS, session.results, strict=False):
                print(f"  {command!r}: {result[:300]!r}")
            for entry in entries:
                print("  ", json.dumps(entry)[:200])
        return fine
    finally:
        server.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def report(name: str, version: str, session: Session, entries: list[dict[str, Any]], *, made: bool) -> bool:
    """Prints one line for each wish and returns whether all are met."""
    results = session.results
    loop = results[2:10]
    last = [entry for entry in entries if entry.get("verdict") == "write"]
    wishes = {
        f"every command was answered ({len(results)} of {len(COMMANDS)})": len(results) == len(COMMANDS),
        "the files were listed": bool(results) and "notes.txt" in results[0],
        "a read was run": len(results) > 1 and "two" in results[1],
        "the loop was told": session.told,
        "the loop was refused": bool(loop) and "two 2" not in loop[-1] and "same result" in loop[-1],
        "the hook judged the write, and did not allow it": bool(last)
        and all(e["action"] != "allow" for e in last),
        "nothing failed in the hook": bool(entries) and not any("error" in entry for entry in entries),
    }
    if name in ASKS:
        wishes["nothing was written"] = not made
    print(f"{name} {version}: {len(entries)} decisions, {session.requests} requests")
    for wish, met in wishes.items():
        print(f"  {'yes' if met else 'NO '}  {wish}")
    return all(wishes.values())


def main() -> int:
    """Drives the clients; exit status 1 where one is not as wanted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=Path, required=True, help="the folder that npm installed them in")
    parser.add_argument("--python", default=sys.executable, help="the Python that shellguard is installed in")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("names", nargs="*", metavar="CLIENT", help=", ".join(CLIENTS))
    args = parser.parse_args()
    fine = True
    for name in args.names or list(CLIENTS):
        fine = run_client(name, args.clients, args.python, verbose=args.verbose) and fine
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
