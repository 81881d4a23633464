/** The record of a request that was not accepted. */
import type { JsonObject } from '../base/json.ts';
import { projectAudit } from '../call/audit-projection.ts';
import type { CallNotAccepted } from '../call/event.ts';
import { persistenceBoundaries } from '../call/persistence-boundary.ts';
import type { PageLayout } from './page-layout.ts';
import { labelled, paragraph } from './page-layout.ts';
import { terminalId } from './terminal-text.ts';
import { localTimeText } from './time-text.ts';
import { toJsonWithTimes } from './to-json.ts';

export const refusalPage = (refusals: readonly CallNotAccepted[], page: PageLayout): string[] =>
  refusals.flatMap((refusal, index) => [
    ...(index === 0 ? [] : ['']),
    page.paint('bold', `${terminalId(refusal.refusedCallId)}  not accepted`),
    ...labelled('session', terminalId(refusal.sessionId), page),
    ...labelled('turn', terminalId(refusal.turnId), page),
    ...labelled('tool', terminalId(refusal.toolName), page),
    ...labelled('mode', `${refusal.mode}, ${refusal.modeOrigin}`, page),
    ...labelled('asked', localTimeText(refusal.failedAt), page),
    ...labelled('recorded', localTimeText(refusal.at), page),
    ...labelled('boundary', `${refusal.boundary}. ${persistenceBoundaries[refusal.boundary] ?? ''}`, page),
    ...labelled('error', refusal.error, page),
    ...paragraph(
      'The ledger could not store this call, so the runtime did not accept it. Nothing ran. The same id can be used again.',
      page,
    ),
  ]);

export const refusalsToJson = (refusals: readonly CallNotAccepted[]): JsonObject => ({
  status: 'not_accepted',
  audit: projectAudit(refusals).map((record) => toJsonWithTimes(record, 'at')),
});
