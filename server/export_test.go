package server

// WrongCredentialNetworks returns how many networks with wrong credentials are remembered.
func (g *Guard) WrongCredentialNetworks() int { return len(g.authDelay.byNetwork) }
