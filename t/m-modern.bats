#!/usr/bin/env bats
# M: every revision, every client
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

VERSION=io.modelcontextprotocol/protocolVersion
CAPABILITIES=io.modelcontextprotocol/clientCapabilities
INFO=io.modelcontextprotocol/clientInfo

# meta MEMBERS: tools/list with just these members of _meta, and its answer
meta() {
	ask tools/list '{"_meta":{'"$1"'}}'
}

# is_modern: the reply has what every result of 2026-07-28 has
is_modern() {
	is "$(get result resultType)" '"complete"' &&
		is "$(get result _meta io.modelcontextprotocol/serverInfo name)" '"boris"'
}

# is_legacy: the reply has nothing of it
is_legacy() {
	is "$(get result resultType)$(get result ttlMs)$(get result cacheScope)$(get result _meta)" '' &&
		isnt "$(get result)" ''
}

# --- M8: requests and results of MCP 2026-07-28

@test "M8: server/discover says what is there" {
	start
	modern server/discover
	is_modern
	is "$(get result supportedVersions)" '["2026-07-28"]'
	is "$(get result capabilities)" '{"tools":{}}'
	like "$(get result instructions)" '"?*"'
	most "$(get -n result instructions)" 500
	is "$(get result ttlMs) $(get result cacheScope)" '3600000 "public"'
	isnt "$(get result _meta io.modelcontextprotocol/serverInfo version)" ''
}

@test "M8: tools/list has the same tools as the handshake's, and how long they may be kept" {
	boris
	modern tools/list
	is_modern
	is "$(get result ttlMs) $(get result cacheScope)" '3600000 "private"'
	tools=$(get result tools)
	ask tools/list
	is_legacy
	is "$(get result tools)" "$tools"
}

@test "M8: tools/call needs no handshake, and gives complete results, of errors, tasks and timeouts too" {
	start
	modern tools/call '"name":"bash","arguments":{"command":"echo hi; exit 3"}'
	is_modern
	is "$(result stdout) $(result exit_code)" '"hi\n" 3'
	is "$(get result isError)" false
	is "$(get result ttlMs)$(get result cacheScope)" ''
	modern tools/call '"name":"bash","arguments":{"cmd":"ls"}'
	is_modern
	refused '*cmd*'
	modern tools/call '"name":"bash","arguments":{"command":"read <gate","run_in_background":true}'
	is_modern
	modern tools/call '"name":"task_output","arguments":{"task_id":"'"$(plain task_id)"'"}'
	is_modern
	is "$(result status)" '"running"'
	modern tools/call '"name":"bash","arguments":{"command":"read <gate","timeout":50}'
	is_modern
}

@test "M8: clientInfo, logLevel and strangers in _meta are optional" {
	start
	meta '"'$VERSION'":"2026-07-28","'$CAPABILITIES'":{}'
	is_modern
	meta '"'$VERSION'":"2026-07-28","'$CAPABILITIES'":{"extensions":{"x":[1]}},"io.modelcontextprotocol/logLevel":7,"traceparent":"00-x","baggage":null,"x/y":{}'
	is_modern
}

@test "M8: a protocolVersion, clientCapabilities or clientInfo that is malformed, or missing, is -32602 and named" {
	start
	for version in 20260728 null true '["2026-07-28"]' '{}'; do
		meta '"'$VERSION'":'"$version"',"'$CAPABILITIES'":{}'
		is "$(code)" -32602
		has "$(get error message)" protocolVersion
	done
	meta '"'$VERSION'":"2026-07-28"'
	is "$(code)" -32602
	has "$(get error message)" $CAPABILITIES
	for value in null '[]' '"x"' 1; do
		meta '"'$VERSION'":"2026-07-28","'$CAPABILITIES'":'"$value"
		is "$(code)" -32602
		has "$(get error message)" $CAPABILITIES
	done
	for value in '"c"' '[]' '{}' '{"name":"c"}' '{"version":"1"}' '{"name":1,"version":"1"}' \
	             '{"name":"c","version":1}'; do
		meta '"'$VERSION'":"2026-07-28","'$CAPABILITIES'":{},"'$INFO'":'"$value"
		is "$value $(code)" "$value -32602"
		has "$(get error message)" $INFO
	done
}

@test "M8: a version that is not spoken is -32022, with what is and what was asked for" {
	boris
	for version in 1900-01-01 2025-11-25 2024-11-05 '' 2026-07-28x; do
		meta '"'$VERSION'":"'$version'","'$CAPABILITIES'":{}'
		is "$(code)" -32022
		is "$(get error data supported)" '["2026-07-28"]'
		is "$(get error data requested)" "\"$version\""
	done
}

