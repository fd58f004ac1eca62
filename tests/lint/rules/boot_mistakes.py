"""Mistakes in the flow of a boot, each planted in a default profile that has no finding; and what is fine."""

from __future__ import annotations

from typing import Final

from tests.lint.rules.boot_edits import (
    BOOTSTRAP,
    BOOTSTRAP_UNIT,
    KUBELET,
    SETUP,
    SETUP_UNIT,
    STARTING,
    Planted,
    added,
    both,
    mode,
    moved,
    removed,
    renamed,
    runcmd,
    setup,
    text,
    unit,
)

PROGRAMS: Final = (
    Planted(
        "ubuntu", "ExecStart of nothing", text(SETUP_UNIT, SETUP, "/opt/bin/setupp"), "missing-program", SETUP_UNIT
    ),
    Planted("ubuntu", "script removed", removed("/opt/bin/prepare-kubelet"), "missing-program", KUBELET),
    Planted("flatcar", "script removed", removed("/opt/bin/prepare-kubelet"), "missing-program", KUBELET),
    Planted("rhel", "called script removed", removed("/opt/bin/fetch-secret"), "missing-program", BOOTSTRAP),
    Planted(
        "ubuntu",
        "ExecStartPre elsewhere",
        text(KUBELET, "/opt/bin/prepare", "/usr/local/bin/prepare"),
        "missing-program",
        KUBELET,
    ),
    Planted("rockylinux", "called script", setup("/opt/bin/tune-node.sh --now"), "missing-program", SETUP),
    Planted("amzn2", "script for bash", setup("bash /opt/scripts/tune.sh"), "missing-program", SETUP),
    Planted("flatcar", "bootstrap removed", removed(BOOTSTRAP), "missing-program", BOOTSTRAP_UNIT),
    Planted(
        "flatcar-cloud-init", "wrong name", text(BOOTSTRAP_UNIT, BOOTSTRAP, "/opt/bin/bootstrap.sh"), "missing-program"
    ),
    Planted("ubuntu", "runcmd", runcmd(*STARTING, "/opt/bin/finish-boot"), "missing-program"),
    Planted("ubuntu", "runcmd of the later half", runcmd("/opt/bin/setup"), "missing-program"),
    Planted("ubuntu", "runcmd list", runcmd(*STARTING, "[ bash, /opt/bin/finish ]"), "missing-program"),
    Planted("ubuntu", "sourced", setup(". /etc/kubernetes/site.env"), "missing-file", SETUP),
    Planted(
        "ubuntu",
        "EnvironmentFile",
        text(KUBELET, "=-/etc/kubernetes/node.env", "=/etc/kubernetes/nodes.env"),
        "missing-file",
        KUBELET,
    ),
    Planted("ubuntu", "ExecStart not executable", mode(SETUP, 644), "not-executable", SETUP_UNIT),
    Planted("flatcar", "ExecStartPre not executable", mode("/opt/bin/prepare-kubelet", 600), "not-executable", KUBELET),
    Planted("rhel", "called script not executable", mode("/opt/bin/fetch-secret", 644), "not-executable", BOOTSTRAP),
    Planted(
        "ubuntu",
        "runcmd of a text",
        both(added("/opt/bin/a", "#!/bin/sh\ntrue\n", 644, "bootstrap"), runcmd(*STARTING, "/opt/bin/a")),
        "not-executable",
    ),
    Planted(
        "ubuntu",
        "argument of a script that runs it",
        both(
            added("/opt/bin/supervise.sh", '#!/bin/bash\nwhile ! "$@"; do sleep 1; done\n'),
            text(SETUP_UNIT, SETUP, f"/opt/bin/supervise.sh {SETUP}"),
            mode(SETUP, 644),
        ),
        "not-executable",
        SETUP_UNIT,
    ),
    Planted("ubuntu", "bootcmd", runcmd(*STARTING, bootcmd=("/opt/bin/fetch-secret a b c",)), "bootcmd-too-early"),
    Planted(
        "rhel", "bootcmd list", runcmd(*STARTING, bootcmd=("[ sh, -c, /opt/bin/bootstrap ]",)), "bootcmd-too-early"
    ),
    Planted("flatcar", "Python", added("/opt/bin/a", "#!/usr/bin/env python3\n"), "missing-interpreter", "/opt/bin/a"),
    Planted("flatcar", "Perl", added("/opt/bin/a", "#!/usr/bin/perl -w\n"), "missing-interpreter", "/opt/bin/a"),
    Planted("ubuntu", "python", added("/opt/bin/a", "#!/usr/bin/python\n"), "missing-interpreter", "/opt/bin/a"),
    Planted("rockylinux", "dash", added("/opt/bin/a", "#!/bin/dash\n"), "missing-interpreter", "/opt/bin/a"),
    Planted(
        "ubuntu", "place of bash", added("/opt/bin/a", "#!/usr/local/bin/bash\n"), "missing-interpreter", "/opt/bin/a"
    ),
)

PACKAGES: Final = (
    Planted("ubuntu", "yum", setup("yum install -y socat"), "command-not-there", SETUP),
    Planted("ubuntu", "dnf", setup("sudo dnf -y install socat"), "command-not-there", SETUP),
    Planted(
        "rhel", "apt", setup("DEBIAN_FRONTEND=noninteractive apt-get install -y socat"), "command-not-there", SETUP
    ),
    Planted("amzn2", "dnf", setup("dnf install -y socat"), "command-not-there", SETUP),
    Planted("flatcar", "apt", setup("apt-get update && apt-get install -y socat"), "command-not-there", SETUP),
    Planted("flatcar", "runcmd", setup("rpm -i /opt/a.rpm"), "command-not-there", SETUP),
    Planted("flatcar-cloud-init", "yum", setup("yum install -y jq"), "command-not-there", SETUP),
    Planted("ubuntu", "zypper", runcmd(*STARTING, "zypper --non-interactive install socat"), "command-not-there"),
    Planted("rockylinux", "CAs", setup("update-ca-certificates"), "command-not-there", SETUP),
    Planted("ubuntu", "CAs", setup("update-ca-trust extract"), "command-not-there", SETUP),
    Planted("rockylinux", "ufw", setup("ufw disable"), "command-not-there", SETUP),
    Planted("ubuntu", "setenforce", setup("setenforce 0"), "command-not-there", SETUP),
    Planted("ubuntu", "nfs-utils", text(SETUP, "nfs-common", "nfs-utils"), "package-name", SETUP),
    Planted("rhel", "nfs-common", text(SETUP, "nfs-utils", "nfs-common"), "package-name", SETUP),
    Planted("amzn2", "open-iscsi", setup("yum install -y open-iscsi"), "package-name", SETUP),
    Planted("ubuntu", "apt asks", setup("apt-get install jq"), "package-manager-asks", SETUP),
    Planted("ubuntu", "apt asks to upgrade", setup("apt upgrade"), "package-manager-asks", SETUP),
    Planted("rhel", "yum asks", setup("yum install jq"), "package-manager-asks", SETUP),
    Planted("rockylinux", "dnf asks", setup("dnf --enablerepo crb install jq"), "package-manager-asks", SETUP),
    Planted("ubuntu", "runcmd asks", runcmd(*STARTING, "apt-get install curl"), "package-manager-asks"),
)

