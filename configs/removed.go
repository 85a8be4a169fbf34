package configs

// removedEngine is a setting of channels that no longer exists.
const removedEngine = "engine"

// engineFault is the fault of a file or a variable that still sets it.
func engineFault(where string) error {
	return faultf(where, "was removed: every channel decides with scripts, as with engine: script; delete it. "+
		"Levels that engine: multi counted with fixed-window by default need strategy: fixed-window now, else they use sliding-log")
}
