#!/bin/bash
{# What comes before the steps of an operating system. `set -x` would write the token to the journal. #}
set -euo pipefail

if [ -e /etc/bootstrap-complete ]; then
  exit 0
fi

{% include "retry.sh" %}
{% include "proxy.sh" %}
