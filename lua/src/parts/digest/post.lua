-- part digest/post: enqueue the digest's post, or an edit of it.
local digest_ms = 5356800000 -- 62 days: twice the longest interval

local function entry_of(kind, body) return int(now) .. ' ' .. kind .. ' ' .. cjson.encode(body) end

-- enqueue adds an entry, and returns its number.
local function enqueue(kind, post, body)
  local number = int(call('HINCRBY', entries, 'seq', 1))
  body.post = post or number
  call('HSET', entries, number, entry_of(kind, body))
  call('ZADD', extras, int(now), number)
  look_now('send', extras)
  return number
end

-- is_unsent returns whether an entry waits without an attempt.
local function is_unsent(number)
  return number and call('HEXISTS', entries, number) == 1 and call('HEXISTS', entries, number .. ':sent') == 0
end

-- edit_post rewrites an entry that is not sent yet, or adds an edit.
local function edit_post(state, body)
  body.post = state.post
  if is_unsent(state.post) then
    call('HSET', entries, state.post, entry_of('digest', body))
  elseif is_unsent(state.edit) then
    call('HSET', entries, state.edit, entry_of('digest-edit', body))
  else
    state.edit = enqueue('digest-edit', state.post, body)
  end
end

-- add_post enqueues the post. If it can be edited later, it is stored like any other posted message.
local function add_post(state, body)
  state.post = enqueue('digest', state.post, body)
  if every == 0 then return end
  local message = cjson.encode({ at = int(now), from = body.from })
  call('HINCRBY', posted, 'bytes', #message)
  call('HSET', posted, state.post, message)
  call('ZADD', aged, int(now), state.post)
end

local function keep_open(state, body)
  local open = tonumber(state.open) or now
  call('HSET', digest, 'open', int(open), 'id', body.id, 'post', state.post, 'moved', int(now), 'from', body.from,
    'totals', cjson.encode(body.counts))
  if state.edit then call('HSET', digest, 'edit', state.edit) end
  call('PEXPIRE', digest, digest_ms)
end
