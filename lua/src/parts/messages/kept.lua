-- part messages/kept: the posted messages, and for the digest the categories by their last admission.
local function open_archive()
  archive = archive or make_archive()
  return archive
end

local function open_editor() return open_archive().editor() end

function messages.finish()
  if archive then archive.finish() end
end

-- remember notes that an event was admitted, and keeps its message if a later event may concern it. at is the
-- text of when that was, by default now.
function messages.remember(event, at)
  local number = event.number
  admitted[event.category] = true
  entered[number], is_queued[number] = #waiting, true
  local is_firing = event.status ~= 'resolved' and event.fingerprint ~= ''
  if event.thread or is_firing or options.overflow == 'merge' or MODE == 'promote' then
    open_archive().remember(event, at or now_text)
  end
end

local function store_last_admitted()
  local max_categories = 1000
  local keep_ms = 180000000 -- 50 h
  for category in pairs(admitted) do call('ZADD', last_admitted, now_text, category) end
  if call('ZCARD', last_admitted) > max_categories then
    call('ZREMRANGEBYRANK', last_admitted, 0, -max_categories - 1)
  end
  expire(last_admitted, keep_ms)
end

-- check_kept fails if a key that will be written has a wrong type. It reads which messages have expired.
local function check_kept()
  if archive then archive.check_types() end
  if options.digest and next(admitted) then call('ZCARD', last_admitted) end
  expired_numbers = call('ZRANGEBYSCORE', aged, '-inf', ago(options.posted), 'LIMIT', '0', '100')
  if archive or expired_numbers[1] then posted_bytes = tonumber(call('HGET', posted, 'bytes') or 0) end
end

local function store_kept()
  if archive or expired_numbers[1] then open_archive().store(expired_numbers, posted_bytes) end
  if options.digest and next(admitted) then store_last_admitted() end
end
