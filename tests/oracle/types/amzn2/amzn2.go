// Package amzn2 bears the name that templates see in %T.
package amzn2

type Config struct {
	DistUpgradeOnBoot bool `json:"distUpgradeOnBoot"`
}
