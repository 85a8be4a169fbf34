package store

// Outcome says what became of a request.
type Outcome int

// The outcomes, by their codes in lua/admit.lua.
const (
	Admitted  Outcome = iota + 1
	Dropped           // a level is full; RetryAfter says until when
	Duplicate         // the id was admitted before; nothing was spent
	Never             // N is more than can ever fit

	// The outcomes that only a [Handling] makes.

	Merged     // folded into a message that exists, or into one with its companions; nothing was spent
	Delayed    // it waits for a slot
	Suppressed // dropped: it resolves what was never told
	Full       // dropped: nothing more may wait, or it waited too long
)

// Drops tells whether a request with this outcome is lost.
func (o Outcome) Drops() bool { return o == Dropped || o == Never || o == Suppressed || o == Full }

// String is the outcome's name in logs.
func (o Outcome) String() string {
	switch o {
	case Admitted:
		return "admitted"
	case Dropped:
		return "dropped"
	case Duplicate:
		return "duplicate"
	case Never:
		return "never"
	case Merged:
		return "merged"
	case Delayed:
		return "delayed"
	case Suppressed:
		return "suppressed"
	case Full:
		return "full"
	default:
		return "unknown"
	}
}

// DecidedBy says who decided.
type DecidedBy string

// Who decides.
const (
	ByRedis       DecidedBy = "redis"
	ByMemory      DecidedBy = "memory"
	ByClosedCache DecidedBy = "closed_cache" // this replica knew that a level is closed
	ByFallback    DecidedBy = "fallback"     // this replica alone, while Redis is away
)
