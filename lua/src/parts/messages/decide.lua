-- part messages/decide: decide about messages, and write them. The archive and the editor are used only if
-- necessary.
--- @include parts/messages/dropped
local may_count -- the result of may_repeat

-- may_repeat returns whether a firing may be counted on the message that reports its alert: by options.repeats, or
-- because somebody acknowledged a message of the channel since these are kept.
local function may_repeat()
  if may_count == nil then may_count = options.repeats or call('HEXISTS', posted, 'acks') == 1 end
  return may_count
end

-- attach returns what the editor's attach returns. It looks for earlier messages only if they can matter.
function messages.attach(event)
  local status, fingerprint = event.status, event.fingerprint
  local is_alone = fingerprint == '' or status == ''
  if not is_alone and status == 'firing' then
    is_alone = not may_repeat() or not open_archive().find('f:' .. fingerprint)
  end
  is_alone = is_alone and event.bundle == '' and event.reply_to == ''
  if is_alone and options.overflow ~= 'delay' then return nil, false end
  return open_editor().attach(event)
end

-- overflow returns the outcome of an event that levels refuse: it may be delayed, or counted on a message.
function messages.overflow(event, route, refused)
  if options.overflow == 'drop' then return DROPPED end
  return open_editor().overflow(event, route, refused)
end

function messages.lead(event, route) open_editor().lead(event, route) end

-- check_types fails if a key that will be written has a wrong type.
function messages.check_types()
  check_kept()
  if #dropped > 0 and options.drops > 0 then call('XLEN', drops) end
  if next(digest_counts) then
    call('HLEN', digest)
    call('ZCARD', due)
  end
end

function messages.store()
  store_kept()
  if #dropped > 0 and options.drops > 0 then
    --- @include parts/stream_bytes
    --- @include parts/drops
    record_drops(dropped, options.drops)
  end
  if next(digest_counts) then
    --- @include parts/digest_counts
    count_for_digest(digest_counts)
  end
end
