/**
 * The functions that append. One call takes a whole batch: it locks, checks and writes in one round trip and one commit.
 *
 * Locks are always taken in the same order. First come keys and counters, by the hash of their name. Then follow the
 * heads of sessions by id, the lane, and the rows of counters by name. Each check is a statement of its own after the
 * lock, because a statement sees the rows as they were when it began.
 *
 * Readers that follow a key or a counter through several sessions, `verify` among them, go by position. So entries about
 * one of them must have positions in the order in which they changed it. Advisory locks give a transaction no id. With
 * these locks taken first, a transaction gets its id after all earlier changes of its keys and counters.
 *
 * A transaction may still wait for a head after it got its id. If another transaction with a later id appended to that
 * session meanwhile, our positions would come before its positions. The function then gives up with QT001, and the
 * client sends the batch again.
 *
 * Every entry that a transaction sees was written before it, so its position is below that of the next transaction. A
 * higher one was given by another server, and came with a dump or by logical replication. Readers that have passed it
 * would never see ours. The function then gives up with QT005, and the client lifts the base of positions: see
 * `positions.ts`. A client does so with each new connection too; a pooler may change the server beneath one.
 *
 * Totals of counters become part of the hashed text. A database may be set to shorten numbers (`extra_float_digits`), so
 * `append_items` sets this back.
 *
 * A plan that was made for empty tables would scan them also when they are large, until the server analyzes them. So
 * `append_v3` does not scan whole tables. Planning takes longer than appending one entry, so plans are made once. Without
 * that setting, the server makes new ones for each length of the arrays. Up to version 17, the server counts a scan that
 * is switched off as very expensive. Without `jit = off` it would compile the statement with every append: 100 ms.
 *
 * The rows of the lists are written in the same transaction: see `list-functions.ts`. A row comes from all entries of the
 * call that the client has seen. `p_seen` says how many these are, and how many of them have bodies. If the call has more, for example a remark of another process, or was erased, the item is `unseen`. The client then reads the call again.
 *
 * `p_names` are the sessions of the batch, each once. `p_new`: some of them may have no head yet; without it, a missing
 * head is QT003. `p_simple`: no item has extras, and no call appears twice. `p_tools` and `p_digests` name effects that
 * must not be unsettled. `p_quoted` are the names in `p_counters` as the entries have them. One row with the status `all`
 * says that every item was appended.
 */
import { sessionCounts, slotSql } from './list-functions.ts';

/** The counts of several entries of a session together. */
const summedCounts = ['low', 'high', ...sessionCounts];
const sumsSql = `min(c.at) AS first, min(c.k[1]) AS low, max(c.k[2]) AS high, ${sessionCounts
  .map((name, index) => `sum(c.k[${index + 3}]) AS ${name}`)
  .join(', ')}`;
/** The counts of one entry, as an array. */
const givenCounts = summedCounts.map((_, index) => `k[${index + 1}]`);

