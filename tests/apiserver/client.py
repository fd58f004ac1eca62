"""A small client of the API, so that tests look at a cluster with other eyes than what they test."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

Object = dict[str, Any]
_SECONDS = 60  # more than a busy machine needs for one answer
_WATCHED = 45  # and for what it does of itself; less, so that the server ends the answer


class Refused(Exception):
    """The server's answer to a request that it did not carry out."""

    def __init__(self, status: int, answer: Mapping[str, Any]) -> None:
        super().__init__(f"{status} {answer.get('reason', '')}: {answer.get('message', answer)}")
        self.status = status


class Client:
    """One user's requests to one server, over one connection. Paths are the API's: ``/api/v1/namespaces/x``."""

    def __init__(self, server: str, authority: str, token: str) -> None:
        self._host = urlsplit(server).netloc
        self._trust = ssl.create_default_context(cadata=authority)
        self._token = token
        self._connection = self._connect()

    def _connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self._host, timeout=_SECONDS, context=self._trust)

    def close(self) -> None:
        self._connection.close()

    def text(self, path: str, method: str = "GET", body: Any = None, **headers: str) -> str:
        """The answer as it is. Raises :class:`Refused`, and OSError where no server answers."""
        content = None if body is None else json.dumps(body)
        try:
            self._connection.request(method, path, content, self._headers(headers))
            response = self._connection.getresponse()
        except http.client.RemoteDisconnected:  # it was idle for so long that the server hung up
            if method != "GET":
                raise
            self._connection.close()
            self._connection.request(method, path, content, self._headers(headers))
            response = self._connection.getresponse()
        answer = response.read().decode()
        if response.status >= 400:
            is_json = "json" in (response.getheader("Content-Type") or "")
            raise Refused(response.status, json.loads(answer) if is_json else {"message": answer})
        return answer

    def _headers(self, more: Mapping[str, str]) -> dict[str, str]:
        given = {name.replace("_", "-"): value for name, value in more.items()}
        return {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"} | given

    def get(self, path: str, **headers: str) -> Object:
        return _object(self.text(path, **headers))

    def create(self, body: Object) -> Object:
        return _object(self.text(path_of(body, named=False), "POST", body))

    def replace(self, path: str, body: Object) -> Object:
        return _object(self.text(path, "PUT", body))

    def merge(self, path: str, change: Object) -> Object:
        """A JSON merge patch."""
        return _object(self.text(path, "PATCH", change, Content_Type="application/merge-patch+json"))

    def apply(self, body: Object, manager: str = "tests") -> Object:
        """Server-side apply, forced."""
        path = f"{path_of(body)}?{urlencode({'fieldManager': manager, 'force': 'true'})}"
        return _object(self.text(path, "PATCH", body, Content_Type="application/apply-patch+yaml"))

    def delete(self, path: str) -> Object:
        return _object(self.text(path, "DELETE"))

    def wait(self, path: str, reached: Callable[[Object | None], bool]) -> None:
        """Until ``reached`` is true of the object of this path, or of None where it is not there."""
        collection, _, name = path.rpartition("/")
        listed = self.get(f"{collection}?{urlencode({'fieldSelector': f'metadata.name={name}'})}")
        found = listed["items"]
        if reached(found[0] if found else None):
            return
        since = listed["metadata"]["resourceVersion"]
        for event in self.events(collection, since, fieldSelector=f"metadata.name={name}"):
            assert event["type"] != "ERROR", event["object"]
            if reached(None if event["type"] == "DELETED" else event["object"]):
                return
        raise AssertionError(f"{path} did not become what is waited for within {_WATCHED} s")

    def events(self, collection: str, since: str, **query: str) -> Iterator[Object]:
        """What happens to the objects of a collection after a resourceVersion; it ends after a while."""
        query |= {"watch": "1", "resourceVersion": since, "timeoutSeconds": str(_WATCHED)}
        connection = self._connect()  # one of its own: it is left in the middle of an answer
        try:
            connection.request("GET", f"{collection}?{urlencode(query)}", headers=self._headers({}))
            with connection.getresponse() as response:
                for line in response:
                    yield _object(line)
        finally:
            connection.close()


def path_of(body: Object, *, named: bool = True) -> str:
    """Where the API has an object, or without its name the collection that it belongs to."""
    version, kind, metadata = body["apiVersion"], body["kind"], body["metadata"]
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    namespace = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    name = f"/{metadata['name']}" if named else ""
    return f"/{'apis' if '/' in version else 'api'}/{version}{namespace}/{plural.lower()}{name}"


def _object(text: str | bytes) -> Object:
    parsed: Object = json.loads(text)
    return parsed