@test "M8: refusals come in order: version, members, method, params" {
	start
	ask nope '{"_meta":{"'$VERSION'":5}}'
	is "$(code)" -32602
	ask nope '{"_meta":{"'$VERSION'":"1900-01-01"}}'
	is "$(code)" -32022
	ask nope '{"_meta":{"'$VERSION'":"2026-07-28"}}'
	is "$(code)" -32602
	has "$(get error message)" $CAPABILITIES
	modern nope
	is "$(code)" -32601
	modern tools/call '"name":5'
	is "$(code)" -32602
}

@test "M8: a method that the modern revision has removed, or that is not declared, is -32601; errors have no other members" {
	start
	modern nope
	is "$(get -k error | sort | xargs)" 'code message'
	modern tools/call '"name":"nope"'
	is "$(code)" -32602
	has "$(get error message)" nope
	modern tools/list '"cursor":"x"'
	is "$(code)" -32602
	for method in initialize ping logging/setLevel resources/subscribe \
	              resources/unsubscribe tasks/get tasks/list tasks/result tasks/cancel \
	              prompts/list resources/list completion/complete 'server/discover\u0000'; do
		modern "$method" '"protocolVersion":"2025-11-25","level":"info"'
		is "$method $(code)" "$method -32601"
	done
}

@test "M8: notifications get no answer, whatever their _meta is" {
	start
	tell notifications/initialized '{"_meta":{'"$META"'}}'
	tell notifications/roots/list_changed '{"_meta":{'"$META"'}}'
	tell notifications/nope '{"_meta":{"'$VERSION'":"1900-01-01"}}'
	tell tools/list '{"_meta":{'"$META"'}}'
	tell tools/call '{"name":"bash","arguments":{"command":"touch ran"},"_meta":{'"$META"'}}'
	next_is_ping
	modern tools/call '"name":"bash","arguments":{"command":"true"}'
	[ ! -e ran ]
}

@test "M8: arguments of later revisions are ignored by tools/call" {
	start
	modern tools/call '"name":"bash","arguments":{"command":"echo hi"},"inputResponses":{},"requestState":"x","task":{"ttl":1}'
	is "$(result stdout)" '"hi\n"'
	hello
	ask tools/call '{"name":"bash","arguments":{"command":"echo hi"},"task":{"ttl":60000}}'
	is "$(result stdout)" '"hi\n"'
}

