-- part batch/ask: check the levels of an event's route: which of them refuse (bit i-1 for the i-th level), until
-- when, and because of which window. Shadow levels report and never refuse.
local ordinary, least, first_again, is_never = route[HEADROOM], route[HEADROOM], now, false
if fairness then ordinary, least, first_again = fairness.reserves(route) end
for i = FIRST, #route do
  local level, reserved = levels[route[i]], route[i] == 1 and ordinary or 0
  local fits_at, never, by = fit(level, units, reserved)
  if reserved > least and fits_at > now then -- sooner, if the category has a first notice before
    fits_at = min(fits_at, max(fit(level, units, least), first_again))
  end
  if reserved > 0 and units + route[HEADROOM] > level.spec[FIRST] then never = true end
  if (fits_at > now or never) and level.is_shadow then
    shadow = shadow + 2 ^ (i - FIRST)
  elseif fits_at > now or never then
    if refused == 0 then window = by end
    refused, is_never = refused + 2 ^ (i - FIRST), is_never or never
    if fits_at > retry_at then retry_at = fits_at end
  end
end
outcome = refused == 0 and ADMITTED or is_never and NEVER or DROPPED
