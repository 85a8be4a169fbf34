-- part outcomes: the outcomes of events, as the reply has them; for each, what it is counted as; and the reasons of
-- drops that no level made.
-- Code generated from store/outcome.go by go generate ./lua; DO NOT EDIT.
local ADMITTED = 1
local DROPPED = 2
local DUPLICATE = 3
local NEVER = 4
local MERGED = 5
local DELAYED = 6
local SUPPRESSED = 7
local FULL = 8
local SUPERSEDING = 9
local MUTED = 10
local COUNTED_AS = {
  [ADMITTED] = 'admitted',
  [DROPPED] = 'dropped',
  [DUPLICATE] = 'duplicate',
  [NEVER] = 'dropped',
  [MERGED] = 'merged',
  [DELAYED] = 'delayed',
  [SUPPRESSED] = 'dropped',
  [FULL] = 'dropped',
  [SUPERSEDING] = 'admitted',
  [MUTED] = 'muted',
}
local REASONS = {
  [NEVER] = 'never',
  [SUPPRESSED] = 'suppressed',
  [FULL] = 'full',
}
