-- part batch/report: add the decision to the reply.
local n = #decisions
decisions[n + 1], decisions[n + 2], decisions[n + 3] = outcome, refused, shadow
decisions[n + 4], decisions[n + 5] = outcome == DROPPED and retry_at - now or 0, (window - FIRST) / 2
