/** Pages of the ledger in commit order: entries, and the audit records made from them. */
import type { ToolAuditRecord } from 'quittance/internal/call/audit';
import { projectAudit } from 'quittance/internal/call/audit-projection';
import { readStored } from 'quittance/internal/ledger/feed';
import { isKnownEvent } from 'quittance/internal/ledger/formats/v1/event-table';
import type { EntrySize } from 'quittance/internal/ledger/stored-entry';
import { isCallEvent } from 'quittance/internal/ledger/fold-stored';
import type { AuditPage, AuditQuery, FeedEntry, FeedPage } from './api/feed.ts';
import type { BoundedReads } from './bounded-reads.ts';
import type { FollowFilter } from './follow-filter.ts';
import { pick } from './follow-filter.ts';
import { lastPosition, measureEntries } from 'quittance/internal/ledger/reads';

/** How many entries one request reads. */
const entriesAtOnce = 1_000;
const readAtOnce = 50;

export type FeedSlice = { readonly after: number; readonly limit: number; readonly filter: FollowFilter };

export async function readFeedPage(
  reads: BoundedReads,
  { after, limit, filter }: FeedSlice,
): Promise<FeedPage> {
  const entries: FeedEntry[] = [];
  const large: EntrySize[] = [];
  let position = after;
  let previous = after;
  let looked = 0;
  for await (const each of readOn(reads, after, () => limit - looked)) {
    looked++;
    position = each.position;
    if ('bytes' in each) {
      large.push(each);
      continue;
    }
    const events = pick(each, filter);
    if (events.length === 0) continue;
    entries.push({ ...each, previous, events });
    previous = position;
  }
  const more = position < (await lastPosition(reads.ledger));
  return { entries, position, more, ...(large.length > 0 && { large }) };
}

/**
 * A record is computed from its call's events, so the calls of an entry are read. Each record belongs to one
 * entry.
 */
export async function readAudit(
  reads: BoundedReads,
  { after = 0, sessionId, callId, kind, limit = 100 }: AuditQuery,
): Promise<AuditPage> {
  const records: (ToolAuditRecord & { readonly position: number })[] = [];
  const calls = new Map<string, readonly ToolAuditRecord[]>();
  const large: EntrySize[] = [];
  let position = after;
  let looked = 0;
  for await (const each of readOn(reads, after, () =>
    records.length >= limit ? 0 : entriesAtOnce - looked,
  )) {
    looked++;
    position = each.position;
    if ('bytes' in each) {
      if (sessionId === undefined || sessionId === each.sessionId) large.push(each);
      continue;
    }
    const found = pick(each, { sessionId, callId }).filter(isKnownEvent);
    const refusals = found.filter((event) => event.type === 'call.not_accepted');
    if (kind === undefined || kind === 'persistence_failed')
      for (const record of projectAudit(refusals)) records.push({ ...record, position });
    const events = found.filter(isCallEvent);
    const ids = new Set(events.map(({ id }) => id));
    for (const id of new Set(events.map((event) => event.callId))) {
      const key = JSON.stringify([each.sessionId, id]);
      let made = calls.get(key);
      if (made === undefined) {
        const stored = await reads.call({ sessionId: each.sessionId, callId: id });
        if (stored === 'large') large.push({ position, sessionId: each.sessionId, bytes: 0 });
        made = stored === 'large' ? [] : projectAudit((stored?.events ?? []).filter(isCallEvent));
        calls.set(key, made);
      }
      for (const record of made)
        if (ids.has(record.recordId) && (kind === undefined || record.outcome.kind === kind))
          records.push({ ...record, position });
    }
    if (records.length >= limit) break;
  }
  const more = position < (await lastPosition(reads.ledger));
  return { records, position, more, ...(large.length > 0 && { large }) };
}

type Read = Omit<FeedEntry, 'previous'> | EntrySize;

/** Entries after a position, up to the number wanted. For an entry that is too large, only its size. */
async function* readOn(
  reads: BoundedReads,
  after: number,
  left: () => number,
): AsyncGenerator<Read, void, undefined> {
  const { ledger, limits } = reads;
  for (let position = after; left() > 0 && !reads.isSpent;) {
    const sizes = await measureEntries(ledger, { after: position, limit: Math.min(left(), readAtOnce) });
    if (sizes.length === 0) return;
    for (const size of sizes) {
      if (left() <= 0 || reads.isSpent) return;
      const from = position;
      position = size.position;
      if (size.bytes > limits.callBytes) {
        yield size;
        continue;
      }
      await reads.spend(size.bytes);
      for (const stored of await ledger.readEntries({ after: from, limit: 1 })) {
        const { depth, events } = readStored(stored);
        yield { position: stored.position, sessionId: stored.sessionId, depth, events };
      }
    }
    await reads.pause();
  }
}