UNITS: Final = (
    Planted("flatcar", "not enabled", unit("setup.service", enable=False), "kubelet-never-started", SETUP_UNIT),
    Planted("flatcar", "bootstrap not enabled", unit("bootstrap.service", enable=False), "kubelet-never-started"),
    Planted("flatcar-cloud-init", "not enabled", unit("setup.service", enable=False), "kubelet-never-started"),
    Planted("ubuntu", "nothing in runcmd", runcmd("systemctl daemon-reload"), "kubelet-never-started", BOOTSTRAP_UNIT),
    Planted(
        "rhel", "setup not started", text(BOOTSTRAP, "start --no-block setup", "status setup"), "kubelet-never-started"
    ),
    Planted(
        "rockylinux",
        "kubelet not started",
        text(SETUP, "restart kubelet.service", "status kubelet"),
        "kubelet-never-started",
        KUBELET,
    ),
    Planted(
        "amzn2",
        "a unit of one's own",
        added(
            "/etc/systemd/system/tune.service",
            "[Service]\nExecStart=/usr/sbin/tuned\n[Install]\nWantedBy=multi-user.target\n",
            644,
        ),
        "unit-never-started",
        "/etc/systemd/system/tune.service",
    ),
    Planted(
        "flatcar",
        "a timer",
        added("/etc/systemd/system/tune.timer", "[Timer]\nOnBootSec=5min\n[Install]\nWantedBy=timers.target\n", 644),
        "unit-never-started",
        "/etc/systemd/system/tune.timer",
    ),
    Planted("ubuntu", "enabled, not there", setup("systemctl enable kubelet-monitor.service"), "unit-not-found", SETUP),
    Planted(
        "ubuntu",
        "misspelled",
        text(SETUP, "restart kubelet.service", "restart kublet.service"),
        "unit-not-found",
        SETUP,
    ),
    Planted("rhel", "of another system", setup("systemctl enable --now ufw"), "unit-not-found", SETUP),
    Planted("flatcar", "no such instance", setup("systemctl start health-monitr@kubelet"), "unit-not-found", SETUP),
    Planted("ubuntu", "runcmd", runcmd(*STARTING, "systemctl enable --now node-exporter"), "unit-not-found"),
    Planted("ubuntu", "runcmd too early", runcmd("systemctl enable --now setup.service"), "unit-not-found"),
    Planted("ubuntu", "bootcmd too early", runcmd(*STARTING, bootcmd=("systemctl start bootstrap",)), "unit-not-found"),
    Planted("ubuntu", "no verb of systemctl", setup("systemctl enabel kubelet"), "unit-not-found", SETUP),
    Planted("flatcar", "masked", unit("setup.service", mask=True), "masked-unit", SETUP_UNIT),
    Planted("rhel", "masked by a script", setup("systemctl mask kubelet.service"), "masked-unit", SETUP),
    Planted(
        "ubuntu",
        "no [Install]",
        text(KUBELET, "[Install]\nWantedBy=multi-user.target", ""),
        "unit-without-install",
        SETUP,
    ),
)

_WAITING_UNIT: Final = (
    "[Unit]\nAfter={}\n[Service]\nExecStart=/usr/bin/sleep 1\n[Install]\nWantedBy=multi-user.target\n"
)
ORDER: Final = (
    Planted(
        "ubuntu",
        "two units",
        text(
            SETUP_UNIT,
            "After=network-online.target",
            "After=network-online.target kubelet.service\nBefore=containerd.service",
        ),
        "unit-cycle",
    ),
    Planted(
        "flatcar",
        "a unit and a target",
        text(
            SETUP_UNIT,
            "After=network-online.target",
            "After=network-online.target\nWants=network-pre.target\nBefore=network-pre.target",
        ),
        "unit-cycle",
        SETUP_UNIT,
    ),
    Planted(
        "ubuntu",
        "the end of cloud-init",
        text(SETUP_UNIT, "After=network-online.target", "After=cloud-final.service"),
        "unit-cycle",
        SETUP_UNIT,
    ),
    Planted(
        "rhel",
        "the begin of the system",
        text(SETUP_UNIT, "After=network-online.target", "Before=sysinit.target"),
        "unit-cycle",
        SETUP_UNIT,
    ),
    Planted(
        "rockylinux",
        "three units",
        both(
            added("/etc/systemd/system/one.service", _WAITING_UNIT.format("two.service"), 644),
            added("/etc/systemd/system/two.service", _WAITING_UNIT.format("three.service"), 644),
            added("/etc/systemd/system/three.service", _WAITING_UNIT.format("one.service"), 644),
            setup("systemctl enable --now one two three"),
        ),
        "unit-cycle",
    ),
    Planted(
        "ubuntu",
        "a oneshot unit that starts what waits for it",
        both(text(SETUP_UNIT, "Type=simple", "Type=oneshot"), text(KUBELET, "After=", "After=setup.service ")),
        "unit-waits-for-itself",
        SETUP,
    ),
    Planted(
        "ubuntu",
        "misspelled After",
        text(KUBELET, "After=containerd.service", "After=contaierd.service"),
        "unknown-unit",
        KUBELET,
    ),
    Planted(
        "flatcar",
        "misspelled target",
        text(SETUP_UNIT, "After=network-online.target", "After=network-onlin.target"),
        "unknown-unit",
        SETUP_UNIT,
    ),
    Planted(
        "ubuntu",
        "misspelled WantedBy",
        text(KUBELET, "WantedBy=multi-user", "WantedBy=mulit-user"),
        "unknown-unit",
        KUBELET,
    ),
    Planted(
        "flatcar",
        "a drop-in of a misspelled unit",
        renamed(
            "/etc/systemd/system/containerd.service.d/20-flatcar.conf",
            "/etc/systemd/system/containrd.service.d/20-flatcar.conf",
        ),
        "unknown-unit",
    ),
)

