/** What is on record about a call that was not accepted. */
import type { JsonObject } from '../base/json.ts';
import { auditRecordToWire } from '../call/audit-wire.ts';
import { projectAudit } from '../call/audit-projection.ts';
import type { CallNotAccepted } from '../call/event.ts';
import { persistenceBoundaries } from '../call/persistence-boundary.ts';
import type { Page } from './page-layout.ts';
import { labelled, paragraph } from './page-layout.ts';
import { safeId } from './safe-text.ts';
import { localTime, utcTime } from './time-text.ts';

export const refusalPage = (refusals: readonly CallNotAccepted[], page: Page): string[] =>
  refusals.flatMap((refusal, index) => [
    ...(index === 0 ? [] : ['']),
    page.paint('bold', `${safeId(refusal.refusedCallId)}  not accepted`),
    ...labelled('session', safeId(refusal.sessionId), page),
    ...labelled('turn', safeId(refusal.turnId), page),
    ...labelled('tool', safeId(refusal.toolName), page),
    ...labelled('mode', `${refusal.mode}, ${refusal.modeOrigin}`, page),
    ...labelled('asked', localTime(refusal.failedAt), page),
    ...labelled('recorded', localTime(refusal.at), page),
    ...labelled('boundary', `${refusal.boundary}. ${persistenceBoundaries[refusal.boundary] ?? ''}`, page),
    ...labelled('error', refusal.error, page),
    ...paragraph(
      'The ledger could not store this call, so the runtime did not accept it. Nothing ran. The same id may be asked for again.',
      page,
    ),
  ]);

export const refusalsToJson = (refusals: readonly CallNotAccepted[]): JsonObject => ({
  status: 'not_accepted',
  records: projectAudit(refusals).map((record) => ({ ...auditRecordToWire(record), at: utcTime(record.at) })),
});
