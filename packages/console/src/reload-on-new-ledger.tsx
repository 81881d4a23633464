import type { ReactNode } from 'react';
import { Fragment, useCallback, useState } from 'react';
import { ReplacedLedgerContext } from './api/replaced-ledger.ts';
import { useToast } from './ui/toast.tsx';

/** Remounts the page, with a notice, when the server uses another ledger: nothing shown would be valid. */
export function ReloadOnNewLedger({ children }: { readonly children: ReactNode }): ReactNode {
  const showToast = useToast();
  const [round, setRound] = useState(0);
  const begin = useCallback(() => {
    showToast('The server now uses another ledger, or an older copy. This page was reloaded.', 'bad');
    setRound((before) => before + 1);
  }, [showToast]);
  return (
    <ReplacedLedgerContext value={begin}>
      <Fragment key={round}>{children}</Fragment>
    </ReplacedLedgerContext>
  );
}
