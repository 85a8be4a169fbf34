-- part claim/mark: store the claim in the entry, the lease, the pace and the pause.

-- remember_lookup stores in the pause how long the channel waits for a lookup.
local function remember_lookup(wait)
  local keep_ms = ms(wait)
  call('HSET', pause, 'settling', int(now + wait))
  if call('PTTL', pause) < keep_ms then call('PEXPIRE', pause, int(keep_ms)) end
end

-- spend_pace charges one message to the pace.
local function spend_pace(bucket_empty_at)
  local next_empty = bucket_empty_at + pace_us
  call('SET', pace, int(next_empty), 'PX', int(ms(next_empty - now)))
end

local function mark_claimed(c, bucket_empty_at)
  local name = c.name
  if c.state == CLAIMED and not c.is_unknown then
    if pace_us > 0 and not c.is_edit then spend_pace(bucket_empty_at) end
    call('HSETNX', entries, name .. ':sent', int(now))
    call('HSET', entries, name .. ':tried', int(now))
    call('HDEL', entries, name .. ':again', name .. ':looked')
  end
  if c.state == CLAIMED and c.attempt then
    call('HSET', entries, name .. ':claim', int(this_call) .. ' ' .. c.attempt .. ' ' .. owner)
  else
    call('HDEL', entries, name .. ':claim')
  end
  call('HSET', lease, 'owner', owner, 'until', int(now + lease_us), 'call', int(this_call))
  call('PEXPIRE', lease, int(ms(lease_us)))
end
