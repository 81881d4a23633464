import type { ReactNode } from 'react';
import type { ContractsInForce } from '@quittance/server/internal/http/api/contract';
import { useAnswer } from '../../api/use-answer.ts';
import { useMay } from '../../api/use-me.ts';
import { addressOf } from '../../route.ts';
import '../../styles/contracts.css';
import { Link } from '../../ui/link.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { digestLabel } from '../../ui/digest-label.ts';
import { Skeleton } from '../../ui/skeleton.tsx';
import { NotFound } from '../not-found.tsx';
import { CheckList } from './check-list.tsx';
import { DocumentsTab } from './documents-tab.tsx';
import { DraftTab } from './draft-tab.tsx';
import { RulesTab } from './rules-tab.tsx';
import { TryTab } from './try-tab.tsx';
import { useDraft } from './use-draft.ts';
import { useReload } from './use-reload.ts';
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
  const mayReload = useMay('admin');
  const again = useReload(reload);
  if (!isTab(tab)) return <NotFound />;
  return (
    <>
      <PageHead
        title="Contracts"
        about={
          data?.policyVersion === undefined ? (
            'Rules that block, hold or limit calls and redact results.'
          ) : (
            <>
              {data.rules.length} {data.rules.length === 1 ? 'rule' : 'rules'} in force, version{' '}
              <code title={data.policyVersion}>{digestLabel(data.policyVersion)}</code>
            </>
          )
        }
      >
        {data?.canReload === true && mayReload && (
          <button type="button" onClick={again.start} disabled={again.busy}>
            Reload rules
          </button>
        )}
      </PageHead>
      {again.refused !== undefined && (
        <div className="problem" role="alert">
          <p>The new rules have errors. The old rules stay in force.</p>
          <CheckList check={again.refused} />
        </div>
      )}
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
