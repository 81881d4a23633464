/** Retention in the settings of the server: `retention.rules`. */
import type { JsonObject } from 'quittance/internal/base/json';
import type { RetentionRule } from 'quittance/internal/ledger/removal';
import type { Given } from '../command.ts';
import { parseSpan } from '../time-text.ts';
import { spanPattern } from './setting.ts';

export const retentionRulesSchema: JsonObject = {
  type: 'array',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['older_than'],
    properties: {
      older_than: { type: 'string', pattern: spanPattern.source },
      session: { type: 'string', minLength: 1 },
      action: { enum: ['drop', 'erase'] },
    },
  },
};

type WrittenRule = {
  readonly older_than: string;
  readonly session?: string;
  readonly action?: RetentionRule['action'];
};

/** Empty if there are no rules. */
export function readRetentionRules(given: Given): readonly RetentionRule[] {
  const text = given.text('retention-rules');
  if (text === undefined) return [];
  return (JSON.parse(text) as readonly WrittenRule[]) // the schema accepted it
    .map(({ older_than, session, action = 'drop' }) => ({
      olderThanMs: parseSpan(older_than, 'retention-rules'),
      action,
      ...(session !== undefined && { session }),
    }));
}
