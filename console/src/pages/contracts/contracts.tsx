import type { ReactNode } from 'react';
import { useState } from 'react';
import type { ContractsInForce, ContractsReload } from '../../../../src/http/api/contract.ts';
import { send } from '../../api/client.ts';
import { toApiError, useAnswer } from '../../api/use-answer.ts';
import { useMay } from '../../api/use-me.ts';
import { addressOf } from '../../router.ts';
import '../../styles/contracts.css';
import { Link } from '../../ui/link.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { shortDigest } from '../../ui/short-digest.ts';
import { Skeleton } from '../../ui/skeleton.tsx';
import { useTell } from '../../ui/toast.tsx';
import { NotFound } from '../not-found.tsx';
import { CheckList } from './check-list.tsx';
import { DocumentsTab } from './documents-tab.tsx';
import { DraftTab } from './draft-tab.tsx';
import { RulesTab } from './rules-tab.tsx';
import { TryTab } from './try-tab.tsx';
import { useDraft } from './use-draft.ts';
import { VersionsTab } from './versions-tab.tsx';

const tabs = {
  rules: 'Rules',
  try: 'Try a call',
  draft: 'Draft and backtest',
  documents: 'Documents',
  versions: 'Versions',
} as const;
type Tab = keyof typeof tabs;

export default function Contracts({ tab = 'rules' }: { readonly tab: string | undefined }): ReactNode {
  const inForce = useAnswer<ContractsInForce>('/v1/contracts', {}, { everyMs: 10_000 });
  const { data, error, reload } = inForce;
  if (!isTab(tab)) return <NotFound />;
  return (
    <>
      <PageHead
        title="Contracts"
        about={
          data?.policyVersion === undefined ? (
            'Rules that block calls, ask about them, limit them, and hide parts of results.'
          ) : (
            <>
              {data.rules.length} {data.rules.length === 1 ? 'rule' : 'rules'} in force, version{' '}
              <code title={data.policyVersion}>{shortDigest(data.policyVersion)}</code>
            </>
          )
        }
      >
        {data?.canReload === true && <ReloadButton onReloaded={reload} />}
      </PageHead>
      <nav className="tabs" aria-label="Contracts">
        {Object.entries(tabs).map(([name, label]) => (
          <Link
            key={name}
            to={addressOf(name === 'rules' ? ['contracts'] : ['contracts', name])}
            aria-current={name === tab ? 'page' : undefined}
          >
            {label}
          </Link>
        ))}
      </nav>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {data === undefined ? error === undefined && <Skeleton rows={8} /> : <Tabs tab={tab} inForce={data} />}
    </>
  );
}

const isTab = (name: string): name is Tab => Object.hasOwn(tabs, name);

function Tabs({ tab, inForce }: { readonly tab: Tab; readonly inForce: ContractsInForce }): ReactNode {
  const draft = useDraft(inForce);
  switch (tab) {
    case 'rules':
      return <RulesTab inForce={inForce} />;
    case 'try':
      return <TryTab inForce={inForce} draft={draft} />;
    case 'draft':
      return <DraftTab draft={draft} />;
    case 'documents':
      return <DocumentsTab inForce={inForce} />;
    case 'versions':
      return <VersionsTab current={inForce.policyVersion} />;
  }
}

/** Reads the rules again. What is wrong with them is shown, and the old ones stay in force. */
function ReloadButton({ onReloaded }: { readonly onReloaded: () => void }): ReactNode {
  const may = useMay('admin');
  const tell = useTell();
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<ContractsReload | undefined>(undefined);
  if (!may) return null;
  const reloadNow = (): void => {
    setBusy(true);
    send<ContractsReload>('/v1/contracts/reload', undefined)
      .then(
        (answer) => {
          setRefused(answer.ok ? undefined : answer);
          if (answer.ok)
            tell(
              answer.changed
                ? 'New rules are in force.'
                : 'Nothing has changed: the same rules are in force.',
            );
          onReloaded();
        },
        (error: unknown) => tell(toApiError(error).message, 'bad'),
      )
      .finally(() => setBusy(false));
  };
  return (
    <>
      <button type="button" onClick={reloadNow} disabled={busy}>
        Read them again
      </button>
      {refused !== undefined && (
        <div className="reload-refused problem" role="alert">
          <p>The old rules stay in force. What is wrong with the new ones:</p>
          <CheckList check={refused} />
        </div>
      )}
    </>
  );
}
