/** The frame of every page: navigation with counts of waiting items, theme switch and current user. */
import type { ReactNode } from 'react';
import { useEffect, useState } from 'react';
import type { McpServerList } from '@quittance/server/internal/http/api/mcp';
import type { Stats } from '@quittance/server/internal/http/api/stats';
import { OfflineContext } from './api/offline.ts';
import { useLedgerChanges } from './api/ledger-change.ts';
import type { Answered } from './api/use-answer.ts';
import { useAnswer } from './api/use-answer.ts';
import { logOut } from './api/log-out.ts';
import { useMay, useMe } from './api/use-me.ts';
import { useMyQuestions } from './api/use-my-questions.ts';
import type { Route } from './route.ts';
import { goTo } from './route.ts';
import { Count } from './ui/count.tsx';
import { Icon } from './ui/icon.tsx';
import type { IconName } from './ui/icon.tsx';
import { LedgerSwitch } from './ui/ledger-switch.tsx';
import { Link } from './ui/link.tsx';
import { pageTitle } from './ui/page-title.ts';
import { Problem } from './ui/problem.tsx';
import { SkewContext, useSkew } from './ui/skew.ts';
import { ShortcutHelp } from './ui/shortcut-help.tsx';
import { formatTime } from './ui/time.tsx';
import { ThemeSwitch } from './ui/theme-switch.tsx';
import { useQuestionNotices } from './ui/use-question-notices.ts';
import { useShortcuts } from './ui/use-shortcuts.ts';
import { useTitleCount } from './ui/use-title-count.ts';

type Entry = {
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  /** Shortcut key, pressed after `g`. */
  readonly key: string;
};

export const entries: readonly Entry[] = [
  { path: '', label: 'Overview', icon: 'overview', key: 'o' },
  { path: 'calls', label: 'Calls', icon: 'calls', key: 'c' },
  { path: 'inbox', label: 'Inbox', icon: 'inbox', key: 'i' },
  { path: 'reconcile', label: 'Reconcile', icon: 'reconcile', key: 'r' },
  { path: 'sessions', label: 'Sessions', icon: 'sessions', key: 's' },
  { path: 'contracts', label: 'Contracts', icon: 'contracts', key: 'k' },
  { path: 'tools', label: 'Tools', icon: 'tools', key: 't' },
  { path: 'servers', label: 'Servers', icon: 'servers', key: 'm' },
  { path: 'integrity', label: 'Integrity', icon: 'integrity', key: 'v' },
];

/** What the numbers in the navigation count. */
const countLabels: Partial<Record<string, string>> = {
  inbox: 'waiting',
  reconcile: 'to reconcile',
  servers: 'to review',
};