_CA: Final = "-----BEGIN CERTIFICATE-----\n"
FETCHING: Final = (
    Planted("ubuntu", "curl -o", setup("curl -sSLo /opt/bin/a https://a.example.com/a"), "curl-without-fail", SETUP),
    Planted("rhel", "curl >", setup("curl -sL https://a.example.com/a > /opt/bin/a"), "curl-without-fail", SETUP),
    Planted(
        "flatcar",
        "curl | bash",
        setup("curl -s https://a.example.com/a.sh | bash -s -- --now"),
        "curl-without-fail",
        SETUP,
    ),
    Planted(
        "ubuntu",
        "curl | gpg",
        setup("curl -sL https://a.example.com/k | sudo gpg --dearmor -o /etc/apt/keyrings/a.gpg"),
        "curl-without-fail",
        SETUP,
    ),
    Planted(
        "amzn2",
        "curl | tar",
        setup("curl -L https://a.example.com/a.tgz | tar -xz -C /opt"),
        "curl-without-fail",
        SETUP,
    ),
    Planted("ubuntu", "runcmd", runcmd(*STARTING, "curl -o /etc/a.conf https://a.example.com/a"), "curl-without-fail"),
    Planted("ubuntu", "no --fail", text(SETUP, "curl --fail", "curl"), "curl-without-fail", SETUP),
    Planted(
        "ubuntu",
        "CA later",
        setup("curl -fsSLo /opt/a https://a.example.com/a\nupdate-ca-certificates"),
        "download-before-ca",
        SETUP,
    ),
    Planted(
        "rockylinux",
        "CA later",
        setup("wget https://a.example.com/a\nupdate-ca-trust extract"),
        "download-before-ca",
        SETUP,
    ),
    Planted("ubuntu", "CA not trusted", added("/usr/local/share/ca-certificates/a.crt", _CA, 644), "ca-not-trusted"),
    Planted("rhel", "CA not trusted", added("/etc/pki/ca-trust/source/anchors/a.pem", _CA, 644), "ca-not-trusted"),
    Planted(
        "amzn2", "amd64", setup("curl -fLo /opt/bin/a https://a.example.com/a_linux_amd64"), "one-architecture", SETUP
    ),
    Planted(
        "flatcar",
        "x86_64 in a variable",
        setup("m=x86_64\nwget -O /opt/bin/a https://a.example.com/$m/a"),
        "one-architecture",
        SETUP,
    ),
    Planted(
        "ubuntu",
        "arch=amd64",
        setup("echo 'deb [arch=amd64] https://a.example.com noble main' >/etc/apt/sources.list.d/a.list"),
        "one-architecture",
        SETUP,
    ),
    Planted(
        "rhel",
        "baseurl",
        added("/etc/yum.repos.d/a.repo", "[a]\nbaseurl=https://a.example.com/el9/x86_64/\n", 644),
        "one-architecture",
    ),
)

_DROP_INS: Final = "/etc/systemd/system/containerd.service.d/"
APPLIED: Final = (
    Planted(
        "ubuntu",
        "sysctl",
        renamed("/etc/sysctl.d/99-kubernetes.conf", "/etc/sysctl.d/99-kubernetes"),
        "ignored-file-name",
    ),
    Planted(
        "flatcar",
        "modules",
        renamed("/etc/modules-load.d/kubernetes.conf", "/etc/modules-load.d/kubernetes"),
        "ignored-file-name",
    ),
    Planted(
        "rhel",
        "journald",
        renamed("/etc/systemd/journald.conf.d/kubernetes.conf", "/etc/systemd/journald.conf.d/kubernetes"),
        "ignored-file-name",
    ),
    Planted(
        "flatcar",
        "network",
        renamed("/etc/systemd/network/10-static.network", "/etc/systemd/network/10-static.conf"),
        "ignored-file-name",
    ),
    Planted("ubuntu", "netplan", added("/etc/netplan/60-a.yml", "network: {version: 2}\n", 600), "ignored-file-name"),
    Planted("ubuntu", "sudoers", added("/etc/sudoers.d/90.admins", "a ALL=(ALL) ALL\n", 440), "ignored-file-name"),
    Planted("rockylinux", "repository", added("/etc/yum.repos.d/a.conf", "[a]\n", 644), "ignored-file-name"),
    Planted("ubuntu", "CA", added("/usr/local/share/ca-certificates/a.pem", _CA, 644), "ignored-file-name"),
    Planted("ubuntu", "drop-in", renamed(f"{_DROP_INS}kubernetes.conf", f"{_DROP_INS}kubernetes"), "drop-in-name"),
    Planted(
        "ubuntu",
        "folder of drop-ins",
        renamed(f"{_DROP_INS}kubernetes.conf", "/etc/systemd/system/containerd.d/a.conf"),
        "drop-in-name",
    ),
    Planted(
        "ubuntu",
        "a unit's folder",
        renamed(f"{_DROP_INS}kubernetes.conf", "/etc/systemd/system/containerd.service/a.conf"),
        "drop-in-name",
    ),
    Planted(
        "ubuntu", "by a script", setup("cat >/etc/sysctl.d/90-site <<E\nvm.swappiness=0\nE"), "ignored-file-name", SETUP
    ),
    Planted(
        "ubuntu", "a unit without suffix", added("/etc/systemd/system/tune", "[Service]\n", 644), "systemd-unit-name"
    ),
    Planted("flatcar", "/usr", added("/usr/local/bin/a", "#!/bin/bash\n"), "read-only-path", "/usr/local/bin/a"),
    Planted("flatcar-cloud-init", "/usr/lib", added("/usr/lib/sysctl.d/a.conf", "a = 1\n", 644), "read-only-path"),
    Planted("flatcar", "curl -o", setup("curl -fLo /usr/local/bin/a https://a.example.com/a"), "read-only-path", SETUP),
    Planted("flatcar", "tar -C", setup("tar -xzf /opt/a.tgz -C /usr/local"), "read-only-path", SETUP),
    Planted("flatcar", "ln", setup("ln -sf /opt/bin/kubectl /usr/bin/kubectl"), "read-only-path", SETUP),
    Planted("flatcar", "sed -i", setup("sed -i s/a/b/ /usr/lib/os-release"), "read-only-path", SETUP),
    Planted(
        "flatcar",
        "apt",
        added("/etc/apt/sources.list.d/a.list", "deb https://a.example.com a main\n", 644),
        "file-of-other-system",
    ),
    Planted("ubuntu", "yum", added("/etc/yum.repos.d/a.repo", "[a]\n", 644), "file-of-other-system"),
    Planted("rhel", "CA", setup("cp /opt/a.crt /usr/local/share/ca-certificates/"), "file-of-other-system", SETUP),
    Planted("flatcar-cloud-init", "runcmd", runcmd("systemctl start bootstrap"), "file-of-other-system"),
    Planted("ubuntu", "sysctl not applied", text(SETUP, "sysctl --quiet --system", "true"), "not-applied"),
    Planted(
        "rhel",
        "modules not loaded",
        both(
            text(SETUP, "restart systemd-modules-load.service", "status systemd-modules-load.service"),
            added("/etc/modules-load.d/site.conf", "vxlan\n", 644),
        ),
        "not-applied",
    ),
)

