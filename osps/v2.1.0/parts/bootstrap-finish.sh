{#
  The provisioning cloud-config is applied by cloud-init's own modules, one by one, on the instance that this boot
  has found already. `cloud-init clean` and a second `init`, as OSM runs them, would look for the datasource again and
  write the network configuration anew: machines on Azure, DigitalOcean and Hetzner were lost that way.
  `--file` stands behind `single` from cloud-init 24.1 on, before it in older ones.
  A file that is no YAML is only a warning for cloud-init, which would then write the files of the bootstrap once
  more: hence the look at the first line and at what must have come.
#}
config=/run/provisioning/cloud-config

run_module() {
  case $(cloud-init single --help) in
    *--file*) cloud-init single --name "$1" --frequency always --file "$config" ;;
    *) cloud-init --file "$config" single --name "$1" --frequency always ;;
  esac
}

apply_config() {
  local step
  [ "$(head -n 1 "$config")" = "#cloud-config" ] || return 1
  rm -f /opt/bin/setup
  for step in bootcmd:bootcmd write_files:write_files yum_repos:yum_add_repo runcmd:runcmd runcmd:scripts_user; do
    if grep -q "^${step%:*}:" "$config"; then
      run_module "${step#*:}" || return 1
    fi
  done
  [ -x /opt/bin/setup ]
}

provision() {
  /opt/bin/fetch-secret {{ SecretName }} cloud-config "$config" && apply_config
}

retry provision
rm -f "$config"

{# From here on each step may be the last before the power goes: what starts the next stage is enabled first. #}
systemctl daemon-reload
systemctl enable setup.service
touch /etc/cloud/cloud-init.disabled
sync
touch /etc/bootstrap-complete
systemctl disable bootstrap.service
systemctl start --no-block setup.service
