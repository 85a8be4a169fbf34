-- part entry/latest_claim: the script ends here where another claim followed the caller's: its attempt may have been
-- posted.
local attempts = call('HGET', entries, number .. ':attempts') or '0'
if (tonumber(attempts) or 0) > claims then return LOST end
