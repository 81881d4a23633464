import { mayDo, allows } from 'quittance/internal/call/role';
import { toSignInView } from '../sign-in/sign-in-view.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import { shownIdBy } from 'quittance/internal/base/safe-id';
import type { Actor } from '../actor.ts';
import { identityOf } from '../actor.ts';
import type { MyQuestions } from '../api/me.ts';
import type { Service } from '../service.ts';
import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readiness } from '../api/health.ts';
import { toolBounds } from 'quittance/internal/call/tool-bounds';
import type { Histogram } from '../metrics.ts';
import type { Asker } from '../reader.ts';
import { lastPosition } from 'quittance/internal/ledger/reads';

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

/** The questions that wait for a caller, for the number that their pages show. */

/** A person with more open questions needs no exact number, and reading them all would take too long. */
const mostRead = 100;
const mostNamed = 10;

async function readMyQuestions({ runtime }: Service, actor: Actor): Promise<MyQuestions> {
  if (!allows(actor.role, 'approver')) return { count: 0, more: false, rows: [] };
  const person = { by: actor.name, identity: identityOf(actor) };
  const { rows, next } = await runtime.confirmations.listFor(person, { limit: mostRead });
  return {
    count: rows.length,
    more: next !== undefined,
    rows: rows.slice(0, mostNamed).map(({ confirmationId, displayName, toolName }) => ({
      confirmationId,
      tool: shownIdBy(runtime.redactor, displayName || toolName),
    })),
  };
}

/** Can the server do its work? Anyone may ask, so the answer gives no details. */

type Check = Readiness['checks'][number];

/** With less free space, the server is not ready: only a few more calls could be stored. */
const leastFreeBytes = 1_048_576;

async function readReadiness({ ledger, ledgerPath, closing, draining }: Service): Promise<Readiness> {
  const checks: Check[] = [
    await toCheck('ledger', 'The ledger cannot be read.', async () => {
      await lastPosition(ledger);
      return true;
    }),
    ...(ledgerPath === undefined
      ? []
      : [
          await toCheck('disk', 'The ledger cannot be written: its file is gone, or the disk is full.', () =>
            canGrow(ledgerPath),
          ),
        ]),
    await toCheck(
      'spill',
      'No call starts, because a result could not be kept if the ledger fails. The disk is full, or the spill folder cannot be written.',
      async () => (await ledger.spill.canWrite()) !== false,
    ),
    await toCheck('serving', 'The server is stopping: it finishes what it has and takes no new work.', () =>
      Promise.resolve(!closing.aborted && !draining.aborted),
    ),
  ];
  return { status: checks.every(({ ok }) => ok) ? 'ready' : 'not_ready', checks };
}

/** The folder must be writable too: it holds the log, the read tables and the tokens. */
async function canGrow(path: string): Promise<boolean> {
  await Promise.all([access(path, constants.W_OK), access(dirname(path), constants.W_OK)]);
  const { bavail, bsize } = await statfs(dirname(path));
  return bavail * bsize >= leastFreeBytes;
}

async function toCheck(name: string, detail: string, isFine: () => Promise<boolean>): Promise<Check> {
  const ok = await isFine().catch(() => false);
  return { name, ok, detail: ok ? undefined : detail };
}

/** All metrics in the text format of Prometheus. */
export async function writeMetrics(
  { followers, jobs, metrics, reader, runtime }: Service,
  asked: Asker,
): Promise<string> {
  const common = [...metrics.tools];
  const counts = await reader.value('counts', { common }, asked, { isRemembered: true });
  for (const name of counts.common) metrics.tools.add(name);
  const { unresolved, costMicros, held, position } = counts;
  // The thread that counts knows the built-in patterns only.
  const hide = <Row extends { readonly toolName: string }>(row: Row): Row => ({
    ...row,
    toolName: shownIdBy(runtime.redactor, row.toolName),
  });
  const [merged, durations] = [counts.merged.map(hide), counts.durations.map(hide)];
  const lines = [
    ...family('quittance_calls_total', 'counter', 'Calls by tool, outcome and reason code.'),
    ...merged
      .filter(({ outcome }) => outcome !== '')
      .map(
        ({ toolName, outcome, code, calls }) =>
          `quittance_calls_total{tool="${toolName}",outcome="${outcome}",code="${code}"} ${calls}`,
      ),
    ...family('quittance_calls_open', 'gauge', 'Calls by tool that have no outcome yet.'),
    ...merged
      .filter(({ outcome }) => outcome === '')
      .map(({ toolName, calls }) => `quittance_calls_open{tool="${toolName}"} ${calls}`),
    ...family(
      'quittance_tool_duration_seconds',
      'histogram',
      'How long tools ran, by tool and outcome. The sum is within five percent.',
    ),
    ...durations.flatMap(({ toolName, outcome, ...found }) =>
      toLines('quittance_tool_duration_seconds', `tool="${toolName}",outcome="${outcome}"`, {
        bounds: toolBounds,
        ...found,
      }),
    ),
    ...family('quittance_calls_unresolved', 'gauge', 'Unresolved calls: their effect is unknown.'),
    `quittance_calls_unresolved ${unresolved}`,
    ...family('quittance_cost_micros_total', 'counter', 'What calls cost.'),
    `quittance_cost_micros_total ${costMicros}`,
    ...family('quittance_confirmations_pending', 'gauge', 'Questions that wait for a person, up to 1000.'),
    `quittance_confirmations_pending ${held}`,
    ...family('quittance_ledger_position', 'gauge', 'The position of the last entry.'),
    `quittance_ledger_position ${position}`,
    ...family(
      'quittance_commit_duration_seconds',
      'histogram',
      'How long the ledger took to store an entry of this process.',
    ),
    ...toLines('quittance_commit_duration_seconds', '', metrics.times.commit),
    ...family(
      'quittance_queue_duration_seconds',
      'histogram',
      'How long calls of a batch of this process waited for their turn.',
    ),
    ...toLines('quittance_queue_duration_seconds', '', metrics.times.queue),
    ...family('quittance_http_followers', 'gauge', 'Connections that follow the ledger.'),
    `quittance_http_followers ${followers.count}`,
    ...family(
      'quittance_http_followers_cut_total',
      'counter',
      'Followers cut off: they took nothing, or may not follow any more.',
    ),
    `quittance_http_followers_cut_total ${metrics.cutOff}`,
    ...family('quittance_http_jobs_running', 'gauge', 'Jobs under way.'),
    `quittance_http_jobs_running ${jobs.running}`,
    ...family('quittance_http_requests_total', 'counter', 'Requests by route and status.'),
    ...[...metrics.requests].map(([labels, count]) => `quittance_http_requests_total{${labels}} ${count}`),
    ...family('quittance_http_request_seconds', 'histogram', 'How long requests took.'),
    ...[...metrics.durations].flatMap(([labels, histogram]) =>
      toLines('quittance_http_request_seconds', labels, histogram),
    ),
  ];
  return `${lines.join('\n')}\n`;
}

const family = (name: string, type: string, help: string): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
];

type Written = Omit<Histogram, 'counts'> & { readonly counts: readonly number[] };

function toLines(name: string, labels: string, { bounds, counts, sum, count }: Written): string[] {
  const before = labels === '' ? '' : `${labels},`;
  const braced = labels === '' ? '' : `{${labels}}`;
  return [
    ...bounds.map((bound, index) => `${name}_bucket{${before}le="${bound}"} ${counts[index] ?? 0}`),
    `${name}_bucket{${before}le="+Inf"} ${count}`,
    `${name}_sum${braced} ${sum}`,
    `${name}_count${braced} ${count}`,
  ];
}
