import { mayDo } from '../../runtime/host/rights.ts';
import { toSignInView } from '../sign-in/sign-in-view.ts';
import type { Route } from '../route.ts';
import { readMyQuestions } from '../read-my-questions.ts';
import { readReadiness } from '../read-readiness.ts';
import { defineRoute } from '../route.ts';
import { writeMetrics } from '../write-metrics.ts';

export const healthRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/me',
    access: 'viewer',
    summary: 'Shows the caller and its role.',
    answer: 'Me',
    handle: ({ service, actor: { name, role = 'viewer', by, expiresAt, signIn } }) =>
      Promise.resolve({
        name,
        role,
        by: by === 'cookie' ? 'cookie' : 'token',
        expiresAt: signIn?.endsAt ?? expiresAt,
        signIn: signIn && toSignInView(signIn),
        may: mayDo[role],
        console: service.console,
      }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/me/questions',
    access: 'viewer',
    summary: 'Counts the open questions that wait for the caller, and names the newest.',
    answer: 'MyQuestions',
    handle: ({ service, actor }) => readMyQuestions(service, actor),
  }),
  defineRoute({
    method: 'GET',
    path: '/healthz',
    access: 'anyone',
    summary: 'Answers while the process runs.',
    isProbe: true,
    answer: 'Health',
    handle: ({ service }) => Promise.resolve({ status: 'ok', version: service.version }),
  }),
  defineRoute({
    method: 'GET',
    path: '/readyz',
    access: 'anyone',
    summary: 'Answers 200 if the server can serve requests, else 503.',
    isProbe: true,
    answer: 'Readiness',
    also: { 503: 'Readiness' },
    async handle({ service }) {
      const readiness = await readReadiness(service);
      return Response.json(readiness, {
        status: readiness.status === 'ready' ? 200 : 503,
      });
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/metrics',
    access: 'viewer',
    summary: 'Metrics for Prometheus.',
    answer: { mediaType: 'text/plain', isWhole: true },
    async handle({ service, ...asked }) {
      const metrics = await writeMetrics(service, asked);
      return new Response(metrics, {
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
      });
    },
  }),
];
