/**
 * The tables of a ledger in PostgreSQL, version by version.
 *
 * 1. `entries` holds the truth. Rows are only added. Erasure empties `bodies` and `salt`, and retention removes whole
 *    sessions.
 * 2. Everything that an append reads or writes is keyed by session, so tables can be distributed by session. Counters and
 *    claims are the exceptions: sessions share them.
 * 3. A position is the id of the transaction times 1,024 plus the place in its batch: see `positions.ts` for the order that
 *    readers see.
 * 4. Tables that begin with `read_` hold nothing that is not in the entries.
 */
import { appendFunctions, markFunctions } from './append-functions.ts';
import { decisionFunction } from './roles.ts';
import { listFunctions, rowsPerPart, startOf } from './list-functions.ts';

/** Entries of one transaction have so many places in their positions. */
export const placesPerTransaction = 1_024;

const id = 'text COLLATE "C"';

const tables = `
  CREATE TABLE ledger (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    ledger_id text NOT NULL, format integer NOT NULL, position_base bigint NOT NULL DEFAULT 0, key_check text
  );
  CREATE TABLE sessions (
    session_id ${id} PRIMARY KEY, sequence bigint NOT NULL, hash text NOT NULL, position bigint NOT NULL
  ) WITH (fillfactor = 50);
  CREATE TABLE entries (
    position bigint NOT NULL, session_id ${id} NOT NULL, sequence bigint NOT NULL,
    call_id ${id}, version integer, text text NOT NULL, bodies text, salt text, hash text NOT NULL,
    PRIMARY KEY (session_id, sequence)
  );
  CREATE INDEX entries_by_position ON entries (position);
  CREATE UNIQUE INDEX entries_by_call ON entries (session_id, call_id, version);
  CREATE TABLE lanes (lane_id ${id} PRIMARY KEY, epoch bigint NOT NULL);
  CREATE TABLE claims (
    key ${id} PRIMARY KEY, session_id ${id} NOT NULL, call_id ${id} NOT NULL, digest text NOT NULL
  );
  CREATE INDEX claims_by_session ON claims (session_id);
  CREATE TABLE counters (
    name ${id} PRIMARY KEY, used double precision NOT NULL, reserved double precision NOT NULL,
    sequence bigint, session_id ${id}
  ) WITH (fillfactor = 50);
  CREATE TABLE sealed (
    session_id ${id} NOT NULL, call_id ${id} NOT NULL, text text NOT NULL, PRIMARY KEY (session_id, call_id)
  );
  CREATE TABLE unsettled (
    session_id ${id} NOT NULL, tool ${id} NOT NULL, digest text NOT NULL, call_id ${id} NOT NULL,
    position bigint NOT NULL, PRIMARY KEY (session_id, call_id)
  );
  CREATE INDEX unsettled_by_input ON unsettled (session_id, tool, digest);
  CREATE TABLE states (
    session_id ${id} NOT NULL, subject ${id} NOT NULL, version integer NOT NULL, text text NOT NULL,
    PRIMARY KEY (session_id, subject)
  );
  CREATE TABLE cursors (name ${id} PRIMARY KEY, position bigint NOT NULL, holder ${id}, owner_id ${id});
  CREATE TABLE artifacts (
    session_id ${id} NOT NULL, artifact_id ${id} NOT NULL, call_id ${id} NOT NULL, mime text NOT NULL,
    encoding text NOT NULL, bytes bigint NOT NULL, hash text NOT NULL, content bytea NOT NULL,
    PRIMARY KEY (session_id, artifact_id)
  );
  ALTER TABLE artifacts ALTER COLUMN content SET STORAGE EXTERNAL;
  CREATE TABLE owners (
    owner_id ${id} PRIMARY KEY, lock_key bigint, host text NOT NULL, renewed_at timestamptz NOT NULL,
    lease_ms integer NOT NULL, ended boolean NOT NULL DEFAULT false
  );
  CREATE TABLE read_progress (one boolean PRIMARY KEY DEFAULT true CHECK (one), position bigint NOT NULL);
  CREATE TABLE read_sessions (
    session_id ${id} PRIMARY KEY, sequence bigint NOT NULL, hash text NOT NULL, number bigint GENERATED ALWAYS AS IDENTITY,
    calls bigint NOT NULL, open_calls bigint NOT NULL, failures bigint NOT NULL, denials bigint NOT NULL,
    unresolved bigint NOT NULL, first_at bigint NOT NULL, last_at bigint NOT NULL
  );
  CREATE INDEX read_sessions_by_time ON read_sessions (first_at, number);
  CREATE TABLE read_calls (
    session_id ${id} NOT NULL, call_id ${id} NOT NULL, position bigint NOT NULL, turn_id ${id} NOT NULL,
    tool_name ${id} NOT NULL, mode text NOT NULL, mode_origin text NOT NULL, status text NOT NULL, outcome text,
    reason text, code ${id}, message text, input_digest text, attempts integer NOT NULL, unresolved boolean NOT NULL,
    requested_at bigint NOT NULL, settled_at bigint, elapsed_ms bigint, cost_micros bigint NOT NULL, user_id ${id},
    owner_id ${id} NOT NULL, hour bigint NOT NULL, bin integer NOT NULL, PRIMARY KEY (session_id, call_id)
  ) WITH (fillfactor = 80);
  CREATE INDEX read_calls_by_time ON read_calls (requested_at, position);
  CREATE INDEX read_calls_by_session ON read_calls (session_id, requested_at, position);
  CREATE INDEX read_calls_by_tool ON read_calls (tool_name, requested_at, position);
  CREATE INDEX read_calls_by_outcome ON read_calls (outcome, requested_at, position)
    WHERE outcome <> 'ToolExecutionResult';
  CREATE INDEX read_calls_by_code ON read_calls (code, requested_at, position) WHERE code IS NOT NULL;
  CREATE INDEX read_calls_by_user ON read_calls (user_id, requested_at, position) WHERE user_id IS NOT NULL;
  CREATE INDEX read_calls_open ON read_calls (requested_at, position) WHERE status <> 'settled';
  CREATE INDEX read_calls_unresolved ON read_calls (requested_at, position) WHERE unresolved;
  CREATE TABLE read_confirmations (
    confirmation_id ${id} PRIMARY KEY, session_id ${id} NOT NULL, call_id ${id} NOT NULL, position bigint NOT NULL,
    tool_name ${id} NOT NULL, status text NOT NULL, asked_at bigint NOT NULL, expires_at bigint
  );
  CREATE INDEX read_confirmations_by_status ON read_confirmations (status, asked_at, position);
  CREATE INDEX read_confirmations_by_time ON read_confirmations (asked_at, position);
  CREATE INDEX read_confirmations_by_session ON read_confirmations (session_id);
  CREATE TABLE read_tallies (
    hour bigint NOT NULL, tool_name ${id} NOT NULL, bin integer NOT NULL, code ${id} NOT NULL, outcome text NOT NULL,
    mode text NOT NULL, status text NOT NULL,
    calls bigint NOT NULL, unresolved bigint NOT NULL, cost_micros bigint NOT NULL,
    PRIMARY KEY (hour, tool_name, bin, code, outcome, mode, status)
  ) WITH (fillfactor = 50);
  INSERT INTO read_progress (position) VALUES (0);
`;

