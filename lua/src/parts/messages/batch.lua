-- part messages/batch: the keys and the tables that all parts of messages use.
local extras, posted, aged, drops, digest, last_admitted, delayed =
  unpack(KEYS, keys_to_mode + 1, keys_to_mode + 7)
local entered, is_queued = {}, {} -- by number: its place in waiting; true = a message of this batch
local admitted = {} -- categories
local expired_numbers, posted_bytes -- messages that have expired; the length of all
local archive
-- All events use one table in turn, which has all its fields from the beginning: a table that grows costs more
-- than the rest of a decision.
messages = {
  event = {
    id = '', category = '', entry = '', bundle = '', status = '', fingerprint = '', severity = '', title = '',
    delayed = '', reply_to = '', number = false, thread = false, outcome = 0, refused = 0, retry_at = 0, window = 0,
  },
}

-- payload_of returns what follows the first space of an entry.
local function payload_of(entry)
  local space = string.find(entry, ' ', 1, true)
  return space and string.sub(entry, space + 1) or ''
end
