import type { RelatedCall } from '@quittance/server/internal/http/api/call';
import type { TimelineCall } from '@quittance/server/internal/http/api/session';

export type CallLink = {
  readonly from: TimelineCall;
  readonly to: TimelineCall;
  readonly how: RelatedCall['how'];
};

/** Relations between the calls of a timeline, each only once even if both calls name it. */
export function linksBetween(rows: readonly TimelineCall[]): readonly CallLink[] {
  const byId = new Map(rows.map((row) => [row.call.callId, row]));
  const links = new Map<string, CallLink>();
  for (const row of rows)
    for (const { how, sessionId, callId } of row.related) {
      const other = sessionId === row.call.sessionId ? byId.get(callId) : undefined;
      if (other === undefined || other === row) continue;
      const link: CallLink =
        how === 'undone_by' ? { from: other, to: row, how: 'undoes' } : { from: row, to: other, how };
      links.set(JSON.stringify([link.from.call.callId, link.how, link.to.call.callId]), link);
    }
  return [...links.values()];
}

/** Labels of the relations between calls. */
export const relationWords: { readonly [How in RelatedCall['how']]: string } = {
  caused_by: 'caused by',
  copied_from: 'answered from',
  undone_by: 'undone by',
  undoes: 'undoes',
  duplicate_of: 'duplicate of',
  repeats: 'repeats',
};
