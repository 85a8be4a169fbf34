package memory_test

import (
	"testing"

	"slackrelay/store/storetest"
)

func TestStore(t *testing.T) { storetest.Run(t, storetest.Memory) }
