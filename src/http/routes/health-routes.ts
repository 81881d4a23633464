import type { Me, Role } from '../api/access.ts';
import type { Health, Readiness } from '../api/health.ts';
import { mayDo } from '../actor.ts';
import type { Route } from '../route.ts';
import { readReadiness } from '../read-readiness.ts';
import { defineRoute } from '../route.ts';
import type { Shape } from '../shape.ts';
import { writeMetrics } from '../write-metrics.ts';
import { choice, flag, list, maybe, moment, object, only, text } from '../shape.ts';

const roleShape: Shape<Role> = choice(mayDo);

const readinessShape: Shape<Readiness> = object<Readiness>(
  {
    status: choice({ ready: true, not_ready: true }),
    checks: list(object<Readiness['checks'][number]>({ name: text(), ok: flag(), detail: maybe(text()) })),
  },
  'Readiness',
);

export const healthRoutes: readonly Route[] = [
  defineRoute<'/v1/me', object, undefined, Me>({
    method: 'GET',
    path: '/v1/me',
    access: 'viewer',
    summary: 'Says who asks, and what they may do.',
    answer: object<Me>(
      {
        name: text(),
        role: roleShape,
        by: choice({ token: true, cookie: true }),
        expiresAt: maybe(moment()),
        may: list(roleShape),
      },
      'Me',
    ),
    handle: ({ actor: { name, role = 'viewer', by, expiresAt } }) =>
      Promise.resolve({ name, role, by: by === 'cookie' ? 'cookie' : 'token', expiresAt, may: mayDo[role] }),
  }),
  defineRoute<'/healthz', object, undefined, Health>({
    method: 'GET',
    path: '/healthz',
    access: 'anyone',
    summary: 'Says that the process lives.',
    isProbe: true,
    answer: object<Health>({ status: only('ok'), version: text() }, 'Health'),
    handle: ({ service }) => Promise.resolve({ status: 'ok', version: service.version }),
  }),
  defineRoute<'/readyz', object, undefined, Readiness>({
    method: 'GET',
    path: '/readyz',
    access: 'anyone',
    summary: 'Says whether requests can be served: 503 where not.',
    isProbe: true,
    answer: readinessShape,
    also: { 503: readinessShape },
    async handle({ service }) {
      const readiness = await readReadiness(service);
      return Response.json(readiness, {
        status: readiness.status === 'ready' ? 200 : 503,
        headers: { 'cache-control': 'no-store' },
      });
    },
  }),
  defineRoute<'/metrics'>({
    method: 'GET',
    path: '/metrics',
    access: 'viewer',
    summary: 'Gives numbers for Prometheus.',
    answer: { mediaType: 'text/plain', isWhole: true },
    async handle({ service, ...asked }) {
      const told = await writeMetrics(service, asked);
      return new Response(told, {
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' },
      });
    },
  }),
];