EXEC: Final = (
    Planted("ubuntu", "&&", text(SETUP_UNIT, SETUP, f"{SETUP} && /usr/bin/touch /etc/done"), "systemd-shell-syntax"),
    Planted("rhel", "|", text(SETUP_UNIT, SETUP, f"{SETUP} | tee /var/log/setup.log"), "systemd-shell-syntax"),
    Planted("flatcar", ">", text(SETUP_UNIT, SETUP, f"{SETUP} >/var/log/setup.log 2>&1"), "systemd-shell-syntax"),
    Planted(
        "ubuntu",
        "$(…)",
        text(KUBELET, "--config=", "--hostname-override=$(hostname -f) --config="),
        "systemd-shell-syntax",
    ),
    Planted("ubuntu", "${…:-…}", text(KUBELET, "--config=", "--v=${LEVEL:-2} --config="), "systemd-shell-syntax"),
    Planted("flatcar", "assignment", text(KUBELET, "ExecStart=", "ExecStart=GOGC=50 "), "systemd-shell-syntax"),
    Planted(
        "ubuntu", "cd", text(KUBELET, "ExecStartPre=", "ExecStartPre=cd /opt\nExecStartPre="), "systemd-shell-syntax"
    ),
    Planted(
        "ubuntu", "variable", text(KUBELET, "ExecStartPre=/opt/bin", "ExecStartPre=${BIN}"), "systemd-shell-syntax"
    ),
    Planted(
        "ubuntu", "semicolon", text(SETUP_UNIT, SETUP, f"{SETUP}; /usr/bin/touch /etc/done"), "systemd-shell-syntax"
    ),
    Planted(
        "ubuntu",
        "pattern",
        text(KUBELET, "ExecStartPre=", "ExecStartPre=/bin/rm -f /var/lib/kubelet/*.pem\nExecStartPre="),
        "systemd-shell-syntax",
    ),
    Planted(
        "ubuntu",
        "-c without quotes",
        text(KUBELET, "ExecStartPre=", "ExecStartPre=/bin/sh -c swapoff -a\nExecStartPre="),
        "systemd-shell-syntax",
    ),
    Planted(
        "ubuntu",
        "a variable of the shell",
        text(KUBELET, "ExecStartPre=", "ExecStartPre=/bin/sh -c 'for m in a b; do modprobe ${m}; done'\nExecStartPre="),
        "systemd-shell-syntax",
    ),
)

MORE: Final = (
    Planted(
        "ubuntu",
        "another place",
        text(KUBELET, "ExecStart=/opt/bin/", "ExecStart=/usr/bin/"),
        "missing-program",
        KUBELET,
    ),
    Planted("ubuntu", "the later half", moved(BOOTSTRAP, "provisioning"), "missing-program", BOOTSTRAP_UNIT),
    Planted("flatcar", "the later half", moved(BOOTSTRAP, "provisioning"), "missing-program", BOOTSTRAP_UNIT),
    Planted(
        "ubuntu", "<(curl)", setup("bash <(curl -sL https://a.example.com/a.sh) --now"), "curl-without-fail", SETUP
    ),
    Planted(
        "rhel",
        "a package by its URL",
        setup("yum install -y https://a.example.com/a.x86_64.rpm"),
        "one-architecture",
        SETUP,
    ),
    Planted(
        "ubuntu",
        "a drop-in",
        text(
            "/etc/systemd/system/containerd.service.d/kubernetes.conf",
            "[Service]",
            "[Unit]\nAfter=kubelet.service\n[Service]",
        ),
        "unit-cycle",
    ),
    Planted("rhel", "by its name", setup("prepare-kubelet"), "missing-program", SETUP),
    Planted(
        "ubuntu",
        "the file of a CA",
        setup("curl -f --cacert /etc/kubernetes/ca.pem https://a.example.com -o /opt/a"),
        "missing-file",
        SETUP,
    ),
    Planted(
        "ubuntu",
        "bootcmd that reads",
        runcmd(*STARTING, bootcmd=("cp /etc/kubernetes/pki/ca.crt /opt/",)),
        "bootcmd-too-early",
    ),
    Planted("flatcar", "Python in a command", setup("python3 -c 'print(1)'"), "command-not-there", SETUP),
    Planted("flatcar", "pip", setup("pip3 install a"), "command-not-there", SETUP),
    Planted(
        "flatcar",
        "Perl in a unit",
        text(SETUP_UNIT, f"ExecStart={SETUP}", "ExecStart=/usr/bin/perl -e 1"),
        "command-not-there",
        SETUP_UNIT,
    ),
    Planted(
        "ubuntu",
        "a timer without its service",
        both(
            added("/etc/systemd/system/a.timer", "[Timer]\nOnBootSec=1\n[Install]\nWantedBy=timers.target\n", 644),
            setup("systemctl enable --now a.timer"),
        ),
        "unit-not-found",
        "/etc/systemd/system/a.timer",
    ),
    Planted(
        "rhel",
        "the CA of the API server",
        setup("curl -sf https://a.example.com:6443/api/v1/namespaces/a/secrets/b -o /opt/a"),
        "download-before-ca",
        SETUP,
    ),
    Planted(
        "ubuntu",
        "a value by curl",
        setup("version=$(curl -sL https://a.example.com/stable.txt)"),
        "curl-without-fail",
        SETUP,
    ),
    Planted(
        "ubuntu",
        "an architecture whatever is asked",
        setup('a=amd64\nif [ -z "$a" ]; then a=$(uname -m); fi\ncurl -fO https://a.example.com/$a/a'),
        "one-architecture",
        SETUP,
    ),
)

