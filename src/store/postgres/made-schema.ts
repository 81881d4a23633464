/** What the migrations make, as `schema-check.ts` describes it. `schema-check.test.ts` writes this file. */
export const madeSchema: string = `
columns of table artifacts: session_id text C not null | artifact_id text C not null | call_id text C not null | mime text not null | encoding text not null | bytes bigint not null | hash text not null | content bytea not null
columns of table claims: key text C not null | session_id text C not null | call_id text C not null | digest text not null
columns of table counters: name text C not null | used double precision not null | reserved double precision not null | position bigint
columns of table cursors: name text C not null | position bigint not null | holder text C | owner_id text C
columns of table documents: name text C not null | version bigint not null | text text not null
columns of table entries: position bigint not null | session_id text C not null | sequence bigint not null | call_id text C | version integer | text text not null | bodies text | salt text | hash text not null
columns of table lanes: lane_id text C not null | epoch bigint not null
columns of table ledger: one boolean not null default true | ledger_id text not null | format integer not null | position_base bigint not null default 0 | key_check text | fill_after text C
columns of table marks: key text C not null | position bigint not null
columns of table owners: owner_id text C not null | lock_key bigint | host text not null | renewed_at timestamp with time zone not null | lease_ms integer not null | ended boolean not null default false
columns of table read_calls: session_id text C not null | call_id text C not null | position bigint not null | turn_id text C not null | tool_name text C not null | mode text not null | mode_origin text not null | status text not null | outcome text | reason text | code text C | message text | input_digest text | attempts integer not null | unresolved boolean not null | requested_at bigint not null | settled_at bigint | elapsed_ms bigint | cost_micros bigint not null | user_id text C | owner_id text C not null | bin integer not null | args text | rule_id text C | part integer not null
columns of table read_confirmations: confirmation_id text C not null | session_id text C not null | call_id text C not null | position bigint not null | tool_name text C not null | status text not null | asked_at bigint not null | expires_at bigint
columns of table read_parts: part integer not null | position bigint not null | first_hour bigint | last_hour bigint
columns of table read_tallies: hour bigint not null | tool_name text C not null | bin integer not null | code text C not null | outcome text not null | mode text not null | slot integer not null | calls bigint not null | unresolved bigint not null | cost_micros bigint not null
columns of table read_words: part integer not null | position bigint not null | session_id text C not null | call_id text C not null | requested_at bigint not null | number bigint not null identity a | words tsvector not null
columns of table sealed: session_id text C not null | call_id text C not null | text text not null
columns of table sessions: session_id text C not null | sequence bigint not null | hash text not null | position bigint not null | doubts text | first_position bigint | first_at bigint | last_at bigint | calls bigint not null default 0 | open_calls bigint not null default 0 | failures bigint not null default 0 | denials bigint not null default 0 | unresolved bigint not null default 0
columns of table states: session_id text C not null | subject text C not null | version integer not null | text text not null
columns of table unsettled: session_id text C not null | tool text C not null | digest text not null | call_id text C not null | position bigint not null
constraint artifacts.artifacts_pkey: PRIMARY KEY (session_id, artifact_id)
constraint claims.claims_pkey: PRIMARY KEY (key)
constraint counters.counters_pkey: PRIMARY KEY (name)
constraint cursors.cursors_pkey: PRIMARY KEY (name)
constraint documents.documents_pkey: PRIMARY KEY (name)
constraint entries.entries_pkey: PRIMARY KEY (session_id, sequence)
constraint lanes.lanes_pkey: PRIMARY KEY (lane_id)
constraint ledger.ledger_one_check: CHECK (one)
constraint ledger.ledger_pkey: PRIMARY KEY (one)
constraint marks.marks_pkey: PRIMARY KEY (key)
constraint owners.owners_pkey: PRIMARY KEY (owner_id)
constraint read_calls.read_calls_pkey: PRIMARY KEY (session_id, call_id)
constraint read_confirmations.read_confirmations_pkey: PRIMARY KEY (session_id, call_id, confirmation_id)
constraint read_parts.read_parts_pkey: PRIMARY KEY (part)
constraint read_words.read_words_pkey: PRIMARY KEY (part, position)
constraint sealed.sealed_pkey: PRIMARY KEY (session_id, call_id)
constraint sessions.sessions_pkey: PRIMARY KEY (session_id)
constraint states.states_pkey: PRIMARY KEY (session_id, subject)
constraint unsettled.unsettled_pkey: PRIMARY KEY (session_id, call_id)
function append_decisions(text,bigint,text[],text[],boolean,boolean,text[],text[],integer[],text[],text[],text[],text[],text[],text[],text[],text[],text[],text[],text[],text[]): 86c4bb40acf61c03
function append_items(bigint,integer,text[],text[],integer[],text[],text[],text[],text[],text[],text[],text[],text[],text[]): 4c30e8e0a9cc82d1
function append_v3(text,bigint,text[],text[],boolean,boolean,text[],text[],integer[],text[],text[],text[],text[],text[],text[],text[],text[],text[],text[],text[],text[]): 6f5309f1c2381aa0
function chain(text,bigint,text): fa2bfa3fb7a54d36
function chain_step(text,text,bigint,text): f51e14720165ff10
function check_counter(text,text): bf3dc90fc2db3da5
function check_state(text,text,text,integer): 29eab05e2661d7af
function damaged(text): 16e573482029a42f
function doubts_of(text): 1506f20db3716bab
function find_words(text,bigint,bigint,bigint,integer): 9633f9cb5339ee5e
function has_word(text): 7059dc321c5b1009
function lock_heads(text[],text[],boolean): d548afbac5eb63c0
function marked(text): 5e8def93f65a94f4
function put_lists(bigint,integer,text[],text[],text[],text[]): fcf6892d14d1d0a3
function put_mark(text,bigint): d6dbd2030fac1f3c
function state_mark(text,text): a746d2e198483291
index artifacts.artifacts_pkey: UNIQUE btree (session_id, artifact_id)
index claims.claims_by_session: btree (session_id)
index claims.claims_pkey: UNIQUE btree (key)
index counters.counters_pkey: UNIQUE btree (name)
index cursors.cursors_pkey: UNIQUE btree (name)
index documents.documents_pkey: UNIQUE btree (name)
index entries.entries_by_call: UNIQUE btree (session_id, call_id, version)
index entries.entries_by_position: btree (position)
index entries.entries_pkey: UNIQUE btree (session_id, sequence)
index lanes.lanes_pkey: UNIQUE btree (lane_id)
index ledger.ledger_pkey: UNIQUE btree (one)
index marks.marks_pkey: UNIQUE btree (key)
index owners.owners_pkey: UNIQUE btree (owner_id)
index read_calls.read_calls_by_code: btree (code, requested_at, position) WHERE (code IS NOT NULL)
index read_calls.read_calls_by_outcome: btree (outcome, requested_at, position) WHERE (outcome <> 'ToolExecutionResult'::text)
index read_calls.read_calls_by_rule: btree (rule_id, requested_at, position) WHERE (rule_id IS NOT NULL)
index read_calls.read_calls_by_session: btree (session_id, requested_at, position)
index read_calls.read_calls_by_time: btree (requested_at, position)
index read_calls.read_calls_by_tool: btree (left(tool_name, 500), requested_at, position)
index read_calls.read_calls_by_user: btree (left(user_id, 500), requested_at, position) WHERE (user_id IS NOT NULL)
index read_calls.read_calls_open: btree (requested_at, position) WHERE (status <> 'settled'::text)
index read_calls.read_calls_pkey: UNIQUE btree (session_id, call_id)
index read_calls.read_calls_unresolved: btree (requested_at, position) WHERE unresolved
index read_confirmations.read_confirmations_by_id: btree (confirmation_id)
index read_confirmations.read_confirmations_by_status: btree (status, asked_at, position)
index read_confirmations.read_confirmations_by_time: btree (asked_at, position)
index read_confirmations.read_confirmations_pkey: UNIQUE btree (session_id, call_id, confirmation_id)
index read_parts.read_parts_pkey: UNIQUE btree (part)
index read_tallies.read_tallies_key: UNIQUE btree (hour, md5(tool_name), bin, code, outcome, mode, slot)
index read_words.read_words_by_word: gin (words)
index read_words.read_words_pkey: UNIQUE btree (part, position)
index sealed.sealed_pkey: UNIQUE btree (session_id, call_id)
index sessions.sessions_by_time: btree (first_at, first_position)
index sessions.sessions_pkey: UNIQUE btree (session_id)
index states.states_pkey: UNIQUE btree (session_id, subject)
index unsettled.unsettled_by_input: btree (session_id, tool, digest)
index unsettled.unsettled_pkey: UNIQUE btree (session_id, call_id)
table artifacts: table
table claims: table
table counters: table
table cursors: table
table documents: table
table entries: table
table lanes: table
table ledger: table
table marks: table
table owners: table
table read_calls: table
table read_confirmations: table
table read_parts: table
table read_tallies: table
table read_words: table
table sealed: table
table sessions: table
table states: table
table unsettled: table
`;
