package server

// Guessers is how many addresses are known that presented wrong credentials.
func (g *Guard) Guessers() int { return len(g.guesses.by) }