export const appendFunctions: string = `
CREATE OR REPLACE FUNCTION chain_step(state text, head text, n bigint, t text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN encode(sha256(convert_to(coalesce(state, head) || E'\\n' || n || E'\\n' || t, 'UTF8')), 'hex');
CREATE OR REPLACE AGGREGATE chain(text, bigint, text) (SFUNC = chain_step, STYPE = text);

CREATE OR REPLACE FUNCTION lock_heads(p_names text[], p_genesis text[], p_new boolean, OUT first bigint, OUT has_doubts boolean)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE v_found bigint; v_last bigint; v_lane bigint; v_end bigint;
BEGIN
  ${toLockSql('first', 'has_doubts', '1')}
END $$;

CREATE OR REPLACE FUNCTION append_items(
  p_first bigint, p_slot integer, p_sessions text[], p_calls text[], p_expected integer[], p_seen text[], p_texts text[],
  p_bodies text[], p_salts text[], p_tools text[], p_digests text[], p_extras text[], p_listed text[], p_counts text[]
) RETURNS TABLE (ord integer, status text, version integer, detail text, at bigint) LANGUAGE plpgsql SET search_path FROM CURRENT
SET extra_float_digits = 1 AS $$
DECLARE
  i integer; p integer; x jsonb; e jsonb; v_had integer; v_text text; v_name text; v_sum jsonb; v_taken double precision;
  v_names text[]; v_sequences bigint[]; v_hashes text[]; v_positions bigint[]; v_doubts text[]; v_row record; v_totals text;
  v_listed text[] := array_fill(NULL::text, ARRAY[cardinality(p_sessions)]);
  v_counts text[] := array_fill(NULL::text, ARRAY[cardinality(p_sessions)]);
BEGIN
  SELECT array_agg(h.session_id), array_agg(h.sequence), array_agg(h.hash), array_agg(h.position), array_agg(h.doubts)
    INTO v_names, v_sequences, v_hashes, v_positions, v_doubts
    FROM sessions h WHERE h.session_id = ANY (p_sessions);
  PERFORM damaged('the rows of the table "unsettled" of the session ' || n || ' do not agree with its entries')
    FROM unnest(v_names, v_doubts) y(n, d) WHERE y.d IS DISTINCT FROM doubts_of(y.n);
  <<items>>
  FOR i IN 1 .. cardinality(p_sessions) LOOP
    ord := i; status := 'appended'; version := 0; detail := NULL; at := p_first + i - 1;
    p := array_position(v_names, p_sessions[i]);
    x := p_extras[i]::jsonb;
    v_had := 0;
    IF p_calls[i] IS NOT NULL THEN
      SELECT coalesce(max(n.version), 0) INTO v_had FROM entries n
        WHERE n.session_id = p_sessions[i] AND n.call_id = p_calls[i] AND n.version IS NOT NULL;
      IF (p_expected[i] < 0 AND v_had = 0) OR (p_expected[i] >= 0 AND v_had <> p_expected[i]) THEN
        status := 'conflict'; version := v_had; RETURN NEXT; CONTINUE items;
      END IF;
      IF p_seen[i] <> (SELECT count(*) || ' ' || count(n.bodies) FROM entries n
          WHERE n.session_id = p_sessions[i] AND n.call_id = p_calls[i]) THEN
        status := 'unseen'; RETURN NEXT; CONTINUE items;
      END IF;
    END IF;
    IF p_tools[i] IS NOT NULL AND EXISTS (SELECT 1 FROM unsettled u
        WHERE u.session_id = p_sessions[i] AND u.tool = p_tools[i] AND u.digest = p_digests[i]) THEN
      status := 'unsettled'; RETURN NEXT; CONTINUE items;
    END IF;
    v_text := p_texts[i];
    IF x IS NOT NULL THEN
      FOR e IN SELECT * FROM jsonb_array_elements(x -> 'guesses') LOOP
        IF EXISTS (SELECT 1 FROM unsettled u WHERE u.session_id = p_sessions[i] AND u.tool = e ->> 'tool'
            AND u.digest = e ->> 'digest') THEN
          status := 'unsettled'; RETURN NEXT; CONTINUE items;
        END IF;
      END LOOP;
      IF x ? 'claim' THEN
        SELECT m.session_id, m.call_id, m.text, NULL AS digest INTO v_row FROM marked('claim ' || (x -> 'claim' ->> 'key')) m;
        IF v_row.text IS NULL THEN
          SELECT c.session_id, c.call_id, NULL AS text, c.digest INTO v_row FROM claims c WHERE c.key = x -> 'claim' ->> 'key';
        ELSIF strpos(v_row.text, ',"claim":{"key":' || (x -> 'claim' ->> 'quoted') || ',') = 0 THEN
          PERFORM damaged('the mark of a key points to another entry');
        END IF;
        IF v_row.call_id IS NOT NULL AND NOT (v_row.session_id IS NOT DISTINCT FROM x -> 'claim' ->> 'overSession'
            AND v_row.call_id IS NOT DISTINCT FROM x -> 'claim' ->> 'overCall') THEN
          status := 'claimed';
          detail := jsonb_build_object('session', v_row.session_id, 'call', v_row.call_id, 'digest', v_row.digest, 'entry', v_row.text);
          RETURN NEXT; CONTINUE items;
        END IF;
      END IF;
      v_sum := '{}';
      FOR e IN SELECT * FROM jsonb_array_elements(x -> 'reserve') LOOP
        v_name := e ->> 'name';
        SELECT coalesce((SELECT c.used + c.reserved FROM counters c WHERE c.name = v_name), 0)
          + coalesce((v_sum ->> v_name)::double precision, 0) INTO v_taken;
        IF v_taken + (e ->> 'amount')::double precision > (e ->> 'limit')::double precision THEN
          status := 'exhausted'; detail := jsonb_build_object('counter', v_name, 'used', v_taken);
          RETURN NEXT; CONTINUE items;
        END IF;
        v_sum := v_sum || jsonb_build_object(v_name,
          coalesce((v_sum ->> v_name)::double precision, 0) + (e ->> 'amount')::double precision);
      END LOOP;
      FOR e IN SELECT * FROM jsonb_array_elements(coalesce(x -> 'moves', '[]') || coalesce(x -> 'guards', '[]')) LOOP
        SELECT coalesce((SELECT s.version FROM states s
          WHERE s.session_id = p_sessions[i] AND s.subject = e ->> 'subject'), 0) INTO version;
        PERFORM check_state(p_sessions[i], e ->> 'subject', e ->> 'quoted', version);
        IF version <> (e ->> 'version')::integer THEN
          status := 'moved'; detail := e ->> 'subject'; RETURN NEXT; CONTINUE items;
        END IF;
      END LOOP;
      IF x ? 'cursor' THEN
        SELECT c.holder, c.position INTO v_row FROM cursors c WHERE c.name = x -> 'cursor' ->> 'name' FOR UPDATE;
        IF NOT FOUND OR v_row.holder IS DISTINCT FROM x -> 'cursor' ->> 'holder'
            OR v_row.position <> (x -> 'cursor' ->> 'from')::bigint THEN
          status := 'displaced';
          detail := jsonb_build_object('holder', v_row.holder, 'position', coalesce(v_row.position, 0));
          RETURN NEXT; CONTINUE items;
        END IF;
        UPDATE cursors c SET position = (x -> 'cursor' ->> 'to')::bigint WHERE c.name = x -> 'cursor' ->> 'name';
      END IF;
      IF x ? 'reserve' OR x ? 'settle' THEN
        v_totals := '';
        FOR e IN SELECT * FROM jsonb_array_elements(coalesce(x -> 'reserve', '[]') || coalesce(x -> 'settle', '[]')) LOOP
          IF e ? 'amount' THEN
            UPDATE counters c SET reserved = c.reserved + (e ->> 'amount')::double precision WHERE c.name = e ->> 'name';
          ELSE
            UPDATE counters c SET reserved = c.reserved - (e ->> 'reserved')::double precision,
                used = CASE WHEN e ? 'reset' THEN 0 ELSE c.used END + (e ->> 'used')::double precision
              WHERE c.name = e ->> 'name';
          END IF;
        END LOOP;
        FOR v_row IN
          SELECT c.name, c.used, c.reserved, min(n.value ->> 'quoted') AS quoted
          FROM jsonb_array_elements(coalesce(x -> 'reserve', '[]') || coalesce(x -> 'settle', '[]'))
            WITH ORDINALITY n(value, o)
          JOIN counters c ON c.name = n.value ->> 'name' GROUP BY c.name, c.used, c.reserved ORDER BY min(n.o)
        LOOP
          v_totals := v_totals || CASE WHEN v_totals = '' THEN '' ELSE ',' END || '{"counter":' || v_row.quoted
            || ',"used":' || v_row.used || ',"reserved":' || v_row.reserved || '}';
          UPDATE counters c SET position = at WHERE c.name = v_row.name;
        END LOOP;
        v_text := overlay(v_text PLACING ',"totals":[' || v_totals || ']' FROM position(',"bodies":' IN v_text) FOR 0);
      END IF;
      FOR e IN SELECT * FROM jsonb_array_elements(x -> 'moves') LOOP
        INSERT INTO states AS s (session_id, subject, version, text)
          VALUES (p_sessions[i], e ->> 'subject', (e ->> 'version')::integer + 1, e ->> 'state')
          ON CONFLICT (session_id, subject) DO UPDATE SET version = excluded.version, text = excluded.text;
        PERFORM put_mark(state_mark(p_sessions[i], e ->> 'subject'), at);
      END LOOP;
      IF x ? 'release' THEN
        DELETE FROM claims c WHERE c.key = x ->> 'release';
        DELETE FROM marks m WHERE m.key = 'claim ' || (x ->> 'release');
      END IF;
      IF x ? 'claim' THEN
        INSERT INTO claims (key, session_id, call_id, digest)
          VALUES (x -> 'claim' ->> 'key', p_sessions[i], p_calls[i], x -> 'claim' ->> 'digest')
          ON CONFLICT (key) DO UPDATE SET session_id = excluded.session_id, call_id = excluded.call_id, digest = excluded.digest;
        PERFORM put_mark('claim ' || (x -> 'claim' ->> 'key'), at);
      END IF;
      IF x ? 'sealed' THEN
        INSERT INTO sealed (session_id, call_id, text) VALUES (p_sessions[i], p_calls[i], x ->> 'sealed')
          ON CONFLICT (session_id, call_id) DO UPDATE SET text = excluded.text;
      END IF;
      IF x ? 'dropSealed' THEN
        DELETE FROM sealed s WHERE s.session_id = p_sessions[i] AND s.call_id = p_calls[i];
      END IF;
      IF x ? 'doubt' THEN
        INSERT INTO unsettled (session_id, tool, digest, call_id, position)
          VALUES (p_sessions[i], x -> 'doubt' ->> 'tool', x -> 'doubt' ->> 'digest', p_calls[i], at)
          ON CONFLICT (session_id, call_id) DO UPDATE SET tool = excluded.tool, digest = excluded.digest, position = excluded.position;
      END IF;
      IF x ? 'clears' THEN
        DELETE FROM unsettled u WHERE u.session_id = p_sessions[i] AND u.call_id = p_calls[i];
      END IF;
      IF x ? 'doubt' OR x ? 'clears' THEN v_doubts[p] := doubts_of(p_sessions[i]); END IF;
    END IF;
    v_sequences[p] := v_sequences[p] + 1;
    v_hashes[p] := chain_step(NULL, v_hashes[p], v_sequences[p], v_text);
    v_positions[p] := at;
    version := CASE WHEN p_calls[i] IS NULL THEN 0 WHEN p_expected[i] < 0 THEN v_had ELSE v_had + 1 END;
    INSERT INTO entries (position, session_id, sequence, call_id, version, text, bodies, salt, hash)
      VALUES (at, p_sessions[i], v_sequences[p], p_calls[i],
        CASE WHEN p_calls[i] IS NULL OR p_expected[i] < 0 THEN NULL ELSE version END,
        v_text, p_bodies[i], p_salts[i], v_hashes[p]);
    v_listed[i] := p_listed[i];
    v_counts[i] := coalesce(p_counts[i], '{NULL,NULL,0,0,0,0,0}');
    RETURN NEXT;
  END LOOP;
  UPDATE sessions h SET sequence = y.n, hash = y.h, position = y.at, doubts = y.d, ${toCountSql('k', 'k.first')}
    FROM unnest(v_names, v_sequences, v_hashes, v_positions, v_doubts) y(s, n, h, at, d)
      JOIN (SELECT c.s, ${sumsSql} FROM (SELECT i.s, p_first + i.o - 1 AS at, i.k::bigint[] AS k
        FROM unnest(p_sessions, v_counts) WITH ORDINALITY i(s, k, o) WHERE i.k IS NOT NULL OFFSET 0) c GROUP BY c.s) k ON k.s = y.s
    WHERE h.session_id = y.s AND h.sequence <> y.n;
  PERFORM put_lists(p_first, p_slot, p_sessions, p_calls, v_listed, v_counts);
END $$;

CREATE OR REPLACE FUNCTION append_v3(
  p_lane text, p_epoch bigint, p_names text[], p_genesis text[], p_new boolean, p_simple boolean, p_sessions text[],
  p_calls text[], p_expected integer[], p_seen text[], p_texts text[], p_bodies text[], p_salts text[], p_tools text[],
  p_digests text[], p_extras text[], p_listed text[], p_counts text[], p_counters text[], p_quoted text[], p_keys text[]
) RETURNS TABLE (ord integer, status text, version integer, detail text, at bigint) LANGUAGE plpgsql SET search_path FROM CURRENT
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE v_found bigint; v_last bigint; v_lane bigint; v_end bigint; v_first bigint; v_doubts boolean; v_fine boolean;
  v_slot integer := ${slotSql('p_lane')};
BEGIN
  IF cardinality(p_counters) + cardinality(p_keys) > 0 THEN
    PERFORM pg_advisory_xact_lock(k) FROM (
      SELECT hashtextextended(n, 5498) AS k FROM unnest(p_keys) n
      UNION SELECT hashtextextended(n, 5499) FROM unnest(p_counters) n ORDER BY 1) shared;
  END IF;
  ${toLockSql('v_first', 'v_doubts', `(SELECT count(*) FROM (SELECT 1 FROM lanes k WHERE k.lane_id = p_lane AND k.epoch = p_epoch FOR SHARE) k)`)}
  IF p_simple AND NOT v_doubts THEN
    SELECT bool_and((y.c IS NULL OR y.w || ' ' || y.seen IS NOT DISTINCT FROM (
          SELECT coalesce(max(n.version), 0) || ' ' || count(*) || ' ' || count(n.bodies) FROM entries n
            WHERE n.session_id = y.s AND n.call_id = y.c))
        AND (y.tool IS NULL OR NOT EXISTS (SELECT 1 FROM unsettled u
          WHERE u.session_id = y.s AND u.tool = y.tool AND u.digest = y.digest))) INTO v_fine
      FROM unnest(p_sessions, p_calls, p_expected, p_seen, p_tools, p_digests) y(s, c, w, seen, tool, digest);
  ELSE
    v_fine := false;
    IF cardinality(p_counters) > 0 THEN
      INSERT INTO counters AS c (name, used, reserved) SELECT DISTINCT n COLLATE "C", 0, 0 FROM unnest(p_counters) n ORDER BY 1
        ON CONFLICT (name) DO UPDATE SET used = c.used;
      IF EXISTS (SELECT 1 FROM counters c WHERE c.name = ANY (p_counters) AND c.position >= v_first) THEN
        RAISE EXCEPTION 'a later transaction was first' USING ERRCODE = 'QT001';
      END IF;
      PERFORM check_counter(x.name, x.quoted) FROM (SELECT DISTINCT n.name, n.quoted FROM unnest(p_counters, p_quoted) n(name, quoted)) x;
    END IF;
  END IF;
  IF NOT v_fine THEN
    RETURN QUERY SELECT * FROM append_items(v_first, v_slot, p_sessions, p_calls, p_expected, p_seen, p_texts, p_bodies,
      p_salts, p_tools, p_digests, p_extras, p_listed, p_counts);
    PERFORM put_mark('counter ' || c.name, c.position) FROM counters c WHERE c.name = ANY (p_counters) AND c.position >= v_first;
    RETURN;
  END IF;
  IF cardinality(p_names) = cardinality(p_sessions) THEN
    WITH moved AS (
      UPDATE sessions h SET sequence = h.sequence + 1, position = v_first + y.o - 1,
          hash = encode(sha256(convert_to(h.hash || E'\\n' || (h.sequence + 1) || E'\\n' || y.t, 'UTF8')), 'hex'),
          ${toCountSql('y', 'v_first + y.o - 1', givenCounts)}
        FROM (SELECT z.*, z.counts::bigint[] AS k FROM unnest(p_sessions, p_calls, p_expected, p_texts, p_bodies, p_salts, p_counts)
          WITH ORDINALITY z(s, c, w, t, b, salt, counts, o) OFFSET 0) y
        WHERE h.session_id = y.s
        RETURNING y.s, h.sequence AS n, y.c, y.w + 1 AS v, y.t, y.b, y.salt, h.hash AS h, y.o)
    INSERT INTO entries (position, session_id, sequence, call_id, version, text, bodies, salt, hash)
      SELECT v_first + m.o - 1, m.s, m.n, m.c, m.v, m.t, m.b, m.salt, m.h FROM moved m;
  ELSE
    WITH item AS (
      SELECT y.*, y.counts::bigint[] AS k, v_first + y.o - 1 AS at, h.hash AS head,
          h.sequence + row_number() OVER (PARTITION BY y.s ORDER BY y.o) AS n
        FROM unnest(p_sessions, p_calls, p_expected, p_texts, p_bodies, p_salts, p_counts)
          WITH ORDINALITY y(s, c, w, t, b, salt, counts, o) JOIN sessions h ON h.session_id = y.s),
      linked AS MATERIALIZED (SELECT i.*, chain(i.head, i.n, i.t) OVER (PARTITION BY i.s ORDER BY i.n) AS h FROM item i),
      moved AS (UPDATE sessions h SET sequence = l.n, hash = l.h, position = l.at, ${toCountSql('k', 'k.first')}
        FROM (SELECT DISTINCT ON (e.s) e.s, e.n, e.h, e.at FROM linked e ORDER BY e.s, e.n DESC) l
          JOIN (SELECT c.s, ${sumsSql} FROM linked c GROUP BY c.s) k ON k.s = l.s WHERE h.session_id = l.s)
    INSERT INTO entries (position, session_id, sequence, call_id, version, text, bodies, salt, hash)
      SELECT l.at, l.s, l.n, l.c, l.w + 1, l.t, l.b, l.salt, l.h FROM linked l;
  END IF;
  PERFORM put_lists(v_first, v_slot, p_sessions, p_calls, p_listed, p_counts);
  ord := 0; status := 'all'; version := 0; at := v_first;
  RETURN NEXT;
END $$;
`;

