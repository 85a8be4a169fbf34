-- part claim/next: when to look at the channel next.
local ready_us = 1000000 -- how long the caller has to go on with what is ready
--- @include parts/digest_due
--- @include parts/due/work
--- @include parts/due/at

local work = read_work('send', outbox)

-- next_digest is when the next digest may be due. If too little is counted for one, more may be by the next look.
local next_digest
if interval > 0 then
  local state = call('HMGET', digest, 'since', 'noted', 'open', 'moved')
  state.since, state.noted, state.open, state.moved = unpack(state)
  next_digest = digest_due_at(state)
  local is_waiting = next_digest and not state.open and tonumber(state.noted or 0) < minimum
  if is_waiting and every > 0 then next_digest = min(next_digest, now + ceil(every / 3)) end
end

-- look_next notes the earliest of some times, any of which may be nil, and of the next digest.
local function look_next(at, other)
  for _, one in pairs({ other, next_digest }) do at = at and min(at, one) or one end
  look_at(work, at)
end

-- look_after notes when the state of a reply ends, or an earlier time, and returns the reply.
local function look_after(reply, other)
  look_next(now + reply[2], other)
  return reply
end

-- look_soon lets others look soon, and returns the reply.
local function look_soon(reply)
  look_at(work, now + ready_us)
  return reply
end
