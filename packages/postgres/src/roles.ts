/**
 * Roles with as few rights as their work needs. The role that runs the migrations owns the tables; no other role can
 * alter them.
 *
 * 1. `writer` is for processes that make calls. It adds entries and can neither change nor remove one.
 * 2. `reader` is for processes and people that only look. It sees no tokens and no sealed inputs.
 * 3. `approver` is for people who decide. It looks like a reader, and adds decisions through one function.
 * 4. `keeper` is for retention and `quittance rebuild`. It may also empty and remove entries.
 */
import { quoteSchema } from './settings.ts';
import { appendFunctions } from './append-functions.ts';

type Rights = { readonly [right in 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE']?: string };

const shown =
  'ledger, sessions, entries, claims, counters, marks, unsettled, states, cursors, artifacts, owners, lanes, ' +
  'read_calls, read_confirmations, read_tallies, read_words, read_parts';
const derived = 'read_calls, read_confirmations, read_tallies, read_words, read_parts';
const searches = ['has_word', 'find_words'];
const guards = 'claims, counters, marks, sealed, unsettled, states, cursors, artifacts';

const reads: Rights = { SELECT: shown };
const writes: Rights = {
  SELECT: `${shown}, sealed, documents`,
  INSERT: `sessions, entries, ${guards}, lanes, owners, documents, ${derived}`,
  UPDATE: `sessions, ${guards}, lanes, owners, documents, ${derived}`,
  DELETE: `${guards}, lanes, owners, ${derived}`,
};

/** A script for `psql`. It can be run again, and must be after a migration that adds tables. */
export function toRolesScript(schema: string): string {
  const quoted = quoteSchema(schema);
  const names = (tables: string): string =>
    tables
      .split(', ')
      .map((table) => `${quoted}.${table}`)
      .join(', ');
  const grant = (role: string, rights: Rights): string[] =>
    Object.entries(rights).map(
      ([right, tables]) => `GRANT ${right} ON ${names(tables)} TO ${schema}_${role};`,
    );
  const roles = ['writer', 'reader', 'approver', 'keeper'];
  const all = roles.map((role) => `${schema}_${role}`).join(', ');
  return [
    `-- Quittance: roles for the ledger in the schema ${schema}. Give one to a login: GRANT ${schema}_writer TO app;`,
    'BEGIN;',
    'DO $$ BEGIN',
    ...roles.map(
      (role) =>
        `  IF to_regrole('${schema}_${role}') IS NULL THEN CREATE ROLE ${schema}_${role} NOLOGIN; END IF;`,
    ),
    'END $$;',
    `REVOKE ALL ON ALL TABLES IN SCHEMA ${quoted} FROM PUBLIC, ${all};`,
    `REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ${quoted} FROM PUBLIC, ${all};`,
    `GRANT USAGE ON SCHEMA ${quoted} TO ${all};`,
    ...searches.map((name) => `GRANT EXECUTE ON FUNCTION ${quoted}.${name} TO ${all};`),
    '',
    ...grant('writer', writes),
    `GRANT UPDATE (key_check, position_base) ON ${quoted}.ledger TO ${schema}_writer;`,
    `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${quoted} TO ${schema}_writer;`,
    '',
    ...grant('reader', reads),
    `GRANT SELECT (session_id, call_id) ON ${quoted}.sealed TO ${schema}_reader;`,
    '',
    ...grant('approver', reads),
    `GRANT SELECT (session_id, call_id) ON ${quoted}.sealed TO ${schema}_approver;`,
    `GRANT INSERT, UPDATE, DELETE ON ${quoted}.lanes TO ${schema}_approver;`,
    `GRANT EXECUTE ON FUNCTION ${quoted}.append_decisions TO ${schema}_approver;`,
    '',
    `GRANT ${schema}_writer TO ${schema}_keeper;`,
    `GRANT UPDATE (bodies, salt), DELETE ON ${quoted}.entries TO ${schema}_keeper;`,
    `GRANT DELETE ON ${quoted}.sessions TO ${schema}_keeper;`,
    'COMMIT;',
    '',
  ].join('\n');
}

/**
 * The append of a role that may only decide. The function runs with the rights of its owner and checks what it is given,
 * so the role needs no right to write tables.
 */

/** What people decide: held calls, alone or as one of several people, grants and delegations. */
const decisions = [
  'confirmation.decided',
  'confirmation.voted',
  'grant.given',
  'grant.revoked',
  'delegation.given',
  'delegation.revoked',
];
/** An edited input is sealed again. Nothing else may change with a decision. */
const extras = ['sealed', 'dropSealed', 'guards'];

const [, parameters = '', returns = ''] =
  /CREATE OR REPLACE FUNCTION append_v3\(([^)]*)\) (RETURNS TABLE \([^)]*\))/.exec(appendFunctions) ?? [];
const names = parameters.split(',').map((parameter) => parameter.trim().split(' ')[0] ?? '');

const list = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(', ');

export const decisionFunction: string = `
CREATE OR REPLACE FUNCTION append_decisions(${parameters}) ${returns}
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  -- Each entry holds at least one event, and nothing but decisions. A missing type is no decision.
  IF EXISTS (SELECT 1 FROM unnest(p_texts) t(entry)
      WHERE (jsonb_typeof(t.entry::jsonb -> 'events') = 'array' AND t.entry::jsonb -> 'events' <> '[]') IS NOT TRUE)
    OR EXISTS (SELECT 1 FROM unnest(p_texts) t(entry),
        jsonb_path_query(t.entry::jsonb, 'lax $.events[*]') e WHERE (e ->> 'type' IN (${list(decisions)})) IS NOT TRUE)
    OR EXISTS (SELECT 1 FROM unnest(p_extras) x(more), jsonb_object_keys(x.more::jsonb) k WHERE k NOT IN (${list(extras)}))
    -- The row of the call may change as by a decision: it has no outcome, and the counts of the session stay.
    OR EXISTS (SELECT 1 FROM unnest(p_listed) l(row) WHERE l.row IS NOT NULL AND (l.row::jsonb ->> 'status' IN ('held', 'approved')
      AND l.row::jsonb - ARRAY['outcome', 'reason', 'code', 'message', 'rule_id', 'settled_at'] = l.row::jsonb
      AND NOT (l.row::jsonb -> 'unresolved')::boolean) IS NOT TRUE)
    OR EXISTS (SELECT 1 FROM unnest(p_counts) k(counts) WHERE ((k.counts::bigint[])[3:] = '{0,0,0,0,0}') IS NOT TRUE)
  THEN
    RAISE EXCEPTION 'this role may only decide held calls and give grants' USING ERRCODE = '42501';
  END IF;
  RETURN QUERY SELECT * FROM append_v3(${names.join(', ')});
END $$;
REVOKE ALL ON FUNCTION append_decisions FROM PUBLIC;
`;
