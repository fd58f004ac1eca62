{#
  Kubelet, kubectl, CNI plugins and crictl. Needs retry.sh. Nothing is used before its checksum was right: the one that
  a value gives for this version, or for any, else the one that is published beside the file. What is there already is
  not downloaded again.
#}
{% from "quoting" import quoted %}
{% set cni = value("versions.cni", "v1.9.1") %}
{% set crictl = value("versions.crictl", regexReplaceAll("^v([0-9]+[.][0-9]+)[.].*$", KubeVersion, "v${1}.0")) %}
{% macro checksum(given, version, arch) %}
{{ quoted((given[version][arch] or given[arch] or "") if given else "") -}}
{% endmacro %}
case "$(uname -m)" in
  x86_64)
    arch=amd64
    kubelet_sum={{ checksum(value("checksums.kubelet", {}), KubeVersion, "amd64") }}
    kubectl_sum={{ checksum(value("checksums.kubectl", {}), KubeVersion, "amd64") }}
    cni_sum={{ checksum(value("checksums.cni", {}), cni, "amd64") }}
    crictl_sum={{ checksum(value("checksums.crictl", {}), crictl, "amd64") }}
    ;;
  aarch64)
    arch=arm64
    kubelet_sum={{ checksum(value("checksums.kubelet", {}), KubeVersion, "arm64") }}
    kubectl_sum={{ checksum(value("checksums.kubectl", {}), KubeVersion, "arm64") }}
    cni_sum={{ checksum(value("checksums.cni", {}), cni, "arm64") }}
    crictl_sum={{ checksum(value("checksums.crictl", {}), crictl, "arm64") }}
    ;;
  *)
    echo "there is no kubelet for $(uname -m)" >&2
    exit 1
    ;;
esac

has_sum() { # FILE SUM
  echo "$2  $1" | sha256sum --check --status 2>/dev/null
}

fetch() { # URL FILE SUM
  local sum=$3
  if [ -z "$sum" ]; then
    download "$1.sha256" "$2.sha256" || return 1
    read -r sum _ <"$2.sha256" || [ -n "$sum" ] || return 1
  fi
  if has_sum "$2" "$sum"; then return 0; fi
  download "$1" "$2.unverified" || return 1
  if ! has_sum "$2.unverified" "$sum"; then
    echo "$1 does not have the checksum $sum" >&2
    rm -f "$2.unverified"
    return 1
  fi
  mv -f "$2.unverified" "$2"
}

cache=/var/cache/kubernetes
mkdir -p "$cache" /opt/bin /opt/cni/bin /etc/cni/net.d /etc/kubernetes/manifests

cni={{ quoted(trimSuffix("/", value("downloads.cni", "https://github.com/containernetworking/plugins/releases/download"))) }}
archive=cni-plugins-linux-$arch-{{ cni }}.tgz
retry fetch "$cni/{{ cni }}/$archive" "$cache/$archive" "$cni_sum"
tar --extract --gzip --no-same-owner --file "$cache/$archive" --directory /opt/cni/bin
{# Cilium's agent cannot replace its binary in a folder that belongs to somebody else. #}
chown -R root:root /opt/cni

crictl={{ quoted(trimSuffix("/", value("downloads.crictl", "https://github.com/kubernetes-sigs/cri-tools/releases/download"))) }}
archive=crictl-{{ crictl }}-linux-$arch.tar.gz
retry fetch "$crictl/{{ crictl }}/$archive" "$cache/$archive" "$crictl_sum"
tar --extract --gzip --no-same-owner --file "$cache/$archive" --directory /opt/bin crictl

kubernetes={{ quoted(trimSuffix("/", value("downloads.kubernetes", "https://dl.k8s.io"))) }}/{{ KubeVersion }}/bin/linux/$arch
install_binary() { # NAME SUM
  retry fetch "$kubernetes/$1" "/opt/bin/$1-{{ KubeVersion }}" "$2"
  chmod 0755 "/opt/bin/$1-{{ KubeVersion }}"
  ln -sfn "$1-{{ KubeVersion }}" "/opt/bin/$1"
}
install_binary kubelet "$kubelet_sum"
install_binary kubectl "$kubectl_sum"
{# Flatcar has /opt/bin in its path, and a /usr that cannot be written. #}
if [ -w /usr/local/bin ]; then ln -sf /opt/bin/crictl /opt/bin/kubectl /usr/local/bin/; fi
