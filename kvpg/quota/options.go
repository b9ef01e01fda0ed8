package quota

import "fmt"

// check refuses what is below 0: it can only be a mistake, which a default in its place would hide.
func (o *Options) check() error {
	for _, option := range []struct {
		name  string
		value any
		below bool
		zero  string
	}{
		{"Every", o.Every, o.Every < 0, "10 seconds"},
		{"Timeout", o.Timeout, o.Timeout < 0, "5 seconds"},
		{"CommitWithin", o.CommitWithin, o.CommitWithin < 0, "a minute"},
		{"MaxStale", o.MaxStale, o.MaxStale < 0, "no bound"},
		{"MaxTenants", o.MaxTenants, o.MaxTenants < 0, "100,000"},
	} {
		if option.below {
			return fmt.Errorf("kvpg/quota: Options.%s is %v: it must be above 0, or 0 for the default (%s)", option.name, option.value, option.zero)
		}
	}
	return nil
}
