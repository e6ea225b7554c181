#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# H: HTTP

load http

# discovers STATUS [HEADER]: a server/discover request on connection a is answered
# with this status
discovers() {
	stateless_message server/discover
	stateless_posted a "${@:2}"
	is "$http" "$1"
}

# lines_are FILE N: the file has so many lines
lines_are() {
	[ "$(cat "$1" 2>/dev/null | wc -l)" = "$2" ]
}

# is_error STATUS CODE: the response has this status, and an error with this code
is_error() {
	is "$http $(code)" "$1 $2"
}

# --- H1: requests and responses

@test "H1: a POST request is answered with status 200 and JSON" {
	start_http
	connect a
	post_and_read a "$HELLO"
	is "$http $(header content-type)" '200 application/json'
	is "$(get id) $(get result protocolVersion)" '0 "2025-11-25"'
}

@test "H1: a notification is answered with status 202 and an empty body" {
	start_http
	open_session a
	post_and_read a '{"jsonrpc":"2.0","method":"notifications/initialized"}'
	is "$http $body" '202 '
}

@test "H1: the bash tool can be called over HTTP" {
	start_http
	open_session a
	post_bash_and_read a 'echo hello'
	is "$http $(plain stdout)" '200 hello'
}

@test "H1: HTTP supports every protocol version that uses the initialize handshake" {
	start_http
	connect a
	for revision in 2024-11-05 2025-03-26 2025-06-18 2025-11-25; do
		session_of[a]=''
		post_and_read a "${HELLO/2025-11-25/$revision}"
		is "$(get result protocolVersion)" "\"$revision\""
		session_of[a]=$(header Mcp-Session-Id)
		answers_ping a
	done
}

@test "H1: /mcp rejects methods other than POST, DELETE and OPTIONS with status 405" {
	start_http
	open_session a
	for verb in GET PUT PATCH HEAD TRACE NONSENSE; do
		send_http a $verb /mcp
		read_head a
		[ $verb = HEAD ] || read_bytes a "$(header Content-Length)"
		is "$verb: $http $(header Allow)" "$verb: 405 POST, DELETE, OPTIONS"
	done
	answers_ping a
}

@test "H1: GET /health is answered without a token" {
	start_http --token=x
	connect a
	for path in /health '/health?deep=1'; do
		request_http a GET $path
		is "$http $(header Content-Type)" '200 application/json'
		is "$body" '{"status":"ok"}'
	done
}

@test "H1: GET /health with the token returns the version, uptime, and session and task counts" {
	start_http --token=x
	connect a
	request_http a GET /health 'Authorization: Bearer x'
	like "$http $body" '200 {"status":"ok",*version*uptime*sessions*tasks*}'
}

@test "H1: POST /health is rejected with status 405" {
	start_http
	connect a
	request_http a POST /health -- '{}'
	is "$http" 405
	like "$(header Allow)" 'GET*'
}

@test "H1: a request for an unknown path is rejected with status 404" {
	start_http
	open_session a
	for path in / /mcp// /mcp/x /mcpx /healthy '*' //mcp; do
		request_http a POST "$path" "$JSON" -- "$HELLO"
		is "$path: $http" "$path: 404"
		lacks "$body" jsonrpc
	done
	answers_ping a
}

@test "H1: the path /mcp/ is equivalent to /mcp" {
	local auth='Authorization: Bearer x'
	start_http --token=x
	connect a
	request_http a POST /mcp/ "$JSON" -- "$HELLO"
	is "$http" 401
	for path in /mcp/ '/mcp/?a=b' http://localhost/mcp/; do
		request_http a POST "$path" "$JSON" "$auth" -- "$HELLO"
		is "$path: $http" "$path: 200"
	done
	request_http a GET /mcp/ "$auth"
	is "$http $(header Allow)" '405 POST, DELETE, OPTIONS'
}

@test "H1: a POST request whose Content-Type is not JSON is rejected with status 415" {
	start_http
	open_session a
	request_http a POST /mcp 'Content-Type: text/plain' 'Accept: */*' -- "$HELLO"
	is "$http" 415
	request_http a POST /mcp -- "$HELLO"
	is "$http" 415
	answers_ping a
}

@test "H1: an Accept header that omits JSON or event streams is rejected with status 406" {
	start_http
	open_session a
	for accept in application/json text/event-stream; do
		request_http a POST /mcp "$JSON" "Accept: $accept" -- "$HELLO"
		is "$http" 406
	done
	answers_ping a
}

@test "H1: an Accept header can use wildcards or be split across two lines" {
	start_http
	open_session a
	for accept in 'Accept: */*' 'Accept: text/*,application/*;q=0.5' \
	              $'accept: application/json\r\nACCEPT:text/event-stream'; do
		message ping
		request_http a POST /mcp 'content-type: Application/JSON; charset=utf-8' \
			"$accept" "Mcp-Session-Id: ${session_of[a]}" -- "$message"
		is "$http" 200
	done
}

@test "H1: a request without an Accept header is accepted" {
	start_http
	open_session a
	message ping
	request_http a POST /mcp "$JSON" "Mcp-Session-Id: ${session_of[a]}" -- "$message"
	is "$http" 200
}

@test "H1: a body that is not JSON is rejected with status 400 and error -32700" {
	start_http
	open_session a
	post_and_read a '{"jsonrpc":"2.0","id":1,'
	is_error 400 -32700
	is "$(get id || echo none)" none
	post_and_read a ''
	is_error 400 -32700
	answers_ping a
}

@test "H1: a message without a method is rejected with status 400 and error -32600" {
	start_http
	open_session a
	post_and_read a '{"jsonrpc":"2.0","id":1}'
	is_error 400 -32600
	is "$(get id)" 1
	answers_ping a
}

@test "H1: an error for an unknown method or tool is returned with status 200" {
	start_http
	open_session a
	message no/such
	post_and_read a "$message"
	is_error 200 -32601
	tool_message nothing '{}'
	post_and_read a "$message"
	is_error 200 -32602
	answers_ping a
}

@test "H1, P1: a JSON array of messages is rejected with status 400 and error -32600" {
	start_http
	connect a
	post_and_read a "${HELLO/2025-11-25/2025-03-26}"
	session_of[a]=$(header Mcp-Session-Id)
	bash_message "echo >$PWD/ran"
	for body in "[$message]" '[]'; do
		post_and_read a "$body"
		is_error 400 -32600
		like "$(get error message)" '*@(array|batch)*'
	done
	answers_ping a
	[ ! -e ran ]
}

