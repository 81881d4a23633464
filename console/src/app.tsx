/** The frame: who is logged in, where one can go, and the page one is on. */
import type { ReactNode } from 'react';
import { lazy, Suspense, useEffect } from 'react';
import type { Me } from '../../src/http/api/access.ts';
import { MeContext } from './api/use-me.ts';
import { useAnswer } from './api/use-answer.ts';
import { BeginAnew } from './begin-anew.tsx';
import { Frame } from './frame.tsx';
import { LoggedOut } from './pages/logged-out.tsx';
import { NotFound } from './pages/not-found.tsx';
import type { Place } from './router.ts';
import { usePlace } from './router.ts';
import { Problem } from './ui/problem.tsx';
import { Skeleton } from './ui/skeleton.tsx';
import { ToastArea } from './ui/toast.tsx';

const Overview = lazy(() => import('./pages/overview/overview.tsx'));
const Calls = lazy(() => import('./pages/calls/calls.tsx'));
const CallPage = lazy(() => import('./pages/call/call.tsx'));
const Inbox = lazy(() => import('./pages/inbox/inbox.tsx'));
const Reconcile = lazy(() => import('./pages/reconcile/reconcile.tsx'));
const Sessions = lazy(() => import('./pages/sessions/sessions.tsx'));
const SessionPage = lazy(() => import('./pages/sessions/session.tsx'));
const Contracts = lazy(() => import('./pages/contracts/contracts.tsx'));
const Tools = lazy(() => import('./pages/tools/tools.tsx'));
const ToolPage = lazy(() => import('./pages/tools/tool.tsx'));
const Integrity = lazy(() => import('./pages/integrity/integrity.tsx'));

export function App(): ReactNode {
  const me = useAnswer<Me>('/v1/me');
  const place = usePlace();
  // A new page begins at its top, and a screen reader hears its heading.
  // Some show one of many beside the others: going from one to the next is not going to another page.
  const [first = ''] = place.path;
  const page = ['inbox', 'reconcile'].includes(first) ? first : place.path.join('/');
  useEffect(() => {
    window.scrollTo(0, 0);
    document.getElementById('page')?.focus({ preventScroll: true });
  }, [page]);
  if (me.error?.status === 401) return <LoggedOut />;
  if (me.data === undefined)
    return me.error === undefined ? <Skeleton rows={6} /> : <Problem error={me.error} onRetry={me.reload} />;
  return (
    <MeContext value={me.data}>
      <ToastArea>
        <Frame place={place} onRefused={me.reload}>
          <BeginAnew>
            <Suspense fallback={<Skeleton rows={8} />}>{pageAt(place)}</Suspense>
          </BeginAnew>
        </Frame>
      </ToastArea>
    </MeContext>
  );
}

function pageAt({ path, query }: Place): ReactNode {
  const [first, second, third] = path;
  switch (first) {
    case undefined:
      return <Overview />;
    case 'calls':
      if (second === undefined) return <Calls query={query} />;
      return third === undefined ? <NotFound /> : <CallPage sessionId={second} callId={third} />;
    case 'inbox':
      return <Inbox confirmationId={second} />;
    case 'reconcile':
      return <Reconcile />;
    case 'sessions':
      return second === undefined ? <Sessions query={query} /> : <SessionPage sessionId={second} />;
    case 'contracts':
      return <Contracts tab={second} />;
    case 'tools':
      return second === undefined ? <Tools /> : <ToolPage toolName={second} />;
    case 'integrity':
      return <Integrity />;
    default:
      return <NotFound />;
  }
}
