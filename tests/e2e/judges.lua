-- SPDX-License-Identifier: MIT
-- judges.lua [N] - what an interpreter does: calls of all kinds, errors that jump over C frames, coroutines, collection
local n = tonumber(arg[1]) or 1
local lines = {}
local function say(...) lines[#lines + 1] = table.concat({ ... }, " ") end

local function fib(i) return i < 2 and i or fib(i - 1) + fib(i - 2) end

-- error() is longjmp: out of Lua functions, out of C functions that call Lua functions, out of metamethods
local function raise(depth) if depth == 0 then error({ code = 42 }) end return raise(depth - 1) + 1 end
local function errors(count)
	local sum = 0
	for i = 1, count do
		local ok, e = pcall(raise, i % 50)
		assert(not ok)
		sum = sum + e.code
		ok, e = pcall(table.sort, { 3, 1, 2, 5, 4 }, function(a, b) if a == 5 then error("sort", 0) end return a < b end)
		assert(not ok and e == "sort")
		ok, e = pcall(string.gsub, "abcabc", "%w", function(c) if c == "c" then error("gsub", 0) end end)
		assert(not ok and e == "gsub")
		ok, e = xpcall(function() return setmetatable({}, { __add = function() error("add", 0) end }) + 1 end,
			function(m) return m .. "!" .. #debug.traceback() // 100000 end)
		assert(not ok and e == "add!0")
	end
	return sum
end

-- an error of the C stack itself
local function overflow() local ok, e = pcall(function() local function f() return 1 + f() end return f() end)
	return ok, (e:match("stack overflow")) end

-- coroutines: yield through pcall, through metamethods and iterators; wrap; errors inside; closed half way
local function permute(a, k)
	if k == 0 then coroutine.yield(a) return end
	for i = 1, k do
		a[i], a[k] = a[k], a[i]
		permute(a, k - 1)
		a[i], a[k] = a[k], a[i]
	end
end
local function coroutines(k)
	local seen, sum = 0, 0
	for p in coroutine.wrap(function() pcall(permute, { 1, 2, 3, 4, 5, 6, 7 }, k) end) do
		seen = seen + 1
		sum = (sum * 31 + p[1] * 7 + p[k]) % 1000003
	end
	local co = coroutine.create(function() local x <close> = setmetatable({}, { __close = function() seen = seen + 1 end })
		coroutine.yield(1) end)
	coroutine.resume(co)
	coroutine.close(co)
	local failed = coroutine.create(function() coroutine.yield() error("inside", 0) end)
	coroutine.resume(failed)
	local ok, e = coroutine.resume(failed)
	return seen, sum, tostring(ok), e
end

-- finalizers run inside of whatever allocates
local function garbage(count)
	local closed, keep = 0, {}
	for i = 1, count do
		keep[i % 100 + 1] = setmetatable({ i, tostring(i) }, { __gc = function(o) closed = closed + #o end })
	end
	keep = nil
	collectgarbage() collectgarbage()
	return closed
end

local function strings(count)
	local t = {}
	for i = 1, count do
		t[#t + 1] = string.format("%05d:%-8s:%5.2f:%x", i, ("x"):rep(i % 8), i / 7, i * 2654435761 % 4294967296)
	end
	local s = table.concat(t, ",")
	local words = 0
	for _ in s:gmatch("x+") do words = words + 1 end
	s = s:gsub("(%d+):", "<%1>"):upper():reverse()
	local sum = 0
	for i = 1, #s, 97 do sum = (sum * 33 + s:byte(i)) % 4294967291 end
	return #s, words, sum
end

local function sorting(count)
	local t, x = {}, 12345
	for i = 1, count do
		x = (x * 1103515245 + 12345) % 2147483648
		t[i] = x
	end
	table.sort(t, function(a, b) return a > b end)
	for i = 2, count do assert(t[i - 1] >= t[i]) end
	return t[1], t[count]
end

local function loading(count)
	local sum = 0
	for i = 1, count do
		sum = sum + load("local a = ... ; return function(b) return a * b + " .. i .. " end")(i)(3)
	end
	return sum, select(2, load("x = = 1"))
end

say("fib", fib(17 + n))
say("errors", errors(100 * n))
say("overflow", tostring(overflow()))
say("coroutines", coroutines(5 + n // 2))
say("garbage", garbage(2000 * n))
say("strings", strings(500 * n))
say("sorting", sorting(2000 * n))
say("loading", loading(300 * n))
say("pairs", (function() local c = 0 for _ in pairs({ a = 1, b = 2, 3, 4 }) do c = c + 1 end return c end)())
io.write(table.concat(lines, "\n"), "\n")
os.exit(n == 1 and 3 or 0, true)
