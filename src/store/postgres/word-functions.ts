/**
 * The functions that search `read_words`.
 *
 * 1. An index over all calls would have to give every call with a word before the newest of them is known. So the calls
 *    are divided into parts, by position, and every word is stored with the number of its part before it. A search goes
 *    from the newest part to the oldest, and ends when it has enough. A beginning of a word also finds the words of one
 *    part only.
 * 2. The newest calls are looked at one by one. For a frequent word this takes less than asking the index, which gives all
 *    calls of a part.
 * 3. The planner knows neither how frequent a combination of words is nor that a search ends early. It would read the
 *    whole table, or compile the statement first. The settings keep it from both.
 *
 * In `p_query`, `partMark` stands for the number of the part. Without a query, all calls match.
 */
export const partMark = '\u0001';

/** So many rows are written to a part before the next one begins. */
export const rowsPerPart = 32_768;

/** The newest calls that are looked at one by one. */
const lookedAt = 2_000;

const settings = `SET search_path FROM CURRENT
SET enable_seqscan = off SET jit = off SET max_parallel_workers_per_gather = 0 SET plan_cache_mode = force_generic_plan`;

export const wordFunctions: string = `
CREATE OR REPLACE FUNCTION has_word(p_query text) RETURNS boolean LANGUAGE plpgsql STABLE ${settings}
SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE v_part integer; v_query tsquery;
BEGIN
  FOR v_part IN SELECT p.part FROM read_parts p ORDER BY p.part DESC LOOP
    v_query := replace(p_query, chr(1), v_part::text)::tsquery;
    IF EXISTS (SELECT 1 FROM read_words w WHERE w.words @@ v_query) THEN RETURN true; END IF;
  END LOOP;
  RETURN false;
END $$;

CREATE OR REPLACE FUNCTION find_words(p_query text, p_before bigint, p_since bigint, p_until bigint, p_limit integer)
RETURNS TABLE (session_id text, call_id text) LANGUAGE plpgsql STABLE ROWS 100 ${settings} AS $$
DECLARE v_part record; v_query tsquery; v_before bigint := p_before; v_from bigint; v_left integer := p_limit; v_rows integer;
  v_look integer := ${lookedAt};
BEGIN
  FOR v_part IN SELECT * FROM (SELECT r.*, lead(r.position) OVER (ORDER BY r.part) AS until FROM read_parts r) p
      WHERE p.position < p_before AND p.last_at >= p_since AND p.first_at < p_until ORDER BY p.part DESC LOOP
    v_query := replace(p_query, chr(1), v_part.part::text)::tsquery;
    v_before := least(v_before, v_part.until);
    v_from := NULL;
    IF v_query IS NULL THEN
      v_from := v_part.position;
    ELSIF v_look > 0 THEN
      SELECT min(n.position), v_look - count(*) INTO v_from, v_look FROM (SELECT w.position FROM read_words w
        WHERE w.position < v_before AND w.position >= v_part.position ORDER BY w.position DESC LIMIT v_look) n;
    END IF;
    IF v_from IS NOT NULL THEN
      -- Without OFFSET, the planner would ask the index for the words.
      RETURN QUERY SELECT n.session_id, n.call_id FROM (SELECT w.* FROM read_words w
          WHERE w.position < v_before AND w.position >= v_from AND w.requested_at >= p_since AND w.requested_at < p_until
          ORDER BY w.position DESC OFFSET 0) n
        WHERE v_query IS NULL OR n.words @@ v_query LIMIT v_left;
      GET DIAGNOSTICS v_rows = ROW_COUNT;
      v_left := v_left - v_rows;
      v_before := v_from;
      EXIT WHEN v_left = 0;
    END IF;
    IF v_query IS NOT NULL AND v_look = 0 THEN
      -- The sum keeps the planner from reading by position.
      RETURN QUERY SELECT w.session_id, w.call_id FROM read_words w
        WHERE w.words @@ v_query AND w.position + 0 < v_before AND w.requested_at >= p_since AND w.requested_at < p_until
        ORDER BY w.position + 0 DESC LIMIT v_left;
      GET DIAGNOSTICS v_rows = ROW_COUNT;
      v_left := v_left - v_rows;
      EXIT WHEN v_left = 0;
    END IF;
  END LOOP;
END $$;
`;
