/** Grants, as rows of a table and as JSON. */
import type { JsonObject } from '../base/json.ts';
import { describeGivers } from '../call/describe-identity.ts';
import type { GrantView } from '../runtime/host/grant-view.ts';
import { terminalId, terminalText } from './terminal-text.ts';
import type { Column, Row } from './table.ts';
import { age } from './time-text.ts';
import { toJsonWithTimes } from './to-json.ts';

export const grantColumns: readonly Column[] = [
  { title: 'AGE', usual: 6 },
  { title: 'GRANT' },
  { title: 'TOOL', min: 10 },
  { title: 'WHERE', min: 12 },
  { title: 'ENDS' },
  { title: 'USED', align: 'right' },
  { title: 'STATUS' },
  { title: 'BY', min: 6 },
  { title: 'SESSION', min: 10, optional: 1 },
  { title: 'REASON', min: 12, optional: 2 },
];

export const shortGrant = (grantId: string): string => grantId.slice(0, 12);

export function grantRow(grant: GrantView, now: number): Row {
  const { status, until } = grant;
  return [
    age(grant.givenAt, now),
    terminalText(shortGrant(grant.grantId)),
    terminalId(grant.toolName),
    terminalText(grant.where === undefined ? 'any arguments' : JSON.stringify(grant.where)),
    until === undefined ? 'never' : now >= until ? 'over' : age(until, now),
    `${grant.used}${grant.uses === undefined ? '' : ` of ${grant.uses}`}`,
    { text: status === 'used_up' ? 'used up' : status, style: status === 'active' ? 'green' : 'dim' },
    terminalText(describeGivers(grant)),
    terminalId(grant.sessionId),
    { text: terminalText(grant.reason ?? ''), style: 'dim' },
  ];
}

export const grantToJson = (grant: GrantView): JsonObject => ({
  ...toJsonWithTimes(grant, 'until', 'givenAt'),
  ...(grant.revoked !== undefined && { revoked: toJsonWithTimes(grant.revoked, 'at') }),
});
