-- part entry/latest_claim: end the script if the entry was claimed again after the caller's claim, because that
-- attempt may have been posted.
local attempts = call('HGET', entries, number .. ':attempts') or '0'
if (tonumber(attempts) or 0) > claims then return LOST end
