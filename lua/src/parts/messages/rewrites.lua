-- part messages/rewrites: change entries that still wait in the outbox, or for a slot.
local rewritten = {} -- by number: the new text
local growing = {} -- by number: true = a group that waits for a slot, whose entry may grow

-- entry_of is the text that waits under a number.
local function entry_of(number)
  return entered[number] and waiting[entered[number]] or rewritten[number] or call('HGET', entries, number) or ''
end

local function rewrite(number, entry)
  if entered[number] then waiting[entered[number]] = entry else rewritten[number] = entry end
end

-- next_edit is when a count on a message may be edited next.
local function next_edit(message) return max(now, tonumber(message.due or 0) + options.every) end

-- is_waiting returns whether a message is in the outbox and nobody began to send it.
local function is_waiting(number)
  return is_queued[number] or call('ZSCORE', outbox, number) and call('HEXISTS', entries, number .. ':sent') == 0
end
