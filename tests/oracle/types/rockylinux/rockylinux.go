// Package rockylinux bears the name that templates see in %T.
package rockylinux

type Config struct {
	DistUpgradeOnBoot bool `json:"distUpgradeOnBoot"`
}
