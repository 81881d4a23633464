import type { Context } from 'react';
import { createContext } from 'react';

/** Called where the server turns out to have another ledger than the one that was read. */
export const ReplacedLedgerContext: Context<() => void> = createContext<() => void>(() => undefined);
