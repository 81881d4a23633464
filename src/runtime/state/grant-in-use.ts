import type { Grant } from '../../call/grant.ts';
import type { Move } from '../../ledger/journal.ts';

/** The grant a call is let through by, and where the grants of its session stood. */
export type GrantInUse = { readonly grant: Grant; readonly guard: Move };
