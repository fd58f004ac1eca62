{#
  Docker's repository by major release: a machine that is kept at a minor release asks for the same one. It is
  switched on for this installation only, so that no upgrade changes containerd under its containers. yum fetches and
  trusts the key by itself.
#}
{% from "quoting" import quoted %}
{% set release = value("versions.containerd", "2.2") %}
# shellcheck source=/dev/null
. /etc/os-release
docker={{ quoted(trimSuffix("/", value("repositories.docker", "https://download.docker.com/linux"))) }}/rhel
cat >/etc/yum.repos.d/docker-ce.repo <<END
[docker-ce-stable]
name=Docker
baseurl=$docker/${VERSION_ID%%.*}/\$basearch/stable
enabled=0
gpgcheck=1
gpgkey=$docker/gpg
END
retry yum_anew --enablerepo=docker-ce-stable install {{ quoted("containerd.io-" + release + (".*" if len(splitList(".", release)) < 3 else "-*")) }}
