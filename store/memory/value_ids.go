package memory

// seenIDs remembers when each id was admitted.
type seenIDs struct {
	at    map[string]int64
	order []string // oldest first
}

func (s *seenIDs) has(id string, after int64) bool {
	at, ok := s.at[id]
	return ok && at > after
}

// when is the time of an id, 0 where it is not remembered.
func (s *seenIDs) when(id string) int64 { return s.at[id] }

func (s *seenIDs) add(id string, now, forget int64) {
	if s.at == nil {
		s.at = map[string]int64{}
	}
	for len(s.order) > 0 && s.at[s.order[0]] <= forget {
		delete(s.at, s.order[0])
		s.order = s.order[1:]
	}
	s.at[id] = now
	s.order = append(s.order, id)
}
