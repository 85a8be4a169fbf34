-- part outcomes: what is decided for an event, as the reply has it. IN_PLACE: admitted in the place of its firing.
local ADMITTED, DROPPED, DUPLICATE, NEVER, MERGED = 1, 2, 3, 4, 5
local DELAYED, SUPPRESSED, FULL, IN_PLACE = 6, 7, 8, 9
