#!/usr/bin/env bats
# H: HTTP

load http

# discovers STATUS [HEADER]: to a's server/discover the response has that status
discovers() {
	message server/discover "{\"_meta\":{$META}}"
	modern_posted a "${@:2}"
	is "$http" "$1"
}

# only_listens: stderr has nothing else, so that teardown is content
only_listens() {
	grep -v listening err >rest || :
	mv rest err
}

# -- H1: requests and answers

@test "H1: a POST carries a request and gets its answer, a notification gets 202" {
	serve
	plug a
	posted a "$HELLO"
	is "$http $(header content-type)" '200 application/json'
	is "$(get id) $(get result protocolVersion)" '0 "2025-11-25"'
	visit[a]=$(header Mcp-Session-Id)
	is "${visit[a]//[0-9a-f]/}${#visit[a]}" 32
	posted a '{"jsonrpc":"2.0","method":"notifications/initialized"}'
	is "$http $body" '202 '
	ran a 'echo hello'
	is "$http $(plain stdout)" '200 hello'
}

@test "H1: all revisions with a handshake are served over HTTP" {
	serve
	plug a
	for revision in 2024-11-05 2025-03-26 2025-06-18 2025-11-25; do
		visit[a]=''
		posted a "${HELLO/2025-11-25/$revision}"
		is "$(get result protocolVersion)" "\"$revision\""
		visit[a]=$(header Mcp-Session-Id)
		pings a
	done
}

@test "H1: GET /mcp is 405 and says what is allowed, as are other methods" {
	serve
	enter a
	for verb in GET PUT PATCH HEAD TRACE NONSENSE; do
		asks a $verb /mcp
		heads a
		[ $verb = HEAD ] || bytes_of a "$(header Content-Length)"
		is "$verb: $http $(header Allow)" "$verb: 405 POST, DELETE, OPTIONS"
	done
	pings a
}

@test "H1: GET /health is 200, with the token it says more" {
	serve --token=x
	plug a
	for path in /health '/health?deep=1'; do
		asked a GET $path
		is "$http $(header Content-Type) $body" '200 application/json {"status":"ok"}'
	done
	asked a GET /health 'Authorization: Bearer x'
	like "$http $body" '200 {"status":"ok",*version*uptime*sessions*tasks*}'
	asked a POST /health -- '{}'
	is "$http" 405
	like "$(header Allow)" 'GET*'
}

@test "H1: another path is 404, and its body no message" {
	serve
	enter a
	for path in / /mcp// /mcp/x /mcpx /healthy '*' //mcp; do
		asked a POST "$path" 'Content-Type: application/json' -- "$HELLO"
		is "$path: $http" "$path: 404"
		lacks "$body" jsonrpc
	done
	pings a
}

@test "H1: /mcp/ is the same endpoint as /mcp" {
	serve --token=x
	plug a
	local json='Content-Type: application/json' auth='Authorization: Bearer x'
	asked a POST /mcp/ "$json" -- "$HELLO"
	is "$http" 401
	for path in /mcp/ '/mcp/?a=b' http://localhost/mcp/; do
		asked a POST "$path" "$json" "$auth" -- "$HELLO"
		is "$path: $http" "$path: 200"
	done
	asked a GET /mcp/ "$auth"
	is "$http $(header Allow)" '405 POST, DELETE, OPTIONS'
}

@test "H1: an error about a well-formed request keeps the connection" {
	serve
	enter a
	asked a POST /mcp 'Content-Type: text/plain' 'Accept: */*' -- "$HELLO"
	is "$http" 415
	asked a POST /mcp -- "$HELLO"
	is "$http" 415
	asked a POST /mcp 'Content-Type: application/json' 'Accept: application/json' -- "$HELLO"
	is "$http" 406
	asked a POST /mcp 'Content-Type: application/json' 'Accept: text/event-stream' -- "$HELLO"
	is "$http" 406
	posted a '{"jsonrpc":"2.0","id":1,'
	is "$http $(code)" '400 -32700'
	is "$(get id || echo none)" none
	posted a '{"jsonrpc":"2.0","id":1}'
	is "$http $(code) $(get id)" '400 -32600 1'
	posted a ''
	is "$http $(code)" '400 -32700'
	message no/such
	posted a "$message"
	is "$http $(code)" '200 -32601'
	tool nothing '{}'
	posted a "$message"
	is "$http $(code)" '200 -32602'
	pings a
}

@test "H1: an array of messages is one -32600 that says so (P1)" {
	serve
	plug a
	posted a "${HELLO/2025-11-25/2025-03-26}"
	visit[a]=$(header Mcp-Session-Id)
	bash_call "echo >$PWD/ran"
	for body in "[$message]" '[]'; do
		posted a "$body"
		is "$http $(code)" '400 -32600'
		like "$(get error message)" '*@(array|batch)*'
	done
	pings a
	[ ! -e ran ]
}

@test "H1: Accept may be left out, be in parts, or have wildcards" {
	serve
	enter a
	for accept in 'X-Nothing: 1' 'Accept: */*' 'Accept: text/*,application/*;q=0.5' \
	              $'accept: application/json\r\nACCEPT:text/event-stream'; do
		message ping
		asked a POST /mcp 'content-type: Application/JSON; charset=utf-8' "$accept" \
			"Mcp-Session-Id: ${visit[a]}" -- "$message"
		is "$http" 200
	done
}