/** Adds the counts of entries to the head `h` of their session. `first`: the position of the first of these entries. */
function toCountSql(from: string, first: string, names: readonly string[] = summedCounts): string {
  const [low, high, ...counts] = names.map((name) => `${from}.${name}`);
  return [
    `first_position = coalesce(h.first_position, ${first})`,
    `first_at = least(h.first_at, ${low})`,
    `last_at = greatest(h.last_at, ${high})`,
    ...sessionCounts.map((name, index) => `${name} = h.${name} + ${counts[index]}`),
  ].join(', ');
}

/** Locks the heads, then the lane. Both in one statement: each statement costs a single append more than its work. */
function toLockSql(first: string, doubts: string, lane: string): string {
  return `IF p_new THEN
    INSERT INTO sessions AS h (session_id, sequence, hash, position)
      SELECT x.s, 0, x.g, 0 FROM unnest(p_names, p_genesis) x(s, g) ORDER BY x.s COLLATE "C"
      ON CONFLICT (session_id) DO UPDATE SET sequence = h.sequence;
  END IF;
  SELECT count(*), max(l.position), min(l.base), bool_or(l.doubts IS NOT NULL), ${lane},
      (SELECT e.position FROM entries e ORDER BY e.position DESC LIMIT 1)
    INTO v_found, v_last, ${first}, ${doubts}, v_lane, v_end FROM (
    SELECT h.position, h.doubts, (SELECT position_base FROM ledger WHERE one) AS base FROM sessions h
      WHERE h.session_id = ANY (p_names) ORDER BY h.session_id FOR UPDATE) l;
  IF v_lane = 0 THEN RAISE EXCEPTION 'another connection took over' USING ERRCODE = 'QT002'; END IF;
  IF v_found < cardinality(p_names) THEN RAISE EXCEPTION 'a session is new' USING ERRCODE = 'QT003'; END IF;
  ${first} := (${first} + pg_current_xact_id()::text::bigint) * 1024;
  IF v_end >= ${first} AND v_end >= ${first} + (pg_snapshot_xmax(pg_current_snapshot())::text::bigint - pg_current_xact_id()::text::bigint) * 1024 THEN
    RAISE EXCEPTION 'the positions were given by another server' USING ERRCODE = 'QT005';
  END IF;
  IF v_last >= ${first} THEN RAISE EXCEPTION 'a later transaction was first' USING ERRCODE = 'QT001'; END IF;`;
}

