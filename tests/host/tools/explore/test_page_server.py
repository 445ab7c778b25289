"""The server: one page, one secret address, GET alone, on this machine."""

from __future__ import annotations

import http.client
import socket
from threading import Thread

import pytest

from tilewright.tools.explore.page import PageServer

PAGE = "<!doctype html><p>ü"


@pytest.fixture
def server():
    with PageServer(PAGE) as made:
        thread = Thread(target=made.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def asked(server, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_the_page(server):
    answer, body = asked(server, server.path)
    assert answer.status == 200 and body.decode() == PAGE
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert not [name for name in answer.headers if name.startswith("Access-Control")]
    assert "Python" not in answer.headers["Server"]
    assert asked(server, server.path, Host=f"localhost:{server.port}")[0].status == 200


def test_it_listens_on_this_machine_alone(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.address.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("path", ["/", "/index.html", "//", "/x/", "/../etc/passwd", "*"])
def test_other_addresses_tell_nothing(server, path):
    answer, body = asked(server, path)
    assert answer.status == 404 and server.token.encode() not in body


def test_nearly_the_token(server):
    for path in (server.path[:-1], server.path + "?", server.path[:-2] + "_/", server.path.lower()):
        assert path == server.path or asked(server, path)[0].status == 404


def test_tokens_are_long_and_differ(server):
    with PageServer(PAGE) as other:
        assert other.token != server.token and len(server.token) >= 32


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "[::1]", ""])
def test_other_names_for_this_machine(server, host):
    answer, body = asked(server, server.path, Host=host)
    assert answer.status == 421 and PAGE.encode() not in body


def test_two_names(server):
    request = f"GET {server.path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nHost: x\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), 5) as connection:
        connection.sendall(request.encode())
        assert b" 421 " in connection.recv(100)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_nothing_can_be_sent(server, method):
    answer, body = asked(server, server.path, method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert PAGE.encode() not in body


def test_head_has_no_body(server):
    answer, body = asked(server, server.path, "HEAD")
    assert answer.status == 200 and body == b""
    assert int(answer.headers["Content-Length"]) == len(PAGE.encode())


def test_requests_are_not_written_down(server, capfd):
    asked(server, server.path)
    assert server.token not in "".join(capfd.readouterr())


@pytest.mark.parametrize(("error", "told"), [(ConnectionResetError, False), (ValueError, True)])
def test_a_browser_that_leaves_is_no_error(server, capfd, error, told):
    try:
        raise error
    except error:
        server.handle_error(None, ("127.0.0.1", 1))
    assert (error.__name__ in capfd.readouterr().err) is told
