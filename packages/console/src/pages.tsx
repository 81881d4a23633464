/** Maps addresses to pages. Each page is a chunk, loaded when visited or when idle. */
import type { ShownPage } from './later-page.tsx';
import { laterPage } from './later-page.tsx';
import { NotFound } from './pages/not-found.tsx';
import type { Route } from './route.ts';
import { readRoute } from './route.ts';

const overview = laterPage(() => import('./pages/overview/overview.tsx'));
const calls = laterPage(() => import('./pages/calls/calls.tsx'));
const call = laterPage(() => import('./pages/call/call.tsx'));
const inbox = laterPage(() => import('./pages/inbox/inbox.tsx'));
const reconcile = laterPage(() => import('./pages/reconcile/reconcile.tsx'));
const sessions = laterPage(() => import('./pages/sessions/sessions.tsx'));
const session = laterPage(() => import('./pages/sessions/session.tsx'));
const comparison = laterPage(() => import('./pages/sessions/comparison.tsx'));
const contracts = laterPage(() => import('./pages/contracts/contracts.tsx'));
const tools = laterPage(() => import('./pages/tools/tools.tsx'));
const tool = laterPage(() => import('./pages/tools/tool.tsx'));
const servers = laterPage(() => import('./pages/servers/servers.tsx'));
const server = laterPage(() => import('./pages/servers/server.tsx'));
const toolReview = laterPage(() => import('./pages/servers/tool-review.tsx'));
const integrity = laterPage(() => import('./pages/integrity/integrity.tsx'));
const nowhere: ShownPage = { load: async () => undefined, shown: <NotFound /> };

export function pageAt({ path, query }: Route): ShownPage {
  const [first, second, third] = path;
  switch (first) {
    case undefined:
      return overview({});
    case 'calls':
      if (second === undefined) return calls({ query });
      return third === undefined ? nowhere : call({ sessionId: second, callId: third });
    case 'inbox':
      return inbox({ confirmationId: second });
    case 'reconcile':
      return reconcile({});
    case 'sessions': {
      if (second === undefined) return sessions({ query });
      const other = query.get('compare');
      return other === null ? session({ sessionId: second }) : comparison({ a: second, b: other });
    }
    case 'contracts':
      return contracts({ tab: second });
    case 'tools':
      return second === undefined ? tools({}) : tool({ toolName: second });
    case 'servers': {
      if (second === undefined) return servers({});
      // In the query: a server may list a tool named "..", which a path cannot hold.
      const toolName = query.get('tool');
      return toolName === null ? server({ serverId: second }) : toolReview({ serverId: second, toolName });
    }
    case 'integrity':
      return integrity({});
    default:
      return nowhere;
  }
}

const somewhere = [
  '/',
  '/calls',
  '/calls/-/-',
  '/inbox',
  '/reconcile',
  '/sessions',
  '/sessions/-',
  '/sessions/-?compare=-',
  '/contracts',
  '/tools',
  '/tools/-',
  '/servers',
  '/servers/-',
  '/servers/-?tool=-',
  '/integrity',
];

/** Loads every page in advance, so that navigation never waits and works while the server is down. */
export async function loadAll(): Promise<void> {
  // A failed chunk is loaded again, and its error shown, when the user opens the page.
  await Promise.allSettled(somewhere.map((address) => pageAt(readRoute(address)).load()));
}