_USER: Final = "ExecStart=/opt/bin/kubelet"
BROUGHT: Final = (
    Planted("ubuntu", "jq", setup("curl -fs https://a.example.com/a | jq -r .a"), "command-not-there", SETUP),
    Planted("rhel", "unzip", setup("unzip -q /opt/site.zip -d /opt/site"), "command-not-there", SETUP),
    Planted("amzn2", "jq in a value", setup("a=$(jq -r .a /opt/a.json)"), "command-not-there", SETUP),
    Planted("rockylinux", "jq in runcmd", runcmd(*STARTING, "jq . /etc/a.json"), "command-not-there"),
    Planted(
        "ubuntu",
        "EnvironmentFile in /etc",
        text(SETUP_UNIT, "[Service]", "[Service]\nEnvironmentFile=/etc/setup.env"),
        "missing-file",
        SETUP_UNIT,
    ),
    Planted(
        "flatcar",
        "EnvironmentFile beside files of the profile",
        both(
            added("/etc/site/a.conf", "a\n", 644),
            text(SETUP_UNIT, "[Service]", "[Service]\nEnvironmentFile=/etc/site/setup.env"),
        ),
        "missing-file",
        SETUP_UNIT,
    ),
    Planted("ubuntu", "User", text(KUBELET, _USER, f"User=kubernetes\n{_USER}"), "unknown-user", KUBELET),
    Planted("flatcar", "Group", text(KUBELET, _USER, f"Group=roott\n{_USER}"), "unknown-user", KUBELET),
    Planted(
        "rhel",
        "another user",
        both(setup("useradd --system site-agent"), text(KUBELET, _USER, f"User=site-agnet\n{_USER}")),
        "unknown-user",
        KUBELET,
    ),
)

_CONTAINERD: Final = 'version = 3\n[plugins."io.containerd.cri.v1.images"]\n'
_SIGNED: Final = "deb [signed-by=/etc/apt/keyrings/site.asc] https://a.example.com noble main"
_KEY: Final = "curl -fsSLo /etc/apt/keyrings/site.asc https://a.example.com/key.asc"
NAMED: Final = (
    Planted(
        "ubuntu",
        "key of apt",
        text(SETUP, "signed-by=/etc/apt/keyrings/docker.asc", "signed-by=/etc/apt/keyrings/dockr.asc"),
        "missing-file",
        SETUP,
    ),
    Planted(
        "ubuntu",
        "key of a source",
        added("/etc/apt/sources.list.d/a.list", f"{_SIGNED}\n", 644),
        "missing-file",
        "/etc/apt/sources.list.d/a.list",
    ),
    Planted(
        "ubuntu",
        "key of a source in the new form, under another name",
        both(
            setup(_KEY.replace("site.asc", "site.gpg")),
            added(
                "/etc/apt/sources.list.d/a.sources",
                "Types: deb\nURIs: https://a.example.com\nSuites: noble\nComponents: main\n"
                "Signed-By: /etc/apt/keyrings/site.asc\n",
                644,
            ),
        ),
        "missing-file",
        "/etc/apt/sources.list.d/a.sources",
    ),
    Planted(
        "ubuntu",
        "key only with permissions",
        setup(f"chmod a+r /etc/apt/keyrings/site.asc\necho '{_SIGNED}' >/etc/apt/sources.list.d/a.list"),
        "missing-file",
        SETUP,
    ),
    Planted(
        "rhel",
        "crictl",
        text("/etc/crictl.yaml", "/containerd/containerd.sock", "/containrd/containerd.sock"),
        "crictl-endpoint",
        "/etc/crictl.yaml",
    ),
    Planted(
        "flatcar",
        "path of containerd's configuration",
        added("/etc/containerd/config.tml", _CONTAINERD, 600),
        "containerd-not-read",
        "/etc/containerd/config.tml",
    ),
    Planted(
        "ubuntu",
        "folder of containerd's configuration",
        renamed("/etc/containerd/config.toml", "/etc/contianerd/config.toml"),
        "containerd-not-read",
    ),
)

NAMES: Final = (
    Planted("ubuntu", "bsh", added("/opt/bin/a", "#!/usr/bin/bsh\n"), "missing-interpreter", "/opt/bin/a"),
    Planted("flatcar", "env bahs", added("/opt/bin/a", "#!/usr/bin/env bahs\n"), "missing-interpreter", "/opt/bin/a"),
    Planted("ubuntu", "sudoo", setup("sudoo mkdir -p /etc/site"), "misspelled-command", SETUP),
    Planted("rhel", "swapof", setup("swapof -a"), "misspelled-command", SETUP),
    Planted("flatcar", "swapped letters", setup("sytsemctl daemon-reload"), "misspelled-command", SETUP),
    Planted("ubuntu", "in runcmd", runcmd(*STARTING, "modprob overlay"), "misspelled-command"),
    Planted(
        "ubuntu",
        "in a unit",
        text(KUBELET, "ExecStartPre=", "ExecStartPre=/bin/sh -c 'swapof -a'\nExecStartPre="),
        "misspelled-command",
        KUBELET,
    ),
    Planted(
        "amzn2",
        "a function",
        setup('echodate() { echo "$(date) $*"; }\nechodat started'),
        "misspelled-command",
        SETUP,
    ),
    Planted(
        "ubuntu",
        "a function of another script",
        both(added("/opt/bin/site.sh", "#!/bin/bash\nechodate() { date; }\n"), setup(". /opt/bin/site.sh\nechodat")),
        "misspelled-command",
        SETUP,
    ),
    Planted(
        "ubuntu",
        "a setting",
        added("/etc/sysctl.d/99-site.conf", "net.ipv4.ip_foward = 1\n", 644),
        "misspelled-sysctl",
        "/etc/sysctl.d/99-site.conf",
    ),
    Planted("rhel", "sysctl -w", setup("sysctl -w vm.max_map_cuont=262144"), "misspelled-sysctl", SETUP),
    Planted(
        "flatcar",
        "a setting of an interface",
        added("/etc/sysctl.d/99-site.conf", "net/ipv4/conf/eth0/rp_fliter=0\n", 644),
        "misspelled-sysctl",
    ),
    Planted(
        "ubuntu",
        "a module",
        added("/etc/modules-load.d/site.conf", "br_netfiler\n", 644),
        "misspelled-module",
        "/etc/modules-load.d/site.conf",
    ),
    Planted("rockylinux", "modprobe", setup("modprobe nf_contrack"), "misspelled-module", SETUP),
    Planted("ubuntu", "modprobe -a", setup("modprobe -a overlay ip-vs-shh"), "misspelled-module", SETUP),
)

