{#
  Machine-controller names the machine in /etc/machine-name and finds the node by that name. On AWS there is no such
  file: there a node is called as its private DNS name.
#}
{% if CloudProviderName != "aws" %}
if [ -s /etc/machine-name ]; then
  retry hostnamectl set-hostname "$(tr -d '[:space:]' </etc/machine-name)"
fi
{% endif %}
