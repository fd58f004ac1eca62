{# What Red Hat's images bring and Kubernetes does not go with. #}
if command -v setenforce >/dev/null; then
  setenforce 0 || true
  sed -i 's/^SELINUX=enforcing/SELINUX=permissive/' /etc/selinux/config
fi
if systemctl is-enabled --quiet firewalld; then
  systemctl disable --now firewalld
fi

