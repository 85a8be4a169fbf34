-- part batch/ask: ask the levels of an event's route: which of them refuse (bit i-1 for the i-th level), until
-- when, and because of which window. Shadow levels report and never refuse.
local ordinary, least, first_again, is_never = route.headroom, route.headroom, now, false
if fairness then ordinary, least, first_again = fairness.reserves(route) end
local asked = route.levels
for i = 1, #asked do
  local level = asked[i]
  local reserved = level.place == 1 and ordinary or 0
  local fits_at, never, by = fit(level, units, reserved)
  if reserved > least and fits_at > now then -- sooner, where the category becomes a first notice before
    fits_at = min(fits_at, max(fit(level, units, least), first_again))
  end
  if reserved > 0 and units + route.headroom > level.spec[FIRST] then never = true end
  if (fits_at > now or never) and level.is_shadow then
    shadow = shadow + 2 ^ (i - 1)
  elseif fits_at > now or never then
    if refused == 0 then window = by end
    refused, is_never = refused + 2 ^ (i - 1), is_never or never
    if fits_at > retry_at then retry_at = fits_at end
  end
end
outcome = refused == 0 and ADMITTED or is_never and NEVER or DROPPED
