import type { Grant } from '../../call/grant.ts';
import type { Move } from '../../ledger/journal.ts';

/** The grant that approved a call, and the version of its session's grants. */
export type GrantInUse = { readonly grant: Grant; readonly guard: Move };
