{#
  Docker's repository for this distribution and release. apt reads its key as it is published: nothing is converted,
  nothing asks, and a second run writes the same file. The package is held, lest an upgrade restarts every container.
#}
{% from "quoting" import quoted %}
{% set release = value("versions.containerd", "2.2") %}
docker={{ quoted(trimSuffix("/", value("repositories.docker", "https://download.docker.com/linux"))) }}/$ID
install -m 0755 -d /etc/apt/keyrings
retry download "$docker/gpg" /etc/apt/keyrings/docker.asc
chmod 644 /etc/apt/keyrings/docker.asc
echo "deb [arch=$(dpkg --print-architecture) signed-by=/etc/apt/keyrings/docker.asc] $docker $VERSION_CODENAME stable" \
  >/etc/apt/sources.list.d/docker.list

retry apt_anew install --no-install-recommends --allow-downgrades --allow-change-held-packages \
  {{ quoted("containerd.io=" + release + (".*" if len(splitList(".", release)) < 3 else "-*")) }}
apt-mark hold containerd.io
