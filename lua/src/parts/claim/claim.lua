-- part claim/claim: claim the next entry, if this sender may send it now, and return the reply.
local function end_lease()
  if is_mine then call('DEL', lease) end
end

-- next_entries returns the next two messages, the extra that has been due for longest and since when, and if none is
-- due, when the next one is.
local function next_entries()
  local head, following = unpack(call('ZRANGE', outbox, 0, 1))
  local extra, extra_at = unpack(call('ZRANGE', extras, 0, 0, 'WITHSCORES'))
  extra_at = tonumber(extra_at)
  local next_extra
  if extra_at and extra_at > now then extra, next_extra = nil, extra_at end
  return head, following, extra, extra_at, next_extra
end

local function claim()
  if next_digest and next_digest <= now then return look_soon({ DIGEST_DUE, 0 }) end

  local head, following, extra, extra_at, next_extra = next_entries()
  if not head and not extra then
    look_next(next_extra)
    end_lease()
    return { EMPTY, 0 }
  end
  local is_overtaken = is_mine and tonumber(leased[3] or 0) > this_call -- by a later claim of the same owner
  if is_overtaken or leased[1] and not is_mine and leased_until > now then
    return look_after({ LEASED, max(0, leased_until - now) })
  end
  if paused_until > now then
    end_lease()
    return look_after({ PAUSED, paused_until - now })
  end

  -- Of the next message and the next extra, the one that has waited longer is first. The first that may be sent is
  -- claimed.
  local first, second = nil, nil
  if head then first = candidate(head, true) end
  if extra then second = candidate(extra, false) end
  if not first or second and extra_at < first.at then first, second = second, first end
  local chosen, blocked = choose(first, second)
  if not chosen then
    if blocked.state == UNKNOWN then remember_lookup(blocked.wait) end
    return look_after({ blocked.state, blocked.wait }, next_extra)
  end
  if has_settling then call('HDEL', pause, 'settling') end
  if look and chosen.state == CLAIMED and not chosen.is_unknown then
    return look_soon({ chosen.is_edit and EDIT_READY or POST_READY, 0 })
  end
  mark_claimed(chosen)
  look_next(now + lease_us)
  return {
    chosen.state, 0, tonumber(chosen.name), chosen.attempts, chosen.faults, max(0, now - chosen.at), chosen.entry,
    chosen.is_unknown and chosen.sent or 0, chosen.is_unknown and chosen.looked or 0, chosen.thread, chosen.posted_as,
    (following or first and second) and 1 or 0,
  }
end
