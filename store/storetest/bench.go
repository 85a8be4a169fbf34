package storetest

import (
	"strings"
)

var Payload = []byte(`{"title":"` + strings.Repeat("x", 390) + `"}`)