_CONFIG: Final = "/etc/containerd/config.toml"
_SYSCTL: Final = "/etc/sysctl.d/90-site.conf"
WRITTEN: Final = (
    Planted(
        "ubuntu",
        "here-document",
        setup(f"cat >{_SYSCTL} <<'END'\nvm.swappiness = 0\nnet.ipv4.ip_foward = 1\nEND\nsysctl --system"),
        "misspelled-sysctl",
        SETUP,
    ),
    Planted(
        "rhel",
        "tee",
        setup(f"tee {_SYSCTL} <<END\nfs.inotify.max_user_watchs = 1048576\nEND\nsysctl --system"),
        "misspelled-sysctl",
        SETUP,
    ),
    Planted(
        "ubuntu",
        "echo",
        setup(f"echo 'net.ipv4.ip_forwrd=1' >{_SYSCTL}\nsysctl --system"),
        "misspelled-sysctl",
        SETUP,
    ),
    Planted("flatcar", "/proc", setup("echo 1 >/proc/sys/net/ipv4/ip_foward"), "misspelled-sysctl", SETUP),
    Planted(
        "ubuntu",
        "here-document without =",
        setup(f"cat <<END >{_SYSCTL}\nvm.max_map_count 262144\nEND\nsysctl --system"),
        "sysctl-syntax",
        SETUP,
    ),
    Planted(
        "amzn2",
        "module",
        setup("cat >/etc/modules-load.d/site.conf <<END\nbr_netfiltr\nEND\nsystemctl restart systemd-modules-load"),
        "misspelled-module",
        SETUP,
    ),
    Planted(
        "ubuntu",
        "unit",
        setup(
            "cat >/etc/systemd/system/site.service <<END\n[Service]\nExecStart=/usr/bin/sleep 1\nRestart=allways\n"
            "[Install]\nWantedBy=multi-user.target\nEND\nsystemctl enable --now site"
        ),
        "systemd-value",
        SETUP,
    ),
    Planted("ubuntu", "words", added(_SYSCTL, "net.ipv4.ip_forward = yes\n", 644), "sysctl-syntax", _SYSCTL),
    Planted("rhel", "commas", added(_SYSCTL, "fs.file-max = 1,048,576\n", 644), "sysctl-syntax", _SYSCTL),
    Planted(
        "ubuntu",
        "modprobe",
        added("/etc/modprobe.d/site.conf", "blacklst nouveau\n", 644),
        "modprobe-syntax",
        "/etc/modprobe.d/site.conf",
    ),
    Planted(
        "ubuntu",
        "folder in a folder",
        added("/etc/sysctl.d/site/90.conf", "vm.swappiness = 0\n", 644),
        "ignored-file-name",
    ),
    Planted(
        "ubuntu",
        "folder of a daemon",
        added("/etc/systemd/journald.d/90.conf", "[Journal]\n", 644),
        "ignored-file-name",
    ),
    Planted("flatcar", "folder", added("/etc/sysctld/90.conf", "vm.swappiness = 0\n", 644), "ignored-file-name"),
    Planted(
        "ubuntu",
        "folder of units",
        added("/etc/systemd/site.service", "[Service]\nExecStart=/usr/bin/sleep 1\n", 644),
        "ignored-file-name",
    ),
)

WORDS: Final = (
    Planted("ubuntu", "sysctl", setup("sysctl -w net.ipv4.ip_forward = 1"), "command-usage", SETUP),
    Planted("ubuntu", "htps", setup("curl -fsSLo /opt/a htps://a.example.com/a"), "command-usage", SETUP),
    Planted("rhel", "wget", setup("wget -O /opt/a httpss://a.example.com/a"), "command-usage", SETUP),
    Planted("ubuntu", "option", setup("curl -f --retyr 3 -o /opt/a https://a.example.com/a"), "command-usage", SETUP),
    Planted("flatcar", "number", setup("curl -f --retry -o /opt/a https://a.example.com/a"), "command-usage", SETUP),
    Planted("ubuntu", "apt", setup("apt-get -y instal jq"), "command-usage", SETUP),
    Planted("ubuntu", "set", setup("set -o pipefial"), "command-usage", SETUP),
    Planted("rhel", "set with others", setup("set -xeuo pipfail"), "command-usage", SETUP),
    Planted("flatcar", "exit", setup("exit 0"), "unreachable-command", SETUP),
    Planted("ubuntu", "exec", setup("exec /usr/bin/true"), "unreachable-command", SETUP),
    Planted("rockylinux", "dnf", setup("dnf -y isntall jq"), "command-usage", SETUP),
    Planted("ubuntu", "tar", setup("tar xfz -C /opt /tmp/a.tgz"), "command-usage", SETUP),
    Planted("amzn2", "checksum", setup('echo "/opt/a  0123" | sha256sum -c'), "command-usage", SETUP),
    Planted(
        "ubuntu",
        "a download that is run",
        setup("curl -fsSLo /opt/bin/agent https://a.example.com/agent\n/opt/bin/agent --version"),
        "not-executable",
        SETUP,
    ),
)

