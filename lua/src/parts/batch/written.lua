-- part batch/written: what the batch writes at the end.
local ledger, series, outbox, entries, minutes, due = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
--- @include parts/due/work
--- @include parts/due/now
local totals = {} -- of the ledger, by name: by how much each rises
local admitted_by_route, dropped_by_route = {}, {} -- how many events
local last_number, number_before -- of an entry; nil until one is needed
local admitted_ids, remembered -- ids by name; scores and ids
local waiting, places -- fields and values of entries; scores and numbers of messages

-- begin reads the last number. From here on, the batch writes something.
local function begin()
  if last_number then return end
  last_number = tonumber(call('HGET', entries, 'seq') or 0)
  number_before = last_number
  admitted_ids, remembered, waiting, places = {}, {}, {}, {}
end
