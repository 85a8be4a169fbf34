package multi

// Values is how many counters and ids a limiter in memory holds.
func Values(l *Limiter) int { return len(l.counters.(*memory).values) }
