import type { Context } from 'react';
import { createContext } from 'react';

/** Called when the server turns out to use another ledger than before. */
export const ReplacedLedgerContext: Context<() => void> = createContext<() => void>(() => undefined);
