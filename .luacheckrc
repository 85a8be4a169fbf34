-- Scripts that run inside Redis: Lua 5.1 with these globals.
std = "lua51"
read_globals = { "redis", "cjson", "KEYS", "ARGV" }
max_line_length = 120