const documents = `
  CREATE TABLE documents (name ${id} PRIMARY KEY, version bigint NOT NULL, text text NOT NULL);
`;

const marks = `
  ALTER TABLE sessions ADD COLUMN doubts text;
  ALTER TABLE counters ADD COLUMN position bigint;
  ALTER TABLE counters DROP COLUMN sequence, DROP COLUMN session_id;
  CREATE TABLE marks (key ${id} PRIMARY KEY, position bigint NOT NULL) WITH (fillfactor = 50);
  DROP FUNCTION IF EXISTS append_v1, append_decisions, lock_heads;
`;

/** The search index. The other read tables are filled again, because older rows lack their arguments. */
const words = `
  ALTER TABLE read_calls ADD COLUMN args text;
  CREATE TABLE read_words (
    position bigint PRIMARY KEY, session_id ${id} NOT NULL, call_id ${id} NOT NULL, words tsvector NOT NULL
  );
  CREATE INDEX read_words_by_word ON read_words USING gin (words);
  TRUNCATE read_calls, read_confirmations, read_sessions, read_tallies;
  UPDATE read_progress SET position = 0;
`;

/** The search index in parts: see `word-functions.ts`. And the rule that denied a call. */
const parts = `
  DROP TABLE read_words;
  CREATE TABLE read_words (
    position bigint PRIMARY KEY, session_id ${id} NOT NULL, call_id ${id} NOT NULL, requested_at bigint NOT NULL,
    words tsvector NOT NULL
  );
  CREATE INDEX read_words_by_word ON read_words USING gin (words) WITH (gin_pending_list_limit = 256);
  CREATE TABLE read_parts (
    part integer PRIMARY KEY, position bigint NOT NULL, written bigint NOT NULL, first_at bigint, last_at bigint
  );
  INSERT INTO read_parts (part, position, written) VALUES (0, 0, 0);
  ALTER TABLE read_calls ADD COLUMN rule_id ${id};
  CREATE INDEX read_calls_by_rule ON read_calls (rule_id, requested_at, position) WHERE rule_id IS NOT NULL;
  TRUNCATE read_calls, read_confirmations, read_sessions, read_tallies;
  UPDATE read_progress SET position = 0;
`;

/**
 * What lists show is written with the entries. So the counts of a session move next to its head, and what was filled
 * later is made again: `fill_after` says how far, see `rebuild.ts`. The index of the words is made when that is done.
 */
