-- part claim/candidate: the state of an entry that may be claimed, and how long it lasts.

-- forget_lost_claim removes the mark of a claim without a reply, whose owner sent nothing. It corrects the fields
-- of the entry.
local function forget_lost_claim(name, fields)
  local by, kind, claimer = string.match(fields.claim or '', '^(%d+) (%a+) (.*)$')
  by = tonumber(by)
  if not by or claimer ~= owner or by < lost_from or by > lost_to then return end
  call('HDEL', entries, name .. ':claim')
  fields.claim = nil
  if kind == 'first' then
    call('HDEL', entries, name .. ':sent', name .. ':tried', name .. ':looked')
    fields.sent, fields.tried, fields.looked = nil, nil, nil
  else
    call('HSET', entries, name .. ':again', '1')
    fields.again = '1'
  end
end

-- read_entry returns what is known of an entry. Only the fields of its attempts may be missing.
local function read_entry(name)
  local values = call('HMGET', entries, name, name .. ':sent', name .. ':tried', name .. ':looked', name .. ':again',
    name .. ':claim', name .. ':attempts', name .. ':faults', name .. ':thread', name .. ':name')
  local fields = {
    entry = values[1] or '', sent = values[2], tried = values[3], looked = values[4], again = values[5],
    claim = values[6], attempts = tonumber(values[7] or 0), faults = tonumber(values[8] or 0),
    thread = tonumber(values[9] or 0), posted_as = values[10] or '',
  }
  forget_lost_claim(name, fields)
  return fields
end

-- candidate returns an entry with its state and how long that lasts (wait). Only a message may be stale.
local function candidate(name, is_message)
  local c = read_entry(name)
  c.name, c.state, c.wait, c.sent, c.looked = name, CLAIMED, 0, tonumber(c.sent or 0), tonumber(c.looked or 0)
  c.at = tonumber(string.match(c.entry, '^%d+') or now)
  c.is_edit = string.match(c.entry, '^%d+ [%a-]*edit ') ~= nil
  c.is_unknown = c.sent > 0 and not c.again and not c.is_edit
  c.attempt = c.sent == 0 and 'first' or c.again and 'again'
  if c.is_edit then
    c.wait = edits_paused_until - now
    if c.wait > 0 then c.state = PAUSED end
  elseif c.is_unknown then
    c.wait = tonumber(c.tried or c.sent) + lookup_delay * (1 + 2 * c.looked) - now
    if lookup_delay > 0 and c.wait > 0 then c.state = UNKNOWN end
  elseif is_message and ttl > 0 and now - c.at > ttl then
    c.state = STALE
  else
    c.wait = bucket_empty_at - (burst - 1) * pace_us - now
    if is_message and ttl > 0 then c.wait = min(c.wait, c.at + ttl + 1 - now) end -- then it is stale
    if c.wait > 0 then c.state = PACED end
  end
  return c
end

-- choose returns the first of two entries that can be claimed, or nil and the one with the shorter wait.
local function choose(first, second)
  local blocked
  for _, c in ipairs({ first, second }) do
    if c.state == CLAIMED or c.state == STALE then return c, nil end
    if not blocked or c.wait < blocked.wait then blocked = c end
  end
  return nil, blocked
end