_RESOLVED: Final = "/etc/systemd/resolved.conf.d/site.conf"
_NETWORK: Final = "/etc/systemd/network/10-site.network"
SETTINGS: Final = (
    Planted(
        "ubuntu", "resolved", added(_RESOLVED, "[Resolve]\nDNSs=10.0.0.1\n", 644), "systemd-unknown-key", _RESOLVED
    ),
    Planted("rhel", "section", added(_RESOLVED, "[Resolvee]\nDNS=10.0.0.1\n", 644), "systemd-unknown-section"),
    Planted("flatcar", "network", added(_NETWORK, "[Network]\nDSN=10.0.0.1\n", 644), "systemd-unknown-key", _NETWORK),
    Planted("flatcar", "section of a network", added(_NETWORK, "[Netwrk]\nDHCP=yes\n", 644), "systemd-unknown-section"),
    Planted(
        "ubuntu",
        "journald",
        added("/etc/systemd/journald.conf.d/site.conf", "[Journal]\nSystemMaxUs=1G\n", 644),
        "systemd-unknown-key",
    ),
    Planted(
        "ubuntu",
        "netplan's dhcp",
        added("/etc/netplan/60.yaml", "network:\n  version: 2\n  ethernets:\n    eth0:\n      dhcp: true\n", 600),
        "netplan",
        "/etc/netplan/60.yaml",
    ),
    Planted(
        "ubuntu",
        "netplan's address",
        added("/etc/netplan/60.yaml", "network:\n  version: 2\n  ethernets:\n    eth0: {addresses: [10.0.0.5]}\n", 600),
        "netplan",
    ),
    Planted(
        "ubuntu",
        "apt's semicolon",
        added("/etc/apt/apt.conf.d/96proxy", 'Acquire::http::Proxy "http://a.example.com:3128"\n', 644),
        "apt-source-syntax",
    ),
    Planted(
        "ubuntu",
        "apt's scope",
        added("/etc/apt/apt.conf.d/96proxy", 'Aquire::http::Proxy "http://a.example.com:3128";\n', 644),
        "apt-source-syntax",
    ),
    Planted(
        "ubuntu",
        "another socket of containerd",
        text(_CONFIG, "version = 3\n", 'version = 3\n[grpc]\naddress = "/run/containerd/containerd.socket"\n'),
        "kubelet-endpoint",
        _CONFIG,
    ),
)

MISTAKES: Final = (
    *WRITTEN,
    *SETTINGS,
    *WORDS,
    *NAMES,
    *BROUGHT,
    *NAMED,
    *PROGRAMS,
    *PACKAGES,
    *UNITS,
    *ORDER,
    *FETCHING,
    *APPLIED,
    *EXEC,
    *MORE,
)

