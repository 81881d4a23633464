import type { ToolAuditRecord } from '../../call/audit.ts';
import type { AuditPage, FeedEntry, FeedPage, LargeEntry } from '../api/feed.ts';
import { auditKindShape, eventShape } from '../call-shapes.ts';
import { HttpRefusal } from '../problem.ts';
import type { AuditQuery } from '../read-feed.ts';
import { entriesAtOnce } from '../read-feed.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
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

const largeShape: Shape<LargeEntry> = object<LargeEntry>(
  { position: integer(), previous: maybe(integer()), sessionId: text(), bytes: integer() },
  'LargeEntry',
);

const pageShape: Shape<FeedPage> = object<FeedPage>(
  { entries: list(entryShape), position: integer(), more: flag(), large: maybe(list(largeShape)) },
  'FeedPage',
);

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
    async handle({ service, query, headers, actor, cut, signal }) {
      const { after: given, limit = 100, ...filter } = query;
      const resumed = headers.get('last-event-id');
      const wanted = resumed !== null && /^[0-9]{1,15}$/.test(resumed) ? resumed : (given ?? '0');
      const lastPosition = await service.ledger.entries.lastPosition();
      const after = wanted === 'now' ? lastPosition : Number(wanted);
      if (after > lastPosition) throw notYet(lastPosition, 'after=0 or after=now');
      if (headers.get('accept')?.startsWith('application/json') === true)
        return service.reader.answer('events', { after, limit, filter }, { actor, headers, signal });
      if (service.followers.isFull)
        throw new HttpRefusal(
          'http.too_many_requests',
          'As many connections follow the ledger as this server takes. Try again later, or read pages with Accept: application/json.',
          {},
          { 'retry-after': '5' },
        );
      const pass = { isGood: () => service.access.isStillIn('GET', headers), expiresAt: actor.expiresAt };
      const from = wanted === 'now' ? 'now' : 'position';
      return new Response(service.followers.follow(after, filter, pass, cut, { from, caller: actor.name }), {
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
        large: maybe(list(largeShape)),
      },
      'AuditPage',
    ),
    async handle({ service, query, ...asked }) {
      const lastPosition = await service.ledger.entries.lastPosition();
      if (query.after !== undefined && query.after > lastPosition) throw notYet(lastPosition, 'after=0');
      return service.reader.answer('audit', query, asked);
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