export function Frame({
  place,
  onRefused,
  children,
}: {
  readonly place: Route;
  /** Called when the server rejects the login: the token was revoked or has expired. */
  readonly onRefused: () => void;
  readonly children: ReactNode;
}): ReactNode {
  const stats = useAnswer<Stats>('/v1/stats', { buckets: 1 }, { everyMs: 5_000 });
  const servers = useAnswer<McpServerList>('/v1/mcp/servers', {}, { everyMs: 10_000 });
  useLedgerChanges(stats.reload);
  const skewMs = useSkew(stats.data?.until);
  const isOffline = stats.error?.code === 'console.offline';
  const isRefused = stats.error?.status === 401;
  useEffect(() => {
    if (isRefused) onRefused();
  }, [isRefused, onRefused]);
  const [helping, setHelping] = useState(false);
  const { name: ledgerName, color } = useMe().console;
  const current = place.path[0] ?? '';
  const label = entries.find(({ path }) => path === current)?.label;
  useEffect(() => {
    document.title = pageTitle(label, ledgerName);
  }, [label, ledgerName]);
  useShortcuts({
    ...Object.fromEntries(entries.map(({ path, key }) => [`g ${key}`, () => goTo(`/${path}`)])),
    '?': () => setHelping(true),
    '/': () => document.querySelector<HTMLInputElement>('[data-search]')?.focus(),
  });
  const mayDecide = useMay('approver');
  const mine = useMyQuestions(stats.data?.now.held);
  const waitingForMe = mine?.count ?? 0;
  useTitleCount(waitingForMe);
  useQuestionNotices(mine);
  const waiting: Partial<Record<string, number>> = {
    // People who may not decide see how many calls are held.
    inbox: mayDecide ? waitingForMe : (stats.data?.now.held ?? 0),
    reconcile: stats.data?.now.unresolved ?? 0,
    servers: (servers.data?.rows ?? []).reduce((sum, { tools }) => sum + tools.unknown + tools.changed, 0),
  };
  const counted = Object.keys(waiting).filter((name) => (waiting[name] ?? 0) > 0);
  useEffect(() => {
    // On a phone the navigation scrolls sideways. A count that appears moves the links after it.
    const link = document.querySelector('.nav-link[aria-current="page"]');
    link?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [current, counted.join()]);
  return (
    <div className="frame" data-ledger-color={ledgerName === undefined ? undefined : color}>
      <a className="skip" href="#page">
        Skip to content
      </a>
      <Nav current={current} waiting={waiting} onHelp={() => setHelping(true)} onRefused={onRefused} />
      <main id="page" className="page" tabIndex={-1}>
        {isOffline && <Disconnected stats={stats} />}
        <OfflineContext value={isOffline}>
          <SkewContext value={skewMs}>{children}</SkewContext>
        </OfflineContext>
      </main>
      {helping && <ShortcutHelp entries={entries} onClose={() => setHelping(false)} />}
    </div>
  );
}

/** Nothing on the page is current then: it says how old everything is. */
function Disconnected({ stats }: { readonly stats: Answered<Stats> }): ReactNode {
  return (
    <>
      {stats.error !== undefined && <Problem error={stats.error} onRetry={stats.reload} />}
      {stats.data !== undefined && (
        <p className="stale-note" role="status">
          Disconnected. Everything below is as of {formatTime(stats.data.until)}.
        </p>
      )}
    </>
  );
}

function Nav({
  current,
  waiting,
  onHelp,
  onRefused,
}: {
  readonly current: string;
  /** Number of waiting items, by path. */
  readonly waiting: Partial<Record<string, number>>;
  readonly onHelp: () => void;
  readonly onRefused: () => void;
}): ReactNode {
  const me = useMe();
  return (
    <nav className="nav" aria-label="Pages">
      <Link to="/" className="brand">
        <Icon name="mark" />
        <span>Quittance</span>
      </Link>
      <LedgerSwitch />
      <ul>
        {entries.map(({ path, label: text, icon, key }) => (
          <li key={path}>
            <Link
              to={`/${path}`}
              className="nav-link"
              aria-current={path === current ? 'page' : undefined}
              title={`${text} (g ${key})`}
            >
              <Icon name={icon} />
              <span>{text}</span>
              <Count value={waiting[path] ?? 0} label={countLabels[path] ?? ''} />
            </Link>
          </li>
        ))}
      </ul>
      <div className="nav-foot">
        <ThemeSwitch />
        <button type="button" className="ghost" onClick={onHelp} aria-label="Keyboard shortcuts">
          ?
        </button>
        <span
          className="who"
          title={
            me.signIn === undefined
              ? `Logged in as ${me.name}, ${me.role}`
              : `Signed in as ${me.name}, ${me.role}. Verified by ${me.signIn.issuer} as ${me.signIn.subject}`
          }
        >
          <span>{me.name}</span>
          <small>{me.role}</small>
        </span>
        {me.by === 'cookie' && (
          <button
            type="button"
            className="ghost"
            onClick={() => void logOut().catch(onRefused)}
            aria-label={me.signIn === undefined ? 'Log out' : 'Sign out'}
            title={me.signIn === undefined ? 'Log out' : 'Sign out'}
          >
            <Icon name="log-out" />
          </button>
        )}
      </div>
    </nav>
  );
}