/**
 * Marks: for each claim, counter and state, the position of the last entry about it. A person who can write to the
 * tables can change a row of `claims`, `counters` or `states`, but the entry is part of a hash chain. So the mark finds
 * the entry, and the entry decides. A row that does not agree with it is QT004, and nothing is appended.
 *
 * 1. A mark changes in the transaction of the entry that it points to.
 * 2. The first mark has an empty key. If it is missing, the table was emptied.
 * 3. The texts of entries are JSON, in which quotes inside a string are escaped. So a text that contains a quoted name
 *    after the name of a member has that member.
 * 4. Rows of `unsettled` have no marks. The head of their session has a digest of them instead: it is read anyway.
 */
export const markFunctions = `
CREATE OR REPLACE FUNCTION damaged(p_what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', p_what USING ERRCODE = 'QT004';
END $$;

CREATE OR REPLACE FUNCTION state_mark(p_session text, p_subject text) RETURNS text LANGUAGE sql IMMUTABLE
  RETURN 'state ' || length(p_session) || ':' || p_session || p_subject;

CREATE OR REPLACE FUNCTION marked(p_key text, OUT session_id text, OUT call_id text, OUT text text)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE v_at bigint;
BEGIN
  SELECT m.position, e.session_id, e.call_id, e.text INTO v_at, session_id, call_id, text
    FROM marks m LEFT JOIN entries e ON e.position = m.position WHERE m.key = p_key;
  IF NOT FOUND THEN
    PERFORM 1 FROM marks m WHERE m.key = '';
    IF NOT FOUND THEN PERFORM damaged('the table "marks" was emptied'); END IF;
  ELSIF text IS NULL THEN
    PERFORM damaged('a row of the table "marks" points to an entry that is missing');
  END IF;
END $$;

CREATE OR REPLACE FUNCTION put_mark(p_key text, p_at bigint) RETURNS void LANGUAGE sql SET search_path FROM CURRENT AS $$
  INSERT INTO marks (key, position) VALUES (p_key, p_at) ON CONFLICT (key) DO UPDATE SET position = excluded.position
$$;

CREATE OR REPLACE FUNCTION check_counter(p_name text, p_quoted text) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE v_used double precision; v_reserved double precision; v_entry record; v_rest text; v_total text := '{"counter":' || p_quoted || ',"used":';
BEGIN
  SELECT c.used, c.reserved INTO v_used, v_reserved FROM counters c WHERE c.name = p_name;
  SELECT * INTO v_entry FROM marked('counter ' || p_name);
  IF v_entry.text IS NULL THEN
    IF v_used <> 0 OR v_reserved <> 0 THEN PERFORM damaged('no entry states the total of the counter ' || p_quoted); END IF;
    RETURN;
  END IF;
  IF strpos(v_entry.text, v_total) = 0 THEN PERFORM damaged('the mark of the counter ' || p_quoted || ' points to another entry'); END IF;
  v_rest := substr(v_entry.text, strpos(v_entry.text, v_total) + length(v_total), 100);
  IF split_part(v_rest, ',', 1)::double precision <> v_used
      OR split_part(split_part(v_rest, ',"reserved":', 2), '}', 1)::double precision <> v_reserved THEN
    PERFORM damaged('the row of the counter ' || p_quoted || ' does not agree with its last entry');
  END IF;
END $$;

CREATE OR REPLACE FUNCTION check_state(p_session text, p_subject text, p_quoted text, p_version integer) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE v_entry record;
BEGIN
  SELECT * INTO v_entry FROM marked(state_mark(p_session, p_subject));
  IF (v_entry.text IS NULL AND p_version <> 0)
      OR strpos(v_entry.text, '{"subject":' || p_quoted || ',"version":' || (p_version - 1) || '}') = 0 THEN
    PERFORM damaged('the row of the state ' || p_quoted || ' does not agree with its last entry');
  END IF;
END $$;

CREATE OR REPLACE FUNCTION doubts_of(p_session text) RETURNS text LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT md5(string_agg(format('%L %L %L', u.call_id, u.tool, u.digest), ' ' ORDER BY u.call_id))
    FROM unsettled u WHERE u.session_id = p_session
$$;
`;
