// Package ubuntu bears the name that templates see in %T.
package ubuntu

type Config struct {
	DistUpgradeOnBoot bool `json:"distUpgradeOnBoot"`
}
