{#
  The last step of provisioning: containerd with its configuration, the kubelet's first kubeconfig, the kubelet. Needs
  retry.sh. containerd runs already on some images, and would not see its drop-ins before a restart; so does the
  journal.
#}
systemctl daemon-reload
{# Files for modules and settings of the kernel, of this profile and of others, came after the system had read them. #}
systemctl restart systemd-modules-load.service || echo "the kernel lacks modules of /etc/modules-load.d" >&2
sysctl --quiet --system || echo "the kernel lacks settings of /etc/sysctl.d" >&2
systemctl restart systemd-journald.service
systemctl enable containerd.service
systemctl restart containerd.service

{% include "join.sh" %}

systemctl enable kubelet.service health-monitor@kubelet.service health-monitor@containerd.service
systemctl restart kubelet.service
systemctl restart --no-block health-monitor@kubelet.service health-monitor@containerd.service
{# Nobody writes again what the disk does not have when the power fails after the service is switched off. #}
sync