# chunked_ping NAME: sets $text to a ping in chunks of seven bytes, with chunk
# extensions and a trailer
chunked_ping() {
	local i piece size
	message ping
	printf -v text '%s\r\n' 'POST /mcp HTTP/1.1' 'Host: localhost' "$JSON" \
		'Transfer-Encoding: Chunked' "Mcp-Session-Id: ${session_of[$1]}" ''
	for ((i = 0; i < ${#message}; i += 7)); do
		piece=${message:i:7}
		printf -v size '%02X;x="y"' ${#piece}
		text+=$size$'\r\n'$piece$'\r\n'
	done
	text+=$'0\r\nExpires: never\r\n\r\n'
}

@test "H1: a chunked body can contain chunk extensions and trailers" {
	start_http
	open_session a
	chunked_ping a
	write_to a "$text"
	read_response a
	is "$http $(get result)" '200 {}'
	answers_ping a
}

@test "H1: a chunked body can be received byte by byte" {
	start_http
	open_session a
	chunked_ping a
	for ((i = 0; i < ${#text}; i++)); do
		write_to a "${text:i:1}"
	done
	read_response a
	is "$http $(get result)" '200 {}'
	answers_ping a
}

@test "H1: pipelined requests are answered in order" {
	local calls_of_bash=('read <gate; cd /' 'pwd') text='' post
	start_http
	open_session a
	for command in "${calls_of_bash[@]}" ping; do
		[ "$command" = ping ] && message ping || bash_message "$command"
		printf -v post '%s\r\n' 'POST /mcp HTTP/1.1' 'Host: localhost' \
			"$JSON" "Content-Length: ${#message}" \
			"Mcp-Session-Id: ${session_of[a]}" ''
		text+=$post$message
	done
	write_to a "$text"
	read_head a
	release
	read_last_event a
	is "$(get id)" $((id - 2))
	read_answer a
	is "$(get id) $(plain stdout)" "$((id - 1)) /"
	read_response a
	is "$(get id) $(get result)" "$id {}"
}

@test "H1: a hundred pipelined requests are answered" {
	local text
	start_http
	connect a
	printf -v text 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n%.0s' {1..100}
	write_to a "$text"
	for ((i = 0; i < 100; i++)); do
		read_response a
		is "$http" 200
	done
}

@test "H1: boris closes the connection after a request with Connection: close" {
	start_http
	connect a b
	request_http a GET /health 'Connection: close'
	is "$http $(header Connection)" '200 close'
	is_closed a
	request_http b GET /health 'Connection: x, Close'
	is_closed b
}

@test "H1: boris closes the connection after an HTTP/1.0 request" {
	start_http
	connect a b
	put_lines a 'GET /health HTTP/1.0' ''
	read_response a
	is "$http $body" '200 {"status":"ok"}'
	is_closed a
	put_lines b 'GET /health HTTP/1.0' 'Connection: keep-alive' ''
	read_response b
	is "$(header Connection)" close
	is_closed b
}

@test "H1: an event stream for an HTTP/1.0 client is not chunked" {
	start_http
	open_session a
	bash_message 'echo hello'
	put_lines a 'POST /mcp HTTP/1.0' 'Connection: keep-alive' "$JSON" \
		"Content-Length: ${#message}" "Mcp-Session-Id: ${session_of[a]}" ''
	write_to a "$message"
	read_head a
	is "$(header Transfer-Encoding || echo none) $(header Connection)" 'none close'
	read_line a
	is "$line" 'event: message'
	read_line a
	reply=${line#data: }
	is "$(plain stdout)" hello
	read_line a
	is "$line" ''
	is_closed a
}

@test "H1: 100 Continue is sent before the body is received" {
	start_http
	open_session a
	message ping
	put_post a "Content-Length: ${#message}" "Mcp-Session-Id: ${session_of[a]}" \
		'Expect: 100-Continue'
	read_line a
	is "$line" 'HTTP/1.1 100 Continue'
	read_line a
	is "$line" ''
	write_to a "$message"
	read_response a
	is "$http $(get result)" '200 {}'
}

@test "H1: a request with an unsupported Content-Type is rejected without sending 100 Continue first" {
	start_http
	connect a
	put_lines a 'POST /mcp HTTP/1.1' 'Host: localhost' 'Content-Type: text/plain' \
		'Content-Length: 9' 'Expect: 100-continue' ''
	read_response a
	is "$http $(header Connection)" '415 close'
	is_closed a
}

@test "H1: Expect: 100-continue is ignored in a request without a body" {
	start_http
	connect a
	for i in 1 2; do
		request_http a GET /health 'Expect: 100-continue'
		is "$http $(header Connection || echo open)" '200 open'
	done
}

# ping_expecting NAME VERSION EXPECTATION: writes a ping of that HTTP version
ping_expecting() {
	message ping
	put_lines "$1" "POST /mcp HTTP/$2" 'Host: localhost' "$JSON" "Expect: $3" \
		"Content-Length: ${#message}" "Mcp-Session-Id: ${session_of[$1]}" ''
	write_to "$1" "$message"
}

@test "H1: Expect: 100-continue is ignored in an HTTP/1.0 request" {
	start_http
	open_session a
	ping_expecting a 1.0 100-continue
	read_response a
	is "$http $(get result)" '200 {}'
	is_closed a
}

@test "H1: an unknown value of Expect is ignored" {
	start_http
	open_session a
	ping_expecting a 1.1 something-else
	read_response a
	is "$http $(get result)" '200 {}'
	request_http a POST /mcp 'Content-Type: text/plain' 'Expect: something-else' -- x
	is "$http $(header Connection || echo open)" '415 open'
}

@test "H1: 100-continue is recognized in a list of several expectations" {
	start_http
	open_session a
	ping_expecting a 1.1 'x, 100-Continue'
	read_line a
	is "$line" 'HTTP/1.1 100 Continue'
}

@test "H1: the request target can be an absolute URL" {
	start_http
	connect a
	put_lines a 'GET http://localhost:1/health HTTP/1.1' 'Host: localhost' ''
	read_response a
	is "$http" 200
}

@test "H1: a client that shuts down its sending side still receives all responses" {
	needs perl
	start_http
	open_session a
	bash_message 'echo >begun; read <gate'
	cat >half-close.pl <<-'END'
	my ($port, $session, $message) = @ARGV;
	my $s = IO::Socket::INET->new("127.0.0.1:$port") or die;
	print $s join("\r\n", 'POST /mcp HTTP/1.1', 'Host: localhost',
		'Content-Type: application/json', "Mcp-Session-Id: $session",
		'Content-Length: ' . length($message), '',
		$message . 'GET /health HTTP/1.1', 'Host: localhost', '', '');
	shutdown($s, 1);
	print while <$s>;
	END
	perl -MIO::Socket half-close.pl "$port" "${session_of[a]}" "$message" >received &
	await_file begun
	answers_ping a
	release
	wait $!
	has "$(<received)" completed
	has "$(<received)" '"ok"'
}

# --- H2: addresses and ports

@test "H2: by default, the server listens on 127.0.0.1 and prints its URL" {
	start_http
	is "$(<err)" "boris: listening on http://127.0.0.1:$port/mcp"
	connect a
	request_http a GET /health
	is "$http" 200
}

@test "H2: the server exits with status 1 if the port is in use" {
	start_http
	fails_to_start 1 --port=$port
	like "$(<err)" "boris: cannot listen on 127.0.0.1 port $port: *"
	rm err
	: >err
}

@test "H2: --listen accepts an IPv6 address" {
	start_http --listen=::1 || skip 'no IPv6 here'
	is "$(<err)" "boris: listening on http://[::1]:$port/mcp"
	exec {fd}<>"/dev/tcp/::1/$port"
	descriptor_of[a]=$fd
	request_http a GET /health "Host: [::1]:$port"
	is "$http" 200
}

@test "H2: --listen with an invalid address is rejected with exit status 2" {
	fails_to_start 2 --listen=localhost
	has "$(<err)" localhost
	fails_to_start 2 --listen=127.0.0.256
}

@test "H2: --port with an invalid port is rejected with exit status 2" {
	fails_to_start 2 --port=65536
	fails_to_start 2 --port=-1
}

@test "H5: --session-timeout=0 is rejected with exit status 2" {
	fails_to_start 2 --session-timeout=0
}

@test "C1: an unknown value of BORIS_TRANSPORT is rejected with exit status 2" {
	BORIS_TRANSPORT=carrier-pigeon filter </dev/null >out
	is $status 2
}

@test "C1: the HTTP options can be set with environment variables" {
	export BORIS_TRANSPORT=http BORIS_PORT=0 BORIS_LISTEN=127.0.0.2 BORIS_TOKEN=abc
	start
	eventually grep -qs listening err
	like "$(<err)" 'boris: listening on http://127.0.0.2:*/mcp'
}

# --- H3: the token

@test "H3: a tool call without the token is rejected with status 401" {
	start_http --token=Secret1
	connect a
	for given in 'X: y' 'Authorization: Bearer' 'Authorization: Bearer Secret' \
	             'Authorization: Bearer Secret12' \
	             'Authorization: Bearer secret1' \
	             'Authorization: Basic Secret1' 'Authorization: BearerSecret1' \
	             'Authorization: Bearer Secret1 x'; do
		bash_message "echo ran >$PWD/ran" '' "$META"
		stateless_posted a "$given"
		is "$given: $http $(header WWW-Authenticate)" "$given: 401 Bearer"
	done
	[ ! -e ran ]
}

@test "H3: the Bearer authentication scheme is matched case-insensitively" {
	start_http --token=Secret1
	connect a
	discovers 200 'authorization: bearer  Secret1'
}

@test "H3: requests for /mcp require the token regardless of the HTTP method" {
	start_http --token=Secret1
	connect a
	for verb in GET DELETE OPTIONS PUT; do
		request_http a $verb /mcp
		is "$verb: $http" "$verb: 401"
	done
}

@test "H3: a newline at the end of the token file is ignored" {
	start_http --token-file=<(echo Secret2)
	connect a
	discovers 401
	discovers 200 'Authorization: Bearer Secret2'
}

@test "H3: --token-file overrides BORIS_TOKEN" {
	echo Secret2 >token
	BORIS_TOKEN=from-variable start_http --token-file=token
	connect a
	discovers 401 'Authorization: Bearer from-variable'
	discovers 200 'Authorization: Bearer Secret2'
}

@test "H3: --token-file accepts a FIFO and reads it to end of file" {
	mkfifo slow
	start --transport=http --port=0 --token-file=slow
	(printf half; read -rt 0.3 -u 9 || :; echo way) >slow
	eventually grep -qs '^boris: listening on' err
	port=$(sed -n 's|^boris: listening on http://.*:\([0-9]*\)/mcp$|\1|p' err)
	connect a
	post_and_read a "$HELLO" 'Authorization: Bearer halfway'
	is "$http" 200
}

# generated_token: prints the token that boris has generated
generated_token() {
	sed -n 's/^boris: generated token: //p' err
}

@test "H3: --generate-token prints a token that boris accepts" {
	start_http --generate-token
	token=$(generated_token)
	like "$token" '????????????????????????????????'
	connect a
	discovers 200 "Authorization: Bearer $token"
}

@test "H3: --generate-token generates a new token each time" {
	start_http --generate-token
	token=$(generated_token)
	stop_server
	start_http --generate-token
	isnt "$(generated_token)" "$token"
}

@test "H3: an empty token is rejected with exit status 2" {
	fails_to_start 2 --token=
	: >token
	fails_to_start 2 --token-file=token
	echo >token
	fails_to_start 2 --token-file=token
	export BORIS_TOKEN=
	fails_to_start 2 --port=0
}

@test "H3: a token that contains spaces, control characters or non-ASCII characters is rejected" {
	fails_to_start 2 '--token=a b'
	fails_to_start 2 --token=$'a\x80'
	lacks "$(<err)" $'a\x80'
	printf 'a\0b' >token
	fails_to_start 2 --token-file=token
	has "$(<err)" 'must be 1 to 4095 visible ASCII characters'
}

@test "H3: a token longer than 4095 characters is rejected" {
	printf %05000d 1 >token
	fails_to_start 2 --token-file=token
	has "$(<err)" 'must be 1 to 4095 visible ASCII characters'
}

@test "H3: --token-file rejects a file that does not exist" {
	fails_to_start 2 --token-file=none
}

@test "H3: combining --token with --generate-token is rejected" {
	fails_to_start 2 --token=a --generate-token
}

@test "H3: a non-loopback address requires a token or --allow-anyone" {
	for address in 0.0.0.0 :: ::ffff:127.0.0.1 192.0.2.1; do
		fails_to_start 2 --listen=$address
		has "$(<err)" --allow-anyone
	done
	start_http --listen=0.0.0.0 --allow-anyone
	stop_server
	is $status 0
	start_http --listen=0.0.0.0 --token=x
}

@test "H3: --token is hidden in the process list" {
	needs_linux
	start_http --token=tell-no-one-either --token=tell-no-one
	is "$(grep -c tell-no-one "/proc/$server/cmdline")" 0
}

@test "H3: BORIS_TOKEN is removed from the server's environment" {
	needs_linux
	BORIS_TOKEN=tell-no-one start_http
	is "$(grep -c tell-no-one "/proc/$server/environ")" 0
}

@test "H3: BORIS_TOKEN is not passed to commands" {
	BORIS_TOKEN=tell-no-one start_http
	connect a
	bash_message env '' "$META"
	stateless_post a 'Authorization: Bearer tell-no-one'
	read_answer a
	is "$http" 200
	lacks "$reply" tell-no-one
}

@test "H3, E8: as PID 1, boris hides the token on the command lines of both of its processes" {
	needs_linux
	needs_root
	unshare -pf --mount-proc true || skip 'no pid namespace here'
	wrap=(unshare -pf --mount-proc)
	start_http --token=tell-no-one
	first=$(<"/proc/$server/task/$server/children")
	boris=$(<"/proc/${first% }/task/${first% }/children")
	for pid in $first $boris; do
		has "$(tr '\0' ' ' <"/proc/$pid/cmdline")" '--token=***'
	done
	kill "${first% }"
	await_exit
	expect_only_listening
}

# --- H4: Origin and Host

# health_from HEADER STATUS: GET /health with this header is answered with STATUS
health_from() {
	request_http a GET /health "$1"
	is "$1: $http" "$1: $2"
}

@test "H4: if boris listens on port 80, the port can be omitted in an Origin header that names boris" {
	if ! start_http --port=80; then
		await_exit
		skip "$(<err)"
	fi
	connect a
	for origin in http://localhost http://127.0.0.1:80 'http://[::1]'; do
		health_from "Origin: $origin" 200
	done
	for origin in http://localhost:8080 https://localhost \
	              http://localhost.example 'http://127.0.0.1:[x]' \
	              'http://127.0.0.1:x]' http://127.0.0.1:x@evil.example:80 \
	              http://127.0.0.1:80:80; do
		health_from "Origin: $origin" 403
	done
}

@test "H4: a tool call from a foreign origin is rejected with status 403" {
	local cors=Access-Control-Allow-Origin
	start_http --allow-origin=https://good.example
	connect a
	for origin in http://evil.example null https://good.example:444 \
	              http://good.example https://good.example.evil.example \
	              http://localhost.evil.example \
	              http://127.0.0.1.evil.example http://localhost:80x \
	              'http://[::1].evil.example' http://localhost@evil.example \
	              http://localhost http://localhost:1 \
	              "http://127.0.0.1:1$port" 'http://[::1]'; do
		bash_message "echo ran >$PWD/ran" '' "$META"
		stateless_posted a "Origin: $origin"
		is "$origin: $http $(header $cors || echo none)" "$origin: 403 none"
	done
	[ ! -e ran ]
}

@test "H4: GET /health from a foreign origin is rejected with status 403" {
	start_http
	connect a
	health_from 'Origin: http://evil.example' 403
}

@test "H4: on loopback, a tool call with a foreign Host header is rejected with status 403" {
	start_http
	connect a
	for host in evil.example evil.example:$port localhost.evil.example \
	            127.0.0.1.evil.example 192.0.2.1 '[::2]' '' 'localhost:1:2'; do
		bash_message "echo ran >$PWD/ran" '' "$META"
		stateless_posted a "Host: $host"
		is "$host: $http" "$host: 403"
	done
	[ ! -e ran ]
}

@test "H4: on loopback, the Host header can contain any loopback name and any port" {
	start_http
	connect a
	for host in localhost LOCALHOST:1 127.0.0.1 127.1.2.3:4 '[::1]' "[::1]:$port"; do
		health_from "Host: $host" 200
	done
}

@test "H4: on a non-loopback address, any Host header is accepted" {
	start_http --listen=0.0.0.0 --allow-anyone
	connect a
	health_from 'Host: boris.example' 200
}

@test "H4: on loopback, a request whose absolute URL names a foreign host is rejected" {
	start_http
	connect a
	put_lines a 'GET http://evil.example/health HTTP/1.1' 'Host: localhost' ''
	read_response a
	is "$http" 403
}

@test "H4: responses to an allowed origin include CORS headers" {
	export BORIS_ALLOW_ORIGIN='https://one.example,http://two.example:8000'
	start_http
	open_session a
	for origin in http://localhost:$port http://127.0.0.1:$port \
	              "http://[::1]:$port" https://one.example \
	              http://two.example:8000; do
		message ping
		post_and_read a "$message" "Origin: $origin"
		is "$http $(header Access-Control-Allow-Origin)" "200 $origin"
		has "$(header Access-Control-Expose-Headers)" Mcp-Session-Id
		is "$(header Vary)" Origin
	done
}

@test "H4: event streams for an allowed origin include CORS headers" {
	start_http --allow-origin=https://one.example
	open_session a
	bash_message 'echo hello'
	post a "$message" 'Origin: https://one.example'
	read_answer a
	is "$(header Content-Type)" text/event-stream
	is "$(header Access-Control-Allow-Origin)" https://one.example
}

@test "H4: error responses to an allowed origin include CORS headers" {
	start_http --token=x --allow-origin=https://one.example
	connect a
	request_http a POST /mcp 'Origin: https://one.example' "$JSON" -- "$HELLO"
	is "$http $(header Access-Control-Allow-Origin)" '401 https://one.example'
}

@test "H4: --allow-origin with an invalid origin is rejected with exit status 2" {
	for origin in '*' null good.example https:// https://good.example/ \
	              https://good.example/page; do
		fails_to_start 2 "--allow-origin=$origin"
	done
}

@test "H4: --allow-origin can be repeated and overrides BORIS_ALLOW_ORIGIN" {
	export BORIS_ALLOW_ORIGIN=https://three.example
	start_http --allow-origin=https://one.example --allow-origin https://two.example
	connect a
	health_from 'Origin: https://one.example' 200
	health_from 'Origin: https://two.example' 200
	health_from 'Origin: https://three.example' 403
}

@test "H4: a CORS preflight request is answered without the token" {
	start_http --token=x --allow-origin=https://one.example
	connect a
	request_http a OPTIONS /mcp 'Origin: https://one.example' \
		'Access-Control-Request-Method: POST' \
		'Access-Control-Request-Headers: authorization,mcp-session-id'
	is "$http $(header Access-Control-Allow-Origin)" '204 https://one.example'
	for verb in POST DELETE; do
		has "$(header Access-Control-Allow-Methods)" $verb
	done
	for name in Authorization Content-Type Mcp-Session-Id MCP-Protocol-Version \
	            Mcp-Method Mcp-Name; do
		has "$(header Access-Control-Allow-Headers)" $name
	done
}

@test "H4: a CORS preflight request from a foreign origin is rejected with status 403" {
	start_http --token=x --allow-origin=https://one.example
	connect a
	request_http a OPTIONS /mcp 'Origin: https://two.example' \
		'Access-Control-Request-Method: POST'
	is "$http" 403
}

# --- H5: sessions

@test "H5: a session id consists of 32 hexadecimal digits" {
	start_http
	open_session a
	is "${session_of[a]//[0-9a-f]/}${#session_of[a]}" 32
}

@test "H5: each session has its own working directory" {
	start_http
	open_session a b
	isnt "${session_of[a]}" "${session_of[b]}"
	post_bash_and_read a 'cd /tmp; pwd'
	is "$(result cwd)" '"/tmp"'
	post_bash_and_read b pwd
	is "$(plain stdout)" "$PWD"
}

@test "H5: several connections can use the same session" {
	start_http
	open_session a
	post_bash_and_read a 'cd /tmp'
	join_session b a
	post_bash_and_read b pwd
	is "$(plain stdout)" /tmp
}

@test "H5: a task that belongs to another session is not found" {
	start_http
	open_session a b
	post_bash_and_read a 'read <gate' '{"run_in_background":true}'
	task=$(plain task_id) pid=$(result pid)
	post_tool_and_read b task_output '{"task_id":"'"$task"'"}'
	is_tool_error "task not found: $task*"
	for argument in check_pid kill_pid; do
		post_tool_and_read b bash '{"'$argument'":'"$pid"'}'
		is_tool_error "no background process with pid $pid*"
	done
	is_running "$pid"
	release
	post_tool_and_read a task_output '{"task_id":"'"$task"'","wait":10000}'
	is "$(result status)" '"completed"'
}

@test "H5, T7: the list of tasks does not include tasks of other sessions" {
	start_http
	open_session a b
	post_bash_and_read a 'read <gate' '{"run_in_background":true}'
	task=$(plain task_id)
	post_tool_and_read b task_output '{}'
	is "$(result)" '{"tasks":[]}'
	post_tool_and_read a task_output '{}'
	is "$(plain tasks 0 task_id) $(get -n result structuredContent tasks)" "$task 1"
	release
}

# has_input NAME: the server has sent something on this connection
has_input() {
	read -rt 0 -u "${descriptor_of[$1]}"
}

# first_task_completed NAME: the first task in the list of this session has ended
first_task_completed() {
	post_tool_and_read "$1" task_output '{}'
	[ "$(result tasks 0 status)" = '"completed"' ]
}

@test "H5, W2: a task can be read after the connection that started it is lost" {
	start_http
	open_session a
	join_session b a
	join_session c a
	post_bash b 'echo >begun; read <gate'
	await_file begun
	post_bash c 'echo hi' '{"run_in_background":true,"wait":60000}'
	eventually has_input c # Its call is in the queue.
	disconnect c
	! first_task_completed a
	release
	eventually first_task_completed a
}

@test "H5, B6: whether results contain structuredContent depends on the client of the session" {
	start_http
	open_session a
	set_client claude-code
	open_session b
	for name in a b a; do
		post_bash_and_read $name 'echo hi'
		kinds+=("$(result_kind)")
		message tools/list
		post $name "$message"
		read_answer $name
		kinds+=("$(result_kind)")
	done
	is "${kinds[*]}" 'data data text text data data'
}

@test "H5: a call does not wait for calls in other sessions" {
	start_http
	open_session a b
	post_bash a 'echo >begun; read <gate'
	read_head a
	await_file begun
	post_bash_and_read b 'echo quick'
	is "$(plain stdout)" quick
	release
	read_last_event a
	is "$(result status)" '"completed"'
}

@test "H5: a call waits for calls in the same session on other connections" {
	start_http
	open_session a
	join_session b a
	post_bash a 'echo >begun; read <gate; cd /'
	await_file begun
	post_bash b pwd
	read_head b
	release
	read_answer a
	read_last_event b
	is "$(plain stdout)" /
}

# is_stopped: the server is stopped, and not still in a poll() that could find a
# request
is_stopped() {
	[ "$(process "$server" 3)" = T ]
}

# unread_bytes_are N: N bytes have arrived that the server has not read
unread_bytes_are() {
	local sum=0 row
	while read -ra row; do
		if [[ ${row[1]} == *:$(printf %04X "$port") && ${row[3]} == 01 ]]; then
			sum=$((sum + 16#${row[4]#*:}))
		fi
	done <<<"$(cat /proc/net/tcp)"
	[ $sum = "$1" ]
}

@test "P7: requests received at the same time run in the order in which their connections were opened" {
	start_http
	open_session a
	for i in 1 2 3 4 5 6; do
		join_session p$i a
		answers_ping p$i # The connection has been accepted.
	done
	kill -STOP "$server"
	eventually is_stopped
	written=0
	for i in 6 2 5 3 1 4; do
		post_bash p$i "echo $i >>order" '{"run_in_background":false}'
	done
	eventually unread_bytes_are $written
	kill -CONT "$server"
	for i in 1 2 3 4 5 6; do
		read_answer p$i
	done
	is "$(xargs <order)" '1 2 3 4 5 6'
}

@test "H5: a request without a session id is rejected with status 400" {
	start_http
	connect a
	message ping
	post_and_read a "$message"
	is_error 400 -32600
	is "$(get id)" "$id"
	request_http a DELETE /mcp
	is "$http" 400
}

@test "H5: a request with an unknown session id is rejected with status 404" {
	start_http
	open_session a
	right=${session_of[a]}
	message ping
	for wrong in 0 "${right}0" "${right:0:31}" "${right^^}x"; do
		session_of[a]=$wrong
		post_and_read a "$message"
		is "$http $(get id)" "404 $id"
		request_http a DELETE /mcp "Mcp-Session-Id: $wrong"
		is "$http" 404
	done
	session_of[a]=$right
	answers_ping a
}

@test "H5: every method except initialize requires a valid session id" {
	start_http
	connect a
	session_of[a]=0123456789abcdef0123456789abcdef
	for method in ping tools/list server/discover initialized; do
		message $method
		post_and_read a "$message"
		is "$method: $http" "$method: 404"
	done
}

@test "H5: an unsupported MCP-Protocol-Version header is rejected with status 400" {
	start_http
	open_session a
	message ping
	for version in 2099-01-01 x ''; do
		post_and_read a "$message" "MCP-Protocol-Version: $version"
		is "$version: $http" "$version: 400"
	done
}

@test "H5: the MCP-Protocol-Version header can specify any protocol version that supports sessions" {
	start_http
	open_session a
	message ping
	for version in 2025-11-25 2025-06-18 2025-03-26; do
		post_and_read a "$message" "MCP-Protocol-Version: $version"
		is "$version: $http" "$version: 200"
	done
}

@test "H5: initialize with an unknown session id creates a new session" {
	start_http
	open_session a
	closed=${session_of[a]}
	request_http a DELETE /mcp "Mcp-Session-Id: $closed"
	for old in "$closed" 0123456789abcdef0123456789abcdef '' x; do
		session_of[a]=$old
		post_and_read a "$HELLO" "MCP-Protocol-Version: 2099-01-01"
		is "$old: $http $(get result protocolVersion)" "$old: 200 \"2025-11-25\""
		session_of[a]=$(header Mcp-Session-Id)
		isnt "${session_of[a]}" "$old"
		answers_ping a
	done
}

@test "H5: initialize with the id of an open session continues that session" {
	start_http
	open_session a
	post_bash_and_read a 'cd /'
	post_and_read a "$HELLO"
	is "$http $(header Mcp-Session-Id || echo none)" '200 none'
	post_bash_and_read a pwd
	is "$(plain stdout)" /
}

@test "H5: initialize is rejected with status 503 if no random numbers are available" {
	needs_root
	needs unshare nsenter pgrep
	[ -e /dev/urandom ] || skip 'no /dev/urandom here'
	needs strace
	strace -o /dev/null true || skip 'nothing can be traced here'
	wrap=(unshare -m env ASAN_OPTIONS=detect_leaks=0 strace -f -o /dev/null
		-e inject=getrandom:error=ENOSYS)
	"${wrap[@]}" true || skip 'no mount namespaces here'
	start_http
	nsenter -t "$server" -m mount --bind /dev/null /dev/urandom
	connect a
	post_and_read a "$HELLO"
	is_error 503 -32603
	like "$(get -s error message)" '*random number*'
	nsenter -t "$server" -m umount /dev/urandom
	post_and_read a "$HELLO"
	is "$http" 200
	# The signal must not go to strace, which is the test's child.
	kill "$(pgrep -P "$server")"
	await_exit
	rm err
}

@test "H5: initialize with invalid params does not create a session" {
	start_http
	connect a
	post_and_read a '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
	is "$(code) $(header Mcp-Session-Id || echo none)" '-32602 none'
}

@test "H5: DELETE with a protocol version that does not support sessions is rejected with status 400" {
	start_http
	open_session a
	for version in 1999-01-01 2026-07-28; do
		request_http a DELETE /mcp "Mcp-Session-Id: ${session_of[a]}" \
			"MCP-Protocol-Version: $version"
		is "$version: $http" "$version: 400"
	done
	request_http a DELETE /mcp "Mcp-Session-Id: ${session_of[a]}" \
		'MCP-Protocol-Version: 2025-11-25'
	is "$http" 204
}

# delete_session NAME OTHER: DELETE on NAME closes the session of OTHER
delete_session() {
	request_http "$1" DELETE /mcp "Mcp-Session-Id: ${session_of[$2]}"
	is "$http $body" '204 '
}

@test "H5: the id of a deleted session is no longer valid" {
	start_http
	open_session a
	delete_session a a
	message ping
	post_and_read a "$message"
	is "$http" 404
	request_http a DELETE /mcp "Mcp-Session-Id: ${session_of[a]}"
	is "$http" 404
}

@test "H5: DELETE terminates all of the session's commands and tasks" {
	start_http
	open_session a
	join_session b a
	post_bash_and_read a 'echo $BASHPID >task; exec sleep 1000' '{"run_in_background":true}'
	post_bash b 'echo $BASHPID >command; trap "" INT; exec sleep 1000'
	read_head b
	await_file task command
	delete_session a a
	read_last_event b
	is "$(result status)" '"killed"'
	eventually is_gone task
	eventually is_gone command
}

@test "H5: DELETE rejects calls still queued in the session" {
	start_http
	open_session a
	join_session b a
	join_session c a
	post_bash b 'echo >begun; exec sleep 1000'
	await_file begun
	post_bash c 'echo >ran' '{"run_in_background":true}'
	read_head c
	delete_session a a
	read_last_event c
	is_tool_error '*session was closed*'
	read_answer b
	[ ! -e ran ]
}

@test "H5: DELETE does not affect other sessions" {
	start_http
	open_session a b
	post_bash_and_read b 'echo $BASHPID >pid; read <gate' '{"run_in_background":true}'
	task=$(plain task_id)
	await_file pid
	delete_session a a
	is_running pid
	release
	post_tool_and_read b task_output '{"task_id":"'"$task"'","wait":10000}'
	is "$(result status)" '"completed"'
}

@test "H5: DELETE returns immediately even if a command ignores SIGTERM" {
	start_http
	open_session a b
	bash_message 'trap "" TERM; echo $BASHPID >pid; while :; do read <gate; done' \
		'{"run_in_background":true}'
	post a "$message"
	read_answer a
	await_file pid
	start_timer
	delete_session b a
	message ping
	post_and_read a "$message"
	is "$http" 404
	within 2000
	is_running pid
	answers_ping b
	eventually is_gone pid
	least "$(elapsed)" 4500
}

@test "H5: a session without open requests is closed when --session-timeout expires" {
	start_http --session-timeout=$SLOW
	open_session a
	start_timer
	post_bash_and_read a 'echo $BASHPID >pid; exec sleep 1000' '{"run_in_background":true}'
	await_file pid
	eventually is_gone pid
	least "$(elapsed)" $((900 * SLOW))
	message ping
	post_and_read a "$message"
	is "$http" 404
}

@test "H5: an open call keeps its session open beyond --session-timeout" {
	start_http --session-timeout=$((2 * SLOW))
	open_session a b
	post_bash_and_read b "sleep $((3 * SLOW))" '{"run_in_background":true}'
	post_bash a "sleep $((3 * SLOW)); echo kept"
	tool_message task_output '{"task_id":"'"$(plain task_id)"'","wait":600000}'
	post b "$message"
	read_answer a
	is "$(plain stdout)" kept
	answers_ping a
	read_answer b
	is "$(result status)" '"completed"'
	answers_ping b
}

@test "H5: a 65th session is rejected with status 503 until another one is closed" {
	start_http
	connect a
	for ((i = 0; i < 64; i++)); do
		post_and_read a "$HELLO"
		is "$i: $http" "$i: 200"
	done
	last=$(header Mcp-Session-Id)
	post_and_read a "$HELLO"
	is "$http" 503
	has "$(get -s error message)" 'the maximum'
	is "$(header Mcp-Session-Id || echo none)" none
	request_http a DELETE /mcp "Mcp-Session-Id: $last"
	post_and_read a "$HELLO"
	is "$http" 200
}

@test "H5: fifty sessions can run commands at the same time" {
	start_http
	for ((i = 0; i < 50; i++)); do
		open_session s$i
		post_bash s$i "echo >>begun; read <gate; echo $i"
	done
	eventually lines_are begun 50
	start_timer
	release 50
	for ((i = 0; i < 50; i++)); do
		read_answer s$i
		is "$(plain stdout)" $i
	done
	within 20000
}

# descriptors_are N: boris has N open descriptors
descriptors_are() {
	local all=("/proc/$server/fd/"*)
	[ ${#all[@]} = "$1" ]
}

@test "H5: closing a session closes all of its file descriptors" {
	needs_linux
	start_http
	connect probe
	request_http probe GET /health
	before=("/proc/$server/fd/"*)
	for ((i = 0; i < 20; i++)); do
		open_session s$i
		post_bash_and_read s$i true
		delete_session s$i s$i
		disconnect s$i
	done
	# The guard, which the first command starts, has one descriptor.
	eventually descriptors_are $((${#before[@]} + 1))
}

@test "H5, D7: calls in one session run in parallel if each has an absolute cwd" {
	start_http
	open_session a
	join_session b a
	join_session c a
	post_bash a 'echo x >begun; read <gate; pwd'
	await_file begun
	post_bash_and_read b pwd '{"cwd":"/"}'
	is "$(plain stdout) $(result cwd)" '/ '
	post_bash c pwd '{"cwd":"."}'
	release
	read_answer a
	is "$(plain stdout)" "$PWD"
	read_answer c
	is "$(plain stdout)" "$PWD"
}

@test "H5, E6: if the client cancels a call because of a timeout, the command becomes a task" {
	start_http
	open_session a
	join_session b a
	post_bash a 'echo x >mark; read <gate; echo end'
	read_head a
	await_file mark
	cancelled b $id '"reason":"Request timed out"'
	! read_event a
	post_bash_and_read b 'echo next'
	note='your call timed out; its command keeps running as task ????????: *'
	like "$(plain note)" "$note"
	release
}

# --- H6: the stateless revision

# start_calls COMMAND N [ARGUMENTS]: opens N connections p0, p1 and so on, posts on
# each a stateless call that runs the command after reading from the gate, and
# waits until 16 of the calls have started
start_calls() {
	local i
	for ((i = 0; i < $2; i++)); do
		connect p$i
		stateless_runs p$i "echo >>begun; read <gate; $1" "${3-}"
	done
	eventually lines_are begun 16
}

# read_answers N: lets the N calls continue, and reads their answers
read_answers() {
	local i
	release "$1"
	for ((i = 0; i < $1; i++)); do
		read_answer p$i || return
	done
}

@test "H6: a stateless request does not require a session" {
	start_http
	connect a
	discovers 200
	is "$(get result resultType) $(get id)" "\"complete\" $id"
	is "$(header Mcp-Session-Id || echo none)" none
}

@test "H6: a stateless request can contain Mcp-Session-Id and Last-Event-ID headers" {
	start_http
	connect a
	stateless_message tools/list
	stateless_posted a 'Mcp-Session-Id: unknown' 'Last-Event-ID: 7'
	is "$http $(get -n result tools)" '200 2'
}

@test "H6: missing or contradictory MCP headers are rejected with error -32020" {
	local v=$STATELESS m='Mcp-Method: tools/call' n='Mcp-Name: bash'
	start_http
	connect a
	bash_message 'echo >ran' '' "$META"
	for wrong in "$m|$n" "$v|$n" "$v|$m" "MCP-Protocol-Version: 2025-11-25|$m|$n" \
	             "$v|Mcp-Method: tools/list|$n" "$v|Mcp-Method: Tools/Call|$n" \
	             "$v|$m|Mcp-Name: Bash" "$v|$m|Mcp-Name: =?base64?YmFzaA?=" \
	             "$v|$m|Mcp-Name: =?base64?YmFzaB==?=x" "$v|$m|Mcp-Name:"; do
		IFS='|' read -ra headers <<<"$wrong"
		post_and_read a "$message" "${headers[@]}"
		is "$wrong: $http $(code) $(get id)" "$wrong: 400 -32020 $id"
	done
	[ ! -e ran ]
}

@test "H6: the Mcp-Name header can be Base64-encoded" {
	start_http
	connect a
	bash_message true '' "$META"
	post a "$message" "$STATELESS" 'Mcp-Method: tools/call' \
		'Mcp-Name:   =?base64?YmFzaA==?=  '
	read_answer a
	is "$http" 200
}

@test "H6: a stateless request with an unknown method is rejected with status 404 and error -32601" {
	start_http
	connect a
	for method in no/such ping initialize; do
		stateless_message $method
		stateless_posted a
		is_error 404 -32601
		is "$(get id)" "$id"
	done
}

@test "H6: the error about an unknown tool in a stateless call is sent with HTTP status 200" {
	start_http
	connect a
	tool_message nothing '{}' "$META"
	stateless_posted a
	is_error 200 -32602
}

@test "H6: a stateless request with an incomplete _meta is rejected with status 400" {
	start_http
	connect a
	for row in 'tools/list {"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}' \
		'tools/list {}' 'ping {}' 'server/discover {}'; do
		message ${row%% *} "${row#* }"
		stateless_posted a
		is "$row: $http $(code)" "$row: 400 -32602"
	done
	has "$body" io.modelcontextprotocol/protocolVersion
}

@test "H6: a stateless request with an unsupported version is rejected with error -32022" {
	start_http
	connect a
	message tools/list "{\"_meta\":{${META/2026-07-28/2099-01-01}}}"
	post_and_read a "$message" 'MCP-Protocol-Version: 2099-01-01' 'Mcp-Method: tools/list'
	is_error 400 -32022
	is "$(get error data supported)" '["2026-07-28"]'
}

@test "H6: a stateless POST request without a valid message is rejected with status 400" {
	start_http
	connect a
	post_and_read a '{' "$STATELESS"
	is_error 400 -32700
	for body in '[]' '{"jsonrpc":"2.0","id":1,"result":{}}' \
	            '{"jsonrpc":"1.0","method":"notifications/cancelled","params":{"requestId":1}}'; do
		post_and_read a "$body" "$STATELESS"
		is "$body: $http $(code)" "$body: 400 -32600"
	done
}

@test "H6: a stateless notification cannot cancel a call made on another connection" {
	start_http
	connect a b
	stateless_runs a 'echo >begun; read <gate; echo done'
	read_head a
	await_file begun
	notification='{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":'$id'}}'
	post_and_read b "$notification" "$STATELESS"
	is "$http $body" '202 '
	cancelled b $id '"_meta":{'"$META"'}'
	release
	read_last_event a
	is "$(plain stdout)" done
}

@test "H6: every stateless call starts in the --workdir directory" {
	mkdir work
	start_http --workdir=work
	connect a
	stateless_ran a 'pwd; cd /'
	is "$(plain stdout)" "$PWD/work"
	stateless_ran a pwd
	is "$(plain stdout)" "$PWD/work"
}

@test "H6: the cwd of a stateless call does not affect later calls" {
	start_http
	connect a
	stateless_ran a pwd '{"cwd":"/tmp"}'
	is "$(plain stdout)" /tmp
	stateless_ran a pwd
	is "$(plain stdout)" "$PWD"
}

@test "H6, D7: the result of a stateless call with cwd does not mention the working directory" {
	start_http
	connect a
	stateless_ran a pwd
	is "$(plain cwd)" "$PWD"
	stateless_ran a 'exec pwd' '{"cwd":"/tmp"}'
	is "$(plain stdout) $(result cwd) $(result note)" '/tmp  '
}

@test "H6: at most sixteen stateless calls run in parallel" {
	start_http
	start_calls 'echo $BASHPID' 18
	connect a
	discovers 200
	is "$(wc -l <begun)" 16
	release
	eventually lines_are begun 17
	read_answers 18
	is "$(wc -l <begun)" 18
}

@test "H6: stateless tasks start even while other stateless calls are queued" {
	start_http
	start_calls true 17
	connect a b
	stateless_ran a 'exit 3' '{"run_in_background":true,"wait":20000}'
	is "$(result status) $(result exit_code)" '"completed" 3'
	stateless_ran b 'read x' '{"tty":true}'
	is "$(result status)" '"running"'
	is "$(wc -l <begun)" 16
	read_answers 17
	is "$(result exit_code)" 0
}

@test "H6, K2: if a queued stateless call is not run, the error does not reveal other clients' commands" {
	start_http --call-limit=1
	start_calls ': secret' 16 '{"timeout":9000}'
	connect late
	stateless_ran late 'echo late'
	error='not run: still queued after 1.0 s, the longest this client waits'
	is_tool_error "$error; 16 commands are running"
	read_answers 16
}

@test "H6, X5: a stateless edit does not wait for a lock on another file" {
	needs_linux_parts
	needs flock
	start_http --edit
	echo a >f
	exec 5<f
	flock 5
	for ((i = 0; i < 6; i++)); do
		connect p$i
		tool_message edit '{"path":"f","old":"a","new":"b"}' "$META"
		stateless_post p$i
	done
	connect other
	start_timer
	stateless_used other edit '{"path":"g","new":"text"}'
	within 900
	has "$(plain text)" 'g: created'
	for ((i = 0; i < 6; i++)); do
		read_answer p$i
		is_tool_error '*has locked it*'
	done
	within 2500
	exec 5<&-
}

@test "H6, P11: the instructions for stateless clients do not mention a persistent working directory" {
	start_http
	connect a
	discovers 200
	isnt "$(get result instructions)" ''
	lacks "$(get result instructions)" 'stays'
}

@test "H6, B6: the tool descriptions for stateless clients do not mention sessions" {
	start_http
	connect a
	stateless_message tools/list
	stateless_posted a
	descriptions=$(get -s result tools 0 description)
	descriptions+=$(get -s result tools 1 description)
	lacks "$descriptions" 'for all later calls'
	lacks "$descriptions" 'lists all tasks'
	has "$descriptions" 'starts in the server'
	has "$descriptions" 'with kill_pid and task_id'
}

# start_stateless_tasks N: starts N tasks; sets $task and $pid to those of the
# last one
start_stateless_tasks() {
	local i
	for ((i = 0; i < $1; i++)); do
		stateless_ran a 'read <gate' '{"run_in_background":true}'
	done
	task=$(plain task_id) pid=$(result pid)
}

# names_no_task: the reply contains neither the id of the last task nor its command
names_no_task() {
	lacks "$reply" "$task" && lacks "$reply" 'read <gate'
}

@test "H6, T2: the error about an eleventh stateless task does not reveal other clients' tasks" {
	start_http
	connect a b
	start_stateless_tasks 10
	stateless_ran b 'touch ran' '{"run_in_background":true}'
	error='the command was not started, because 10 background tasks are running,'
	error+=' which is the maximum; stop one with kill_pid and its task_id, or wait'
	error+=' until one ends'
	is_tool_error "$error"
	names_no_task
	release 10
	[ ! -e ran ]
}

@test "H6, K2: a stateless command that becomes a task counts towards the limit of ten tasks" {
	start_http --call-limit=1
	connect a
	stateless_ran a 'read <gate'
	like "$(plain note)" "*or stop it with kill_pid $(result pid) and this task_id"
	start_stateless_tasks 9
	stateless_ran a true '{"run_in_background":true}'
	is_tool_error '*10 background tasks are running*'
	release 10
}

@test "H6: to stop a task by pid, a stateless call must also specify the task_id" {
	start_http
	connect a b
	start_stateless_tasks 1
	has "$(plain note)" "kill_pid $pid and this task_id"
	stateless_used b bash '{"kill_pid":'"$pid"'}'
	is_tool_error "no background process with pid $pid*task_id*"
	is_running "$pid"
	stateless_used b bash '{"kill_pid":'"$pid"',"task_id":"'"$task"'"}'
	is "$(result status)" '"killed"'
}

@test "H6, T7: tasks started by stateless requests cannot be listed" {
	start_http
	connect a
	start_stateless_tasks 1
	for arguments in '{}' '{"task_id":null}'; do
		stateless_used a task_output "$arguments"
		is_tool_error '*task_id*'
		names_no_task
	done
	release
}

@test "H6: any stateless client can read a task whose id it knows" {
	start_http
	connect a b
	start_stateless_tasks 1
	stateless_used b task_output '{"task_id":"nope"}'
	is_tool_error 'task not found: nope*'
	names_no_task
	stateless_used b task_output '{"task_id":"'"$task"'"}'
	is "$(result status)" '"running"'
	release
}

@test "H6, T1: check_pid and kill_pid accept the id of a stateless task" {
	start_http
	connect a
	start_stateless_tasks 1
	is ${#task} 32
	for argument in check_pid kill_pid; do
		stateless_used a bash '{"'$argument'":"'"$task"'"}'
		is "$(get result isError)" false
	done
	is "$(result status)" '"killed"'
}

@test "H6: a stateless call neither uses nor changes a session's working directory" {
	start_http
	open_session a
	post_bash_and_read a 'cd /tmp'
	stateless_ran a 'pwd; cd /'
	is "$(plain stdout)" "$PWD"
	post_bash_and_read a pwd
	is "$(plain stdout)" /tmp
}

@test "H6: initialize creates a session even if MCP-Protocol-Version names the stateless version" {
	start_http
	connect a
	post_and_read a "$HELLO" "$STATELESS"
	is "$http $(get result protocolVersion)" '200 "2025-11-25"'
	isnt "$(header Mcp-Session-Id)" ''
}

@test "H6: the event stream of subscriptions/listen starts with an acknowledgement" {
	start_http
	connect a b
	stateless_message subscriptions/listen '"notifications":{"toolsListChanged":true}'
	stateless_post a
	read_head a
	is "$http $(header Content-Type)" '200 text/event-stream'
	read_event a
	is "$(get method)" '"notifications/subscriptions/acknowledged"'
	stateless_ran b 'echo meanwhile'
	is "$(plain stdout)" meanwhile
	kill "$server"
	read_last_event a
	is "$(get result resultType)" '"complete"'
}

# --- H7: streams

@test "H7: the headers of an event stream are sent while the command is still running" {
	start_http
	open_session a
	post_bash a 'read <gate'
	start_timer
	read_head a
	within 1000
	is "$http $(header Content-Type)" '200 text/event-stream'
	is "$(header Cache-Control) $(header X-Accel-Buffering)" 'no-cache no'
	release
	read_last_event a
	answers_ping a
}

@test "H7: progress notifications are sent on the event stream of their call" {
	start_http
	open_session a
	post_bash a 'echo one; read <gate; echo two' '' '"progressToken":0'
	read_head a
	read_event a
	is "$(get method) $(get params progressToken)" '"notifications/progress" 0'
	is "$(get params message)" '"one\n"'
	release
	read_last_event a
	is "$(get id) $(plain stdout)" "$id one"$'\n'two
}

@test "H7: a response that is available immediately is sent as JSON rather than as a stream" {
	start_http
	open_session a
	message tools/list
	post_and_read a "$message"
	is "$(header Content-Type)" application/json
	post_tool_and_read a bash '{"command":""}'
	is "$(header Content-Type)" application/json
	post_bash_and_read a 'read <gate' '{"run_in_background":true}'
	post_tool_and_read a task_output '{"task_id":"'"$(plain task_id)"'"}'
	is "$(header Content-Type)" application/json
	release
}

# U+0085, U+2028 and U+2029, and the same text as escapes
BREAKS=$'a\xc2\x85b\xe2\x80\xa8c\xe2\x80\xa9d'
ESCAPED='a\u0085b\u2028c\u2029d'

@test "H7, M14.19: Unicode line separators are escaped in JSON responses" {
	start_http
	open_session a
	post_and_read a '{"jsonrpc":"2.0","id":"'"$BREAKS"'","method":"ping"}'
	is "$body" '{"jsonrpc":"2.0","id":"'"$ESCAPED"'","result":{}}'
}

@test "H7, M14.19: Unicode line separators are escaped in event streams" {
	start_http
	open_session a
	post_bash a "printf '${BREAKS#a??}'; read <gate" '' '"progressToken":"'"$BREAKS"'"'
	read_head a
	read_event a
	has "$reply" '"progressToken":"'"$ESCAPED"'"'
	has "$reply" '"message":"'"${ESCAPED#a*5}"'"'
	release
	read_last_event a
	has "$reply" '"stdout":"'"${ESCAPED#a*5}"'"'
}

@test "H7: a silent event stream receives a comment every 15 seconds" {
	use_fast_clock
	start_http
	open_session a
	start_timer
	post_bash a 'read <gate'
	read_head a
	read_line a
	is "$line" 3
	least "$(elapsed)" 14500
	within 16000
	read_bytes a 3
	is "$line" $':\n\n'
	read_line a
	release
	read_last_event a
	is "$(result status)" '"completed"'
}

@test "H7: closing the connection cancels a running stateless call" {
	start_http
	connect a b
	stateless_runs a 'echo $BASHPID >first; read <gate'
	stateless_runs b 'echo $BASHPID >second; read <gate'
	await_file first second
	disconnect a
	eventually is_gone first
	is_running second
	release
	read_answer b
}

# disconnect_after_input NAME: Closes the connection after reading the start of
# the stream and writing more bytes than the server reads before the call ends.
disconnect_after_input() {
	read_head "$1"
	printf '%060000d' 0 >&"${descriptor_of[$1]}"
	disconnect "$1"
}

@test "H7: a stateless call is cancelled even if unread input precedes the end of the connection" {
	needs_linux_parts
	start_http
	connect a
	stateless_runs a 'echo $BASHPID >pid; read <gate'
	await_file pid
	disconnect_after_input a
	eventually is_gone pid
}

@test "H7: closing the connection cancels a queued stateless call" {
	start_http
	start_calls true 16
	connect q
	stateless_runs q 'echo >ran'
	read_head q
	disconnect q
	connect a
	discovers 200
	read_answers 16
	stateless_ran a true
	[ ! -e ran ]
}

@test "H7: a stateless task is terminated if the client disconnects before it receives the id" {
	start_http
	connect a
	stateless_runs a 'echo $BASHPID >pid; read <gate' '{"tty":true,"wait":60000}'
	await_file pid
	disconnect a
	eventually is_gone pid
}

@test "H7, T3: if a task ends right after a result has reported it as running, it can still be read" {
	start_http
	open_session a
	join_session b a
	for i in {1..5}; do
		post_bash_and_read a 'read <gate; exit 3' '{"run_in_background":true}'
		task=$(plain task_id) pid=$(result pid)
		kill -STOP "$server"
		eventually is_stopped
		release
		eventually is_gone "$pid"
		tool_message task_output '{"task_id":"'"$task"'"}'
		post b "$message"
		kill -CONT "$server"
		read_answer b
		[ "$(result status)" = '"completed"' ] ||
			post_tool_and_read a task_output '{"task_id":"'"$task"'","wait":20000}'
		is "$(result exit_code)" 3
	done
}

# post_and_disconnect FUNCTION ARGUMENT...: Runs FUNCTION, which posts a message
# on the connection `lost`, and closes the connection before the server reads
# either.
post_and_disconnect() {
	connect lost
	kill -STOP "$server"
	"$@"
	disconnect lost
	kill -CONT "$server"
}

@test "H7: stateless tasks are terminated if their clients disconnect right after the request" {
	start_http
	for i in {1..10}; do
		post_and_disconnect stateless_runs lost 'read <gate' \
			'{"run_in_background":true}'
	done
	connect b
	stateless_ran b 'echo end' '{"tty":true,"wait":60000}'
	is "$(plain stdout)" end
}

@test "H7, X1: a stateless edit is not made if the client disconnects right after the request" {
	start_http --edit
	tool_message edit '{"path":"'"$PWD"'/file","new":"x"}' "$META"
	post_and_disconnect stateless_post lost
	connect a
	stateless_ran a true
	[ ! -e file ]
}

# run_ended_task COMMAND: runs the command as a task on connection a, and waits
# until the server has reaped it; sets $task
run_ended_task() {
	post_bash_and_read a 'echo $BASHPID >pid; '"$1" '{"run_in_background":true}'
	task=$(plain task_id)
	await_file pid
	eventually is_reaped "$(<pid)"
}

@test "H7, T3: a stateless result is not marked as read if the client disconnects right after the request" {
	start_http
	connect a b
	stateless_ran a 'echo $BASHPID >pid; echo end' '{"run_in_background":true}'
	task=$(plain task_id)
	await_file pid
	eventually is_reaped "$(<pid)"
	tool_message task_output '{"task_id":"'"$task"'"}' "$META"
	post_and_disconnect stateless_post lost
	connect c
	stateless_used c task_output '{"task_id":"'"$task"'"}'
	is "$(plain stdout)" end
}

@test "H7: a stateless task is not stopped if the client disconnects right after the request" {
	start_http
	connect a
	stateless_ran a 'echo $BASHPID >pid; read <gate; echo end' '{"run_in_background":true}'
	task=$(plain task_id)
	await_file pid
	tool_message bash '{"task_id":"'"$task"'","kill_pid":'"$(<pid)"'}' "$META"
	post_and_disconnect stateless_post lost
	connect c
	stateless_ran c true
	release
	stateless_used c task_output '{"task_id":"'"$task"'","wait":60000}'
	is "$(plain stdout)" end
}

@test "H7, T3: output is returned again if the client disconnected right after the request" {
	start_http
	open_session a
	run_ended_task 'echo end; exit 3'
	tool_message task_output '{"task_id":"'"$task"'"}'
	session_of[lost]=${session_of[a]}
	post_and_disconnect post lost "$message"
	join_session b a
	post_tool_and_read b task_output '{"task_id":"'"$task"'"}'
	is "$(plain stdout) $(result exit_code)" 'end 3'
}

@test "H7, T8: notes in an error are repeated if the client disconnected right after the request" {
	start_http
	open_session a
	run_ended_task 'exit 3'
	session_of[lost]=${session_of[a]}
	tool_message bash '{}'
	post_and_disconnect post lost "$message"
	tool_message task_output '{"task_id":"00000000"}'
	post_and_disconnect post lost "$message"
	join_session b a
	post_bash_and_read b true
	has "$(plain note)" "task $task ended with exit code 3"
}

@test "H6, T2: unread results are not discarded to make room for tasks of disconnected clients" {
	start_http
	connect a b
	stateless_ran b 'echo end' '{"run_in_background":true}'
	task=$(plain task_id)
	for i in {1..12}; do
		connect a
		stateless_runs a "echo \$BASHPID >pid$i; read <gate" \
			'{"tty":true,"wait":60000}'
		await_file pid$i
		disconnect a
		eventually is_gone pid$i
	done
	stateless_used b task_output '{"task_id":"'"$task"'","wait":60000}'
	has "$(plain stdout)" end
}

@test "H7: a stateless task continues if the client disconnects while a later call waits for the task" {
	start_http
	connect a b
	stateless_ran b 'read x; echo $BASHPID >pid; read <gate; echo end' '{"tty":true}'
	task=$(plain task_id)
	tool_message bash '{"task_id":"'"$task"'","input":"x\n","wait":60000}' "$META"
	stateless_post a
	await_file pid
	disconnect a
	stateless_ran b true
	is_running pid
	release
	stateless_used b task_output '{"task_id":"'"$task"'","wait":60000}'
	has "$(plain stdout)" end
}

@test "H7: a call in a session continues after the connection is closed" {
	start_http
	open_session a
	join_session b a
	post_bash a 'echo $BASHPID >pid; read <gate; cd /; echo >done'
	await_file pid
	disconnect a
	answers_ping b
	is_running pid
	release
	post_bash_and_read b pwd
	is "$(plain stdout)" /
}

# disconnect_stream NAME: Closes the connection after reading the start of the
# stream, so that the server receives an end of file instead of an error.
disconnect_stream() {
	read_head "$1"
	disconnect "$1"
}

@test "H7, T3: output is returned again if the client disconnected before it received the response" {
	start_http
	open_session a
	join_session b a
	post_bash_and_read b 'echo $BASHPID >pid; read <gate; echo end; exit 3' \
		'"run_in_background":true'
	task=$(plain task_id)
	tool_message task_output '{"task_id":"'"$task"'","wait":60000}'
	post a "$message"
	disconnect_stream a
	answers_ping b
	release
	eventually is_gone pid
	post_tool_and_read b task_output '{"task_id":"'"$task"'","wait":60000}'
	is "$(plain stdout) $(result exit_code)" 'end 3'
}

# lose_response COMMAND: Runs COMMAND in a session, and disconnects before it ends.
# The connection b has the same session.
lose_response() {
	start_http
	open_session a
	join_session b a
	post_bash a 'echo $BASHPID >pid; read <gate; '"$1"
	await_file pid
	disconnect_stream a
	answers_ping b
	release
	eventually is_gone pid
}

@test "H7: the result of a command is kept if the client disconnects before it receives the response" {
	lose_response 'echo end; exit 3'
	post_bash_and_read b true
	like "$(plain note)" '*lost; its command ended as task ???????? with exit code 3*'
	[[ $(plain note) =~ task\ ([0-9a-f]{8}) ]]
	post_tool_and_read b task_output '{"task_id":"'"${BASH_REMATCH[1]}"'"}'
	is "$(plain stdout) $(result exit_code)" 'end 3'
}

# loss_is_noted: the result of a further call says that a response may have been
# lost
loss_is_noted() {
	post_bash_and_read b true '"cwd":"/"' && [[ $(plain note) == *lost* ]]
}

@test "H7, E12: the note about a lost response states no exit code if the command cannot be killed" {
	as_user
	start_http
	open_session a
	join_session b a
	post_bash a 'echo $BASHPID >pid; exec ./asroot sleep 60' '"timeout":1000'
	await_file pid
	survivor=$(<pid)
	disconnect_stream a
	eventually loss_is_noted
	like "$(plain note)" '*lost; its command could not be stopped; read its output *'
	lacks "$(plain note)" 'exit code'
	end_survivor
}

# lose_handover: Runs a command in a session, disconnects, and waits until the
# result of a further command has a note about the command, which has become a
# task. The connection b has the same session.
lose_handover() {
	open_session a
	join_session b a
	post_bash a 'echo x >mark; read <gate' "$@"
	await_file mark
	disconnect_stream a
	eventually loss_is_noted
	like "$(plain note)" '*lost; its command keeps running as task ????????: echo x *'
	post_bash_and_read b true
	is "$(plain note)" ''
}

@test "H7: a note names a command that becomes a task at the call limit after the client disconnects" {
	start_http --call-limit=1
	lose_handover '"timeout":600000'
}

@test "H7: a note names a command that becomes a task after its timeout and the client's disconnection" {
	start_http --on-timeout=background
	lose_handover '"timeout":500'
}

@test "H7: a note names a new task if the client disconnects before it receives the id" {
	start_http
	lose_handover '"run_in_background":true,"wait":1000'
}

@test "H7, K2: the kept result says that the command was terminated at the call limit" {
	start_http --call-limit=1
	open_session a
	join_session b a
	for i in {1..10}; do
		post_bash_and_read b 'read <never' '"run_in_background":true'
	done
	post_bash a 'echo x >mark; read <never' '"timeout":600000'
	await_file mark
	disconnect_stream a
	eventually loss_is_noted
	[[ $(plain note) =~ task\ ([0-9a-f]{8}) ]]
	post_tool_and_read b task_output '{"task_id":"'"${BASH_REMATCH[1]}"'"}'
	has "$(plain note)" 'terminated after 1.0 s, the longest this client waits'
}

@test "H7: a note says how a task ended if the client never received its id" {
	start_http
	open_session a
	join_session b a
	post_bash a 'echo $BASHPID >pid; read <gate; exit 3' \
		'"run_in_background":true,"wait":60000'
	await_file pid
	disconnect_stream a
	answers_ping b
	release
	eventually is_reaped "$(<pid)"
	post_bash_and_read b true
	like "$(plain note)" '*lost; its command ended as task ???????? with exit code 3: *'
	lacks "$(plain note)" '(echo'
}

@test "H7: if a client disconnects before its command is rejected, a note says that it was not run" {
	start_http --call-limit=1
	open_session a
	join_session b a
	post_bash b 'echo x >mark; sleep 1.5' '"timeout":2000'
	await_file mark
	post_bash a 'touch ran'
	disconnect_stream a
	read_answer b
	has "$(plain note)" 'lost; its command was not run: touch ran'
	[ ! -e ran ]
}

@test "H7: the working directory is reported again if the response that reported it is lost" {
	lose_response 'cd /'
	post_bash_and_read b true
	has "$(get -s result content 0 text)" $'\ncwd: /\n'
}

@test "H7, D5: the directory is reported if the error about a removed directory is lost" {
	mkdir d
	start_http
	open_session a
	join_session b a
	post_bash_and_read b 'cd d'
	post_bash b "echo x >../mark; read <../gate; rmdir '$PWD/d'"
	await_file mark
	post_bash a true
	disconnect_stream a
	join_session c b
	answers_ping c
	release
	read_answer b
	post_bash_and_read b true
	has "$(get -s result content 0 text)" $'\ncwd: '"$PWD"$'\n'
}

@test "H7: a response counts as lost even if unread input precedes the end of the connection" {
	needs_linux_parts
	start_http
	open_session a
	join_session b a
	post_bash a 'echo $BASHPID >pid; read <gate; exit 3'
	await_file pid
	disconnect_after_input a
	answers_ping b
	release
	eventually is_gone pid
	post_bash_and_read b true
	has "$(plain note)" 'lost; its command ended as task'
}

@test "H7, T8: the note that a task has ended is repeated if the response that contained it is lost" {
	start_http
	open_session a
	join_session b a
	post_bash_and_read b 'echo $BASHPID >pid; read <gate' '"run_in_background":true'
	await_file pid
	post_bash a 'echo x >mark; until [ -e go ]; do sleep 0.02; done; echo x >done'
	await_file mark
	disconnect a
	answers_ping b
	release
	eventually is_gone pid
	>go
	await_file done
	post_bash_and_read b 'echo next'
	like "$(plain note)" '*task ???????? ended with exit code 0 (echo $BASHPID*'
}

# is_being_sent: a client of boris has more than 32 KiB to read
is_being_sent() {
	awk -v port=":$(printf %04X "$port")\$" '
		$3 ~ port && $4 == "01" && substr($5, 10) > "00008000" { n++ }
		END { exit !n }' /proc/net/tcp
}

# A command whose output is longer than what the kernel stores for a client
LONG='printf "%030000d" 0 | sed s/0/€/g; printf "%030000d" 0 | sed s/0/€/g >&2'

# leave_unread COMMAND: Starts a server and runs COMMAND after $LONG in a session.
# Returns while boris is writing the response, which the client does not read. The
# connection b has the same session.
leave_unread() {
	needs_linux
	start_http
	open_session a
	join_session b a
	post_bash_and_read b true
	post_bash a "$LONG; $1"
	eventually is_being_sent
}

@test "H7: the result of a command is kept if the client disconnects before it has read all of it" {
	leave_unread 'exit 3'
	disconnect a
	eventually loss_is_noted
	like "$(plain note)" '*lost; its command ended as task ???????? with exit code 3*'
	[[ $(plain note) =~ task\ ([0-9a-f]{8}) ]]
	post_tool_and_read b task_output '{"task_id":"'"${BASH_REMATCH[1]}"'"}'
	is "$(result exit_code) $(plain stdout | tr -dc '\342' | wc -c)" '3 30000'
}

@test "H7: the result of a command is kept if the client reads nothing for a minute" {
	use_fast_clock
	leave_unread true
	pause 55000
	post_bash_and_read b true
	is "$(plain note)" ''
	eventually loss_is_noted
}

@test "H7, K4: the working directory is reported again if its response is not written completely" {
	leave_unread 'cd /'
	disconnect a
	eventually loss_is_noted
	post_bash_and_read b true
	has "$(get -s result content 0 text)" $'\ncwd: /\n'
}

@test "H7, T8: a note is repeated if its response is not written completely" {
	needs_linux
	start_http
	open_session a
	join_session b a
	post_bash_and_read b 'echo $BASHPID >pid; exit 5' '"run_in_background":true'
	await_file pid
	eventually is_reaped "$(<pid)"
	post_bash a "$LONG"
	eventually is_being_sent
	disconnect a
	eventually loss_is_noted
	like "$(plain note)" '*task ???????? ended with exit code 5*'
	post_bash_and_read b true
	is "$(plain note)" ''
}

@test "H7, T3: a task can be read again if its final result is not written completely" {
	needs_linux
	start_http
	open_session a
	join_session b a
	post_bash_and_read b "$LONG; exit 3" '"run_in_background":true'
	task=$(plain task_id)
	tool_message task_output '{"task_id":"'"$task"'","wait":60000}'
	post a "$message"
	eventually is_being_sent
	disconnect a
	answers_ping b
	post_tool_and_read b task_output '{"task_id":"'"$task"'"}'
	is "$(result status) $(result exit_code)" '"completed" 3'
}

# shows_new: task_output with new returns output of the task
shows_new() {
	post_tool_and_read b task_output '{"task_id":"'"$task"'","new":true}'
	[ -n "$(plain stdout)" ]
}

# leave_task_unread: Starts a task that runs $LONG, waits for the gate and exits
# with 3. Returns while boris is writing a result with the new output of the running
# task, which the client a does not read.
leave_task_unread() {
	needs_linux
	start_http
	open_session a
	join_session b a
	post_bash_and_read b "$LONG; echo x >mark; read <gate; exit 3" \
		'"run_in_background":true'
	task=$(plain task_id) pid=$(result pid)
	await_file mark
	answers_ping b
	tool_message task_output '{"task_id":"'"$task"'","new":true,"limit":30000}'
	post a "$message"
	eventually is_being_sent
}

@test "H7, T3: output of a running task is returned again if it is not written completely" {
	leave_task_unread
	disconnect a
	eventually shows_new
}

@test "H7, T8: the note that a task has ended does not wait until a result about it is written" {
	leave_task_unread
	release
	eventually is_reaped "$pid"
	post_bash_and_read b true
	like "$(plain note)" "*task $task ended with exit code 3*"
	read_answer a
	is "$(result status)" '"running"'
}

@test "H7, T3: a task that was read can be read again if an earlier part of its output is lost" {
	leave_task_unread
	release
	eventually is_reaped "$pid"
	post_tool_and_read b task_output '{"task_id":"'"$task"'","new":true,"wait":20000}'
	is "$(result status) $(plain stdout)" '"completed" '
	disconnect a
	eventually shows_new
	is "$(result status) $(result exit_code)" '"completed" 3'
}

@test "H7: calls in a session proceed while a response is being written" {
	leave_unread 'exit 3'
	post_bash_and_read b 'echo next'
	is "$(plain stdout) $(plain note)" 'next '
	read_answer a
	is "$(result exit_code)" 3
	post_bash_and_read b true
	is "$(plain note)" ''
}

@test "H7: a response that is being written is completed if its session is closed" {
	leave_unread 'exit 3'
	request_http b DELETE /mcp "Mcp-Session-Id: ${session_of[b]}"
	is "$http" 204
	read_answer a
	is "$(result exit_code)" 3
}

@test "H7, E6: a result is kept if the call times out in the client while it is being written" {
	leave_unread 'exit 3'
	cancelled b $id '"reason":"Request timed out"'
	read_answer a
	is "$(result exit_code)" 3
	eventually loss_is_noted
}

@test "H7, P8: the cancellation of a call whose response is being written has no effect" {
	leave_unread 'exit 3'
	cancelled b $id
	read_answer a
	is "$(result exit_code)" 3
	post_bash_and_read b true
	is "$(plain note)" ''
}

# stateless_runs_with_token NAME COMMAND [ARGUMENTS]: does what stateless_runs does,
# with a token
stateless_runs_with_token() {
	bash_message "$2" "${3-}" "$META"
	stateless_post "$1" 'Authorization: Bearer t'
}

# has_task: the server that was started with --token=t has a running task
has_task() {
	request_http h GET /health 'Authorization: Bearer t'
	has "$body" '"tasks":1' 2>/dev/null
}

@test "H7: a stateless command is terminated if the response with its task id is not written" {
	needs_linux
	start_http --token=t --call-limit=2
	connect a h
	# The kernel stores the first response, but not all of the second one.
	stateless_runs_with_token a 'printf %030000d 0; printf %030000d 0 >&2'
	stateless_runs_with_token a 'printf %010000d 0 | sed s/0/😀/g
		printf %010000d 0 | sed s/0/😀/g >&2
		echo $BASHPID >pid; read <never' '"timeout":600000'
	await_file pid
	eventually has_task
	is_running pid
	disconnect a
	eventually is_gone pid
}

@test "H6, T2: an unread result is not discarded to make room for tasks whose responses are lost" {
	needs_linux
	start_http
	connect b
	stateless_ran b 'echo end' '"run_in_background":true'
	task=$(plain task_id)
	for i in {1..12}; do
		connect a
		stateless_runs a "$LONG" '"run_in_background":true,"wait":60000'
		eventually is_being_sent
		disconnect a
	done
	stateless_used b task_output '{"task_id":"'"$task"'","wait":60000}'
	is "$(plain stdout)" end
}

@test "H7: the event stream of a cancelled call ends without a result" {
	start_http
	open_session a
	join_session b a
	post_bash a 'echo $BASHPID >pid; read <gate'
	read_head a
	await_file pid
	cancelled b $id
	read_line a
	is "$line" 0
	read_line a
	eventually is_gone pid
	answers_ping a
}

# --- H8: malformed, slow and hostile requests

# rejects STATUS TEXT: a connection that sends this text is answered with STATUS
# and closed
rejects() {
	connect x
	write_to x "$2"
	read_response x
	is "$2 -> $http $(header Connection)" "$2 -> $1 close"
	is_closed x
	disconnect x
}

# rejects_lines STATUS LINE...: the same for lines, each with CR LF at its end
rejects_lines() {
	local text
	printf -v text '%s\r\n' "${@:2}"
	rejects "$1" "$text"
}

GET='GET /health HTTP/1.1'
HOST='Host: localhost'

@test "H8: a malformed request line is rejected with status 400" {
	start_http
	rejects 400 $'\x16\x03\x01\r\n\r\n'
	rejects_lines 400 'GET /health' ''
	for bad in "$GET " 'GET  /health HTTP/1.1' 'GET /health HTTP/1' \
	           'GET /health http/1.1' 'GET /health HTTP/1.10' \
	           'GET /health HTTP/2.0' 'G@T /health HTTP/1.1' " $GET" \
	           $'GET /hea\x7flth HTTP/1.1'; do
		rejects_lines 400 "$bad" "$HOST" ''
	done
}

@test "H8: a malformed header is rejected with status 400" {
	start_http
	for bad in 'X y' 'X : y' ': y' $'X: y\r z' $'X: a\x01b' $'X: a\rb'; do
		rejects_lines 400 "$GET" "$HOST" "$bad" ''
	done
	rejects_lines 400 "$GET" "$HOST" 'X: y z' ' folded' ''
	rejects_lines 400 "$GET" ' X: y' "$HOST" ''
}

@test "H8: a header line that ends without a carriage return is rejected with status 400" {
	start_http
	rejects 400 "$GET"$'\n'"$HOST"$'\n\n'
	rejects 400 "$GET"$'\r\n'"$HOST"$'\r\nX: y\n\r\n'
}

@test "H8: a request without exactly one Host header is rejected with status 400" {
	start_http
	rejects_lines 400 "$GET" ''
	rejects_lines 400 "$GET" "$HOST" "$HOST" ''
}

@test "H8: a request with two Origin headers is rejected with status 400" {
	start_http
	rejects_lines 400 "$GET" "$HOST" 'Origin: a' 'Origin: b' ''
}

@test "H8: request headers that contain a NUL byte are rejected with status 400" {
	start_http
	connect x
	printf '%s\r\nHost: local\0host\r\n\r\n' "$GET" >&"${descriptor_of[x]}"
	read_response x
	is "$http" 400
}

@test "H8: an ambiguous or malformed Content-Length is rejected with status 400" {
	start_http
	for bad in 3,4 3,3 +3 -3 0x3 '3 3' '' 18446744073709551619 $'\x0b3'; do
		rejects_lines 400 "POST /mcp HTTP/1.1" "$HOST" "$JSON" \
			"Content-Length: ${bad/,/, }" '' abc
	done
	rejects_lines 400 'POST /mcp HTTP/1.1' "$HOST" "$JSON" 'Content-Length : 3' '' abc
	for second in 'Content-Length: 4' 'content-length: 3'; do
		rejects_lines 400 'POST /mcp HTTP/1.1' "$HOST" "$JSON" \
			'Content-Length: 3' "$second" '' abc
	done
}

@test "H8: a request with both Content-Length and Transfer-Encoding is rejected with status 400" {
	local length='Content-Length: 3' chunked='Transfer-Encoding: chunked'
	start_http
	rejects_lines 400 'POST /mcp HTTP/1.1' "$HOST" "$JSON" "$length" "$chunked" '' abc
	rejects_lines 400 'POST /mcp HTTP/1.1' "$HOST" "$JSON" "$chunked" "$length" '' abc
}

@test "H8: a Transfer-Encoding other than chunked is rejected with status 400" {
	local chunked='Transfer-Encoding: chunked'
	start_http
	for bad in identity 'gzip, chunked' 'chunked, gzip' 'chunked;q=1' xchunked; do
		rejects_lines 400 'POST /mcp HTTP/1.1' "$HOST" "$JSON" \
			"Transfer-Encoding: $bad" '' 0 ''
	done
	rejects_lines 400 'POST /mcp HTTP/1.1' "$HOST" "$JSON" "$chunked" "$chunked" '' abc
}

@test "H8: a chunked HTTP/1.0 request is rejected with status 400" {
	start_http
	rejects_lines 400 'POST /mcp HTTP/1.0' "$JSON" 'Transfer-Encoding: chunked' '' 0 ''
}

@test "H8: a malformed chunk is rejected with status 400" {
	local head e=$'\r\n'
	printf -v head '%s\r\n' 'POST /mcp HTTP/1.1' "$HOST" "$JSON" \
		'Transfer-Encoding: chunked' ''
	start_http
	for bad in "x$e" "-1$e" " 1$e" "$e" 1$'\n' "0x1$e" "1 $(printf %0300d 0)$e" \
	           "fffffffffffffffff$e" "1${e}ab$e" '1;'$'\r'"x$e" "2d x$e"; do
		rejects 400 "$head$bad"
	done
}

@test "H8: request headers of up to 16 KiB are accepted" {
	start_http
	connect a
	request_http a GET /health "X: $(printf '%016000d' 0)"
	is "$http" 200
}

@test "H8: request headers over 16 KiB are rejected with status 431" {
	local long short
	start_http
	printf -v long '%016000d' 0
	rejects 431 "$GET"$'\r\n'"$HOST"$'\r\nX: '"$long$long"
	rejects_lines 431 "$GET" "$HOST" "X: $long" "Y: ${long:0:400}" ''
	printf -v short 'a:%.0s\r\n' {1..4100}
	rejects 431 "$GET"$'\r\n'"$HOST"$'\r\n'"$short"$'\r\n'
}

@test "H8: a body over 16 MiB is rejected with status 413" {
	start_http
	open_session a
	put_post a 'Content-Length: 16777217'
	read_response a
	is "$http" 413
	printf -v mib '%01048576d' 0
	for ((i = 0; i < 16; i++)); do
		write_to a "$mib"
	done
	write_to a x
	answers_ping a
}

@test "H8: a chunked body over 16 MiB is rejected with status 413" {
	start_http
	open_session a
	put_post a 'Transfer-Encoding: chunked'
	printf -v mib '%01048576d' 0
	for ((i = 0; i < 17; i++)); do
		put_lines a 100000 "$mib"
	done
	read_response a
	is "$http" 413
	put_lines a 0 ''
	answers_ping a
}

@test "H8: a body of 16 MiB is accepted" {
	start_http
	open_session a
	message ping
	printf -v mib '%*s' 1048576 ''
	put_post a 'Content-Length: 16777216' "Mcp-Session-Id: ${session_of[a]}"
	write_to a "$message${mib:${#message}}"
	for ((i = 1; i < 16; i++)); do
		write_to a "$mib"
	done
	read_response a
	is "$http $(get id)" "200 $id"
}

# reject_post NAME HEADER: posts a request that boris rejects before it has read
# the body, whose length the header gives
reject_post() {
	put_lines "$1" 'POST /mcp HTTP/1.1' "$HOST" 'Content-Type: text/plain' "$2" ''
	read_response "$1"
	is "$http" 415
}

@test "H8: the body of a rejected request is discarded rather than stored" {
	needs_linux
	needs_plain
	start_http
	connect a
	before=$(peak)
	reject_post a 'Content-Length: 99999999999'
	printf -v mib '%01048576d' 0
	for ((i = 0; i < 31; i++)); do
		write_to a "$mib"
	done
	disconnect a
	connect b
	request_http b GET /health
	most $(($(peak) - before)) 500
}

@test "H8: a connection is closed after boris has discarded 32 MiB of a rejected body" {
	start_http
	connect a
	reject_post a 'Content-Length: 99999999999'
	head -c 34000000 /dev/zero >&"${descriptor_of[a]}" || :
	is_closed a
}

@test "H8: chunk-size lines and trailers are included in the limit of 32 MiB on discarded data" {
	start_http
	connect a b
	reject_post a 'Transfer-Encoding: chunked'
	yes $'1\r\nx\r' | head -c 34000000 >&"${descriptor_of[a]}" || :
	is_closed a
	reject_post b 'Transfer-Encoding: chunked'
	put_lines b 0
	yes $'trailer: x\r' | head -c 34000000 >&"${descriptor_of[b]}" || :
	is_closed b
}

@test "H8: a request whose headers take more than ten seconds to arrive is rejected with status 408" {
	use_fast_clock
	start_http
	connect silent slow half blank kept
	start_timer
	write_to half 'GET /hea'
	request_http kept GET /health
	for ((i = 0; i < 6; i++)); do
		write_to slow "${i/0/G}"
		write_to blank $'\r'
		write_to blank $'\n'
		pause 1000
	done
	for name in slow half blank; do
		read_response $name
		is "$http" 408
	done
	is_closed silent
	least "$(elapsed)" 9500
	within 12000
	request_http kept GET /health
	is "$http" 200
}

@test "H8: a connection on which the client sends nothing for a minute is closed" {
	use_fast_clock
	start_http
	open_session idle
	connect body slow rejected
	put_lines rejected 'POST /nope HTTP/1.1' "$HOST" 'Transfer-Encoding: chunked' ''
	read_response rejected
	is "$http" 404
	start_timer
	put_post body 'Content-Length: 99'
	write_to body '{'
	put_post slow 'Transfer-Encoding: chunked'
	for ((i = 0; i < 5; i++)); do
		pause 10000
		put_lines slow 1 ' '
		put_lines rejected 1 ' '
	done
	read_response body
	is "$http" 408
	least "$(elapsed)" 59000
	is_closed idle 5
	within 63000
	put_lines slow 1 '{' 0 ''
	read_response slow
	is_error 400 -32700
	put_lines rejected 0 ''
	request_http rejected GET /health
	is "$http" 200
}

@test "H8: a 65th connection is rejected with status 503 until another one is closed" {
	start_http
	for ((i = 0; i < 64; i++)); do
		connect p$i
		request_http p$i GET /mcp
		is "$http" 405
	done
	connect x
	read_response x
	is "$http $(header Connection)" '503 close'
	is_closed x
	disconnect p5 x
	accepted() {
		connect y
		send_http y GET /health
		read_response y && [ "$http" = 200 ] || { disconnect y; return 1; }
	}
	eventually accepted
}

@test "H8: the oldest unauthenticated connection is closed if too many are open" {
	local token='Authorization: Bearer secret'
	start_http --token=secret
	connect first
	post_and_read first "$HELLO" "$token"
	is "$http" 200
	for ((i = 0; i < 130; i++)); do
		connect p$i
		case $((i % 4)) in
		0) send_http p$i GET /health ;;
		1) send_http p$i POST /mcp 'Authorization: Bearer guess' ;;
		2) write_to p$i $'\r\nGET' ;;
		esac
	done
	connect late
	post_and_read late "$HELLO" "$token"
	is "$http" 200
	[ -n "$(header Mcp-Session-Id)" ]
	is "$(wc -c <&"${descriptor_of[p3]}")" 0
	request_http first GET /mcp "$token"
	is "$http" 405
}

# fill_connections TOKEN: opens as many connections as boris accepts, p0 to p63,
# each of which is authenticated with the token
fill_connections() {
	for ((i = 0; i < 64; i++)); do
		connect p$i
		request_http p$i GET /mcp "Authorization: Bearer $1"
		is "$http" 405 || return
	done
}

@test "H8: a rejected connection that stays open does not make room for another one" {
	start_http --token=secret
	fill_connections secret
	for i in {1..5}; do
		connect x$i
		send_http x$i GET /health
		read_response x$i
		is "$i: $http $(header Connection)" "$i: 503 close"
	done
	is_closed x1
}

@test "H8: a connection after its last response makes room before an unauthenticated one does" {
	start_http --token=secret
	fill_connections secret
	request_http p3 GET /mcp 'Authorization: Bearer guess'
	is "$http" 401
	request_http p5 GET /mcp 'Authorization: Bearer secret' 'Connection: close'
	is "$http" 405
	connect a
	discovers 200 'Authorization: Bearer secret'
	request_http p3 GET /health
	is "$http" 200
}

@test "H8: no connection is closed to make room if a client has closed one before the new one" {
	start_http --token=secret
	fill_connections secret
	request_http p3 GET /mcp 'Authorization: Bearer guess'
	is "$http" 401
	kill -STOP "$server"
	disconnect p5
	connect a
	kill -CONT "$server"
	discovers 200 'Authorization: Bearer secret'
	request_http p3 GET /health
	is "$http" 200
}

@test "H8: a connection is no longer authenticated after a request on it was rejected with status 401" {
	start_http --token=secret
	fill_connections secret
	request_http p5 GET /mcp 'Authorization: Bearer guess'
	is "$http" 401
	connect a
	discovers 200 'Authorization: Bearer secret'
	is_closed p5
}

@test "H8: if no token is set, connections that have not requested /mcp are closed when too many are open" {
	start_http
	for ((i = 0; i < 130; i++)); do
		connect p$i
		[ $((i % 2)) = 0 ] || send_http p$i GET /health
	done
	open_session a
	answers_ping a
	is "$(wc -c <&"${descriptor_of[p0]}")" 0
}

@test "H8: 90 idle connections leave enough descriptors for commands" {
	needs_plain
	wrap=(bash -c 'ulimit -n 128; exec "$@"' bash)
	start_http
	for ((i = 0; i < 90; i++)); do
		connect p$i
	done
	open_session a
	for ((i = 0; i < 10; i++)); do
		post_bash_and_read a 'exec sleep 1000' '{"run_in_background":true}'
		is "$(result status)" '"running"'
	done
	post_bash_and_read a 'cat' '{"stdin":"here"}'
	is "$(plain stdout)" here
}

# ping_time NAME: posts $message, and prints the microseconds until the first line
# of the response
ping_time() {
	local began=${EPOCHREALTIME/[.,]/} length
	post "$1" "$message"
	read_line "$1"
	echo $((${EPOCHREALTIME/[.,]/} - began))
	until [ -z "$line" ]; do
		[[ $line != Content-Length:* ]] || length=${line#*: }
		read_line "$1"
	done
	read_bytes "$1" "$length"
}

# smallest NUMBER...: prints the smallest number, which is the time that other
# processes on this host have delayed least
smallest() {
	printf '%s\n' "$@" | sort -n | head -n 1
}

@test "H8: misbehaving clients delay a ping by less than 5 ms" {
	start_http
	open_session a b
	message ping
	for ((i = 0; i < 15; i++)); do
		ping_time a >time
		quiet+=("$(<time)")
	done
	# Three clients misbehave: b never reads, slow sends single bytes, and big
	# sends more than 16 MiB.
	post_bash b 'while :; do printf %1000d; read -t 0.005 <>never; done' \
		'{"timeout":60000}' '"progressToken":1'
	message ping
	connect slow big
	put_post big 'Transfer-Encoding: chunked'
	printf -v part '%0*d' 1000000 0
	for ((i = 0; i < 18; i++)); do
		write_to slow G
		put_lines big F4240 "$part"
		ping_time a >time
		loud+=("$(<time)")
	done
	most "$(smallest "${loud[@]}")" \
		$((($(smallest "${quiet[@]}") + 5000) * SLOW))
	read_response big
	is "$http" 413
	delete_session a b
}

# flood NAME LINE: writes a line to a connection so often that it makes 24 MB
flood() {
	yes "$2"$'\r' | head -c 24000000 >&"${descriptor_of[$1]}"
}

@test "H8, Q6: boris skips 24 MB of blank lines or one-byte chunks in at most 0.4 s of CPU time" {
	needs_plain
	start_http
	connect lines chunks
	flood lines ''
	request_http lines GET /health
	is "$http" 200
	most "$(ticks)" $((40 * SLOW))
	before=$(ticks)
	put_lines chunks 'POST /nope HTTP/1.1' "$HOST" 'Transfer-Encoding: chunked' ''
	read_response chunks
	is "$http" 404
	flood chunks $'1\r\nx'
	put_lines chunks 0 ''
	request_http chunks GET /health
	is "$http" 200
	most $(($(ticks) - before)) $((40 * SLOW))
}

# put_large NAME: posts a request of 16 MB in the session of a, except for its last
# byte, which is a brace
put_large() {
	local start='{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"'
	put_post "$1" "Content-Length: $((${#start} + 16000003))" \
		"Mcp-Session-Id: ${session_of[a]}"
	write_to "$1" "$start"
	yes '\n' | tr -d '\n' | head -c 16000000 >&"${descriptor_of[$1]}"
	write_to "$1" '"}'
}

# answers_ping_first: when eight large requests and a ping are completed together,
# boris answers the ping in less than half of the CPU time that all of them take
answers_ping_first() {
	local i began first
	for i in {1..8}; do
		put_large p$i
	done
	await_stable ticks
	began=$(ticks)
	message ping
	kill -STOP "$server"
	for i in {1..8}; do
		write_to p$i '}'
	done
	post a "$message"
	kill -CONT "$server"
	read_response a
	first=$(($(ticks) - began))
	for i in {1..8}; do
		read_response p$i
		is "$http" 200 || return
	done
	((2 * first < $(ticks) - began))
}

@test "P6, H8: boris answers a ping before it has processed all of several large messages received together" {
	needs_plain
	start_http
	open_session a
	connect p{1..8}
	eventually answers_ping_first
}

@test "H8: an event stream that the client does not read uses at most 700 KiB of memory" {
	needs_linux
	needs_plain
	use_fast_clock
	start_http --timeout=5
	open_session a b
	post_bash_and_read b true
	before=$(peak)
	post_bash a 'yes "$(printf %1000d 0)"' '' '"progressToken":1'
	pause 4000
	post_bash_and_read b 'echo meanwhile'
	is "$(plain stdout)" meanwhile
	most $(($(peak) - before)) 700
}

@test "H8: other calls in a session proceed while the client is not reading an event stream" {
	use_fast_clock
	start_http --timeout=5
	open_session a
	join_session b a
	post_bash a 'yes "$(printf %1000d 0)"' '' '"progressToken":1'
	post_bash_and_read b 'echo next'
	is "$(plain stdout)" next
	read_head a
	read_last_event a
	is "$(result status)" '"timed_out"'
}

@test "H8: a stateless call is cancelled if its client reads nothing for a minute" {
	use_fast_clock
	start_http
	connect a
	# The client's receive buffer must not be filled at once, so that boris
	# notices how long nothing is read.
	bash_message 'echo $BASHPID >pid; while :; do printf %30000d 0; read -t 0.02 <>never; done' \
		'{"timeout":600000}' "$META,\"progressToken\":1"
	stateless_post a
	await_file pid
	start_timer
	for ((i = 0; i < 1100; i++)); do
		is_gone pid && break
		pause 100
	done
	is_gone pid
	least "$(elapsed)" 55000
}

@test "E7: boris uses almost no CPU time while it has no free file descriptors" {
	needs_linux
	needs_plain
	needs prlimit
	start_http
	# With this limit from the start, boris would accept fewer connections.
	prlimit --pid "$server" --nofile=24
	for ((i = 0; i < 30; i++)); do
		connect p$i
	done
	stays_idle 2
	for ((i = 0; i < 20; i++)); do
		disconnect p$i
	done
	request_http p29 GET /health
	is "$http" 200
}

@test "E7: 64 connections with long headers cannot exhaust memory" {
	local header
	needs_plain
	printf -v header 'X: %015000d' 0
	for kib in 3000 3500 4000 4500; do
		wrap=(sh -c 'ulimit -v '$kib'; exec "$@"' sh)
		start_http || continue
		for i in {1..64}; do
			connect p$i
			put_lines p$i 'POST /mcp HTTP/1.1' "$header" 2>/dev/null || :
		done
		disconnect p{1..64}
		serves() {
			connect a && request_http a GET /health && disconnect a && [ "$http" = 200 ]
		}
		eventually serves 2>/dev/null
		stop_server
		is "$kib: $status" "$kib: 0"
	done
	rm -f err
}

# --- H9: signals

@test "H9: SIGTERM terminates the commands of all clients" {
	start_http
	open_session a b
	connect c
	post_bash_and_read a 'echo $BASHPID >one; exec sleep 1000' '{"run_in_background":true}'
	post_bash b 'echo $BASHPID >two; exec sleep 1000'
	stateless_runs c 'echo $BASHPID >three; exec sleep 1000'
	await_file one two three
	kill "$server"
	for name in b c; do
		read_answer $name
		is "$(result status)" '"killed"'
	done
	await_exit
	is $status 0
	for pid in one two three; do
		is_gone $pid
	done
	expect_only_listening
}

# ignore_sigterm NAME: posts a call of a command that ignores SIGTERM
ignore_sigterm() {
	post_bash "$1" 'trap "" TERM; echo $BASHPID >pid; while :; do read <gate; done'
	await_file pid
}

# cannot_connect: the server does not accept connections
cannot_connect() {
	! connect z 2>/dev/null
}

@test "H9: on SIGINT, the server stops listening while commands are still running" {
	start_http
	open_session a
	ignore_sigterm a
	kill -INT "$server"
	eventually cannot_connect
	is_running pid
	kill -9 "$(<pid)"
	await_exit
	expect_only_listening
}

@test "H9: the server exits immediately on a second signal" {
	start_http
	open_session a
	ignore_sigterm a
	start_timer
	kill -INT "$server"
	eventually cannot_connect
	kill "$server"
	await_exit
	within 3000
	is $status 0
	eventually has_no_processes
	expect_only_listening
}

@test "H9, P10: SIGTERM does not truncate a response that is being sent" {
	needs_linux
	start_http
	open_session a
	# The output is longer than what the kernel stores for a client.
	bash_message 'printf "%030000d" 0 | sed s/0/€/g; printf "%030000d" 0 | sed s/0/€/g >&2'
	# boris waits for a reader for only 200 ms, in which bash would be too slow.
	cat <&"${descriptor_of[a]}" >got &
	reader=$!
	kill -STOP $reader
	post a "$message"
	eventually is_being_sent
	kill "$server"
	kill -CONT $reader
	wait $reader
	is "$(tr -dc '\342' <got | wc -c)" $((4 * 30000))
	has "$(tail -c 100 got)" '"isError":false}}'
	await_exit
	expect_only_listening
}

# default_sighup: lets boris handle SIGHUP even if the tests run under nohup
default_sighup() {
	[ -z "$(trap -p HUP)" ] || wrap=(env --default-signal=HUP)
}

# token_is_rejected TOKEN: a request with this token is rejected
token_is_rejected() {
	discovers 401 "Authorization: Bearer $1" 2>/dev/null
}

@test "H9: SIGHUP makes the server reopen the log" {
	default_sighup
	start_http --log="$PWD/log"
	mv log old
	kill -HUP "$server"
	eventually test -e log
}

@test "H9: SIGHUP makes the server reread the token file" {
	default_sighup
	echo one >token
	start_http --token-file=token
	connect a
	discovers 200 'Authorization: Bearer one'
	echo two >token
	kill -HUP "$server"
	eventually token_is_rejected one
	discovers 200 'Authorization: Bearer two'
}

@test "H9: a request is rejected if its token is revoked after its headers but before its body arrives" {
	default_sighup
	echo one >token
	start_http --token-file=token
	connect a b
	bash_message "echo >$PWD/ran" '' "$META"
	put_post b "$STATELESS" 'Mcp-Method: tools/call' 'Mcp-Name: bash' \
		'Authorization: Bearer one' "Content-Length: ${#message}"
	local unsent=$message
	discovers 200 'Authorization: Bearer one' # boris has read the headers of b
	echo two >token
	kill -HUP "$server"
	eventually token_is_rejected one
	write_to b "$unsent"
	read_response b
	is "$http $(header WWW-Authenticate)" '401 Bearer'
	[ ! -e ran ]
	discovers 200 'Authorization: Bearer two'
}

# token_is_accepted NAME TOKEN: a request with this token on the connection is
# accepted
token_is_accepted() {
	request_http "$1" GET /mcp "Authorization: Bearer $2" && [ "$http" = 405 ]
}

@test "H8, H9: connections that were authenticated with a revoked token are closed if too many are open" {
	default_sighup
	echo one >token
	start_http --token-file=token
	fill_connections one
	echo two >token
	kill -HUP "$server"
	eventually token_is_accepted p0 two
	connect a
	discovers 200 'Authorization: Bearer two'
	is_closed p1
	token_is_accepted p0 two
}

@test "H8, H9: connections stay authenticated if SIGHUP does not change the token" {
	default_sighup
	echo one >token
	start_http --token-file=token --log="$PWD/log"
	fill_connections one
	mv log old
	kill -HUP "$server"
	eventually test -e log
	connect x
	read_response x
	is "$http" 503
}

@test "H9: after SIGHUP, the old token remains valid if the token file is missing or empty" {
	default_sighup
	echo one >token
	start_http --token-file=token
	connect a
	rm token
	kill -HUP "$server"
	eventually grep -q 'token' err
	mkfifo token # No process writes to it.
	kill -HUP "$server"
	eventually grep -q 'visible' err
	discovers 200 'Authorization: Bearer one'
	stop_server
	is $status 0
	: >err
}

@test "H9: the server handles SIGHUP even under nohup" {
	wrap=(env --ignore-signal=HUP)
	"${wrap[@]}" true || skip "this env has no --ignore-signal"
	echo one >token
	start_http --token-file=token
	connect a
	discovers 200 'Authorization: Bearer one'
	echo two >token
	kill -HUP "$server"
	eventually token_is_rejected one
	discovers 200 'Authorization: Bearer two'
}
