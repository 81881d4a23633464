/** The root component: login, frame and the current page. */
import type { ReactNode } from 'react';
import { Suspense, useEffect, useState } from 'react';
import type { Me } from '@quittance/server/internal/http/api/me';
import { MeContext } from './api/use-me.ts';
import { useAnswer } from './api/use-answer.ts';
import { ReloadOnNewLedger } from './reload-on-new-ledger.tsx';
import { Frame } from './frame.tsx';
import { LoggedOut } from './pages/logged-out.tsx';
import { loadAll, pageAt } from './pages.tsx';
import { useRoute } from './route.ts';
import { Boundary } from './ui/boundary.tsx';
import { Problem } from './ui/problem.tsx';
import { Skeleton } from './ui/skeleton.tsx';
import { ToastArea } from './ui/toast.tsx';

export function App(): ReactNode {
  const me = useAnswer<Me>('/v1/me');
  const place = useRoute();
  // A new page starts at the top, and a screen reader announces its heading. Moving between items of a list page does
  // not count as a new page.
  const [first = ''] = place.path;
  const page = ['inbox', 'reconcile'].includes(first)
    ? first
    : [...place.path, first === 'servers' ? place.query.get('tool') : null].join('/');
  useEffect(() => {
    window.scrollTo(0, 0);
    document.getElementById('page')?.focus({ preventScroll: true });
  }, [page]);
  const { load, shown } = pageAt(place);
  // The first page chunk loads in parallel with the login check. Its errors are shown when the page renders.
  const [isRead, setRead] = useState(false);
  useEffect(() => {
    if (isRead) return;
    const go = (): void => setRead(true);
    load().then(go, go);
  }, [isRead, load]);
  useEffect(() => {
    if (me.data !== undefined && isRead) void loadAll();
  }, [me.data, isRead]);
  if (me.error?.status === 401) return <LoggedOut />;
  if (me.data === undefined || !isRead)
    return me.error === undefined ? (
      <Skeleton rows={6} />
    ) : (
      <main className="alone" id="page" tabIndex={-1}>
        <h1>Quittance</h1>
        <Problem error={me.error} onRetry={me.reload} />
      </main>
    );
  return (
    <MeContext value={me.data}>
      <ToastArea>
        <Frame place={place} onRefused={me.reload}>
          <ReloadOnNewLedger>
            <Boundary place={page}>
              <Suspense fallback={<Skeleton rows={8} />}>{shown}</Suspense>
            </Boundary>
          </ReloadOnNewLedger>
        </Frame>
      </ToastArea>
    </MeContext>
  );
}
