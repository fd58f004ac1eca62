"""Unquoted variables whose values may be several words."""

from __future__ import annotations

import pytest

from osm_gitops.shell.splitting import splits

MAY_SPLIT = {
    "an argument of the script": "rm -rf $1",
    "an argument of a function": "f() { mv $1 /opt/a; }",
    "what is read": "while read -r path; do cp $path /opt; done",
    "the output of a command": "disk=$(jq -r .disk /etc/a); mkfs.ext4 $disk",
    "a file": 'name=$(cat /etc/a); hostnamectl set-hostname "$(echo $name)" $name',
    "a test": "name=$(cat /etc/a); if [ -n $name ]; then true; fi",
    "a redirection": "target=$(cat /etc/a); echo a >/opt/$target",
    "a value with a part of it": "path=/opt/$(jq -r .a /etc/a); chmod 755 $path",
    "one of two values": "target=a; target=$(cat /etc/a); cp b $target",
    "the environment": "cp a $TARGET_PATH",
    "a loop over files that are listed": "for file in $(ls /opt); do rm $file; done",
}
_ONE_WORD = {
    "a literal": "target=/opt/a; cp b $target",
    "words on purpose": 'command="docker ps"; timeout 5 $command',
    "options": "curl $CURL_OPTS https://a.example.com",
    "a list by its name": "apt-get install -y $packages",
    "a number": "count=$(( 1 + 2 )); kill -$count 5",
    "a status": "false; mkdir $?",
    "the processors": "n=$(nproc); make -j $n",
    "a field": "address=$(ip -o addr | awk '{print $4}'); ip link set $address",
    "a field of a function": "f() { echo $(ip link | awk '{print $1}'); }; x=$(f); cp a $x",
    "the machine's name": "name=$(cat /etc/machine-name); hostnamectl set-hostname $name",
    "without blanks": "name=$(tr -d '[:space:]' </etc/a); hostnamectl set-hostname $name",
    "made of one word each": 'arch=$(uname -m); file="a-$arch.tgz"; rm $file',
    "a loop over literals": "for name in a b; do mkdir $name; done",
    "the release": ". /etc/os-release; mkdir $VERSION_CODENAME",
    "printed": "text=$(cat /etc/a); echo $text",
    "in quotes": 'text=$(cat /etc/a); rm "$text"',
    "the input of a command": "text=$(cat /etc/a); cat <<<$text",
    "the value of another variable": "text=$(cat /etc/a); other=$text",
}


def _found(script: str) -> list[str]:
    names = ["1", "path", "disk", "name", "target", "TARGET_PATH", "file", "command", "CURL_OPTS", "packages", "count"]
    expansions = [f"${name}" for name in (*names, "?", "n", "address", "x", "VERSION_CODENAME", "text")]
    return [found for each in expansions if each in script and (found := splits(script, 1, each))]


@pytest.mark.parametrize("script", MAY_SPLIT.values(), ids=MAY_SPLIT)
def test_a_value_that_may_be_several_words_is_found(script: str) -> None:
    assert len(_found(script)) == 1


@pytest.mark.parametrize("script", _ONE_WORD.values(), ids=_ONE_WORD)
def test_a_value_of_one_word_needs_no_quotes(script: str) -> None:
    assert _found(script) == []
