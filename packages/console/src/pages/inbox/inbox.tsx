/** Calls awaiting approval, past decisions, and grants. */
import type { ReactNode } from 'react';
import { addressOf, useRoute } from '../../route.ts';
import { Link } from '../../ui/link.tsx';
import { NoticeSwitch } from '../../ui/notice-switch.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Decided } from './decided.tsx';
import { Delegations } from './delegations.tsx';
import { Grants } from './grants.tsx';
import { Waiting } from './waiting.tsx';
import '../../../../react/src/react.css';
import '../../styles/inbox.css';

const tabs = [
  { id: undefined, label: 'Waiting' },
  { id: 'decided', label: 'Decided' },
  { id: 'grants', label: 'Grants' },
  { id: 'delegations', label: 'Delegations' },
] as const;

export default function Inbox({
  confirmationId,
}: {
  readonly confirmationId: string | undefined;
}): ReactNode {
  const { query } = useRoute();
  const asked = query.get('tab');
  const tab = tabs.find(({ id }) => id === asked)?.id;
  return (
    <>
      <PageHead
        title="Inbox"
        about="Calls awaiting approval, riskiest first. Your approval covers exactly the shown arguments."
      >
        <NoticeSwitch />
      </PageHead>
      <nav className="tabs" aria-label="Inbox">
        {tabs.map(({ id, label }) => (
          <Link
            key={label}
            to={addressOf(['inbox'], { tab: id })}
            aria-current={id === tab ? 'page' : undefined}
          >
            {label}
          </Link>
        ))}
      </nav>
      {tab === 'grants' ? (
        <Grants sessionId={query.get('session') ?? ''} />
      ) : tab === 'delegations' ? (
        <Delegations />
      ) : tab === 'decided' ? (
        <Decided />
      ) : (
        <Waiting confirmationId={confirmationId} order={query.get('order') === 'age' ? 'age' : 'risk'} />
      )}
    </>
  );
}