@test "H1: a body in chunks is put together, wherever it is cut" {
	serve
	enter a
	message ping
	text="POST /mcp HTTP/1.1"$'\r\n'"Host: localhost"$'\r\n'
	text+="Content-Type: application/json"$'\r\n'"Transfer-Encoding: Chunked"$'\r\n'
	text+="Mcp-Session-Id: ${visit[a]}"$'\r\n\r\n'
	for ((i = 0; i < ${#message}; i += 7)); do
		piece=${message:i:7}
		printf -v size '%02X;x="y"' ${#piece}
		text+=$size$'\r\n'$piece$'\r\n'
	done
	text+=$'0\r\nExpires: never\r\n\r\n'
	put a "$text"
	takes a
	is "$http $(get result)" '200 {}'
	# byte by byte, each in its own segment
	for ((i = 0; i < ${#text}; i++)); do
		put a "${text:i:1}"
	done
	takes a
	is "$http $(get result)" '200 {}'
	pings a
}

@test "H1: requests written together are answered in order, a hundred small ones too" {
	serve
	enter a
	bash_call 'read <gate; cd /'
	one=$message
	bash_call 'pwd'
	two=$message
	message ping
	text=''
	for body in "$one" "$two" "$message"; do
		text+="POST /mcp HTTP/1.1"$'\r\n'"Host: localhost"$'\r\n'
		text+="Content-Type: application/json"$'\r\n'"Content-Length: ${#body}"$'\r\n'
		text+="Mcp-Session-Id: ${visit[a]}"$'\r\n\r\n'"$body"
	done
	put a "$text"
	heads a
	release
	last_event a
	is "$(get id)" $((id - 2))
	answers a
	is "$(get id) $(plain stdout)" "$((id - 1)) /"
	takes a
	is "$(get id) $(get result)" "$id {}"
	text=''
	for ((i = 0; i < 100; i++)); do
		text+=$'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'
	done
	put a "$text"
	for ((i = 0; i < 100; i++)); do
		takes a
		is "$http" 200
	done
}

@test "H1: Connection: close is heeded, and HTTP/1.0 is answered and closed" {
	serve
	plug a b
	asked a GET /health 'Connection: close'
	is "$http $(header Connection)" '200 close'
	hung_up a
	asked b GET /health 'Connection: x, Close'
	hung_up b
	enter s
	unplug a b
	plug a b c
	put a $'GET /health HTTP/1.0\r\n\r\n'
	takes a
	is "$http $body" '200 {"status":"ok"}'
	hung_up a
	put b $'GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n'
	takes b
	is "$(header Connection)" close
	hung_up b
	# It knows no chunks: the end of a stream is the connection's.
	bash_call 'echo hello'
	put c "POST /mcp HTTP/1.0"$'\r\n'"Connection: keep-alive"$'\r\n'"Content-Type: application/json"$'\r\n'"Content-Length: ${#message}"$'\r\n'"Mcp-Session-Id: ${visit[s]}"$'\r\n\r\n'"$message"
	heads c
	is "$(header Transfer-Encoding || echo none) $(header Connection)" 'none close'
	line_of c
	is "$line" 'event: message'
	line_of c
	reply=${line#data: }
	is "$(plain stdout)" hello
	line_of c
	is "$line" ''
	hung_up c
}

@test "H1: Expect: 100-continue is told to go on, or what is wrong; without a body it costs nothing" {
	serve
	enter a
	message ping
	put a "POST /mcp HTTP/1.1"$'\r\n'"Host: localhost"$'\r\n'"Content-Type: application/json"$'\r\n'"Content-Length: ${#message}"$'\r\n'"Mcp-Session-Id: ${visit[a]}"$'\r\n'"Expect: 100-Continue"$'\r\n\r\n'
	line_of a
	is "$line" 'HTTP/1.1 100 Continue'
	line_of a
	is "$line" ''
	put a "$message"
	takes a
	is "$http $(get result)" '200 {}'
	put a $'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n'
	takes a
	is "$http $(header Connection)" '415 close'
	hung_up a
	plug a
	for i in 1 2; do
		asked a GET /health 'Expect: 100-continue'
		is "$http $(header Connection || echo open)" '200 open'
	done
}

# ping_expecting PEER VERSION EXPECTATION: writes a ping of that HTTP version
ping_expecting() {
	local end=$'\r\n'
	message ping
	put "$1" "POST /mcp HTTP/$2${end}Host: localhost${end}Content-Type: application/json${end}"
	put "$1" "Content-Length: ${#message}${end}Mcp-Session-Id: ${visit[$1]}${end}"
	put "$1" "Expect: $3$end$end$message"
}

@test "H1: Expect: 100-continue in an HTTP/1.0 request is ignored" {
	serve
	enter a
	ping_expecting a 1.0 100-continue
	takes a
	is "$http $(get result)" '200 {}'
	hung_up a
}

@test "H1: an unknown expectation is ignored" {
	serve
	enter a
	ping_expecting a 1.1 something-else
	takes a
	is "$http $(get result)" '200 {}'
	asked a POST /mcp 'Content-Type: text/plain' 'Expect: something-else' -- x
	is "$http $(header Connection || echo open)" '415 open'
	ping_expecting a 1.1 'x, 100-Continue'
	line_of a
	is "$line" 'HTTP/1.1 100 Continue'
}

@test "H1: the target may be a whole URL, and its host is checked" {
	serve
	plug a
	put a $'GET http://localhost:1/health HTTP/1.1\r\nHost: localhost\r\n\r\n'
	takes a
	is "$http" 200
	put a $'GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\n\r\n'
	takes a
	is "$http" 403
}

@test "H1, H7: who has only said all it has to say gets its answers, also of a request that came behind a call" {
	needs perl
	serve
	enter a
	bash_call 'echo >begun; read <gate'
	perl -MIO::Socket -e '
		my $s = IO::Socket::INET->new("127.0.0.1:'"$port"'") or die;
		print $s "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" .
			"Mcp-Session-Id: $ARGV[0]\r\nContent-Length: " . length($ARGV[1]) . "\r\n\r\n$ARGV[1]" .
			"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
		shutdown($s, 1);
		print while <$s>;' "${visit[a]}" "$message" >said &
	begun begun
	pings a
	release
	wait $!
	has "$(<said)" completed
	has "$(<said)" '"ok"'
}

# -- H2: listening

@test "H2: boris says where it listens, on 127.0.0.1 unless told otherwise; a port in use is one line and status 1" {
	serve
	is "$(<err)" "boris: listening on http://127.0.0.1:$port/mcp"
	plug a
	asked a GET /health
	is "$http" 200
	refused_at_start 1 --port=$port
	like "$(<err)" "boris: cannot listen on 127.0.0.1 port $port: *"
	rm err
	: >err
}

@test "H2: --listen takes an IPv6 address" {
	serve --listen=::1 || skip 'no IPv6 here'
	is "$(<err)" "boris: listening on http://[::1]:$port/mcp"
	exec {fd}<>"/dev/tcp/::1/$port"
	wire[a]=$fd
	asked a GET /health "Host: [::1]:$port"
	is "$http" 200
}

@test "H2: what is no address or no port is refused" {
	refused_at_start 2 --listen=localhost
	has "$(<err)" localhost
	refused_at_start 2 --listen=127.0.0.256
	refused_at_start 2 --port=65536
	refused_at_start 2 --port=-1
	refused_at_start 2 --session-timeout=0
	BORIS_TRANSPORT=carrier-pigeon filter </dev/null >out
	is $status 2
}

@test "H2: the environment says all that the options of HTTP say" {
	export BORIS_TRANSPORT=http BORIS_PORT=0 BORIS_LISTEN=127.0.0.2 BORIS_TOKEN=abc
	start
	eventually grep -qs listening err
	like "$(<err)" 'boris: listening on http://127.0.0.2:*/mcp'
}

# -- H3: the token

@test "H3: without the token a request is 401, and nothing has run" {
	serve --token=Secret1
	plug a
	for given in 'X: y' 'Authorization: Bearer' 'Authorization: Bearer Secret' \
	             'Authorization: Bearer Secret12' 'Authorization: Bearer secret1' \
	             'Authorization: Basic Secret1' 'Authorization: BearerSecret1' \
	             'Authorization: Bearer Secret1 x'; do
		bash_call "echo ran >$PWD/ran" '' "$META"
		modern_posted a "$given"
		is "$given: $http $(header WWW-Authenticate)" "$given: 401 Bearer"
	done
	for verb in GET DELETE OPTIONS PUT; do
		asked a $verb /mcp
		is "$verb: $http" "$verb: 401"
	done
	asked a GET /health
	is "$http" 200
	bash_call 'ls' '' "$META"
	modern_post a 'authorization: bearer  Secret1'
	answers a
	is "$http" 200
	lacks "$(plain stdout)" ran
}

@test "H3: a token file's newline is not part of it, it may be a pipe, and a flag beats the variable" {
	export BORIS_TOKEN=fromvariable
	serve --token-file=<(echo Secret2)
	plug a
	discovers 401
	discovers 401 'Authorization: Bearer fromvariable'
	discovers 200 'Authorization: Bearer Secret2'
}

@test "H3: a token that is made is told once, and is another each time" {
	serve --generate-token
	token=$(sed -n 's/^boris: generated token: //p' err)
	like "$token" '????????????????????????????????'
	plug a
	discovers 200 "Authorization: Bearer $token"
	leave
	serve --generate-token
	isnt "$(sed -n 's/^boris: generated token: //p' err)" "$token"
}

@test "H3: an empty token, a bad one, two of them are refused" {
	refused_at_start 2 --token=
	refused_at_start 2 '--token=a b'
	refused_at_start 2 --token=$'a\x80'
	lacks "$(<err)" $'a\x80'
	: >token
	refused_at_start 2 --token-file=token
	echo >token
	refused_at_start 2 --token-file=token
	printf 'a\0b' >token
	refused_at_start 2 --token-file=token
	printf %05000d 1 >token
	refused_at_start 2 --token-file=token
	has "$(<err)" 'cannot read the token: must be 1 to 4095 visible ASCII characters'
	refused_at_start 2 --token-file=none
	refused_at_start 2 --token=a --generate-token
	export BORIS_TOKEN=
	refused_at_start 2 --port=0
}

@test "H3: to listen to other machines takes a token, or to be told so" {
	for address in 0.0.0.0 :: ::ffff:127.0.0.1 192.0.2.1; do
		refused_at_start 2 --listen=$address
		has "$(<err)" --allow-anyone
	done
	serve --listen=0.0.0.0 --allow-anyone
	leave
	is $status 0
	serve --listen=0.0.0.0 --token=x
}

# -- H4: Origin and Host

@test "H4: on port 80 this server's origin has no port" {
	if ! serve --port=80; then
		died
		skip "$(<err)"
	fi
	plug a
	for origin in http://localhost http://127.0.0.1:80 'http://[::1]'; do
		asked a GET /health "Origin: $origin"
		is "$origin: $http" "$origin: 200"
	done
	for origin in http://localhost:8080 https://localhost http://localhost.example \
		'http://127.0.0.1:[x]' 'http://127.0.0.1:x]' http://127.0.0.1:x@evil.example:80 \
		http://127.0.0.1:80:80; do
		asked a GET /health "Origin: $origin"
		is "$origin: $http" "$origin: 403"
	done
}

@test "H4: an Origin that is not allowed is 403, and nothing has run" {
	serve --allow-origin=https://good.example
	plug a
	for origin in http://evil.example null https://good.example:444 http://good.example \
	              https://good.example.evil.example http://localhost.evil.example \
	              http://127.0.0.1.evil.example http://localhost:80x \
	              'http://[::1].evil.example' http://localhost@evil.example \
	              http://localhost http://localhost:1 "http://127.0.0.1:1$port" 'http://[::1]'; do
		bash_call "echo ran >$PWD/ran" '' "$META"
		modern_posted a "Origin: $origin"
		is "$origin: $http $(header Access-Control-Allow-Origin || echo none)" \
			"$origin: 403 none"
	done
	asked a GET /health 'Origin: http://evil.example'
	is "$http" 403
	modern_ran a ls
	lacks "$(plain stdout)" ran
}

@test "H4: on loopback a Host that is not is 403, and nothing has run; elsewhere any Host will do" {
	serve
	plug a
	for host in evil.example evil.example:$port localhost.evil.example 127.0.0.1.evil.example \
	            192.0.2.1 '[::2]' '' 'localhost:1:2'; do
		bash_call "echo ran >$PWD/ran" '' "$META"
		modern_posted a "Host: $host"
		is "$host: $http" "$host: 403"
	done
	for host in localhost LOCALHOST:1 127.0.0.1 127.1.2.3:4 '[::1]' "[::1]:$port"; do
		asked a GET /health "Host: $host"
		is "$host: $http" "$host: 200"
	done
	modern_ran a ls
	lacks "$(plain stdout)" ran
	leave
	serve --listen=0.0.0.0 --allow-anyone
	plug a
	asked a GET /health 'Host: boris.example'
	is "$http" 200
}

@test "H4: a page of this server, or an allowed one, may call and read" {
	export BORIS_ALLOW_ORIGIN='https://one.example,http://two.example:8000'
	serve
	enter a
	for origin in http://localhost:$port http://127.0.0.1:$port "http://[::1]:$port" \
	              https://one.example http://two.example:8000; do
		message ping
		posted a "$message" "Origin: $origin"
		is "$http $(header Access-Control-Allow-Origin)" "200 $origin"
		has "$(header Access-Control-Expose-Headers)" Mcp-Session-Id
		is "$(header Vary)" Origin
	done
	runs a 'echo hello'
	post a "$message" 'Origin: https://one.example'
	answers a
	answers a
	is "$(header Access-Control-Allow-Origin)" https://one.example
}

@test "H4: --allow-origin may be given twice and beats the variable; what is no origin is refused at the start" {
	for origin in '*' null good.example https:// https://good.example/ https://good.example/page; do
		refused_at_start 2 "--allow-origin=$origin"
	done
	export BORIS_ALLOW_ORIGIN=https://three.example
	serve --allow-origin=https://one.example --allow-origin https://two.example
	plug a
	for pair in one:200 two:200 three:403; do
		asked a GET /health "Origin: https://${pair%:*}.example"
		is "$pair: $http" "$pair: ${pair#*:}"
	done
}

@test "H4: a CORS preflight is answered, without the token too" {
	serve --token=x --allow-origin=https://one.example
	plug a
	asked a OPTIONS /mcp 'Origin: https://one.example' 'Access-Control-Request-Method: POST' \
		'Access-Control-Request-Headers: authorization,content-type,mcp-session-id'
	is "$http $(header Access-Control-Allow-Origin)" '204 https://one.example'
	for verb in POST DELETE; do
		has "$(header Access-Control-Allow-Methods)" $verb
	done
	for name in Authorization Content-Type Mcp-Session-Id MCP-Protocol-Version Mcp-Method Mcp-Name; do
		has "$(header Access-Control-Allow-Headers)" $name
	done
	asked a OPTIONS /mcp 'Origin: https://two.example' 'Access-Control-Request-Method: POST'
	is "$http" 403
	# What is refused can be read too.
	asked a POST /mcp 'Origin: https://one.example' 'Content-Type: application/json' -- "$HELLO"
	is "$http $(header Access-Control-Allow-Origin)" '401 https://one.example'
}

# -- H5: sessions

@test "H5: the directory of one session is not another's" {
	serve
	enter a b
	isnt "${visit[a]}" "${visit[b]}"
	ran a 'cd /tmp; pwd'
	is "$(result cwd)" '"/tmp"'
	ran b pwd
	is "$(plain stdout)" "$PWD"
	joins c a
	ran c pwd
	is "$(plain stdout)" /tmp
}

@test "H5, T7: the tasks of one session are unknown to another, and not in its list" {
	serve
	enter a b
	ran a 'echo $$ >pid; read <gate' '{"run_in_background":true}'
	task=$(plain task_id) pid=$(result pid)
	used b task_output '{"task_id":"'"$task"'"}'
	refused "task not found: $task*"
	for what in check_pid kill_pid; do
		used b bash '{"'$what'":'"$pid"'}'
		refused "no background process with pid $pid*"
	done
	used b task_output '{}'
	is "$(result)" '{"tasks":[]}'
	used a task_output '{}'
	is "$(plain tasks 0 task_id) $(get -n result structuredContent tasks)" "$task 1"
	there "$pid"
	release
	used a task_output '{"task_id":"'"$task"'","wait":10000}'
	is "$(result status)" '"completed"'
}

@test "H5: a start that waits, whose peer has gone, leaves its result to be read (W2)" {
	serve
	enter a
	plug b c
	visit[b]=${visit[a]} visit[c]=${visit[a]}
	runs b 'echo >begun; read <gate'
	begun begun
	runs c 'echo hi' '{"run_in_background":true,"wait":60000}'
	# It has been read when this is answered, and waits in the queue.
	settled wc -c err
	unplug c
	ask_list() {
		used a task_output '{}'
		[ "$(result tasks 0 status)" = '"completed"' ]
	}
	! ask_list
	release
	eventually ask_list
}

@test "H5: results are of the kind that each session's client can use, by its name (B6)" {
	serve
	enter a
	called claude-code
	enter b
	for peer in a b a; do
		ran $peer 'echo hi'
		kinds+=("$(kind)")
		message tools/list
		post $peer "$message"
		answers $peer
		kinds+=("$(kind)")
	done
	is "${kinds[*]}" 'data data text text data data'
}

@test "H5: calls of one session wait for each other, over whatever connection, not for another session's" {
	serve
	enter a b
	runs a 'echo >begun; read <gate'
	heads a
	begun begun
	ran b 'echo quick'
	is "$(plain stdout)" quick
	release
	last_event a
	is "$(result status)" '"completed"'
	joins c a
	runs a 'echo >again; read <gate; cd /'
	begun again
	runs c pwd
	heads c
	release
	answers a
	last_event c
	is "$(plain stdout)" /
}

# stopped: the server is, and not still in a poll() that can find a request
stopped() {
	[ "$(process "$server" 3)" = T ]
}

# unread BYTES: so many have come for the server that it has not read
unread() {
	local sum=0 row
	while read -ra row; do
		if [[ ${row[1]} == *:$(printf %04X "$port") && ${row[3]} == 01 ]]; then
			sum=$((sum + 16#${row[4]#*:}))
		fi
	done <<<"$(cat /proc/net/tcp)"
	[ $sum = "$1" ]
}

@test "H5: of requests that are whole at once, the connection that came first is first" {
	serve
	enter a
	for i in 1 2 3 4 5 6; do
		joins p$i a
		pings p$i  # it has been accepted
	done
	kill -STOP "$server"
	eventually stopped
	written=0
	for i in 6 2 5 3 1 4; do
		runs p$i "echo $i >>order" '{"run_in_background":false}'
	done
	eventually unread $written
	kill -CONT "$server"
	for i in 1 2 3 4 5 6; do
		answers p$i
	done
	is "$(xargs <order)" '1 2 3 4 5 6'
}

@test "H5: without the session's id 400, with a wrong one 404; a version that is not spoken is 400" {
	serve
	enter a
	right=${visit[a]}
	message ping
	visit[a]=''
	posted a "$message"
	is "$http $(code) $(get id)" "400 -32600 $id"
	asked a DELETE /mcp
	is "$http" 400
	for wrong in 0 "${right}0" "${right:0:31}" "${right^^}x"; do
		visit[a]=$wrong
		posted a "$message"
		is "$http $(get id)" "404 $id"
		asked a DELETE /mcp "Mcp-Session-Id: ${visit[a]}"
		is "$http" 404
	done
	visit[a]=$right
	pings a
	message ping
	for version in 2099-01-01 x ''; do
		posted a "$message" "MCP-Protocol-Version: $version"
		is "$version: $http" "$version: 400"
	done
	for version in 2025-11-25 2025-06-18 2025-03-26; do
		posted a "$message" "MCP-Protocol-Version: $version"
		is "$version: $http" "$version: 200"
	done
}

@test "H5: an initialize with an unknown session id opens a new session" {
	serve
	enter a
	closed=${visit[a]}
	asked a DELETE /mcp "Mcp-Session-Id: $closed"
	for old in "$closed" 0123456789abcdef0123456789abcdef '' x; do
		visit[a]=$old
		posted a "$HELLO" "MCP-Protocol-Version: 2099-01-01"
		is "$old: $http $(get result protocolVersion)" "$old: 200 \"2025-11-25\""
		visit[a]=$(header Mcp-Session-Id)
		isnt "${visit[a]}" "$old"
		pings a
	done
	# All other requests with an unknown id are rejected.
	visit[a]=$closed
	for method in ping tools/list server/discover initialized; do
		message $method
		posted a "$message"
		is "$method: $http" "$method: 404"
	done
}

@test "H5: an initialize with the id of an open session stays in that session" {
	serve
	enter a
	ran a 'cd /'
	posted a "$HELLO"
	is "$http $(header Mcp-Session-Id || echo none)" '200 none'
	ran a pwd
	is "$(plain stdout)" /
}

@test "H5: if no random number is available, the error says so, and a later initialize is served" {
	needs_root
	needs unshare nsenter pgrep
	[ -e /dev/urandom ] || skip 'no /dev/urandom here'
	needs strace
	strace -o /dev/null true || skip 'nothing can be traced here'
	wrap=(unshare -m env ASAN_OPTIONS=detect_leaks=0 strace -f -o /dev/null
		-e inject=getrandom:error=ENOSYS)
	"${wrap[@]}" true || skip 'no mount namespaces here'
	serve
	nsenter -t "$server" -m mount --bind /dev/null /dev/urandom
	plug a
	posted a "$HELLO"
	is "$http $(code)" '503 -32603'
	like "$(get -s error message)" '*random number*'
	nsenter -t "$server" -m umount /dev/urandom
	posted a "$HELLO"
	is "$http" 200
	# A signal would end strace, and not boris.
	kill "$(pgrep -P "$server")"
	died
	rm err
}

@test "H5: a handshake that fails opens no session, DELETE with a version that has none ends none" {
	serve
	plug a
	posted a '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
	is "$(code) $(header Mcp-Session-Id || echo none)" '-32602 none'
	enter a
	for version in 1999-01-01 2026-07-28; do
		asked a DELETE /mcp "Mcp-Session-Id: ${visit[a]}" "MCP-Protocol-Version: $version"
		is "$version: $http" "$version: 400"
	done
	asked a DELETE /mcp "Mcp-Session-Id: ${visit[a]}" 'MCP-Protocol-Version: 2025-11-25'
	is "$http" 204
}

@test "H5: DELETE ends the session: its commands, its tasks, its queue, no one else's" {
	serve
	enter a b
	joins c a
	joins d a
	joins e a
	ran a 'echo $BASHPID >task; exec sleep 1000' '{"run_in_background":true}'
	ran b 'echo $BASHPID >other; read <gate' '{"run_in_background":true}'
	other=$(plain task_id)
	runs c 'echo $BASHPID >running; trap "" INT; exec sleep 1000'
	heads c
	begun task other running
	runs d 'echo >ran' '{"run_in_background":true}'
	heads d
	asked e DELETE /mcp "Mcp-Session-Id: ${visit[a]}"
	is "$http $body" '204 '
	message ping
	posted e "$message"
	is "$http" 404
	asked e DELETE /mcp "Mcp-Session-Id: ${visit[a]}"
	is "$http" 404
	last_event c
	is "$(result status)" '"killed"'
	last_event d
	refused '*session was closed*'
	eventually gone task
	eventually gone running
	there other
	release
	used b task_output '{"task_id":"'"$other"'","wait":10000}'
	is "$(result status)" '"completed"'
	lacks "$(ls)" ran
}

@test "H5: DELETE is answered while the session's stubborn commands have their grace" {
	serve
	enter a b
	ran a 'trap "" TERM; echo $BASHPID >pid; while :; do read <gate; done' '{"run_in_background":true}'
	begun pid
	begin
	asked b DELETE /mcp "Mcp-Session-Id: ${visit[a]}"
	is "$http" 204
	message ping
	posted a "$message"
	is "$http" 404
	within 2000
	there pid
	pings b
	eventually gone pid
	least "$(took)" 4500
}

@test "H5: a session that nobody uses is closed, and its tasks with it" {
	serve --session-timeout=$SLOW
	enter a
	begin
	ran a 'echo $BASHPID >pid; exec sleep 1000' '{"run_in_background":true}'
	begun pid
	eventually gone pid
	least "$(took)" $((900 * SLOW))
	message ping
	posted a "$message"
	is "$http" 404
}

@test "H5: a call in flight keeps its session, a wait too" {
	serve --session-timeout=$((2 * SLOW))
	enter a b
	ran b "sleep $((3 * SLOW))" '{"run_in_background":true}'
	runs a "sleep $((3 * SLOW)); echo kept"
	tool task_output '{"task_id":"'"$(plain task_id)"'","wait":600000}'
	post b "$message"
	answers a
	is "$(plain stdout)" kept
	pings a
	answers b
	is "$(result status)" '"completed"'
	pings b
}

@test "H5: the 65th session is 503, until one has gone" {
	serve
	plug a
	for ((i = 0; i < 64; i++)); do
		posted a "$HELLO"
		is "$i: $http" "$i: 200"
	done
	last=$(header Mcp-Session-Id)
	posted a "$HELLO"
	is "$http" 503
	has "$(get -s error message)" 'the maximum'
	is "$(header Mcp-Session-Id || echo none)" none
	asked a DELETE /mcp "Mcp-Session-Id: $last"
	posted a "$HELLO"
	is "$http" 200
}

@test "H5: fifty sessions with a command each run them all at once, and leave nothing" {
	needs_linux
	descriptors_are() {
		local all=("/proc/$server/fd/"*)
		[ ${#all[@]} = "$1" ]
	}
	serve
	plug probe
	asked probe GET /health
	idle=("/proc/$server/fd/"*)
	for ((i = 0; i < 50; i++)); do
		enter s$i
	done
	for ((i = 0; i < 50; i++)); do
		runs s$i "echo >>begun; read <gate; echo $i"
	done
	all_begun() { [ "$(cat begun 2>/dev/null | wc -l)" = 50 ]; }
	eventually all_begun
	begin
	release 50
	for ((i = 0; i < 50; i++)); do
		answers s$i
		is "$(plain stdout)" $i
	done
	within 20000
	for ((i = 0; i < 50; i++)); do
		asked s$i DELETE /mcp "Mcp-Session-Id: ${visit[s$i]}"
		unplug s$i
	done
	# One more than before the first command: the second process (L4)
	eventually descriptors_are $((${#idle[@]} + 1))
}

# -- H6: the modern revision

@test "H5: a command keeps running as a task when a timer of the client cancels its call (E6)" {
	serve
	enter a
	joins b a
	runs a 'echo x >mark; read <gate; echo end'
	heads a
	begun mark
	posted b '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":'$id',"reason":"Request timed out"}}'
	is "$http" 202
	! event a
	ran b 'echo next'
	like "$(plain note)" 'your call timed out; its command keeps running as task ????????: *'
	release
}

@test "H6: a modern request stands alone, with the headers it has to have" {
	serve
	plug a
	discovers 200
	is "$(get result resultType) $(get id)" "\"complete\" $id"
	is "$(header Mcp-Session-Id || echo none)" none
	message tools/list "{\"_meta\":{$META}}"
	modern_posted a 'Mcp-Session-Id: nobody' 'Last-Event-ID: 7'
	is "$http $(get -n result tools)" '200 2'
}

@test "H6: what the headers leave out or say otherwise is 400 and -32020" {
	serve
	plug a
	bash_call 'echo >ran' '' "$META"
	v=$MODERN m='Mcp-Method: tools/call' n='Mcp-Name: bash'
	for wrong in "$m|$n" "$v|$n" "$v|$m" "MCP-Protocol-Version: 2025-11-25|$m|$n" \
	             "$v|Mcp-Method: tools/list|$n" "$v|Mcp-Method: Tools/Call|$n" \
	             "$v|$m|Mcp-Name: Bash" "$v|$m|Mcp-Name: =?base64?YmFzaA?=" \
	             "$v|$m|Mcp-Name: =?base64?YmFzaB==?=x" "$v|$m|Mcp-Name:"; do
		IFS='|' read -ra headers <<<"$wrong"
		posted a "$message" "${headers[@]}"
		is "$wrong: $http $(code) $(get id)" "$wrong: 400 -32020 $id"
	done
	lacks "$(ls)" ran
	post a "$message" "$v" "$m" "$n"
	answers a
	is "$http" 200
	post a "$message" "$v" "$m" 'Mcp-Name:   =?base64?YmFzaA==?=  '
	answers a
	is "$http" 200
}

@test "H6: errors have the status that the revision wants" {
	serve
	plug a
	for row in '404 -32601 no/such' '404 -32601 ping' '404 -32601 initialize'; do
		message ${row##* } "{\"_meta\":{$META}}"
		modern_posted a
		is "$http $(code) $(get id)" "${row% *} $id"
	done
	tool nothing '{}' "$META"
	modern_posted a
	is "$http $(code)" '200 -32602'
	for row in 'tools/list {"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}' \
		'tools/list {}' 'ping {}' 'server/discover {}'; do
		message ${row%% *} "${row#* }"
		modern_posted a
		is "$row: $http $(code)" "$row: 400 -32602"
	done
	has "$body" io.modelcontextprotocol/protocolVersion
	message tools/list "{\"_meta\":{${META/2026-07-28/2099-01-01}}}"
	posted a "$message" 'MCP-Protocol-Version: 2099-01-01' 'Mcp-Method: tools/list'
	is "$http $(code) $(get error data supported)" '400 -32022 ["2026-07-28"]'
	for row in '-32600 []' '-32600 {"jsonrpc":"2.0","id":1,"result":{}}' '-32700 {' \
		'-32600 {"jsonrpc":"1.0","method":"notifications/cancelled","params":{"requestId":1}}'; do
		posted a "${row#* }" "$MODERN"
		is "$row: $http $(code)" "$row: 400 ${row%% *}"
	done
}

@test "H6: a modern notification is 202, and cancels nobody's call" {
	serve
	plug a b
	modern_runs a 'echo >begun; read <gate; echo done'
	heads a
	begun begun
	posted b '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":'$id'}}' "$MODERN"
	is "$http $body" '202 '
	posted b '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":'$id',"_meta":{'"$META"'}}}'
	is "$http $body" '202 '
	release
	last_event a
	is "$(plain stdout)" done
}

@test "H6: calls start in the --workdir, or in cwd, and move nothing" {
	mkdir work
	serve --workdir=work
	plug a
	modern_ran a 'pwd; cd /'
	is "$(plain stdout)" "$PWD/work"
	modern_ran a pwd
	is "$(plain stdout)" "$PWD/work"
	modern_ran a pwd '{"cwd":"/tmp"}'
	is "$(plain stdout)" /tmp
	modern_ran a pwd
	is "$(plain stdout)" "$PWD/work"
}

@test "H5: calls of a session with an absolute cwd run in parallel (D7)" {
	serve
	enter a
	joins b a
	joins c a
	runs a 'echo x >begun; read <gate; pwd'
	begun begun
	ran b pwd '{"cwd":"/"}'
	is "$(plain stdout) $(result cwd)" '/ '
	runs c pwd '{"cwd":"."}'
	release
	answers a
	is "$(plain stdout)" "$PWD"
	answers c
	is "$(plain stdout)" "$PWD"
}

@test "H6: the eleventh task is rejected, and tasks are ended by pid and id together (T2, K2)" {
	serve --call-limit=1
	plug a
	modern_ran a 'read <never'
	like "$(plain note)" "*or stop it with kill_pid $(result pid) and this task_id"
	for i in {2..10}; do
		modern_ran a 'read <never' '{"run_in_background":true}'
	done
	modern_ran a 'touch ran' '{"run_in_background":true}'
	refused 'the command was not started, because 10 background tasks are running, which is the maximum; stop one with kill_pid and its task_id, or wait until one ends'
}

@test "H6: the result of a call with cwd has no cwd" {
	serve
	plug a
	modern_ran a pwd
	is "$(plain cwd)" "$PWD"
	modern_ran a 'exec pwd' '{"cwd":"/tmp"}'
	is "$(plain stdout) $(result cwd) $(result note)" '/tmp  '
}

@test "H6: sixteen calls run side by side, further ones wait" {
	serve
	for ((i = 0; i < 18; i++)); do
		plug p$i
		modern_runs p$i "echo >>begun; read <gate; echo $i"
	done
	sixteen() { [ "$(cat begun 2>/dev/null | wc -l)" = "$1" ]; }
	eventually sixteen 16
	plug x
	message server/discover "{\"_meta\":{$META}}"
	modern_posted x
	is "$(wc -l <begun)" 16
	release
	eventually sixteen 17
	release 17
	for ((i = 0; i < 18; i++)); do
		answers p$i
		is "$(plain stdout)" $i
	done
}

@test "H6: a command that waited too long in the queue is not told another caller's command (K2)" {
	serve --call-limit=1
	for ((i = 0; i < 16; i++)); do
		plug p$i
		modern_runs p$i "echo >>begun; read <gate; : secret" '{"timeout":9000}'
	done
	sixteen() { [ "$(cat begun 2>/dev/null | wc -l)" = 16 ]; }
	eventually sixteen
	plug late
	modern_ran late 'echo late'
	refused 'not run: still queued after 1.0 s, the longest this client waits; 16 commands are running'
	release 16
	for ((i = 0; i < 16; i++)); do
		answers p$i
	done
}

@test "H6: the start of a task does not wait for calls in the queue" {
	serve
	for ((i = 0; i < 17; i++)); do
		plug p$i
		modern_runs p$i "echo >>begun; read <gate"
	done
	sixteen() { [ "$(cat begun 2>/dev/null | wc -l)" = 16 ]; }
	eventually sixteen
	plug x y
	modern_ran x 'exit 3' '{"run_in_background":true,"wait":20000}'
	is "$(result status) $(result exit_code)" '"completed" 3'
	modern_ran y 'read x' '{"tty":true}'
	is "$(result status)" '"running"'
	is "$(wc -l <begun)" 16
	release 17
	for ((i = 0; i < 17; i++)); do
		answers p$i
		is "$(result exit_code)" 0
	done
}

@test "X5: without sessions an edit waits for no lock but that of its own file" {
	needs_linux_parts
	needs flock
	serve --edit
	echo a >f
	exec 5<f
	flock 5
	for ((i = 0; i < 6; i++)); do
		plug p$i
		tool edit '{"path":"f","old":"a","new":"b"}' "$META"
		modern_post p$i
	done
	plug other
	begin
	modern_used other edit '{"path":"g","new":"text"}'
	within 900
	has "$(plain text)" 'g: created'
	for ((i = 0; i < 6; i++)); do
		answers p$i
		refused '*has locked it*'
	done
	within 2500
	exec 5<&-
}

@test "H6: what is said of the tools is true without a session (B6, P11)" {
	serve
	plug a
	message server/discover "{\"_meta\":{$META}}"
	modern_post a
	answers a
	lacks "$(get result instructions)" 'stays'
	message tools/list "{\"_meta\":{$META}}"
	modern_post a
	answers a
	told=$(get -s result tools 0 description)$(get -s result tools 1 description)
	lacks "$told" 'for all later calls'
	lacks "$told" 'lists all tasks'
	has "$told" 'starts in the server'
	has "$told" 'with kill_pid and task_id'
}

@test "H6: tasks belong to the server, ten at a time; neither the refusal nor the list, an error, names ids (T7)" {
	serve
	plug a b
	for ((i = 0; i < 10; i++)); do
		modern_ran a 'read <gate' '{"run_in_background":true}'
		task=$(plain task_id)
	done
	# The note of the start says what it takes to end it.
	pid=$(result pid)
	has "$(plain note)" "kill_pid $pid and this task_id"
	modern_used b bash '{"kill_pid":'"$pid"'}'
	refused "no background process with pid $pid*task_id*"
	there "$pid"
	modern_ran b 'true' '{"run_in_background":true}'
	is "$(get result isError)" true
	lacks "$reply" "$task"
	lacks "$reply" 'read <gate'
	for arguments in '{}' '{"task_id":null}'; do
		modern_used a task_output "$arguments"
		refused '*task_id*'
		lacks "$reply" "$task"
		lacks "$reply" 'read <gate'
	done
	modern_used b task_output '{"task_id":"nope"}'
	refused 'task not found: nope*'
	lacks "$reply" "$task"
	modern_used b task_output '{"task_id":"'"$task"'"}'
	is "$(result status)" '"running"'
	modern_used b bash '{"kill_pid":'"$pid"',"task_id":"'"$task"'"}'
	is "$(result status)" '"killed"'
	release 9
}

@test "T1: over modern HTTP check_pid and kill_pid take the task's id" {
	serve
	plug a
	modern_ran a 'echo hi; read <gate' '{"run_in_background":true}'
	task=$(plain task_id)
	is ${#task} 32
	for name in check_pid kill_pid; do
		modern_used a bash '{"'$name'":"'"$task"'"}'
		is "$(get result isError)" false
	done
	is "$(result status)" '"killed"'
}

@test "H6: both eras share the endpoint" {
	serve
	enter a
	ran a 'cd /tmp'
	modern_ran a 'pwd; cd /'
	is "$(plain stdout)" "$PWD"
	ran a pwd
	is "$(plain stdout)" /tmp
	# A handshake is one, whatever the header says.
	visit[a]=''
	posted a "$HELLO" "$MODERN"
	is "$http $(get result protocolVersion)" '200 "2025-11-25"'
}

@test "H6: a subscription is a stream that begins with its acknowledgement" {
	serve
	plug a b
	message subscriptions/listen "{\"notifications\":{\"toolsListChanged\":true},\"_meta\":{$META}}"
	modern_post a
	heads a
	is "$http $(header Content-Type)" '200 text/event-stream'
	event a
	is "$(get method)" '"notifications/subscriptions/acknowledged"'
	modern_ran b 'echo meanwhile'
	is "$(plain stdout)" meanwhile
	kill "$server"
	last_event a
	is "$(get result resultType)" '"complete"'
}

# -- H7: streams

@test "H7: a call that takes long has its headers at once, then progress, then the answer" {
	serve
	enter a
	runs a 'echo one; read <gate; echo two' '' '"progressToken":0'
	begin
	heads a
	within 1000
	is "$http $(header Content-Type)" '200 text/event-stream'
	is "$(header Cache-Control) $(header X-Accel-Buffering)" 'no-cache no'
	event a
	is "$(get method) $(get params progressToken)" '"notifications/progress" 0'
	is "$(get params message)" '"one\n"'
	release
	last_event a
	is "$(get id) $(plain stdout)" "$id one"$'\n'two
	pings a
}

@test "H7: answers that are there at once are no stream" {
	serve
	enter a
	message tools/list
	posted a "$message"
	is "$(header Content-Type)" application/json
	used a bash '{"command":""}'
	is "$(header Content-Type)" application/json
	used a bash '{"command":"read\u0020<gate","run_in_background":true}'
	used a task_output '{"task_id":"'"$(plain task_id)"'"}'
	is "$(header Content-Type)" application/json
	release
}

@test "H7: line breaks outside ASCII are escaped in JSON and in streams" {
	breaks=$'a\xc2\x85b\xe2\x80\xa8c\xe2\x80\xa9d'
	escaped='a\u0085b\u2028c\u2029d'
	serve
	enter a
	post a '{"jsonrpc":"2.0","id":"'"$breaks"'","method":"ping"}'
	takes a
	is "$body" '{"jsonrpc":"2.0","id":"'"$escaped"'","result":{}}'
	runs a "printf '${breaks#a??}'; read <gate" '' '"progressToken":"'"$breaks"'"'
	heads a
	event a
	has "$reply" '"progressToken":"'"$escaped"'"'
	has "$reply" '"message":"'"${escaped#a*5}"'"'
	release
	last_event a
	has "$reply" '"stdout":"'"${escaped#a*5}"'"'
}

@test "H7: silence is broken by a comment every 15 seconds" {
	hurried
	serve
	enter a
	begin
	runs a 'read <gate'
	heads a
	line_of a
	is "$line" 3
	least "$(took)" 14500
	within 16000
	bytes_of a 3
	is "$line" $':\n\n'
	line_of a
	release
	last_event a
	is "$(result status)" '"completed"'
}

@test "H7: a modern client that hangs up cancels its call, running or queued" {
	serve
	for ((i = 0; i < 16; i++)); do
		plug p$i
		modern_runs p$i "echo \$BASHPID >pid$i; read <gate"
	done
	begun pid15
	plug q
	modern_runs q 'echo >ran'
	heads q
	unplug q
	unplug p7
	eventually gone pid7
	there pid6
	release 15
	for ((i = 0; i < 16; i++)); do
		[ $i = 7 ] || answers p$i
	done
	plug r
	modern_ran r ls
	lacks "$(plain stdout)" ran
}

@test "H7: a modern client that hangs up ends the task whose id it does not know; while an input waits the wait alone" {
	serve
	plug a
	modern_runs a 'echo $BASHPID >pid; read <gate' '{"tty":true,"wait":60000}'
	begun pid
	unplug a
	eventually gone pid
	rm pid
	plug a
	plug b
	modern_ran b 'printf "? "; read x; echo $BASHPID >pid; read <gate; echo end' '{"tty":true}'
	task=$(plain task_id)
	tool bash '{"task_id":"'"$task"'","input":"x\n","wait":60000}' "$META"
	modern_post a
	begun pid
	unplug a
	modern_ran b true
	there pid
	release
	modern_used b task_output '{"task_id":"'"$task"'","wait":60000}'
	has "$(plain stdout)" end
}

@test "H7: a legacy client that hangs up cancels no call, and its command moves the directory" {
	serve
	enter a
	joins b a
	runs a 'echo $BASHPID >pid; read <gate; cd /; echo >done'
	begun pid
	unplug a
	pings b
	there pid
	release
	ran b pwd
	is "$(plain stdout)" /
}

@test "H7: an answer to a legacy client that hung up does not report the end of a task (T8)" {
	serve
	enter a
	joins b a
	ran b 'echo $BASHPID >pid; read <gate' '"run_in_background":true'
	begun pid
	runs a 'echo x >mark; until [ -e go ]; do sleep 0.02; done; echo x >done'
	begun mark
	unplug a
	pings b
	release
	eventually gone pid
	>go
	begun done
	ran b 'echo next'
	like "$(plain note)" '*task ???????? ended with exit code 0 (echo $BASHPID*'
}

@test "H7: a call that is cancelled ends its stream without an answer" {
	serve
	enter a
	joins b a
	runs a 'echo $BASHPID >pid; read <gate'
	heads a
	begun pid
	posted b '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":'$id'}}'
	is "$http" 202
	line_of a
	is "$line" 0
	line_of a
	eventually gone pid
	pings a
}

# -- H8: bad, slow and hostile peers

# refused_with STATUS TEXT: a connection that says so gets that, and its end
refused_with() {
	plug x
	put x "$2"
	takes x
	is "$2 -> $http $(header Connection)" "$2 -> $1 close"
	hung_up x
	unplug x
}

@test "H8: a malformed request is 400, and the connection closed" {
	serve
	get='GET /health HTTP/1.1'
	h=$'Host: localhost\r\n'
	e=$'\r\n'
	for bad in $'\x16\x03\x01\r\n\r\n' "GET /health$e$e" "GET /health HTTP/1.1 $e$h$e" \
	           "GET  /health HTTP/1.1$e$h$e" "GET /health HTTP/1$e$h$e" "GET /health http/1.1$e$h$e" \
	           "GET /health HTTP/1.10$e$h$e" "G@T /health HTTP/1.1$e$h$e" " $get$e$h$e" \
	           "$get$e$e" "$get$e$h$h$e" "$get$e${h}X y$e$e" "$get$e${h}X : y$e$e" "$get$e${h}: y$e$e" \
	           "$get$e${h}X: y$e z$e$e" "$get$e X: y$e$h$e" "$get$e${h}X: "$'a\x01b'"$e$e" \
	           "$get$e${h}X: "$'a\rb'"$e$e" "$get"$'\nHost: localhost\n\n' \
	           "$get$e${h}X: y"$'\n'"$e" "GET /hea"$'\x7f'"lth HTTP/1.1$e$h$e" \
	           "$get$e${h}Origin: a${e}Origin: b$e$e"; do
		refused_with 400 "$bad"
	done
	refused_with 400 "GET /health HTTP/2.0$e$h$e"
	plug x
	printf 'GET /health HTTP/1.1\r\nHost: local\0host\r\n\r\n' >&"${wire[x]}"
	takes x
	is "$http" 400
}

@test "H8: request smuggling is refused" {
	serve
	post=$'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
	e=$'\r\n'
	for bad in "Content-Length: 3${e}Transfer-Encoding: chunked" \
	           "Transfer-Encoding: chunked${e}Content-Length: 3" \
	           "Content-Length: 3${e}Content-Length: 4" "Content-Length: 3${e}content-length: 3" \
	           'Content-Length: 3, 4' 'Content-Length: 3, 3' 'Content-Length: +3' 'Content-Length: -3' \
	           'Content-Length: 0x3' 'Content-Length: 3 3' 'Content-Length:' \
	           'Content-Length: 18446744073709551619' \
	           "Transfer-Encoding: chunked${e}Transfer-Encoding: chunked" \
	           'Content-Length : 3' $'Content-Length:\x0b3'; do
		refused_with 400 "$post$bad$e${e}abc"
	done
	for bad in identity 'gzip, chunked' 'chunked, gzip' 'chunked;q=1' xchunked; do
		refused_with 400 "${post}Transfer-Encoding: $bad$e${e}0$e$e"
	done
	refused_with 400 $'POST /mcp HTTP/1.0\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
	for bad in "x$e" "-1$e" " 1$e" "$e" "1"$'\n' "0x1$e" "1 $(printf %0300d 0)$e" \
	           "fffffffffffffffff$e" "1${e}ab$e" "1;"$'\r'"x$e" "2d x$e"; do
		refused_with 400 "${post}Transfer-Encoding: chunked$e$e$bad"
	done
}

@test "H8: headers over 16 KiB are 431" {
	serve
	printf -v long '%016000d' 0
	plug a
	asked a GET /health "X: $long"
	is "$http" 200
	refused_with 431 $'GET /health HTTP/1.1\r\nHost: localhost\r\nX: '"$long$long"
	refused_with 431 $'GET /health HTTP/1.1\r\nHost: localhost\r\nX: '"$long"$'\r\nY: '"${long:0:400}"$'\r\n\r\n'
	printf -v short 'a:%.0s\r\n' {1..4100}
	refused_with 431 $'GET /health HTTP/1.1\r\nHost: localhost\r\n'"$short"$'\r\n'
}

@test "H8: a message over 16 MiB is 413, in chunks too, and one of 16 MiB is served" {
	serve
	enter a
	printf -v mib '%01048576d' 0
	put a $'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 16777217\r\n\r\n'
	takes a
	is "$http" 413
	for ((i = 0; i < 16; i++)); do
		put a "$mib"
	done
	put a x
	pings a
	put a $'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
	for ((i = 0; i < 17; i++)); do
		put a $'100000\r\n'"$mib"$'\r\n'
	done
	takes a
	is "$http" 413
	put a $'0\r\n\r\n'
	pings a
	message ping
	printf -v space '%*s' $((1048576 - ${#message})) ''
	printf -v blank '%*s' 1048576 ''
	put a $'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 16777216\r\nMcp-Session-Id: '"${visit[a]}"$'\r\n\r\n'"$message$space"
	for ((i = 1; i < 16; i++)); do
		put a "$blank"
	done
	takes a
	is "$http $(get id)" "200 $id"
}

@test "H8: a body that grows without end is not held in memory" {
	needs_linux
	needs_plain
	serve
	plug a
	before=$(peak)
	put a $'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 99999999999\r\n\r\n'
	takes a
	is "$http" 415
	printf -v mib '%01048576d' 0
	for ((i = 0; i < 40; i++)); do
		put a "$mib"
	done
	unplug a
	plug b
	asked b GET /health
	most $(($(peak) - before)) 500
}

@test "H8: a request of a byte a second is 408 after ten seconds, a silent connection ends" {
	hurried
	serve
	plug silent slow half blank kept
	begin
	put half 'GET /hea'
	asked kept GET /health
	for ((i = 0; i < 6; i++)); do
		put slow "${i/0/G}"
		put blank $'\r'
		put blank $'\n'
		pause 1000
	done
	takes slow
	is "$http" 408
	takes half
	is "$http" 408
	takes blank
	is "$http" 408
	hung_up silent
	least "$(took)" 9500
	within 12000
	asked kept GET /health
	is "$http" 200
}

@test "H8: a body that stops coming is 408 after a minute, an idle connection ends" {
	hurried
	serve
	enter kept
	plug body drip refused
	post='POST /mcp HTTP/1.1'$'\r\nHost: localhost\r\nContent-Type: application/json\r\n'
	put refused "${post/mcp/nope}"$'Transfer-Encoding: chunked\r\n\r\n'
	takes refused
	is "$http" 404
	begin
	put body "${post}"$'Content-Length: 99\r\n\r\n{'
	put drip "${post}"$'Transfer-Encoding: chunked\r\n\r\n'
	for ((i = 0; i < 5; i++)); do
		pause 10000
		put drip $'1\r\n \r\n'
		put refused $'1\r\n \r\n'
	done
	takes body
	is "$http" 408
	least "$(took)" 59000
	hung_up kept 5
	within 63000
	put drip $'1\r\n{\r\n0\r\n\r\n'
	takes drip
	is "$http $(code)" '400 -32700'
	put refused $'0\r\n\r\n'
	asked refused GET /health
	is "$http" 200
}

@test "H8: past 64 connections the next one is 503, until one has gone" {
	serve
	for ((i = 0; i < 64; i++)); do
		plug p$i
		asked p$i GET /mcp
		is "$http" 405
	done
	plug x
	takes x
	is "$http $(header Connection)" '503 close'
	hung_up x
	unplug p5 x
	free() {
		plug y
		asks y GET /health
		takes y && [ "$http" = 200 ] || { unplug y; return 1; }
	}
	eventually free
}

@test "H8: when all places are taken, who has never shown the token gives way" {
	serve --token=secret
	token='Authorization: Bearer secret'
	plug first
	posted first "$HELLO" "$token"
	is "$http" 200
	for ((i = 0; i < 130; i++)); do
		plug p$i
		case $((i % 4)) in
		0) asks p$i GET /health ;;
		1) asks p$i POST /mcp 'Authorization: Bearer guess' ;;
		2) put p$i $'\r\nGET' ;;
		esac
	done
	plug late
	posted late "$HELLO" "$token"
	is "$http" 200
	[ -n "$(header Mcp-Session-Id)" ]
	is "$(wc -c <&"${wire[p3]}")" 0
	asked first GET /mcp "$token"
	is "$http" 405
}

@test "H8: where there is no token, who has asked nothing of /mcp gives way" {
	serve
	for ((i = 0; i < 130; i++)); do
		plug p$i
		[ $((i % 2)) = 0 ] || asks p$i GET /health
	done
	enter a
	pings a
	is "$(wc -c <&"${wire[p0]}")" 0
}

@test "H8: silent connections leave descriptors to commands" {
	needs_plain
	wrap=(bash -c 'ulimit -n 112; exec "$@"' bash)
	serve
	for ((i = 0; i < 90; i++)); do
		plug p$i
	done
	enter a
	for ((i = 0; i < 10; i++)); do
		ran a 'exec sleep 1000' '{"run_in_background":true}'
		is "$(result status)" '"running"'
	done
	ran a 'cat' '{"stdin":"here"}'
	is "$(plain stdout)" here
}

# ping_time PEER: microseconds to the first line of the answer
ping_time() {
	local began=${EPOCHREALTIME/[.,]/}
	post "$1" "$message"
	line_of "$1"
	echo $((${EPOCHREALTIME/[.,]/} - began))
	until [ -z "$line" ]; do
		[[ $line != Content-Length:* ]] || began=${line#*: }
		line_of "$1"
	done
	bytes_of "$1" "$began"
}

# smallest NUMBER...: the one that other processes on this host have delayed least
smallest() {
	printf '%s\n' "$@" | sort -n | head -n 1
}

@test "H8: a ping takes less than 5 ms more while others misbehave" {
	serve
	enter a b
	message ping
	for ((i = 0; i < 15; i++)); do
		ping_time a >time
		quiet+=("$(<time)")
	done
	# one never reads, one dribbles, one sends 17 MiB, one claims two lengths
	runs b 'while :; do printf %1000d; read -t 0.005 <>never; done' \
		'{"timeout":60000}' '"progressToken":1'
	message ping
	plug dribble big two
	printf -v part '%0*d' 1000000 0
	put big $'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
	for ((i = 0; i < 18; i++)); do
		put dribble G
		put big $'F4240\r\n'"$part"$'\r\n'
		ping_time a >time
		loud+=("$(<time)")
	done
	most "$(smallest "${loud[@]}")" \
		$((($(smallest "${quiet[@]}") + 5000) * SLOW))
	put two $'GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'
	takes two
	is "$http" 400
	takes big
	is "$http" 413
	asked a DELETE /mcp "Mcp-Session-Id: ${visit[b]}"
}

@test "H8: a stream that nobody reads costs little, and its session goes on" {
	needs_linux
	needs_plain
	hurried
	serve --timeout=5
	enter a b c
	ran c 'true'
	before=$(peak)
	runs a 'yes "$(printf %1000d 0)"' '' '"progressToken":1'
	pause 4000
	ran b 'echo meanwhile'
	is "$(plain stdout)" meanwhile
	most $(($(peak) - before)) 700
	joins d a
	ran d 'echo next'
	is "$(plain stdout)" next
	# and it is all there, should somebody look after all
	heads a
	last_event a
	is "$(result status)" '"timed_out"'
}

@test "H8: whoever does not read for a minute is gone, with the modern call" {
	hurried
	serve
	plug a
	# No more at a time than fills what the system holds for a reader.
	bash_call 'echo $BASHPID >pid; while :; do printf %30000d 0; read -t 0.02 <>never; done' \
		'{"timeout":600000}' "$META,\"progressToken\":1"
	modern_post a
	begun pid
	begin
	for ((i = 0; i < 1100; i++)); do
		gone pid && break
		pause 100
	done
	gone pid
	least "$(took)" 55000
}

@test "E7: without descriptors who comes waits, boris does not spin, and recovers" {
	needs_linux
	needs_plain
	needs prlimit
	serve
	# Not from the start: it would offer fewer places.
	prlimit --pid "$server" --nofile=24
	for ((i = 0; i < 30; i++)); do
		plug p$i
	done
	rests 2
	for ((i = 0; i < 20; i++)); do
		unplug p$i
	done
	asked p29 GET /health
	is "$http" 200
}

# -- H9: the end

@test "E7: no number of connections with long headers ends a boris with little memory" {
	needs_plain
	for kib in 3000 3500 4000 4500; do
		wrap=(sh -c 'ulimit -v '$kib'; exec "$@"' sh)
		serve || continue
		for i in {1..64}; do
			plug p$i
			put p$i $'POST /mcp HTTP/1.1\r\nX: '"$(printf %015000d 0)" 2>/dev/null || :
		done
		unplug p{1..64}
		served() {
			plug a && asked a GET /health && unplug a && [ "$http" = 200 ]
		}
		eventually served 2>/dev/null
		leave
		is "$kib: $status" "$kib: 0"
	done
	rm -f err
}

@test "H9: SIGTERM ends all sessions and their commands, and boris, with 0" {
	serve
	enter a b
	plug m
	ran a 'echo $BASHPID >one; exec sleep 1000' '{"run_in_background":true}'
	runs b 'echo $BASHPID >two; exec sleep 1000'
	modern_runs m 'echo $BASHPID >three; exec sleep 1000'
	begun one two three
	kill "$server"
	answers b
	is "$(result status)" '"killed"'
	answers m
	is "$(result status)" '"killed"'
	died
	is $status 0
	gone one
	gone two
	gone three
	left=''
	leave 2>/dev/null || :
	is "$(ls tmp)" ''
}

@test "H9: at SIGTERM or SIGINT boris stops accepting at once, at a second signal it leaves" {
	serve
	enter a
	runs a 'trap "" TERM; echo $BASHPID >pid; while :; do read <gate; done'
	begun pid
	begin
	kill -INT "$server"
	refuses_to_connect() { ! plug z 2>/dev/null; }
	eventually refuses_to_connect
	there pid
	kill "$server"
	died
	within 3000
	is $status 0
	eventually alone
}

@test "H9: who reads gets the whole of an answer that was on its way (P10)" {
	needs_linux
	serve
	enter a
	# long enough to be more than the kernel holds for a peer
	bash_call 'printf "%030000d" 0 | sed s/0/€/g; printf "%030000d" 0 | sed s/0/€/g >&2'
	# boris waits 200 ms for a reader, in which bash would not read so much.
	cat <&"${wire[a]}" >got &
	reader=$!
	kill -STOP $reader
	post a "$message"
	eventually on_its_way
	kill "$server"
	kill -CONT $reader
	wait $reader
	is "$(tr -dc '\342' <got | wc -c)" $((4 * 30000))
	has "$(tail -c 100 got)" '"isError":false}}'
	died
	only_listens
}

# on_its_way: the peer of a connection has much to read
on_its_way() {
	awk -v port=":$(printf %04X "$port")\$" '
		$3 ~ port && $4 == "01" && substr($5, 10) > "00008000" { n++ }
		END { exit !n }' /proc/net/tcp
}

@test "H9: at SIGHUP the log is opened and the token file read anew; if that fails the old ones stay" {
	[ -z "$(trap -p HUP)" ] || wrap=(env --default-signal=HUP)  # nohup
	echo one >token
	serve --token-file=token --log="$PWD/log"
	plug a
	discovers 200 'Authorization: Bearer one'
	mv log old
	echo two >token
	kill -HUP "$server"
	eventually test -e log
	discovers 401 'Authorization: Bearer one'
	discovers 200 'Authorization: Bearer two'
	rm token
	kill -HUP "$server"
	eventually grep -q 'token' err
	mkfifo token  # which nobody writes to
	kill -HUP "$server"
	eventually grep -q 'visible' err
	discovers 200 'Authorization: Bearer two'
	leave
	is $status 0
	: >err
}

@test "H9: under nohup SIGHUP still reloads, so that a revoked token is rejected" {
	wrap=(env --ignore-signal=HUP)
	"${wrap[@]}" true || skip "this env has no --ignore-signal"
	echo one >token
	serve --token-file=token
	plug a
	discovers 200 'Authorization: Bearer one'
	echo two >token
	kill -HUP "$server"
	revoked() {
		discovers 401 'Authorization: Bearer one' 2>/dev/null
	}
	eventually revoked
	discovers 200 'Authorization: Bearer two'
}

@test "H3: process 1, which boris has left, shows no token either (E8)" {
	needs_linux
	needs_root
	unshare -pf --mount-proc true || skip 'no pid namespace here'
	wrap=(unshare -pf --mount-proc)
	serve --token=tell-no-one
	first=$(<"/proc/$server/task/$server/children")
	boris=$(<"/proc/${first% }/task/${first% }/children")
	for pid in $first $boris; do
		has "$(tr '\0' ' ' <"/proc/$pid/cmdline")" '--token=***'
	done
	kill "${first% }"
	died
	only_listens
}

@test "H3: a token file that comes in parts is read to its end" {
	mkfifo slow
	start --transport=http --port=0 --token-file=slow
	(printf half; read -rt 0.3 -u 9 || :; echo way) >slow
	eventually grep -qs '^boris: listening on' err
	port=$(sed -n 's|^boris: listening on http://.*:\([0-9]*\)/mcp$|\1|p' err)
	plug a
	posted a "$HELLO" 'Authorization: Bearer halfway'
	is "$http" 200
}

@test "H3: a token is seen neither in the list of processes nor in the environment, of boris or of commands" {
	needs_linux
	serve --token=tell-no-one-either --token=tell-no-one
	is "$(grep -c tell-no-one "/proc/$server/cmdline")" 0
	leave
	BORIS_TOKEN=tell-no-one serve
	is "$(grep -c tell-no-one "/proc/$server/environ")" 0
	plug a
	bash_call 'env' '' "$META"
	modern_post a 'Authorization: Bearer tell-no-one'
	answers a
	is "$http" 200
	lacks "$reply" tell-no-one
}
