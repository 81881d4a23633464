import type { ToolAuditRecord } from '../../call/audit.ts';
import { projectAudit } from '../../call/audit-projection.ts';
import type { AuditKind } from '../../call/audit.ts';
import { isKnownEvent } from '../../ledger/formats/v1/event-table.ts';
import { isCallEvent } from '../../runtime/fold-stored.ts';
import type { AuditPage, FeedEntry, FeedPage } from '../api/feed.ts';
import { auditKindShape, eventShape } from '../call-shapes.ts';
import type { FollowFilter } from '../followers.ts';
import { pick } from '../followers.ts';
import { withTag } from '../known-tag.ts';
import { HttpRefusal } from '../problem.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import type { Service } from '../service.ts';
import type { Shape } from '../shape.ts';
import { flag, integer, list, maybe, object, open, text } from '../shape.ts';

type FeedQuery = {
  readonly after?: string;
  readonly sessionId?: string;
  readonly callId?: string;
  readonly type?: string;
  readonly limit?: number;
};

const entryShape: Shape<FeedEntry> = object<FeedEntry>(
  { position: integer(), previous: integer(), sessionId: text(), depth: integer(), events: list(eventShape) },
  'FeedEntry',
);

const pageShape: Shape<FeedPage> = object<FeedPage>(
  { entries: list(entryShape), position: integer(), more: flag() },
  'FeedPage',
);

/** How many entries one request looks at. */
const entriesAtOnce = 1_000;

export const feedRoutes: readonly Route[] = [
  defineRoute<'/v1/events', FeedQuery>({
    method: 'GET',
    path: '/v1/events',
    access: 'viewer',
    summary:
      'Follows the ledger as server-sent events, from `after` or Last-Event-ID on; with Accept: application/json gives a page.',
    query: {
      after: maybe(
        text({ pattern: '^(now|[0-9]{1,15})$', description: 'A position, or `now`. 0 by default.' }),
      ),
      sessionId: maybe(text()),
      callId: maybe(text()),
      type: maybe(text({ description: 'A type of event, or the beginning of some that ends in a dot.' })),
      limit: maybe(integer({ minimum: 1, maximum: entriesAtOnce })),
    },
    headers: { 'Last-Event-ID': 'The position seen last; counts more than `after`.' },
    answer: { mediaType: 'text/event-stream', message: entryShape, json: pageShape },
    async handle({ service, query, headers, actor, cut }) {
      const { after: given, limit = 100, ...filter } = query;
      const resumed = headers.get('last-event-id');
      const wanted = resumed !== null && /^[0-9]{1,15}$/.test(resumed) ? resumed : (given ?? '0');
      const lastPosition = await service.ledger.lastPosition();
      const after = wanted === 'now' ? lastPosition : Number(wanted);
      if (after > lastPosition) throw notYet(lastPosition, 'after=0 or after=now');
      if (headers.get('accept')?.startsWith('application/json') === true)
        return withTag(
          JSON.stringify(await readFeed(service, after, limit, filter)),
          'application/json; charset=utf-8',
          headers,
        );
      if (service.followers.isFull)
        throw new HttpRefusal(
          'http.too_many_requests',
          'As many connections follow the ledger as this server takes. Try again later, or read pages with Accept: application/json.',
          {},
          { 'retry-after': '5' },
        );
      const pass = { isGood: () => service.access.isStillIn('GET', headers), expiresAt: actor.expiresAt };
      const from = wanted === 'now' ? 'now' : 'position';
      return new Response(service.followers.follow(after, filter, pass, cut, from), {
        headers: {
          'content-type': 'text/event-stream; charset=utf-8',
          'cache-control': 'no-store',
          'x-accel-buffering': 'no',
        },
      });
    },
  }),
  defineRoute<'/v1/audit', AuditQuery, undefined, AuditPage>({
    method: 'GET',
    path: '/v1/audit',
    access: 'viewer',
    summary: 'Lists audit records in commit order, from a position on.',
    query: {
      after: maybe(integer({ minimum: 0 })),
      sessionId: maybe(text()),
      callId: maybe(text()),
      kind: maybe(auditKindShape),
      limit: maybe(integer({ minimum: 1, maximum: entriesAtOnce })),
    },
    answer: object<AuditPage>(
      {
        records: list(
          open<ToolAuditRecord & { readonly position: number }>(
            'PlacedAuditRecord',
            'An audit record and where it stands in the ledger.',
            { recordId: text(), sessionId: text(), callId: text(), position: integer() },
          ),
        ),
        position: integer(),
        more: flag(),
      },
      'AuditPage',
    ),
    async handle({ service, query }) {
      const lastPosition = await service.ledger.lastPosition();
      if (query.after !== undefined && query.after > lastPosition) throw notYet(lastPosition, 'after=0');
      return readAudit(service, query);
    },
  }),
];

/** Whoever would follow from there would hear nothing, and not know why. */
const notYet = (lastPosition: number, begin: string): HttpRefusal =>
  new HttpRefusal(
    'http.bad_request',
    `The ledger has no such position yet: it is another one than was followed before. Begin again, with ${begin}.`,
    { lastPosition: String(lastPosition) },
  );

type AuditQuery = {
  readonly after?: number;
  readonly sessionId?: string;
  readonly callId?: string;
  readonly kind?: AuditKind;
  readonly limit?: number;
};

async function readFeed(
  service: Service,
  after: number,
  limit: number,
  filter: FollowFilter,
): Promise<FeedPage> {
  const read = await service.followers.feed.read(after, limit);
  const entries: FeedEntry[] = [];
  let previous = after;
  for (const entry of read) {
    const events = pick(entry, filter);
    if (events.length === 0) continue;
    entries.push({ ...entry, previous, events });
    previous = entry.position;
  }
  const position = read.at(-1)?.position ?? after;
  return { entries, position, more: position < (await service.ledger.lastPosition()) };
}

/** A record is made of its call's events, so the calls an entry is about are read; each record belongs to one entry. */
async function readAudit(
  { ledger, followers }: Service,
  { after = 0, sessionId, callId, kind, limit = 100 }: AuditQuery,
): Promise<AuditPage> {
  const records: (ToolAuditRecord & { readonly position: number })[] = [];
  const calls = new Map<string, readonly ToolAuditRecord[]>();
  let position = after;
  for (let looked = 0; looked < entriesAtOnce && records.length < limit;) {
    const entries = await followers.feed.read(position, 200);
    if (entries.length === 0) return { records, position, more: false };
    for (const entry of entries) {
      position = entry.position;
      looked++;
      const events = pick(entry, { sessionId, callId }).filter(isKnownEvent).filter(isCallEvent);
      const ids = new Set(events.map(({ id }) => id));
      for (const id of new Set(events.map((event) => event.callId))) {
        const key = JSON.stringify([entry.sessionId, id]);
        let made = calls.get(key);
        if (made === undefined) {
          const stored = await ledger.readCall(entry.sessionId, id);
          made = projectAudit((stored?.events ?? []).filter(isCallEvent));
          calls.set(key, made);
        }
        for (const record of made)
          if (ids.has(record.recordId) && (kind === undefined || record.outcome.kind === kind))
            records.push({ ...record, position });
      }
      if (records.length >= limit) break;
    }
    await new Promise(setImmediate);
  }
  return { records, position, more: position < (await ledger.lastPosition()) };
}
