/**
 * The append of a role that may only decide. The function runs with the rights of its owner and checks what it is given,
 * so the role needs no right to write tables.
 */
import { appendFunctions } from './append-functions.ts';

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
  /CREATE OR REPLACE FUNCTION append_v2\(([^)]*)\) (RETURNS TABLE \([^)]*\))/.exec(appendFunctions) ?? [];
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
  THEN
    RAISE EXCEPTION 'this role may only decide held calls and give grants' USING ERRCODE = '42501';
  END IF;
  RETURN QUERY SELECT * FROM append_v2(${names.join(', ')});
END $$;
REVOKE ALL ON FUNCTION append_decisions FROM PUBLIC;
`;
