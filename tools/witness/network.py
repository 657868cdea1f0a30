# SPDX-License-Identifier: Apache-2.0
"""The network of a session: stand-ins that answer as the services do, and note what was asked of them.

In the network namespace of a session every name is 127.0.0.1 and every address is local, so whatever a command wants to
reach, it reaches these: DNS, HTTP and HTTPS (certificates for any name, by an authority that the sandbox trusts), the API of
GitHub, of a cluster and of docker, Redis, and a port that only listens. Nothing leaves the machine.
"""

from __future__ import annotations

import base64
import json
import os
import re
import select
import shutil
import signal
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tools.witness import bus, kernel, services
from tools.witness.worlds.samples import knows, sample

HTTP_PORTS = (80, 3000, 5000, 8000, 8001, 8080, 8099, 8200, 9090, 9200, 2375, 4566, 9000, 11434, 5601, 15672)
HTTPS_PORTS = (443, 6443, 8443, 2376)
SOCKETS = (
    "docker.sock",
    "dbus/system_bus_socket",
    "user/1000/bus",
    "postgresql/.s.PGSQL.5432",
    "mysqld/mysqld.sock",
)
"""Sockets of local services, by their path below /run."""

MAX_BODY = 1 << 20


def authority(cache: str) -> str:
    """The certificate of the small authority that vouches for every stand-in; its key lies beside it."""
    certificate, key = Path(cache) / "authority.crt", Path(cache) / "authority.key"
    if not certificate.is_file() and shutil.which("openssl"):
        command = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "3650",
            "-subj",
            "/CN=witness",
        ]
        subprocess.run(
            [*command, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
        )
    if not certificate.is_file():
        certificate.write_text("")
    return str(certificate)


def socket_file(name: str) -> str:
    """The name in the session's folder of one of `SOCKETS`."""
    return name.replace("/", "_")


def start(log: int, authority_file: str, sockets: str, shell: services.SecureShell) -> int:
    """Starts every stand-in in one new process and gives its pid. Requests are noted on `log`, one line of JSON each."""
    ready, told = os.pipe()
    pid = os.fork()
    if pid:
        os.close(told)
        os.read(ready, 1)
        os.close(ready)
        return pid
    try:
        kernel.die_with_parent()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.dup2(os.open("/dev/null", os.O_RDWR), 0)
        os.dup2(0, 1)
        if shell.program is not None:
            kernel.unshare(kernel.NEWNS)
            kernel.mount(f"{shell.folder}/passwd", "/etc/passwd", flags=kernel.MS_BIND)
        _serve(_Log(log), authority_file, sockets, shell)
        os.write(told, b"r")
        threading.Event().wait()
    finally:
        os._exit(1)


class _Log:
    """Notes on a pipe, one line of JSON each. Threads share it: a line is short enough that a pipe takes it as one."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __call__(self, kind: str, address: str, **more: str) -> None:
        for length in (2000, 300, 50):
            cut = {key: value[:length] for key, value in more.items()}
            line = json.dumps({"kind": kind, "address": address[:length]} | cut).encode() + b"\n"
            if len(line) <= select.PIPE_BUF:
                break
        os.write(self.descriptor, line)


def _serve(log: _Log, authority_file: str, sockets: str, shell: services.SecureShell) -> None:
    class Told:
        """A stand-in that stumbles says so in the report."""

        def handle_error(self, request: Any, client_address: Any) -> None:
            log("problem", repr(sys.exc_info()[1]))

    class Server(Told, socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True
        request_queue_size = 64

    class Server6(Server):
        address_family = socket.AF_INET6

    class UnixServer(Told, socketserver.ThreadingUnixStreamServer):
        daemon_threads = True

    class DnsServer(Told, socketserver.ThreadingUDPServer):
        daemon_threads = True

    handlers: list[tuple[Any, Any, Any]] = [(DnsServer, ("0.0.0.0", 53), _dns(log))]
    plain = _http(log, "http")
    context = _context(authority_file)
    for port in HTTP_PORTS:
        handlers += [(Server, ("0.0.0.0", port), plain), (Server6, ("::1", port), plain)]
    if context is not None:
        for port in HTTPS_PORTS:
            handlers.append((Server, ("0.0.0.0", port), _tls(_http(log, "https"), context)))
    for port in (6379, 6380):
        handlers.append((Server, ("0.0.0.0", port), _redis(log)))
    handlers.append((Server, ("0.0.0.0", 22), shell.handler() or _line(log, 22)))
    for port in (43, 79):
        handlers.append((Server, ("0.0.0.0", port), _line(log, port, "asked")))
    for port, name in ((5432, "postgres"), (3306, "mariadb")):
        handlers.append((Server, ("0.0.0.0", port), services.between(name, sockets, log)))
    for port in (7, 9, 21, 25, 110, 143, 587, 1234, 4444, 9999, 11211):
        handlers.append((Server, ("0.0.0.0", port), _line(log, port)))
    for name in SOCKETS:
        serve: Any = _http(log, f"unix:/run/{name}")
        if "bus" in name:
            serve = bus.handler(log)
        elif "sql" in name.lower():
            serve = services.between("postgres" if "PG" in name else "mariadb", sockets, log)
        handlers.append((UnixServer, f"{sockets}/{socket_file(name)}", serve))
    for server, address, handler in handlers:
        try:
            made = server(address, handler)
        except OSError:
            continue  # no IPv6 here, or a port that is taken: requests to it fail, and are seen as such
        threading.Thread(target=made.serve_forever, daemon=True).start()


# --- names --------------------------------------------------------------------------------------------------------


def _dns(log: _Log) -> type[socketserver.BaseRequestHandler]:
    class Dns(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            query, link = self.request
            labels, place = [], 12
            while place < len(query) and query[place]:
                labels.append(query[place + 1 : place + 1 + query[place]].decode("latin-1"))
                place += 1 + query[place]
            end = place + 5
            kind = int.from_bytes(query[place + 1 : place + 3], "big")
            log(
                "dns",
                ".".join(labels),
                method={1: "A", 28: "AAAA", 12: "PTR", 15: "MX", 16: "TXT"}.get(kind, str(kind)),
            )
            data = {
                1: b"\x7f\0\0\1",
                16: b"\x03foo",
                15: b"\0\x0a\xc0\x0c",
                2: b"\xc0\x0c",
                5: b"\xc0\x0c",
                12: b"\x03box\0",
                6: b"\xc0\x0c\xc0\x0c" + struct.pack(">5I", 1, 60, 60, 60, 60),
            }.get(kind)
            head = query[:2] + b"\x85\x80\0\1" + (b"\0\1" if data else b"\0\0") + b"\0\0\0\0"
            reply = head + query[12:end]
            if data:
                reply += b"\xc0\x0c" + query[place + 1 : place + 5] + struct.pack(">IH", 60, len(data)) + data
            link.sendto(reply, self.client_address)

    return Dns


# --- HTTP ---------------------------------------------------------------------------------------------------------


def _context(authority_file: str) -> ssl.SSLContext | None:
    """Server side of TLS, which shows every name the certificate it asks for; made by openssl when it is first asked."""
    if not Path(authority_file).stat().st_size:
        return None
    folder = tempfile.mkdtemp(prefix="witness-tls-")
    known: dict[str, ssl.SSLContext] = {}
    lock = threading.Lock()

    def context_for(name: str) -> ssl.SSLContext:
        with lock:
            if name not in known:
                known[name] = _leaf(name, folder, authority_file)
            return known[name]

    def choose(connection: Any, name: str | None, _: ssl.SSLContext) -> None:
        connection.context = context_for(name or "localhost")

    base = _leaf("localhost", folder, authority_file)
    base.sni_callback = choose
    return base


def _leaf(name: str, folder: str, authority_file: str) -> ssl.SSLContext:
    base = Path(folder) / re.sub(r"[^\w.-]", "_", name)
    key, request, certificate, extension = (f"{base}.{ending}" for ending in ("key", "csr", "crt", "ext"))
    Path(extension).write_text(f"subjectAltName=DNS:{name},DNS:*.{name},IP:127.0.0.1,IP:::1\n")
    steps = (
        [
            "req",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            f"/CN={name[:60]}",
            "-keyout",
            key,
            "-out",
            request,
        ],
        [
            "x509",
            "-req",
            "-in",
            request,
            "-CA",
            authority_file,
            "-CAkey",
            authority_file.replace(".crt", ".key"),
            "-CAcreateserial",
            "-CAserial",
            f"{base}.srl",
            "-days",
            "365",
            "-extfile",
            extension,
            "-out",
            certificate,
        ],
    )
    for step in steps:
        subprocess.run(["openssl", *step], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def _tls(handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext) -> Callable[..., None]:
    def handle(connection: socket.socket, address: Any, server: Any) -> None:
        try:
            with context.wrap_socket(connection, server_side=True) as secure:
                handler(secure, address, server)
        except OSError:
            return  # a client that does not trust us, or that only looks whether somebody answers

    return handle


def _http(log: _Log, scheme: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 5

        def _answer(self) -> None:
            body = self._body()
            path = urlsplit(self.path).path if self.path.startswith("http") else self.path
            host = self.headers.get("Host", "") if not scheme.startswith("unix") else ""
            address = f"{scheme}://{host}{path}" if host else f"{scheme}{path}"
            log(
                "http",
                address,
                method=self.command,
                target=self.headers.get("X-Amz-Target", ""),
                body=body[:2000].decode("utf-8", "replace"),
            )
            if self.headers.get("Upgrade", "").lower() == "tcp":
                self._attach_stream()
                return
            status, kind, content = respond(self.command, host, path, body, self.headers.get("Accept", ""))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            for name, value in (
                ("Api-Version", "1.43"),
                ("OSType", "linux"),
                ("X-OAuth-Scopes", "repo, read:org, gist, workflow"),
                ("Docker-Distribution-Api-Version", "registry/2.0"),
            ):
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def _attach_stream(self) -> None:
            """What docker does for `exec`: the connection becomes the output of the command, with one line in it."""
            self.send_response(101)
            self.send_header("Content-Type", "application/vnd.docker.raw-stream")
            self.send_header("Connection", "Upgrade")
            self.send_header("Upgrade", "tcp")
            self.end_headers()
            self.wfile.write(b"\x01\0\0\0\0\0\0\x04foo\n")
            self.close_connection = True

        def _body(self) -> bytes:
            if self.headers.get("Expect", "").lower() == "100-continue":
                self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
                body = b""
                while len(body) < MAX_BODY:
                    size = int(self.rfile.readline().split(b";")[0] or b"0", 16)
                    body += self.rfile.read(size)
                    self.rfile.readline()
                    if not size:
                        break
                return body
            return self.rfile.read(min(int(self.headers.get("Content-Length") or 0), MAX_BODY))

        def __getattr__(self, name: str) -> Any:
            if name.startswith("do_"):
                return self._answer
            raise AttributeError(name)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name is the library's
            return

        def address_string(self) -> str:
            return "client"  # of a socket in the file system there is none

    return Handler


_ISSUE: dict[str, Any] = {
    "number": 1,
    "id": 1,
    "title": "foo",
    "state": "OPEN",
    "body": "",
    "url": "https://github.com/o/r/issues/1",
    "user": {"login": "o"},
    "name": "x",
    "tag_name": "v1.0",
    "status": "completed",
    "conclusion": "success",
    "full_name": "o/r",
    "default_branch": "main",
    "author": {"login": "o"},
    "jobs_url": "https://api.github.com/repos/o/r/actions/runs/1/jobs",
    "content": "",
}

_KINDS = {
    "pods": "Pod",
    "services": "Service",
    "nodes": "Node",
    "namespaces": "Namespace",
    "configmaps": "ConfigMap",
    "secrets": "Secret",
    "events": "Event",
    "endpoints": "Endpoints",
    "persistentvolumes": "PersistentVolume",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "serviceaccounts": "ServiceAccount",
    "replicationcontrollers": "ReplicationController",
}
_APPS = {
    "deployments": "Deployment",
    "replicasets": "ReplicaSet",
    "statefulsets": "StatefulSet",
    "daemonsets": "DaemonSet",
}
_SHORT = {
    "pods": ["po"],
    "services": ["svc"],
    "nodes": ["no"],
    "namespaces": ["ns"],
    "deployments": ["deploy"],
    "configmaps": ["cm"],
}


def respond(method: str, host: str, path: str, body: bytes, accept: str = "") -> tuple[int, str, bytes]:
    """What the stand-in answers: status, type and content. A guess at the service is made from host and path."""
    plain = path.split("?")[0]
    name = host.split(":")[0]
    if "info/refs" in path and "svn" not in path:
        line = b"0" * 39 + b"1 HEAD\0 agent=x\n"
        return (
            200,
            "application/x-git-upload-pack-advertisement",
            _lines(b"# service=git-upload-pack\n") + b"0000" + _lines(line) + b"0000",
        )
    if "graphql" in plain:
        return _json(_graphql(body))
    if name.endswith("github.com") or name.startswith("gitlab") or plain.startswith("/api/v4"):
        return _json(_github(plain.removeprefix("/api/v3")))
    if host.endswith((":8001", ":6443")):
        return _cluster(method, plain)
    if not host or (
        host.endswith((":2375", "docker", "localhost")) and re.match(r"^/(v1\.\d+/|_ping)", plain)
    ):
        return _docker(plain)
    if "/metadata/identity/" in plain:
        return _json(
            {
                "access_token": _TOKEN,
                "expires_on": "4102444800",
                "expires_in": "86400",
                "token_type": "Bearer",
            }
        )
    if name.endswith(("management.azure.com", "vault.azure.net", "graph.microsoft.com")):
        listed = not re.search(
            r"/(locations|providers/[\w.]+/\w+)/[^/]+$|/resourcegroups/[^/]+$|/secrets/[^/]+$",
            plain,
            re.IGNORECASE,
        )
        return _json(
            {"value": []}
            if listed
            else {"id": plain, "name": "x", "location": "x", "properties": {}, "value": "x"}
        )
    if name.endswith("googleapis.com"):
        return _json({"items": {} if "/aggregated/" in plain else [], "name": "x"} if method == "GET" else {})
    if name.endswith("amazonaws.com") or host.endswith((":4566", ":9000")):
        action = re.search(rb"Action=(\w+)", body)
        if action:
            word = action[1].decode()
            return 200, "text/xml", f"<{word}Response><{word}Result/></{word}Response>".encode()
        if name.startswith(("cloudfront", "route53")):
            return 200, "text/xml", b"<Result><HostedZoneCount>1</HostedZoneCount></Result>"
        if name.startswith(("api.ecr", "ecr")):
            return _json(
                {"authorizationData": [{"authorizationToken": "QVdTOng=", "proxyEndpoint": "https://x"}]}
            )
        if "xml" in accept or ".s3." in f".{name}" or host.endswith((":4566", ":9000")):
            return 200, "text/xml", b"<ListAllMyBucketsResult><Buckets/><Owner/></ListAllMyBucketsResult>"
        return _json({"events": [], "logGroups": []})
    if ":8200" in host:
        return _json(
            {
                "data": {"keys": ["x"], "data": {"a": "b"}, "metadata": {}},
                "initialized": True,
                "sealed": False,
                "version": "1.0",
                "auth": None,
                "policies": ["x"],
            }
        )
    if plain.startswith("/simple/"):
        project = plain.strip("/").rpartition("/")[2]
        wheel = {
            "filename": f"{project}-1.0-py3-none-any.whl",
            "url": f"https://{host}/{project}-1.0-py3-none-any.whl",
            "hashes": {},
        }
        body_of = json.dumps({"meta": {"api-version": "1.0"}, "name": project, "files": [wheel]})
        return 200, "application/vnd.pypi.simple.v1+json", body_of.encode()
    if plain.endswith("/whoami"):
        return _json({"username": "o"})
    if (
        "json" in accept
        or plain.endswith(("/health", ".json"))
        or "/api" in plain
        or "registry" in host
        or "pypi" in host
    ):
        return _json(
            {
                "name": "x",
                "version": "1.0.0",
                "dist-tags": {"latest": "1.0.0"},
                "versions": {
                    "1.0.0": {
                        "name": "x",
                        "version": "1.0.0",
                        "dist": {"tarball": "http://x/x.tgz", "shasum": "0" * 40},
                    }
                },
                "objects": [],
                "results": [],
                "items": [],
                "info": {"name": "x", "version": "1.0.0"},
                "releases": {},
                "urls": [],
            }
        )
    file = plain.rpartition("/")[2]
    if knows(file) and name.removeprefix("www.").partition(".")[0] in (
        "localhost",
        "127",
        "example",
        "host",
        "x",
    ):
        return 200, "application/octet-stream", sample(file)
    return 200, "text/plain", b"foo\n"


_TOKEN = ".".join(
    base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
    for part in (
        {"alg": "none"},
        {"oid": "x", "tid": "x", "appid": "x", "exp": 4102444800, "upn": "user@example.org"},
        "",
    )
)
"""What looks like a token of an identity."""


def _lines(data: bytes) -> bytes:
    return b"%04x" % (len(data) + 4) + data


def _json(value: Any, status: int = 200) -> tuple[int, str, bytes]:
    return status, "application/json", json.dumps(value).encode()


def _github(path: str) -> Any:
    if re.search(
        r"(/\d+|/latest|/o/r|/user|/rate_limit|/v1\.0|/meta|/tags/[^/]+|/users/\w+|/[0-9a-f]{40}|/repos/[^/]+/[^/]+)$",
        path,
    ):
        return _ISSUE | {
            "resources": {"core": {"limit": 1, "remaining": 1, "reset": 1}},
            "files": {},
            "assets": [],
            "workflow_runs": [],
        }
    if "actions" in path:
        return {
            "total_count": 0,
            "workflow_runs": [],
            "workflows": [],
            "jobs": [],
            "caches": [],
            "actions_caches": [],
            "secrets": [],
            "variables": [],
            "artifacts": [],
        }
    if path.startswith("/search"):
        return {"total_count": 0, "items": []}
    return []


def _graphql(body: bytes) -> Any:
    """An answer that has every field the query asks for and no other: lists are empty, the rest is a guess by name."""
    try:
        query = str(json.loads(body)["query"])
    except (ValueError, KeyError, TypeError):
        return {"errors": [{"message": "not a query"}]}
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|\.\.\.|[\w$@]+|[{}():!\[\]=]', query)
    fragments: dict[str, list[str]] = {}
    for place, token in enumerate(tokens):
        if token == "fragment":
            start = tokens.index("{", place)
            fragments[tokens[place + 1]] = tokens[start : _closing(tokens, start) + 1]
    begin = 0
    while tokens[begin : begin + 1] == ["fragment"] and "{" in tokens[begin:]:
        begin = _closing(tokens, tokens.index("{", begin)) + 1
    start = tokens.index("{", begin) if "{" in tokens[begin:] else len(tokens)
    return {"data": _selected(tokens[start : _closing(tokens, start) + 1], fragments)}


def _closing(tokens: list[str], start: int) -> int:
    """Where the bracket at `start` is closed; the end where it is not."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += tokens[place] in ("{", "(")
        depth -= tokens[place] in ("}", ")")
        if depth == 0:
            return place
    return len(tokens)


def _selected(tokens: list[str], fragments: dict[str, list[str]], parent: str = "") -> dict[str, Any]:
    """The object for one selection set, which `tokens` hold with its brackets."""
    found: dict[str, Any] = {}
    place = 1
    while place < len(tokens) - 1:
        if tokens[place] == "...":
            if tokens[place + 1] in fragments:
                found |= _selected(fragments[tokens[place + 1]], fragments, parent)
                place += 2
                continue
            place = tokens.index("{", place)
            end = _closing(tokens, place)
            found |= _selected(tokens[place : end + 1], fragments, parent)
            place = end + 1
            continue
        key = name = tokens[place]
        place += 1
        if tokens[place] == ":":
            name, place = tokens[place + 1], place + 2
        while tokens[place] == "(" or tokens[place].startswith("@"):
            place = _closing(tokens, place) + 1 if tokens[place] == "(" else place + 1
        if tokens[place] == "{":
            end = _closing(tokens, place)
            inner = _selected(tokens[place : end + 1], fragments, name)
            several = name in ("nodes", "edges", "reactionGroups")
            found[key] = (
                ([inner] if parent in ("commits", "suggestedReviewers") else []) if several else inner
            )
            place = end + 1
        else:
            found[key] = _guessed(name)
    return found


def _guessed(name: str) -> Any:
    """A value for a field, by its name."""
    if name.endswith("Count") or name in (
        "number",
        "databaseId",
        "additions",
        "deletions",
        "changedFiles",
        "diskUsage",
    ):
        return 1
    if name.startswith(("is", "has", "viewerCan", "viewerHas")) or name.endswith(("Allowed", "Enabled")):
        return name != "hasNextPage"
    if name == "maintainerCanModify":
        return True
    if name.endswith(("At", "On", "Date")):
        return "2023-11-14T22:13:20Z"
    return {
        "state": "OPEN",
        "url": "https://github.com/o/r",
        "__typename": "Issue",
        "viewerPermission": "ADMIN",
    }.get(name, "x")


def _cluster(method: str, path: str) -> tuple[int, str, bytes]:
    """The discovery of a cluster, and one object of each kind in it."""
    if path == "/version":
        return _json({"major": "1", "minor": "28", "gitVersion": "v1.28.0"})
    if path == "/api":
        return _json({"kind": "APIVersions", "versions": ["v1"]})
    if path == "/apis":
        group = {"groupVersion": "apps/v1", "version": "v1"}
        metrics = {"groupVersion": "metrics.k8s.io/v1beta1", "version": "v1beta1"}
        return _json(
            {
                "kind": "APIGroupList",
                "apiVersion": "v1",
                "groups": [
                    {"name": "apps", "versions": [group], "preferredVersion": group},
                    {"name": "metrics.k8s.io", "versions": [metrics], "preferredVersion": metrics},
                ],
            }
        )
    if path in ("/api/v1", "/apis/apps/v1"):
        kinds = _KINDS if path == "/api/v1" else _APPS
        version = "v1" if path == "/api/v1" else "apps/v1"
        verbs = ["get", "list", "watch", "create", "update", "patch", "delete"]
        resources = [
            {
                "name": plural,
                "singularName": kind.lower(),
                "namespaced": kind not in ("Node", "Namespace", "PersistentVolume"),
                "kind": kind,
                "verbs": verbs,
                "shortNames": _SHORT.get(plural, []),
            }
            for plural, kind in kinds.items()
        ]
        return _json(
            {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources}
        )
    if path.startswith("/apis/metrics.k8s.io/"):
        return _json(_metrics(path))
    if path.endswith("/log"):
        return 200, "text/plain", b"foo\n"
    if path in ("/healthz", "/livez", "/readyz"):
        return 200, "text/plain", b"ok"
    if "selfsubject" in path:
        return _json(
            {
                "kind": "SelfSubjectAccessReview",
                "apiVersion": "authorization.k8s.io/v1",
                "status": {"allowed": True, "resourceRules": [], "nonResourceRules": [], "incomplete": False},
            }
        )
    if path.startswith("/openapi"):
        return _json(
            {"swagger": "2.0", "info": {"title": "x", "version": "1"}, "paths": {}, "definitions": {}}
        )
    parts = path.strip("/").split("/")
    namespace = parts[parts.index("namespaces") + 1] if "namespaces" in parts[:-1] else "default"
    for plural, kind in (_APPS | _KINDS).items():
        if plural in parts and not (plural == "namespaces" and parts[-1] != "namespaces" and len(parts) > 4):
            version = "apps/v1" if plural in _APPS else "v1"
            item = {
                "kind": kind,
                "apiVersion": version,
                "metadata": {
                    "name": parts[-1] if parts[-1] != plural else "x",
                    "namespace": namespace,
                    "uid": "1",
                    "resourceVersion": "1",
                    "creationTimestamp": "2023-11-14T22:13:20Z",
                    "generation": 1,
                },
                "spec": {
                    "replicas": 1,
                    "selector": {"matchLabels": {"a": "b"}} if plural in _APPS else {"a": "b"},
                    "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}},
                    "containers": [{"name": each, "image": "x"} for each in "xycb"],
                },
                "status": {
                    "phase": "Running",
                    "replicas": 1,
                    "readyReplicas": 1,
                    "updatedReplicas": 1,
                    "availableReplicas": 1,
                    "observedGeneration": 1,
                    "conditions": [
                        {"type": "Ready", "status": "True"},
                        {"type": "Available", "status": "True"},
                    ],
                    "containerStatuses": [
                        {"name": each, "ready": True, "restartCount": 0, "state": {"running": {}}}
                        for each in "xycb"
                    ],
                },
            }
            if parts[-1] == plural and method == "GET":
                return _json(
                    {
                        "kind": f"{kind}List",
                        "apiVersion": version,
                        "metadata": {"resourceVersion": "1"},
                        "items": [item],
                    }
                )
            return _json(item)
    return _json(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "reason": "NotFound",
            "code": 404,
            "message": "not found",
        },
        404,
    )


def _metrics(path: str) -> Any:
    kind = "NodeMetrics" if "/nodes" in path else "PodMetrics"
    used = {"cpu": "1m", "memory": "1Mi"}
    item = {
        "metadata": {"name": "x", "namespace": "default"},
        "timestamp": "2023-11-14T22:13:20Z",
        "window": "30s",
        "usage": used,
        "containers": [{"name": "x", "usage": used}],
    }
    version = "metrics.k8s.io/v1beta1"
    if path.endswith("v1beta1"):
        resources = [
            {"name": "nodes", "namespaced": False, "kind": "NodeMetrics", "verbs": ["get", "list"]},
            {"name": "pods", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"]},
        ]
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": version,
            "resources": resources,
        }
    return {"kind": f"{kind}List", "apiVersion": version, "metadata": {}, "items": [item]}


def _docker(path: str) -> tuple[int, str, bytes]:
    """Enough of the engine's API that a client goes on to the call that matters."""
    plain = re.sub(r"^/v1\.\d+", "", path)
    if plain == "/_ping":
        return 200, "text/plain", b"OK"
    if plain == "/version":
        return _json(
            {
                "Version": "24.0",
                "ApiVersion": "1.43",
                "MinAPIVersion": "1.12",
                "Os": "linux",
                "Arch": "amd64",
                "Components": [],
            }
        )
    if plain == "/info":
        return _json(
            {
                "ID": "x",
                "Containers": 0,
                "Driver": "overlay2",
                "ServerVersion": "24.0",
                "OSType": "linux",
                "Name": "box",
                "Swarm": {"LocalNodeState": "active", "ControlAvailable": True},
            }
        )
    if plain in ("/volumes",):
        return _json({"Volumes": [], "Warnings": []})
    if plain == "/system/df":
        return _json({"LayersSize": 0, "Images": [], "Containers": [], "Volumes": [], "BuildCache": []})
    if plain.endswith("/top"):
        return _json({"Titles": ["PID"], "Processes": [["1"]]})
    if plain.endswith(("/logs", "/events", "/stats", "/export", "/get", "/archive")):
        return 200, "application/octet-stream", b""
    if (
        plain.endswith(("/changes", "/history"))
        or plain.count("/") == 1
        or (plain.endswith(("/json", "/search")) and plain.count("/") == 2)
    ):
        return _json([])
    return _json(
        {
            "ExitCode": 0,
            "Id": "x" * 12,
            "ID": "x",
            "Name": "/x",
            "Created": "2023-11-14T22:13:20Z",
            "RepoTags": ["x:latest"],
            "Config": {"Image": "x", "Labels": {}, "Tty": True},
            "State": {"Status": "running", "Running": True},
            "HostConfig": {"LogConfig": {"Type": "json-file"}},
            "NetworkSettings": {
                "Ports": {"80/tcp": [{"HostIp": "0.0.0.0", "HostPort": "80"}]},
                "Networks": {},
            },
            "Mounts": [],
            "RootFS": {"Type": "layers"},
            "GraphDriver": {},
            "Spec": {"Name": "x", "Mode": {}, "TaskTemplate": {"ContainerSpec": {"Image": "x"}}},
            "Description": {},
            "Status": {},
            "Labels": {},
        }
    )


# --- other services -----------------------------------------------------------------------------------------------


def _redis(log: _Log) -> type[socketserver.StreamRequestHandler]:
    class Redis(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while True:
                line = self.rfile.readline()
                if not line or line.startswith(b"\x16"):  # TLS, which this one does not speak
                    return
                if line.startswith(b"*"):
                    words = []
                    for _ in range(int(line[1:])):
                        size = int(self.rfile.readline()[1:])
                        words.append(self.rfile.read(size).decode("utf-8", "replace"))
                        self.rfile.readline()
                else:
                    words = line.decode("utf-8", "replace").split()
                if not words:
                    continue
                log("redis", "redis", method=words[0].upper(), body=" ".join(words[1:])[:200])
                first = words[0].upper()
                if first in (
                    "KEYS",
                    "LRANGE",
                    "SMEMBERS",
                    "HGETALL",
                    "CONFIG",
                    "SCAN",
                    "COMMAND",
                    "HKEYS",
                    "ZRANGE",
                ):
                    self.wfile.write(b"*2\r\n$1\r\n0\r\n*0\r\n" if first == "SCAN" else b"*0\r\n")
                elif first in ("GET", "INFO", "HGET", "CLIENT"):
                    self.wfile.write(b"$3\r\nfoo\r\n")
                elif first in ("DBSIZE", "TTL", "EXISTS", "LLEN", "STRLEN", "DEL"):
                    self.wfile.write(b":1\r\n")
                else:
                    self.wfile.write(b"+PONG\r\n" if first == "PING" else b"+OK\r\n")

    return Redis


def _line(log: _Log, port: int, kind: str = "sent") -> type[socketserver.StreamRequestHandler]:
    class Line(socketserver.StreamRequestHandler):
        timeout = 2

        def handle(self) -> None:
            try:
                data = self.rfile.readline(2000)
            except OSError:
                data = b""
            if data:
                log(kind, f"port {port}", body=data.decode("utf-8", "replace"))
            self.wfile.write(b"foo\n")

    return Line