_SCRIPT: Final = "#!/bin/bash\n"
FINE: Final = {
    "words that programs take": setup(
        "curl -f --retry 3 --max-time=5 --no-progress-meter --fail-with -O https://a.example.com/a\n"
        "apt-get -y update; apt-get clean; apt-cache policy a; apt-get -qq -y install jq\n"
        "tar xzf /tmp/a.tgz -C /opt; tar -xzf /tmp/a.tgz -C /opt\n"
        'echo "$sum  /opt/a" | sha256sum -c; sysctl -w vm.swappiness=1; wget -q https://a.example.com/a'
    ),
    "an end that is not always reached": setup(
        "exec 3>&1 4>/dev/null; exec >>/var/log/setup.log 2>&1; done_before() { exit 0; }; [ -e /opt/done ] && exit 0\n"
        "if [ -e /opt/off ]; then exit 0; fi; set -o pipefail +o xtrace; set -- pipefial; set -x"
    ),
    "texts that scripts write": setup(
        "cat >/etc/sysctl.d/a.conf <<END\n# a comment\nnet.ipv4.tcp_congestion_control = bbr\n"
        "net.ipv4.ip_local_port_range = 1024 65000\nvm.swappiness = $swappiness\nEND\n"
        "echo '{' >/etc/docker/daemon.json; echo '}' >>/etc/docker/daemon.json\n"
        "printf '%s\\n' overlay vxlan >/etc/modules-load.d/a.conf; systemctl restart systemd-modules-load\n"
        "echo 1 >/proc/sys/net/ipv4/ip_forward; sysctl --system"
    ),
    "a text whose end is the begin of a line in it": setup(
        "cat >/etc/systemd/system/a.service <<E\n[Service]\nExecStart=/usr/bin/a\nE\nsystemctl enable --now a"
    ),
    "a package manager that is asked for": setup("if command -v yum; then yum install jq; fi"),
    "systems by name": setup('case "$ID" in rhel) dnf install -y nfs-utils ;; esac'),
    "a failure that is tolerated": setup("/opt/site/agent || true"),
    "a test for the file": setup("if [ -x /opt/site/agent ]; then /opt/site/agent; fi"),
    "a download": setup(
        "curl -fLo /opt/bin/agent https://a.example.com/agent; chmod +x /opt/bin/agent; /opt/bin/agent"
    ),
    "a link": setup('for name in a b; do ln -s "/opt/site/$name" "/opt/bin/$name"; done; /opt/bin/a'),
    "an archive": setup("tar -xzf /tmp/site.tar.gz -C /opt/bin; /opt/bin/site-agent"),
    "chmod": both(added("/opt/bin/a", _SCRIPT, 644), setup("chmod +x /opt/bin/a; /opt/bin/a")),
    "an interpreter that is installed": both(
        added("/opt/bin/a", "#!/usr/bin/python\n"), setup("apt-get install -y python-is-python3")
    ),
    "apt that is quiet twice": setup("apt-get -qq install jq"),
    "apt with options that are not known": setup('apt-get "${options[@]}" install jq'),
    "apt that only simulates": setup("apt-get -s upgrade"),
    "a configuration that answers": both(
        added("/etc/apt/apt.conf.d/90-yes", 'APT::Get::Assume-Yes "true";\n', 644), setup("apt-get install jq")
    ),
    "yes": setup("yes | apt-get install jq"),
    "a function with that name": setup("yum() { true; }; yum install jq"),
    "a program of the image": setup("/usr/sbin/site-tool"),
    "a unit of a package": setup("apt-get install -y chrony; systemctl enable --now chrony"),
    "a unit that a package may bring": setup("apt-get install -y site-agent; systemctl enable --now site-agentd"),
    "a unit that a script writes": setup(
        "cat >/etc/systemd/system/a.service <<END\n[Service]\nExecStart=/usr/bin/a\n"
        "[Install]\nWantedBy=multi-user.target\n"
        "END\nsystemctl enable --now a"
    ),
    "a unit that an installer brings": setup(
        "curl -fsSL https://a.example.com/install.sh | sh; systemctl enable a-agent"
    ),
    "a unit that may be missing": setup("systemctl restart nonsense || true"),
    "a unit that is asked for": setup("if systemctl cat nonsense.service; then systemctl restart nonsense.service; fi"),
    "a name that is put together": setup('for name in kubelet; do systemctl restart "$name.service"; done'),
    "curl with -f among others": setup("curl -sSfLo /opt/a https://a.example.com/a"),
    "curl that a program parses": setup("apt-get install -y jq\ncurl -s https://a.example.com/a.json | jq -r .version"),
    "curl to the metadata of the cloud": setup("curl -s http://169.254.169.254/latest/meta-data/ >/run/a"),
    "a token of the cloud in a header": setup(
        't=$(curl -s http://169.254.169.254/token)\ni=$(curl -s -H "a: $t" http://169.254.169.254/id)'
    ),
    "curl that prints the status": setup("curl -s -o /opt/a -w '%{http_code}' https://a.example.com/a"),
    "a CA before downloads": text(SETUP, "set -euo pipefail\n", "set -euo pipefail\nupdate-ca-certificates\n"),
    "a download without authorities": text(
        SETUP,
        "set -euo pipefail\n",
        "set -euo pipefail\ncurl -fkLo /opt/a https://a.example.com/a\nupdate-ca-certificates\n",
    ),
    "both architectures": setup(
        "curl -fLo /opt/a https://a.example.com/amd64\ncurl -fLo /opt/b https://a.example.com/arm64"
    ),
    "an architecture that is asked for": setup(
        'if [ "$(uname -m)" = x86_64 ]; then curl -fO https://a.example.com/x86_64/a; fi'
    ),
    "a file that is switched off": added("/etc/sysctl.d/99-a.conf.disabled", "a = 1\n", 644),
    "a file that is renamed": setup(
        "echo a >/etc/sysctl.d/a.conf.x\nmv /etc/sysctl.d/a.conf.x /etc/sysctl.d/a.conf\nsysctl --system"
    ),
    "apt's names": added("/etc/apt/apt.conf.d/99proxy", "Acquire::Retries 3;\n", 644),
    "a prefix of drop-ins": added("/etc/systemd/system/service.d/a.conf", "[Service]\nLimitNOFILE=1024\n", 644),
    "a shell in a unit": text(
        SETUP_UNIT, f"ExecStart={SETUP}", f"ExecStart=/bin/bash -c '{SETUP} && echo done | tee /run/done'"
    ),
    "arguments behind -c": text(SETUP_UNIT, f"ExecStart={SETUP}", f"ExecStart=/bin/bash -c '\"$1\"' _ {SETUP}"),
    "env in a unit": text(SETUP_UNIT, f"ExecStart={SETUP}", f"ExecStart=/usr/bin/env A=b {SETUP}"),
    "a program that is asked for": setup("command -v jq >/dev/null || exit 0\njq . /opt/a.json"),
    "a program that is downloaded": setup("curl -fLo /usr/local/bin/jq https://a.example.com/jq; jq . /opt/a.json"),
    "packages that are not known": setup('apt-get install -y "${packages[@]}"; jq . /opt/a.json'),
    "environments of the image, and of a program that is told of it": text(
        SETUP_UNIT,
        "[Service]\n",
        "[Service]\nEnvironmentFile=/etc/environment\nEnvironmentFile=/etc/default/site\nEnvironmentFile=/etc/site.env\n"
        "ExecStartPre=/usr/bin/site-agent --write /etc/site.env\n",
    ),
    "users of the image": text(KUBELET, _USER, f"User=root\nGroup=adm\n{_USER}"),
    "users that are made": both(
        setup("useradd --system --user-group site"),
        added("/etc/sysusers.d/a.conf", "u other - -\n", 644),
        text(KUBELET, _USER, f"User=site\nGroup=other\n{_USER}"),
    ),
    "users of a package": both(
        setup("apt-get install -y site-agent"), text(KUBELET, _USER, f"User=site-agent\n{_USER}")
    ),
    "users of systemd": text(KUBELET, _USER, f"User=site\nDynamicUser=yes\n{_USER}"),
    "a key of apt that is written": setup(f"{_KEY}\necho '{_SIGNED}' >/etc/apt/sources.list.d/a.list"),
    "a key of apt that a program is told of": setup(
        f"site-key /etc/apt/keyrings/site.asc\necho '{_SIGNED}' >/etc/apt/sources.list.d/a.list"
    ),
    "a key of the image": added(
        "/etc/apt/sources.list.d/a.list",
        "deb [signed-by=/usr/share/keyrings/ubuntu-archive-keyring.gpg] https://a.example.com noble main\n",
        644,
    ),
    "a socket that another file names": both(
        added("/etc/site/runtime.conf", "listen = /run/site/site.sock\n", 644),
        text("/etc/crictl.yaml", "/run/containerd/containerd.sock", "/run/site/site.sock"),
    ),
    "a configuration of containerd that a unit names": both(
        added("/etc/site/builder.toml", _CONTAINERD, 600),
        text(SETUP_UNIT, "[Service]\n", "[Service]\nEnvironment=CONFIG=/etc/site/builder.toml\n"),
    ),
    "commands that are not known": setup("site-tool --now; kubectk || true; command -v curll && curll -V"),
    "a command of an archive": setup("tar -xzf /tmp/a.tar.gz -C /opt/bin sudoo; sudoo mkdir -p /etc/a"),
    "a command of a package": setup("apt-get install -y curll; curll -V"),
    "functions that are alike": setup("echodate() { date; }; echodat() { date; }; echodate; echodat"),
    "an interpreter of the profile": both(
        added("/opt/site/bassh", "#!/bin/bash\n"), added("/opt/bin/a", "#!/opt/site/bassh\n")
    ),
    "settings and modules that are not known": both(
        added("/etc/sysctl.d/99-a.conf", "net.ipv4.conf.cali0.rp_filter = 0\nkernel.site_key = 1\n", 644),
        setup("modprobe ip_vs_wrr; modprobe site_driver; modprobe nf_contrack || true; sysctl -w net.site.a=1"),
    ),
    "bootcmd without files": runcmd(*STARTING, bootcmd=("swapoff -a",)),
}
