import type { ReactNode } from 'react';
import { Fragment, useCallback, useState } from 'react';
import { ReplacedLedgerContext } from './api/replaced-ledger.ts';
import { useToast } from './ui/toast.tsx';

/** Has the page read everything again, and says why, once the server has another ledger: nothing on it would be true. */
export function ReloadOnNewLedger({ children }: { readonly children: ReactNode }): ReactNode {
  const showToast = useToast();
  const [round, setRound] = useState(0);
  const begin = useCallback(() => {
    showToast(
      'The server has another ledger than before, or an older copy of it. This page was read anew.',
      'bad',
    );
    setRound((before) => before + 1);
  }, [showToast]);
  return (
    <ReplacedLedgerContext value={begin}>
      <Fragment key={round}>{children}</Fragment>
    </ReplacedLedgerContext>
  );
}
