-- part entry/claimed: find the entry that the caller claimed. The script ends here if another sender has the
-- lease, or if the number and the admission time do not match an entry.
local DONE, GONE, LOST = 1, 0, -1

local lease_owner = call('HGET', lease, 'owner')
if lease_owner and lease_owner ~= owner and tonumber(call('HGET', lease, 'until')) > now then return LOST end
--- @include parts/entry/found
