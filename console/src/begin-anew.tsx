import type { ReactNode } from 'react';
import { Fragment, useCallback, useState } from 'react';
import { ReplacedLedgerContext } from './api/replaced-ledger.ts';
import { useTell } from './ui/toast.tsx';

/** Has the page read everything again, and says why, once the server has another ledger: nothing on it would be true. */
export function BeginAnew({ children }: { readonly children: ReactNode }): ReactNode {
  const tell = useTell();
  const [round, setRound] = useState(0);
  const begin = useCallback(() => {
    tell(
      'The server has another ledger than before, or an older copy of it. This page was read anew.',
      'bad',
    );
    setRound((before) => before + 1);
  }, [tell]);
  return (
    <ReplacedLedgerContext value={begin}>
      <Fragment key={round}>{children}</Fragment>
    </ReplacedLedgerContext>
  );
}
