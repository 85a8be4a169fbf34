-- part messages/rewrites: change entries that wait in the outbox or are delayed.
local rewritten = {} -- by number: the new text
local growing = {} -- by number: true = a delayed group, whose entry may grow

-- entry_of returns the text of the entry with a number.
local function entry_of(number)
  return entered[number] and waiting[entered[number]] or rewritten[number] or call('HGET', entries, number) or ''
end

local function rewrite(number, entry)
  if entered[number] then waiting[entered[number]] = entry else rewritten[number] = entry end
end

-- next_edit returns when the count on a message may be edited next.
local function next_edit(message) return max(now, tonumber(message.due or 0) + options.every) end

-- is_waiting returns whether a message is in the outbox without an attempt.
local function is_waiting(number)
  return is_queued[number] or call('ZSCORE', outbox, number) and call('HEXISTS', entries, number .. ':sent') == 0
end
