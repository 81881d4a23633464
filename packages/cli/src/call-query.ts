/** The options that select calls, and the query made from them. */
import type { CallStatus } from 'quittance/internal/call/call';
import type { CallQuery } from 'quittance/internal/ledger/call-query';
import { errorsAmong } from 'quittance/internal/ledger/call-query';
import { isToolMode, toolModeTreatments } from 'quittance/internal/tool/mode';
import type { Given, Options } from './command.ts';
import { outcomeChoices, outcomeQuery } from './outcome-query.ts';
import { parseMoment } from './time-text.ts';

const statuses = {
  requested: true,
  held: true,
  approved: true,
  running: true,
  settled: true,
} as const satisfies { readonly [Status in CallStatus]: true };

const isStatus = (word: string | undefined): word is CallStatus =>
  word !== undefined && Object.hasOwn(statuses, word);

export const filterOptions: Options = {
  session: { value: 'ID', help: 'Only calls of this session' },
  tool: { value: 'NAME', help: 'Only calls of this tool' },
  status: { value: 'WORD', help: 'Only calls with this status', choices: Object.keys(statuses) },
  outcome: { value: 'WORD', help: 'Only calls with this outcome', choices: outcomeChoices },
  code: { value: 'CODE', help: 'Only calls with this reason code, e.g. tool.timeout' },
  rule: { value: 'ID', help: 'Only calls that this rule denied' },
  principal: { value: 'ID', help: 'Only calls made for this user' },
  errors: { help: 'Only calls that failed or timed out' },
  mode: {
    value: 'WORD',
    help: 'Only calls of tools with this mode',
    choices: Object.keys(toolModeTreatments),
  },
  since: {
    value: 'TIME',
    help: 'Only calls requested since this time: 15m, 7d, 2026-10-12, 2026-10-12T14:00',
  },
  until: { value: 'TIME', help: 'Only calls requested before this time' },
  text: {
    value: 'TEXT',
    help: 'Only calls with these words in ids, user, message, arguments or output, or with arguments such as args.cents>1000',
  },
  unresolved: { help: 'Only calls whose effect is unknown and not resolved yet' },
};

/** Options of paged lists. */
export const pagingOptions: Options = {
  limit: { value: 'N', help: 'Maximum number of rows; default: 50' },
  all: { help: 'List all rows' },
  cursor: { value: 'CURSOR', help: 'Continue a previous list from its cursor' },
};

export function toCallQuery(given: Given, now: number): CallQuery {
  const [status, mode] = [given.text('status'), given.text('mode')];
  const ended = outcomeQuery(given.text('outcome'));
  return {
    sessionId: given.text('session'),
    toolName: given.text('tool'),
    status: isStatus(status) ? status : undefined,
    mode: isToolMode(mode) ? mode : undefined,
    outcome: given.has('errors') ? errorsAmong(ended) : ended.outcome,
    code: given.text('code') ?? ended.code,
    ruleId: given.text('rule'),
    userId: given.text('principal'),
    text: given.text('text'),
    unresolved: given.has('unresolved') ? true : undefined,
    ...timesOf(given, now),
  };
}

/** The time range, as typed. */
export function timesOf(given: Given, now: number): Pick<CallQuery, 'since' | 'until'> {
  const at = (name: string): number | undefined => {
    const text = given.text(name);
    return text === undefined ? undefined : parseMoment(text, name, now);
  };
  return { since: at('since'), until: at('until') };
}
