"""Other secrets, and what differs with them."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.model.inputs import Facts, Inputs, SecretFact
from osm_gitops.model.objects import Origin
from osm_gitops.model.settings import Settings
from osm_gitops.plan.sensitive import collect_sensitive, with_other_secrets
from osm_gitops.plan.variants import VARIANTS, Variant, differing, secret_lines, secret_texts

_SAME, _LONGER = Variant("a"), Variant("b", longer=True)
_TYPEABLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60)


@given(_TYPEABLE.filter(lambda value: "://" not in value and "-----" not in value))
def test_no_letter_or_digit_stays_in_its_place(value: str) -> None:
    other = _SAME.substitute(value)
    assert len(other) == len(value)
    assert all(new != old for new, old in zip(other, value, strict=True) if old.isalnum())
    longer = _LONGER.substitute(value)
    assert len(longer) == len(value) + 4
    kept = value.rstrip("=") if len(value) % 4 == 0 else value
    assert all(new != old for new, old in zip(longer, kept, strict=False))
    assert (other, longer) == (_SAME.substitute(value), _LONGER.substitute(value))


@given(_TYPEABLE)
def test_a_secret_is_another_one_in_at_least_one_variant(value: str) -> None:
    assert any(variant.substitute(value) != value for variant in VARIANTS)


@pytest.mark.parametrize(
    "value",
    ["abcdef.0123456789abcdef", "https://user:pass@host.example.com:6443/x", "eyJhbGciOi.J9-_x.y"],
)
def test_formats_stay(value: str) -> None:
    for variant in VARIANTS[:2]:
        other = variant.substitute(value)
        assert [char for char in other if not char.isalnum()] == [char for char in value if not char.isalnum()]
        assert other.partition("://")[0] == value.partition("://")[0] or "://" not in value
    assert b64decode(_LONGER.substitute(b64encode(b"some secret bytes").decode()), validate=True)


def test_of_a_key_in_pem_the_frame_stays() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQ==\n-----END PRIVATE KEY-----\n"
    for variant in VARIANTS:
        first, middle, last, end = variant.substitute(key).split("\n")
        assert (first, last, end) == ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "")
        assert not set(middle[:6]) & set("MIIEvQ") or middle != "MIIEvQ=="


def test_what_is_collected_is_what_is_replaced() -> None:
    """Every value that a report would look for is gone from the inputs with other secrets."""
    docker = {"auths": {"r": {"username": "somebody", "password": "pw", "auth": b64encode(b"us:pass").decode()}}}
    kubeconfig = "apiVersion: v1\nclusters:\n- name: c\nusers:\n- user:\n    token: tok123\n    password: pw4\n"
    data = {
        "token": b"t0ken",
        ".dockerconfigjson": json.dumps(docker).encode(),
        "kubeconfig": kubeconfig.encode(),
        "account": b64encode(json.dumps({"type": "service_account", "private_key_id": "abc1"}).encode()),
        "ca.crt": b"public",
    }
    facts = Facts(
        {("n", "s"): SecretFact("n", "s", "Opaque", data, {}, Origin("x"))}, environment={"OS_PASSWORD": "envpw"}
    )
    settings = Settings(http_proxy="http://pu:pp@proxy:1", registry_mirrors={"q": ("https://mu:mp@m",)})
    known = collect_sensitive(facts, (), settings)
    assert {"t0ken", "pw", "tok123", "pw4", "abc1", "envpw", "pu", "mp"} <= known
    for variant in VARIANTS:
        other, other_settings = with_other_secrets(Inputs(facts=facts), settings, variant.substitute)
        (replaced,) = other.facts.secrets.values()
        assert replaced.data["ca.crt"] == b"public"
        assert json.loads(replaced.data[".dockerconfigjson"])["auths"]["r"].keys() == docker["auths"]["r"].keys()
        assert json.loads(b64decode(replaced.data["account"]))["type"] == "service_account"
        assert other_settings.http_proxy.endswith("@proxy:1")
        again = collect_sensitive(other.facts, (), other_settings)
        assert not known & again


def test_lines_are_compared_by_their_place_or_by_what_is_between() -> None:
    assert secret_lines("a\n  b\nc", ["a\n  x\nc"]) == {"b"}
    assert secret_lines("a\nb\nc\nd", ["a\nx\ny\nz\nd"]) == {"b", "c"}
    assert secret_lines("a\nb", ["a\nb"]) == frozenset()
    # Equal lines at both ends are not counted twice.
    assert list(differing(["a", "a", "a"], ["a", "a"])) == [2]
    assert list(differing(["a", "b"], ["a", "b", "c"])) == []


def test_a_text_that_only_lacks_a_line_touches_secrets() -> None:
    found = secret_texts({"f": "a\nb"}, [{"f": "a\nb\nc"}])
    assert not found.lines
    assert found.texts == {"f"}
    gone = secret_texts({"f": "a\nb"}, [{}])
    assert gone.lines == {"a", "b"}