@test "M8: progress goes out for a modern request too; cancelled it gets nothing more" {
	start
	request 5 tools/call '{"name":"bash","arguments":{"command":"echo one; read <gate"},"_meta":{'"$META"',"progressToken":0}}'
	notice
	is "$(get params progressToken) $(get params message)" '0 "one\n"'
	release
	answer 5
	is_modern
	request 6 tools/call '{"name":"bash","arguments":{"command":"trap \"echo bye; exit\" TERM; echo one; echo $$ >pid; read <gate"},"_meta":{'"$META"',"progressToken":0}}'
	notice
	begun pid
	tell notifications/cancelled '{"requestId":6,"_meta":{"'$VERSION'":"1900-01-01"}}'
	eventually gone pid
	modern tools/list
	is ${#notices[@]} 0
	leave
	unanswered 6
}

@test "M8: the directory persists from call to call, which bash's description says" {
	mkdir d
	start
	modern tools/call '"name":"bash","arguments":{"command":"cd d"}'
	is "$(plain cwd)" "$PWD/d"
	modern tools/call '"name":"bash","arguments":{"command":"pwd"}'
	is "$(plain stdout)" "$PWD/d"
	modern tools/list
	has "$(get result tools 0 description)" cwd
	has "$(get result tools 0 description)" directory
}

# --- subscriptions/listen

# listen ID: asks for it
listen() {
	request "$1" subscriptions/listen '{"notifications":{"toolsListChanged":true},"_meta":{'"$META"'}}'
}

@test "M8: subscriptions/listen is acknowledged under the request's id as sent, and answered at the end unless cancelled" {
	start
	for id in 7 '"x"' 0 1.0 '"a\u0062"'; do
		listen "$id"
		hear
		is "$(get method)" '"notifications/subscriptions/acknowledged"'
		is "$(get -v params _meta io.modelcontextprotocol/subscriptionId)" "$id"
		is "$(get params notifications)" '{}'
	done
	modern tools/list
	is ${#notices[@]} 0
	for id in '"x"' 0 1.0 '"a\u0062"'; do
		cancel "$id"
	done
	in_turn
	end_input
	hear
	is "$(get -v id) $(get result resultType)" '7 "complete"'
	is "$(get -v result _meta io.modelcontextprotocol/subscriptionId)" 7
	died
	is $status 0
	unanswered '"x"'
}

@test "M8: subscriptions/listen without notifications is -32602, without modern _meta an unknown method" {
	boris
	ask subscriptions/listen '{"notifications":{}}'
	is "$(code)" -32601
	modern subscriptions/listen
	is "$(code)" -32602
	for value in null '[]' true; do
		modern subscriptions/listen '"notifications":'"$value"
		is "$(code)" -32602
	done
}

@test "M8: subscriptions are bounded in number" {
	start
	seq 5000 | sed 's/.*/{"jsonrpc":"2.0","id":&,"method":"subscriptions\/listen","params":{"notifications":{},"_meta":{'"${META//\//\\/}"'}}}/' >many
	cat many >&7 &
	writer=$!
	head -n 5000 <&8 >many.out
	wait $writer
	least "$("$HERE/reply" -l error code <many.out | grep -c -- -32603)" 1
	least "$("$HERE/reply" -l method <many.out | grep -c acknowledged)" 1
	modern tools/list
	is_modern
}

# --- M3: which era a message belongs to

@test "M3: server/discover without its _meta is -32602 and names the member, before the handshake and after" {
	start
	ask server/discover
	is "$(code)" -32602
	has "$(get error message)" $VERSION
	hello
	ask server/discover '{"_meta":{"progressToken":1}}'
	is "$(code)" -32602
	has "$(get error message)" $VERSION
}

@test "M3: a modern request does not stand for a handshake" {
	start
	modern tools/list
	is_modern
	ask tools/list
	is "$(code)" -32602
	has "$(get error message)" $VERSION
	has "$(get error message)" initialize
	ask ping
	is "$(get result)" '{}'
}

@test "M3, M14.6: initialize after a modern request opens the legacy era, in which a _meta without the version is ordinary" {
	start
	modern server/discover
	hello 2025-06-18
	ask tools/list
	is_legacy
	modern tools/list
	is_modern
	ask tools/list '{"_meta":{"progressToken":5,"'$CAPABILITIES'":5}}'
	is_legacy
	for params in '' '{}' '{"_meta":{}}' '{"_meta":{"progressToken":1}}' '{"x":1}'; do
		ask ping $params
		is "$(get result)" '{}'
	done
}

@test "M3: initialize with modern _meta is modern, so removed" {
	start
	ask initialize '{"protocolVersion":"2025-11-25","_meta":{'"$META"'}}'
	is "$(code)" -32601
	ask tools/list
	is "$(code)" -32602
}

@test "M3: both eras in turn: each message gets its era's answer, a cancelled one none" {
	mkdir d
	start
	modern tools/call '"name":"bash","arguments":{"command":"cd d"}'
	is_modern
	hello 2025-11-25
	run_bash pwd
	is_legacy
	is "$(plain stdout)" "$PWD/d"
	call_bash 'echo $$ >pid; read <../gate'
	legacy=$id
	request '"m"' tools/call '{"name":"bash","arguments":{"command":"touch ran"},"_meta":{'"$META"'}}'
	begun d/pid
	modern ping
	is "$(code)" -32601
	ask ping
	is "$(get result)" '{}'
	cancel '"m"'
	cancel $legacy
	modern tools/call '"name":"bash","arguments":{"command":"echo next"}'
	is_modern
	is "$(result stdout)" '"next\n"'
	ask nope
	is "$(code)" -32601
	modern tools/list
	is_modern
	ask tools/list
	is_legacy
	leave
	unanswered $legacy
	unanswered '"m"'
	[ ! -e d/ran ]
}

@test "M3: a task of one era is there for the other" {
	boris
	start_task 'read <gate; echo hi'
	release
	modern tools/call '"name":"task_output","arguments":{"task_id":"'"$task"'","wait":10000}'
	is_modern
	is "$(result stdout)" '"hi\n"'
}

# --- M7: arrays of messages (MCP 2025-03-26, basic)

@test "M7: an array of messages is one -32600 that says so, whatever is in it, in every revision (P1)" {
	start
	one='{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","arguments":{"command":"touch ran"}}}'
	for version in none 2024-11-05 2025-03-26 2025-06-18 2025-11-25; do
		[ $version = none ] || hello $version
		for line in "[$one]" "[$one,$one]" '[]' '[1]' "[${one/\"arguments\"/\"_meta\":{$META\},\"arguments\"}]"; do
			send "$line"
			hear
			is "$version $(code) $(get id)" "$version -32600 null"
			like "$(get error message)" '*@(array|batch)*'
			next_is_ping
		done
	done
	[ ! -e ran ]
}

# --- M12: an exchange for each revision is in the tests above and in p-

# --- M13 and M14: what real clients trip over

@test "M13: a probe is answered at once, and its process gone right after its SIGTERM" {
	begin
	start
	request '"server-discover-probe-1"' server/discover '{"_meta":{'"$META"'}}'
	hear
	within 2000
	is "$(get id)" '"server-discover-probe-1"'
	is "$(get result supportedVersions 0)" '"2026-07-28"'
	begin
	end_input
	kill -TERM "$server" 2>/dev/null || : # it may have left already
	died
	within 1000
}

@test "M14.4, M14.17: every tool's schemas are objects that any client compiles, each property with a type" {
	boris
	ask tools/list
	for tool in 0 1; do
		for schema in inputSchema outputSchema; do
			is "$(get result tools $tool $schema type)" '"object"'
			for word in '$schema' oneOf anyOf allOf '$defs' definitions; do
				is "$(get result tools $tool $schema "$word")" ''
			done
			for name in $(get -k result tools $tool $schema properties); do
				isnt "$name $(get result tools $tool $schema properties $name type)" "$name "
			done
		done
	done
	is "$(get result nextCursor)" ''
}

@test "M14.14: boris works in the environment that clients give it, and in none" {
	wrap=(env -i "TEST_MARK=$PWD:" HOME="$HOME" LOGNAME=x PATH="$PATH" SHELL=/bin/sh TERM=xterm USER=x)
	boris
	run_bash 'echo "$HOME"; echo ü'
	is "$(plain stdout)" "$HOME"$'\nü'
	leave
	wrap=(env -i "TEST_MARK=$PWD:")
	[ -z "$WRAP" ] || skip "under $WRAP"
	boris
	run_bash 'echo hi; ls / >/dev/null; head -c 40000 /dev/zero | tr "\0" a'
	is "$(result exit_code) $(result stdout_chars)" '0 40003'
	like "$(plain stdout_file)" '/tmp/?*'
}

# U+2028 and U+2029; with U+0085 as well, which is no output (O1)
BREAKS=$'b\xe2\x80\xa8c\xe2\x80\xa9d'
ALL_BREAKS=$'a\xc2\x85'$BREAKS

# escaped [TEXT]: the reply has TEXT, or the two characters as escapes, and none
# of the three as it is
escaped() {
	has "$reply" "${1-b\u2028c\u2029d}" && ! [[ $reply == *$'\xc2\x85'* ]] &&
		! [[ $reply == *$'\xe2\x80'[$'\xa8\xa9']* ]] ||
		fail "not escaped: $reply"
}

@test "M14.19: line breaks outside ASCII are escaped in results and lists" {
	boris
	run_bash "printf '$BREAKS'"
	escaped
	is "$(plain stdout)" "$BREAKS"
	run_bash "printf '$BREAKS' >&2"
	escaped
	start_task "echo '$BREAKS'; read <gate" '{"description":"'"$ALL_BREAKS"'"}'
	run_tool task_output '{}'
	escaped
	is "$(get -s result structuredContent tasks 0 description)" "$ALL_BREAKS"
	release
}

@test "M14.19: line breaks outside ASCII are escaped in errors" {
	boris
	run_bash true '{"cwd":"'"$BREAKS"'"}'
	escaped
	run_tool bash '{"'"$BREAKS"'":1}'
	escaped
	run_tool "$BREAKS" '{}'
	escaped
}

@test "M14.19: line breaks outside ASCII are escaped in ids and progress tokens" {
	boris
	request '"'"$ALL_BREAKS"'"' ping
	hear
	escaped 'a\u0085b\u2028c\u2029d'
	is "$(get -s id)" "$ALL_BREAKS"
	request '"'"$ALL_BREAKS"'"' "no/$BREAKS"
	hear
	escaped 'a\u0085b\u2028c\u2029d'
	call_bash "printf '$BREAKS'; read <gate" '' '{"progressToken":"'"$ALL_BREAKS"'"}'
	notice
	escaped 'a\u0085b\u2028c\u2029d'
	is "$(get -s params progressToken)" "$ALL_BREAKS"
	is "$(get -s params message)" "$BREAKS"
	release
	answer
}

@test "M14.19: a request whose id has line breaks outside ASCII can be cancelled" {
	boris
	quote "echo \$BASHPID >pid; read <gate"
	request '"'"$ALL_BREAKS"'"' tools/call '{"name":"bash","arguments":{"command":'"$quoted"'}}'
	begun pid
	cancel '"'"$ALL_BREAKS"'"'
	eventually gone pid
	next_is_ping
}

@test "M14.19: the id of a modern request whose version is not known is escaped" {
	start
	ask tools/list '{"_meta":{'"${META/2026-07-28/$BREAKS}"'}}'
	escaped
}
