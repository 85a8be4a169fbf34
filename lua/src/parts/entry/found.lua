-- part entry/found: find the entry that the caller claimed. It ends with GONE if the number and the admission time do
-- not match an entry.
local entry = call('HGET', entries, number) or ''
local admitted_at = string.match(entry, '^([1-9]%d*) [^ ]* ') or '0'
if #admitted_at > 18 then admitted_at = '0' end
local is_message = call('ZSCORE', outbox, number)
local is_extra = not is_message and call('ZSCORE', extras, number)
if admitted_at ~= named_at or not (is_message or is_extra) then return GONE end
