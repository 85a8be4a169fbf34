-- part messages/batch: what a batch means for messages that are posted, or wait. All of it is read while events are
-- decided, and written at the end. The archive (what is kept of messages) and the editor (what becomes of groups,
-- resolves, repeats, and of what waits for a slot) are made only where an event needs them.
local extras, posted, aged, drops, digest, last_admitted, delayed =
  unpack(KEYS, keys_to_mode + 1, keys_to_mode + 7)
local entered, is_queued = {}, {} -- by number: its place in waiting; true = a message of this batch
local admitted = {} -- categories
local expired_numbers, posted_bytes -- messages that are kept too long; how long all are
local archive
messages = {}

-- payload_of returns what follows the first space of an entry.
local function payload_of(entry)
  local space = string.find(entry, ' ', 1, true)
  return space and string.sub(entry, space + 1) or ''
end