const lists = `
  DROP FUNCTION IF EXISTS append_decisions, append_v2, append_items, find_words;
  DROP TABLE read_progress, read_sessions, read_tallies, read_words, read_parts;
  TRUNCATE read_calls, read_confirmations;
  ALTER TABLE ledger ADD COLUMN fill_after ${id};
  ALTER TABLE sessions ADD COLUMN first_position bigint, ADD COLUMN first_at bigint, ADD COLUMN last_at bigint,
    ADD COLUMN calls bigint NOT NULL DEFAULT 0, ADD COLUMN open_calls bigint NOT NULL DEFAULT 0,
    ADD COLUMN failures bigint NOT NULL DEFAULT 0, ADD COLUMN denials bigint NOT NULL DEFAULT 0,
    ADD COLUMN unresolved bigint NOT NULL DEFAULT 0;
  CREATE INDEX sessions_by_time ON sessions (first_at, first_position);
  ALTER TABLE read_calls DROP COLUMN hour, ADD COLUMN part integer NOT NULL;
  DROP INDEX read_calls_by_time, read_calls_by_session, read_calls_by_tool, read_calls_by_outcome, read_calls_by_code,
    read_calls_by_user, read_calls_open, read_calls_unresolved, read_calls_by_rule, read_confirmations_by_session;
  ALTER TABLE read_confirmations DROP CONSTRAINT read_confirmations_pkey,
    ADD PRIMARY KEY (session_id, call_id, confirmation_id);
  CREATE INDEX read_confirmations_by_id ON read_confirmations (confirmation_id);
  CREATE TABLE read_words (
    part integer NOT NULL, position bigint NOT NULL, session_id ${id} NOT NULL, call_id ${id} NOT NULL,
    requested_at bigint NOT NULL, number bigint GENERATED ALWAYS AS IDENTITY, words tsvector NOT NULL,
    PRIMARY KEY (part, position)
  );
  CREATE TABLE read_parts (part integer PRIMARY KEY, position bigint NOT NULL, first_hour bigint, last_hour bigint);
  INSERT INTO read_parts (part, position) SELECT 0, 0 UNION ALL SELECT c.number / ${rowsPerPart}, c.position
    FROM (SELECT position, row_number() OVER (ORDER BY position) AS number FROM entries WHERE version = 1) c
    WHERE c.number % ${rowsPerPart} = 0;
  CREATE TABLE read_tallies (
    hour bigint NOT NULL, tool_name ${id} NOT NULL, bin integer NOT NULL, code ${id} NOT NULL, outcome text NOT NULL,
    mode text NOT NULL, slot integer NOT NULL, calls bigint NOT NULL, unresolved bigint NOT NULL, cost_micros bigint NOT NULL
  ) WITH (fillfactor = 50);
  CREATE UNIQUE INDEX read_tallies_key ON read_tallies (hour, md5(tool_name), bin, code, outcome, mode, slot);
  UPDATE ledger SET fill_after = '';
`;

/**
 * The indexes of the lists, without the name of the table. They are made when the rows are there, which is faster. A model
 * or a host may give a tool or a user a name that is too long for an index.
 */
export const listIndexes: readonly (readonly [table: string, name: string, definition: string])[] = [
  ['read_calls', 'read_calls_by_time', '(requested_at, position)'],
  ['read_calls', 'read_calls_by_session', '(session_id, requested_at, position)'],
  ['read_calls', 'read_calls_by_tool', `(${startOf('tool_name')}, requested_at, position)`],
  [
    'read_calls',
    'read_calls_by_outcome',
    `(outcome, requested_at, position) WHERE outcome <> 'ToolExecutionResult'`,
  ],
  ['read_calls', 'read_calls_by_code', '(code, requested_at, position) WHERE code IS NOT NULL'],
  [
    'read_calls',
    'read_calls_by_user',
    `(${startOf('user_id')}, requested_at, position) WHERE user_id IS NOT NULL`,
  ],
  ['read_calls', 'read_calls_by_rule', '(rule_id, requested_at, position) WHERE rule_id IS NOT NULL'],
  ['read_calls', 'read_calls_open', `(requested_at, position) WHERE status <> 'settled'`],
  ['read_calls', 'read_calls_unresolved', '(requested_at, position) WHERE unresolved'],
  ['read_words', 'read_words_by_word', 'USING gin (words) WITH (gin_pending_list_limit = 256)'],
];

/** What each version adds to the one before. Never edited once released. */
export const migrations: readonly string[] = [tables, documents, '', marks, words, '', parts, '', '', lists];

/** Every migration replaces the functions. One whose parameters change gets another name. */
export const functions: string = markFunctions + appendFunctions + decisionFunction + listFunctions;

/** A ledger that is upgraded from an older version has no marks yet: see `append-functions.ts`. */
export const firstFormatWithMarks = 4;
export const firstMark = `INSERT INTO marks (key, position) VALUES ('', 0)`;
