-- part claim/mark: store the claim in the entry, the lease, the pace and the pause.

-- remember_lookup stores in the pause how long the channel waits for a lookup.
local function remember_lookup(wait)
  local keep_ms = ms(wait)
  call('HSET', pause, 'settling', int(now + wait))
  if call('PTTL', pause) < keep_ms then call('PEXPIRE', pause, int(keep_ms)) end
end

-- spend_pace charges one message to the pace.
local function spend_pace()
  local next_empty = bucket_empty_at + pace_us
  call('SET', pace, int(next_empty), 'PX', int(ms(next_empty - now)))
end

-- mark_claimed stores the claim of an entry. It writes the fields of the entry at once, and deletes only those that
-- are there.
local function mark_claimed(c)
  local prefix = c.name .. ':'
  local is_attempt = c.state == CLAIMED and not c.is_unknown
  local written, deleted = { prefix .. 'attempts', int(c.attempts + 1) }, {}
  local function write(field, value) written[#written + 1], written[#written + 2] = prefix .. field, value end
  local function delete(field) deleted[#deleted + 1] = prefix .. field end
  if is_attempt then
    if pace_us > 0 and not c.is_edit then spend_pace() end
    if c.sent == 0 then write('sent', int(now)) end
    write('tried', int(now))
    if c.again then delete('again') end
    if c.looked > 0 then delete('looked') end
  end
  if c.state == CLAIMED and c.attempt then
    write('claim', int(this_call) .. ' ' .. c.attempt .. ' ' .. owner)
  elseif c.claim then
    delete('claim')
  end
  call('HSET', entries, unpack(written))
  if deleted[1] then call('HDEL', entries, unpack(deleted)) end
  call('HSET', lease, 'owner', owner, 'until', int(now + lease_us), 'call', int(this_call))
  call('PEXPIRE', lease, int(ms(lease_us)))
end
