import { HttpRefusal } from '../problem.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import { lastPosition } from 'quittance/internal/ledger/reads';

export const feedRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/events',
    access: 'viewer',
    summary:
      'Follows the ledger as server-sent events, from `after` or Last-Event-ID on. With Accept: application/json, reads a page.',
    query: 'FeedQuery',
    headers: { 'Last-Event-ID': 'The last position received. It takes precedence over `after`.' },
    answer: { mediaType: 'text/event-stream', message: 'FeedEntry', json: 'FeedPage' },
    async handle({ service, query, headers, actor, cut, signal }) {
      const { after: given, limit = 100, ...filter } = query;
      const resumed = headers.get('last-event-id');
      const wanted = resumed !== null && /^[0-9]{1,15}$/.test(resumed) ? resumed : (given ?? '0');
      const end = await lastPosition(service.ledger);
      const after = wanted === 'now' ? end : Number(wanted);
      if (after > end) throw notYet(end, 'after=0 or after=now');
      if (headers.get('accept')?.startsWith('application/json') === true)
        return service.reader.answer('events', { after, limit, filter }, { actor, headers, signal });
      if (service.followers.isFull)
        throw new HttpRefusal(
          'http.too_many_requests',
          'The maximum number of clients already follow the ledger. Try again later, or read pages with Accept: application/json.',
          {},
          { 'retry-after': '5' },
        );
      const pass = { isGood: () => service.access.isStillIn('GET', headers), expiresAt: actor.expiresAt };
      const from = wanted === 'now' ? 'now' : 'position';
      return new Response(service.followers.follow(after, filter, pass, cut, { from, caller: actor.name }), {
        headers: {
          'content-type': 'text/event-stream; charset=utf-8',
          'x-accel-buffering': 'no',
        },
      });
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/audit',
    access: 'viewer',
    summary: 'Lists audit records in commit order, from a position on.',
    query: 'AuditQuery',
    answer: 'AuditPage',
    async handle({ service, query, ...asked }) {
      const end = await lastPosition(service.ledger);
      if (query.after !== undefined && query.after > end) throw notYet(end, 'after=0');
      return service.reader.answer('audit', query, asked);
    },
  }),
];

/** A client that followed from there would receive nothing and not know why. */
const notYet = (lastPosition: number, begin: string): HttpRefusal =>
  new HttpRefusal(
    'http.bad_request',
    `The ledger has no such position yet, so it is not the ledger you followed before. Start again with ${begin}.`,
    { lastPosition: String(lastPosition) },
  );
