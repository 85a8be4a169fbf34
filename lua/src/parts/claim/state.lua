-- part claim/state: the lease, the pause and the pace. All three are read before anything is written.
local leased = call('HMGET', lease, 'owner', 'until', 'call')
local is_mine = leased[1] == owner
local leased_until = tonumber(leased[2] or 0)
local paused = call('HMGET', pause, 'until', 'edits', 'settling')
local paused_until, edits_paused_until, has_settling = tonumber(paused[1] or 0), tonumber(paused[2] or 0), paused[3]
local bucket_empty_at = max(now, tonumber(call('GET', pace) or 0))
