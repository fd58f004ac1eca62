{# What is applied holds tokens and passwords: it goes. The service is not needed again; each step of it could be. #}
rm -f /oem/config.ign /usr/share/oem/config.ign
touch /etc/kubernetes/setup-complete
systemctl disable setup.service
