"""Machines that boot from what ``apply`` wrote to a real cluster: systemd, cloud-init, apt, containerd, kubelet.

`make boot` runs these tests. They need root on Linux; docs/explanation/boot-tests.md says what is real and what is not.
"""
