{# What Red Hat's images bring and Kubernetes does not go with. #}
if command -v setenforce >/dev/null; then
  setenforce 0 || true
fi
if [ -e /etc/selinux/config ]; then
  sed -i 's/^SELINUX=enforcing/SELINUX=permissive/' /etc/selinux/config
fi
if systemctl is-enabled --quiet firewalld; then
  systemctl disable --now firewalld
fi

