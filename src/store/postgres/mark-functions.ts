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
